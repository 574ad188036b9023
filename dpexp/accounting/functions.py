"""Elementary functions: numpy's with log 0 = -inf, e^710 = inf and no warning, the normal law, and Gauss's rules.

scipy is loaded where it is first used: most programs that import this room ask for none of it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from importlib import import_module
from typing import Any

import numpy as np

Floats = np.ndarray[Any, np.dtype[np.float64]]

Function = Callable[..., Floats]
"""[...] -> [...]; NaN stays NaN, and so is the logarithm of a negative number"""
_QUIET = np.errstate(all="ignore")
exp: Function = _QUIET(np.exp)
expm1: Function = _QUIET(np.expm1)
log: Function = _QUIET(np.log)
log1p: Function = _QUIET(np.log1p)


def _special(name: str) -> Function:
    """A function of scipy.special."""

    @cache
    def loaded() -> Function:
        function: Function = getattr(import_module("scipy.special"), name)
        return function

    return lambda *x: loaded()(*x)


ndtr = _special("ndtr")  # Phi(x) of the standard normal law
log_ndtr = _special("log_ndtr")  # log Phi(x), also where Phi(x) is below the least number
betainc = _special("betainc")  # I_q(k, n - k + 1) = P(Bin(n, q) >= k) for 1 <= k <= n
erfcx = _special("erfcx")  # e^(x^2) erfc(x): what the normal law leaves beyond a place, over its density
exprel = _special("exprel")  # (e^x - 1) / x, which is 1 at 0


def log_sum(x: np.ndarray) -> Floats:
    """log of the sum of e^x over the last axis, [..., A] -> [...]; the largest is taken out, so that none overflows."""
    top = np.maximum(x.max(axis=-1), -1e300)
    return np.asarray(top + log(exp(x - top[..., np.newaxis]).sum(axis=-1)))


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
