"""Losses of one record and their gradients as small compiled functions, composed once for each loss.

Every loss is one function, `gradient(w, x, y, c, out)`, which fills out [d] and returns the loss. w, x and out are
float64 [d], y is a float, c holds the constants of the problem, float64. A loss of a linear predictor is made from its
value and slope in u = x.w by `of_predictor`. Sums over coordinates are four sums side by side, in an order that is part
of the source, so it is the same on every machine.

For eight records at once a loss has a second form, as `dpexp.engine.finite_sum.looking` says. Its functions are those
of `dpexp.engine.lanes.vectormath`, which differ from the ones for one record by a few units in the last place. Where
they are not accurate, a value is NaN: the record is then taken by itself.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.elementwise import logistic, softplus, sqrt, where
from dpexp.engine.lanes.vectormath import exp, expm1, sine_cosine

Compiled = Callable[..., Any]
Lanes = Any
"""eight reals as one value of compiled code"""


class LaneForm(NamedTuple):
    """A loss of eight records at once."""

    parts: Callable[..., Any]
    """(|w - x|^2, w.x, y, c) in lanes -> value, pull, push"""
    rest: Callable[..., Any]
    """(w_j, c) of one coordinate, in lanes or a number -> what it adds whatever the record is, and the derivative"""


class Pair(NamedTuple):
    """A loss of one record, by itself and of eight records at once."""

    gradient: Compiled
    """of (w, x, y, c, out); where the caller does not use what it returns, that is not computed: it is inlined"""
    lanes: LaneForm | None = None
    """the same loss for looks at all records; without it they are taken record by record"""


@njit(nogil=True, forceinline=True)
def distance_and_dot(a: np.ndarray, b: np.ndarray) -> tuple[float, float]:
    """|a - b|^2 and a.b in one pass; what is not used is not computed."""
    # four sums of each, because an addition takes four cycles and none waits for the others
    s0, s1, s2, s3 = 0.0, 0.0, 0.0, 0.0
    p0, p1, p2, p3 = 0.0, 0.0, 0.0, 0.0
    whole = len(a) // 4 * 4
    for j in range(0, whole, 4):
        s0 += (a[j] - b[j]) ** 2
        s1 += (a[j + 1] - b[j + 1]) ** 2
        s2 += (a[j + 2] - b[j + 2]) ** 2
        s3 += (a[j + 3] - b[j + 3]) ** 2
        p0 += a[j] * b[j]
        p1 += a[j + 1] * b[j + 1]
        p2 += a[j + 2] * b[j + 2]
        p3 += a[j + 3] * b[j + 3]
    for j in range(whole, len(a)):
        s0 += (a[j] - b[j]) ** 2
        p0 += a[j] * b[j]
    return (s0 + s1) + (s2 + s3), (p0 + p1) + (p2 + p3)


@njit(nogil=True, forceinline=True)
def dot(a: np.ndarray, b: np.ndarray) -> float:
    return distance_and_dot(a, b)[1]


@njit(nogil=True)
def sigmoid(u: float) -> float:
    # the exponential of a negative number alone, which cannot overflow
    if u >= 0:
        return 1 / (1 + math.exp(-u))
    return math.exp(u) / (1 + math.exp(u))


def of_predictor(value: Compiled, slope: Compiled, lanes: LaneForm | None = None) -> Pair:
    """The pair of value(u, y, c) with derivative slope(u, y, c) in u = x.w."""

    @njit(nogil=True, forceinline=True)
    def gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> float:
        u = dot(w, x)
        factor = slope(u, y, c)
        for j in range(len(w)):
            out[j] = factor * x[j]
        return value(u, y, c)

    return Pair(gradient, lanes)


@njit(nogil=True)
def _sigmoid_value(u: float, y: float, c: np.ndarray) -> float:
    return c[0] * sigmoid(-y * u)


@njit(nogil=True)
def _sigmoid_slope(u: float, y: float, c: np.ndarray) -> float:
    s = sigmoid(-y * u)
    return -c[0] * y * s * (1 - s)


@njit(nogil=True, forceinline=True)
def _sigmoid(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    s = logistic(-(y * along))
    return c[0] * s, 0.0 * s, -(c[0] * y * s * (1.0 - s))


@njit(nogil=True)
def _welsch_value(u: float, y: float, c: np.ndarray) -> float:
    # expm1, because 1 - exp would lose the digits of a small residual
    return -(c[0] ** 2) / 2 * math.expm1(-((u - y) ** 2) / c[0] ** 2)


@njit(nogil=True)
def _welsch_slope(u: float, y: float, c: np.ndarray) -> float:
    return (u - y) * math.exp(-((u - y) ** 2) / c[0] ** 2)


@njit(nogil=True, forceinline=True)
def nothing(w: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes]:
    return 0.0 * w, 0.0 * w


@njit(nogil=True, forceinline=True)
def _bump(away: Lanes, c: np.ndarray) -> Lanes:
    """c^2 / 2 (1 - exp(-away)) and exp(-away), which the lanes' exp does not let fall to 0 by itself."""
    value = (-0.5 * c[0] * c[0]) * expm1(-away)
    return where(away < 1e300, value, math.nan), where(away < 700.0, exp(-away), 0.0)


