"""Elementary functions of arrays for accounting: numpy's, with log 0 = -inf, e^710 = inf and no warning.

Their last digits depend on the processor, which is far below what is rounded or stated here. What a simulation computes
has the same bits everywhere, and takes `dpexp.core.elementary`.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from dpexp.core.elementary import erfcx, log_ndtr, ndtr

__all__ = ["erfcx", "exp", "expm1", "log", "log1p", "log_ndtr", "ndtr"]


def _quiet(function: np.ufunc) -> Callable[[Any], np.ndarray]:
    """Of float64 [...] -> [...]; NaN stays NaN, and so is the logarithm of a negative number."""

    @wraps(function)
    def quiet(x: Any) -> np.ndarray:
        with np.errstate(all="ignore"):
            return np.asarray(function(np.asarray(x, dtype=np.float64)))

    return quiet


exp, expm1, log, log1p = map(_quiet, (np.exp, np.expm1, np.log, np.log1p))
