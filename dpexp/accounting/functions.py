"""Elementary functions: numpy's with log 0 = -inf, e^710 = inf and no warning, the normal law, and Gauss's rules.

scipy is loaded where it is first used: most programs that import this room ask for none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache, wraps
from importlib import import_module
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


def _special(name: str) -> Callable[[Any], Floats]:
    """A function of scipy.special, [...] -> [...]."""

    @cache
    def loaded() -> Callable[[Any], Floats]:
        function: Callable[[Any], Floats] = getattr(import_module("scipy.special"), name)
        return function

    return lambda x: loaded()(x)


ndtr = _special("ndtr")
"""Phi(x) of the standard normal law"""
log_ndtr = _special("log_ndtr")
"""log Phi(x), also where Phi(x) is below the least number"""
erfcx = _special("erfcx")
"""e^(x^2) erfc(x): what the normal law leaves beyond a place, over its density"""


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