@njit(nogil=True, forceinline=True)
def _welsch(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    residual = along - y
    away = residual * residual / (c[0] * c[0])
    value, pull = _bump(away, c)
    return value, 0.0 * residual, residual * pull


@njit(nogil=True, forceinline=True)
def ridge(w: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes]:
    """lam w^2 / (1 + w^2) of one coordinate, and its derivative 2 lam w / (1 + w^2)^2."""
    square = w * w
    under = 1.0 + square
    return c[0] * (square / under), 2.0 * c[0] * w / (under * under)


@njit(nogil=True, forceinline=True)
def _ridges(w: np.ndarray, c: np.ndarray) -> float:
    total = 0.0
    for j in range(len(w)):
        total += ridge(w[j], c)[0]
    return total


@njit(nogil=True, forceinline=True)
def _log_loss(margin: float) -> float:
    # log(1 + e^-m) = max(0, -m) + log(1 + e^-|m|), which neither overflows nor loses digits
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin)))


@njit(nogil=True, forceinline=True)
def _logistic_gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> float:
    margin = y * dot(w, x)
    factor = -y * sigmoid(-margin)
    for j in range(len(w)):
        out[j] = factor * x[j] + ridge(w[j], c)[1]
    return _log_loss(margin) + _ridges(w, c)


@njit(nogil=True, forceinline=True)
def _logistic(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    margin = y * along
    return softplus(-margin), 0.0 * margin, -(y * logistic(-margin))


@njit(nogil=True, forceinline=True)
def _rippled_gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> float:
    square, along = distance_and_dot(w, x)
    root, phase = math.sqrt(1 + square), c[1] * along
    pull, ripple = 1 / root, c[0] * c[1] * math.cos(phase)
    for j in range(len(w)):
        out[j] = pull * (w[j] - x[j]) + ripple * x[j]
    # sqrt(1 + s) - 1 = s / (1 + sqrt(1 + s)), which keeps the digits of a small s
    return square / (1 + root) + c[0] * math.sin(phase)


@njit(nogil=True, forceinline=True)
def _rippled(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    # square / (1 + root) is root - 1, with all digits where the square is small
    root = sqrt(1.0 + square)
    sine, cosine = sine_cosine(c[1] * along)
    return square / (1.0 + root) + c[0] * sine, 1.0 / root, (c[0] * c[1]) * cosine


LOSSES: dict[str, Pair] = {
    "rippled-mean": Pair(_rippled_gradient, LaneForm(_rippled, nothing)),
    "sigmoid": of_predictor(_sigmoid_value, _sigmoid_slope, LaneForm(_sigmoid, nothing)),
    "welsch-regression": of_predictor(_welsch_value, _welsch_slope, LaneForm(_welsch, nothing)),
    "logistic-ridge": Pair(_logistic_gradient, LaneForm(_logistic, ridge)),
}
"""by the name of the problem"""


@kept_once(64)
def mean_of(pair: Pair) -> Compiled:
    """F(w) of (w, x, y, c, out), record by record; x [N, d], y [N]; out [d] becomes grad F(w)."""
    # The loss is part of the kernel: to pass a function costs more than a short run.
    gradient = pair.gradient

    @compiled(kept=True)
    def mean(w: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray, out: np.ndarray) -> float:
        total, one = 0.0, np.empty(len(w))
        out[:] = 0.0
        for i in range(len(x)):
            total += gradient(w, x[i], y[i], c, one)
            for j in range(len(w)):
                out[j] += one[j]
        for j in range(len(w)):
            out[j] /= len(x)
        return total / len(x)

    return mean
