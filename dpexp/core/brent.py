"""A root and a minimum of a function of one number, by scipy, which is imported when one is first asked for.

Importing `scipy.optimize` takes a quarter of a second, which a command that solves for nothing does not spend.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

_INFINITE = 1e150
"""in place of infinity, of which a parabola through three places makes no number; products of it with itself are one"""
ROUNDING = 4 * 2.0**-52
"""the least relative tolerance that `brentq` takes"""


def root(
    function: Callable[[float], float],
    a: float,
    b: float,
    xtol: float = 2e-12,
    rtol: float = ROUNDING,
    most: int = 100,
) -> float:
    """Where the function is 0 between a and b, to xtol + rtol |x|.

    Its signs there differ, or ValueError is raised; ArithmeticError where `most` steps are not enough.
    """
    from scipy.optimize import brentq

    try:
        return float(brentq(function, a, b, xtol=xtol, rtol=rtol, maxiter=most))
    except RuntimeError as error:
        raise ArithmeticError(str(error)) from None


class Least(NamedTuple):
    """A place and the value there, the least of those tried."""

    x: float
    value: float


def least(function: Callable[[float], float], low: float, high: float, xatol: float = 1e-5) -> Least:
    """A local minimum between two ends, to about xatol. Where the function is infinite it may be so at both ends."""
    from scipy.optimize import minimize_scalar

    found = minimize_scalar(
        lambda x: min(function(float(x)), _INFINITE), bounds=(low, high), method="bounded", options={"xatol": xatol}
    )
    return Least(float(found.x), math.inf if found.fun == _INFINITE else float(found.fun))
