"""dpexp: a command-line laboratory for differentially private stochastic gradient descent."""

import time
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"
IMPORTED_AT = time.time_ns()
"""when this process began to import dpexp: code that was edited later is not the code that runs"""

if TYPE_CHECKING:
    from dpexp.privacy.judge import judge as judge


def __getattr__(name: str) -> Any:
    """The Python API, imported when it is first used."""
    if name == "judge":
        from dpexp.privacy.judge import judge

        return judge
    raise AttributeError(f"module 'dpexp' has no attribute {name!r}")
