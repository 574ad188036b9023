"""Elementary functions: numpy's with log 0 = -inf, e^710 = inf and no warning, cells of the normal law, Gauss's rules.

`scipy` loads `scipy.special` and `scipy.optimize` where they are first used: most programs that import this room ask
for neither.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np
import scipy

Floats = np.ndarray[Any, np.dtype[np.float64]]


def _quiet(function: np.ufunc) -> Callable[[Any], Floats]:
    """Of float64 [...] -> [...]; NaN stays NaN, and so is the logarithm of a negative number."""

    @wraps(function)
    def quiet(x: Any) -> Floats:
        with np.errstate(all="ignore"):
            return np.asarray(function(np.asarray(x, dtype=np.float64)))

    return quiet


exp = _quiet(np.exp)
expm1 = _quiet(np.expm1)
log = _quiet(np.log)
log1p = _quiet(np.log1p)


def normal_cells(edges: np.ndarray) -> Floats:
    """Normal probabilities below, between and above ascending places [A] -> [A + 1], each to its own digits."""
    below, above = scipy.special.ndtr(edges), scipy.special.ndtr(-edges)
    inner = np.where(edges[1:] <= 0, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], inner, above[-1:]])


@lru_cache(maxsize=16)
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights [count] of the rule that integrates polynomials of degree 2 count - 1 over (-1, 1)."""
    from numpy.polynomial.legendre import leggauss

    return leggauss(count)
