"""Losses of one record and their gradients, each written once and compiled twice: for one record and for eight at once.

A record enters a loss by |w - x|^2 and w.x alone, with its response:

    f(w; x, y) = phi(|w - x|^2, w.x, y) + r(w),   grad f = pull (w - x) + push x + grad r(w)

with pull twice the derivative of phi in |w - x|^2, and push that in w.x.

Eight records use the functions of `dpexp.engine.lanes.vectormath`, which are NaN where they are not accurate, as a sine
beyond 10^6 is; one record uses those of the C library, which differ by a few units in the last place.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from types import FunctionType
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.lanes.elementwise import logistic, softplus, sqrt, where
from dpexp.engine.lanes.vectormath import exp, expm1, sine_cosine

Compiled = Callable[..., Any]
Lanes = Any
"""eight reals as one value of compiled code, or one number"""
_inlined = njit(nogil=True, forceinline=True)


class RecordLoss(NamedTuple):
    """A loss, compiled for one record and for eight."""

    gradient: Compiled
    """(w, x, y, c, out) of one record: fills out [d] and returns f; w, x, out float64 [d], c the constants"""
    parts: Compiled
    """(|w - x|^2, w.x, y, c) of eight records -> value, pull, push"""
    rest: Compiled
    """(w_j, c) of one coordinate, in lanes or a number -> r and its derivative"""


@_inlined
def _distance_and_dot(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """|a - b|^2 and a.b in one pass."""
    # four sums of each, because an addition takes four cycles and none waits for the others
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    p0, p1, p2, p3 = 0.0, 0.0, 0.0, 0.0
    full = len(a) // 4 * 4
    for j in range(0, full, 4):
        s0 += (a[j] - b[j]) ** 2
        s1 += (a[j + 1] - b[j + 1]) ** 2
        s2 += (a[j + 2] - b[j + 2]) ** 2
        s3 += (a[j + 3] - b[j + 3]) ** 2
        p0 += a[j] * b[j]
        p1 += a[j + 1] * b[j + 1]
        p2 += a[j + 2] * b[j + 2]
        p3 += a[j + 3] * b[j + 3]
    for j in range(full, len(a)):
        s0 += (a[j] - b[j]) ** 2
        p0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3), (p0 + p1) + (p2 + p3)


@_inlined
def _logistic_of_number(u: float) -> float:
    # the exponential of a negative number alone, which cannot overflow
    if u >= 0:
        return 1 / (1 + math.exp(-u))
    return math.exp(u) / (1 + math.exp(u))


_OF_NUMBERS = {
    "sqrt": math.sqrt,
    "exp": math.exp,
    "expm1": math.expm1,
    "where": _inlined(lambda condition, a, b: a if condition else b),
    "logistic": _logistic_of_number,
    "softplus": _inlined(lambda u: max(0.0, u) + math.log1p(math.exp(-abs(u)))),
    "sine_cosine": _inlined(lambda u: (math.sin(u), math.cos(u))),
}
"""what the names in the source of a loss mean for one record"""


@_inlined
def nothing(w: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes]:
    """r = 0."""
    return 0.0 * w, 0.0 * w


def record_loss_of(parts: Callable[..., Any], rest: Compiled = nothing) -> RecordLoss:
    """The loss with phi = `parts`, in plain Python, and r = `rest`, compiled."""
    assert isinstance(parts, FunctionType)
    known = {**parts.__globals__, **_OF_NUMBERS}
    of_number = FunctionType(parts.__code__, known, parts.__name__, None, parts.__closure__)
    of_number.__qualname__ = f"{parts.__qualname__}_of_one"
    of_one = _inlined(of_number)

    @_inlined
    def gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> float:
        square, along = _distance_and_dot(w, x)
        value, pull, push = of_one(square, along, y, c)
        added = 0.0
        for j in range(len(w)):
            own, slope = rest(w[j], c)
            out[j] = pull * (w[j] - x[j]) + push * x[j] + slope
            added += own
        return value + added

    return RecordLoss(gradient, _inlined(parts), rest)


def _rippled(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes, Lanes]:
    # square / (1 + root) is root - 1, with all digits where the square is small
    root = sqrt(1.0 + square)
    sine, cosine = sine_cosine(c[1] * along)
    return square / (1.0 + root) + c[0] * sine, 1.0 / root, (c[0] * c[1]) * cosine


def _sigmoid(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes, Lanes]:
    s = logistic(-(y * along))
    return c[0] * s, 0.0 * s, -(c[0] * y * s * (1.0 - s))


def _welsch(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes, Lanes]:
    # expm1, because 1 - exp would lose the digits of a small residual; the lanes' exp does not fall to 0 by itself
    residual = along - y
    away = residual * residual / (c[0] * c[0])
    value = where(away < 1e300, (-0.5 * c[0] * c[0]) * expm1(-away), math.nan)
    return value, 0.0 * residual, residual * where(away < 700.0, exp(-away), 0.0)


def _logistic(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes, Lanes]:
    margin = y * along
    return softplus(-margin), 0.0 * margin, -(y * logistic(-margin))


@_inlined
def ridge(w: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes]:
    """lam w^2 / (1 + w^2) of one coordinate, and its derivative 2 lam w / (1 + w^2)^2."""
    square = w * w
    under = 1.0 + square
    return c[0] * (square / under), 2.0 * c[0] * w / (under * under)


LOSSES: dict[str, RecordLoss] = {
    "rippled-mean": record_loss_of(_rippled),
    "sigmoid": record_loss_of(_sigmoid),
    "welsch-regression": record_loss_of(_welsch),
    "logistic-ridge": record_loss_of(_logistic, ridge),
}
"""by the name of the problem"""
