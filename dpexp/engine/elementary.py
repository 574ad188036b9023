"""The functions of `core.elementary` for whoever asks for many numbers: compiled from where that pays, the same bits.

A short command is done before a compiler is loaded, so the first numbers come from numpy. Once a process has spent as
long on them as it takes to load the loops of `elementary_loops`, it loads these: whatever follows, it then takes at
most twice as long as with the better choice from the start.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from types import ModuleType
from typing import Any

import numpy as np

from dpexp.core import elementary

Function = Callable[[np.ndarray], np.ndarray]

LOADING_S = 0.55
"""seconds to load the compiler and the loops that are kept"""
LOOPS_S = 0.05
"""the same where the compiler is loaded already"""
OF_A_CALL = 1100
"""numbers that take as long as the rest of a call with numpy"""
_spent = 0.0
"""seconds in numpy, as estimated: counted and not measured, so that every process does the same"""


NANOSECONDS = {"exp": 7, "expm1": 8, "log": 7, "log1p": 9, "erfcx": 10, "ndtr": 20, "log_ndtr": 38}
"""that numpy takes for one of many numbers"""


def _either(plain: Function) -> Function:
    """With numpy or compiled."""
    name, nanoseconds = plain.__name__, NANOSECONDS[plain.__name__]

    @wraps(plain)
    def function(x: np.ndarray) -> np.ndarray:
        global _spent
        x = np.asarray(x, dtype=np.float64)
        if _spent < LOOPS_S or (_spent < LOADING_S and "dpexp.engine.compiled" not in sys.modules):
            _spent += 1e-9 * nanoseconds * (x.size + OF_A_CALL)
            return plain(x)
        loops = _loops()
        if loops is None:
            return plain(x)
        flat, found = x.ravel(), np.empty(x.size)
        if not flat.flags.writeable:
            flat = flat.copy()  # it would be another type, and compiled again
        getattr(loops, name)(flat, found)
        return found.reshape(x.shape)

    return function


@lru_cache(maxsize=1)
def _loops() -> ModuleType | None:
    """The compiled functions; None where numba is told to compile nothing."""
    import numba

    settings: Any = numba.config  # numba's stubs leave its settings out
    if settings.DISABLE_JIT:
        return None
    from dpexp.engine import elementary_loops

    return elementary_loops


exp = _either(elementary.exp)
expm1 = _either(elementary.expm1)
log = _either(elementary.log)
log1p = _either(elementary.log1p)
erfcx = _either(elementary.erfcx)
ndtr = _either(elementary.ndtr)
log_ndtr = _either(elementary.log_ndtr)
