"""Elementary functions: numpy's with log 0 = -inf, e^710 = inf and no warning, the normal law, and Gauss's rules.

scipy is loaded where it is first used: most programs that import this room ask for none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Any

import numpy as np

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


def ndtr(x: Any) -> Floats:
    """Phi(x) of the standard normal law [...]."""
    from scipy import special

    phi: Floats = special.ndtr(x)
    return phi


def log_ndtr(x: Any) -> Floats:
    """log Phi(x) [...], also where Phi(x) is below the least number."""
    from scipy import special

    log_phi: Floats = special.log_ndtr(x)
    return log_phi


def erfcx(x: Any) -> Floats:
    """e^(x^2) erfc(x) [...]: what the normal law leaves beyond a place, over its density."""
    from scipy import special

    ratio: Floats = special.erfcx(x)
    return ratio


def normal_cells(edges: np.ndarray) -> Floats:
    """Normal probabilities below, between and above ascending places [A] -> [A + 1], each to its own digits."""
    below, above = ndtr(edges), ndtr(-edges)
    inner = np.where(edges[1:] <= 0, np.diff(below), -np.diff(above))
    return np.concatenate([below[:1], inner, above[-1:]])


@lru_cache(maxsize=16)
def gauss_legendre(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights [count] of the rule that integrates polynomials of degree 2 count - 1 over (-1, 1)."""
    from numpy.polynomial.legendre import leggauss

    return leggauss(count)
