"""The foundation: parameters, seeds, errors, files and text. It imports nothing of dpexp."""

import time

VERSION = "0.1.0"
IMPORTED_AT = time.time_ns()
"""when this process began to import dpexp: code that was edited later is not the code that runs"""
