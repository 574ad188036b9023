"""Losses of one record and their gradients as small compiled functions, composed once for each loss.

Every loss is a pair with one signature: `loss(w, x, y, c) -> float` and `gradient(w, x, y, c, out)`, which fills out
[d]; w, x and out are float64 [d], y is a float, c holds the constants of the problem, float64. A loss of a linear
predictor is made from its value and slope in u = x.w by `of_predictor`.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled

Compiled = Callable[..., Any]


class Pair(NamedTuple):
    """A loss of one record and its gradient."""

    loss: Compiled
    gradient: Compiled


@njit(nogil=True, inline="always")
def dot(a: np.ndarray, b: np.ndarray) -> float:
    total = 0.0
    for j in range(len(a)):
        total += a[j] * b[j]
    return total


@njit(nogil=True)
def sigmoid(u: float) -> float:
    if u >= 0:
        return 1 / (1 + math.exp(-u))
    return math.exp(u) / (1 + math.exp(u))


def of_predictor(value: Compiled, slope: Compiled) -> Pair:
    """The pair of value(u, y, c) with derivative slope(u, y, c) in u = x.w."""

    @njit(nogil=True)
    def loss(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray) -> float:
        return value(dot(w, x), y, c)

    @njit(nogil=True)
    def gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> None:
        factor = slope(dot(w, x), y, c)
        for j in range(len(w)):
            out[j] = factor * x[j]

    return Pair(loss, gradient)


@njit(nogil=True)
def _sigmoid_value(u: float, y: float, c: np.ndarray) -> float:
    return c[0] * sigmoid(-y * u)


@njit(nogil=True)
def _sigmoid_slope(u: float, y: float, c: np.ndarray) -> float:
    s = sigmoid(-y * u)
    return -c[0] * y * s * (1 - s)


@njit(nogil=True)
def _squared_sigmoid_value(u: float, y: float, c: np.ndarray) -> float:
    return ((1 + y) / 2 - sigmoid(u)) ** 2


@njit(nogil=True)
def _squared_sigmoid_slope(u: float, y: float, c: np.ndarray) -> float:
    s = sigmoid(u)
    return 2 * (s - (1 + y) / 2) * s * (1 - s)


@njit(nogil=True)
def _welsch_value(u: float, y: float, c: np.ndarray) -> float:
    return -(c[0] ** 2) / 2 * math.expm1(-((u - y) ** 2) / c[0] ** 2)


@njit(nogil=True)
def _welsch_slope(u: float, y: float, c: np.ndarray) -> float:
    return (u - y) * math.exp(-((u - y) ** 2) / c[0] ** 2)


@njit(nogil=True)
def _tukey_value(u: float, y: float, c: np.ndarray) -> float:
    away = min(1.0, ((u - y) / c[0]) ** 2)
    return c[0] ** 2 / 6 * (1 - (1 - away) ** 3)


@njit(nogil=True)
def _tukey_slope(u: float, y: float, c: np.ndarray) -> float:
    away = min(1.0, ((u - y) / c[0]) ** 2)
    return (u - y) * (1 - away) ** 2


@njit(nogil=True)
def _logistic_loss(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray) -> float:
    margin, ridge = y * dot(w, x), 0.0
    for j in range(len(w)):
        ridge += w[j] ** 2 / (1 + w[j] ** 2)
    return max(0.0, -margin) + math.log1p(math.exp(-abs(margin))) + c[0] * ridge


@njit(nogil=True)
def _logistic_gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> None:
    factor = -y * sigmoid(-y * dot(w, x))
    for j in range(len(w)):
        out[j] = factor * x[j] + 2 * c[0] * w[j] / (1 + w[j] ** 2) ** 2


@njit(nogil=True)
def _rippled_loss(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray) -> float:
    square = 0.0
    for j in range(len(w)):
        square += (w[j] - x[j]) ** 2
    return square / (1 + math.sqrt(1 + square)) + c[0] * math.sin(c[1] * dot(w, x))


@njit(nogil=True)
def _rippled_gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> None:
    square = 0.0
    for j in range(len(w)):
        out[j] = w[j] - x[j]
        square += out[j] ** 2
    pull, ripple = 1 / math.sqrt(1 + square), c[0] * c[1] * math.cos(c[1] * dot(w, x))
    for j in range(len(w)):
        out[j] = pull * out[j] + ripple * x[j]


@njit(nogil=True)
def _welsch_mean_loss(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray) -> float:
    square = 0.0
    for j in range(len(w)):
        square += (w[j] - x[j]) ** 2
    return -(c[0] ** 2) / 2 * math.expm1(-square / c[0] ** 2)


@njit(nogil=True)
def _welsch_mean_gradient(w: np.ndarray, x: np.ndarray, y: float, c: np.ndarray, out: np.ndarray) -> None:
    square = 0.0
    for j in range(len(w)):
        out[j] = w[j] - x[j]
        square += out[j] ** 2
    pull = math.exp(-square / c[0] ** 2)
    for j in range(len(w)):
        out[j] *= pull


LOSSES: dict[str, Pair] = {
    "rippled-mean": Pair(_rippled_loss, _rippled_gradient),
    "welsch-mean": Pair(_welsch_mean_loss, _welsch_mean_gradient),
    "sigmoid": of_predictor(_sigmoid_value, _sigmoid_slope),
    "squared-sigmoid": of_predictor(_squared_sigmoid_value, _squared_sigmoid_slope),
    "welsch-regression": of_predictor(_welsch_value, _welsch_slope),
    "tukey-regression": of_predictor(_tukey_value, _tukey_slope),
    "logistic-ridge": Pair(_logistic_loss, _logistic_gradient),
}
"""by the name of the problem"""


@compiled(kept=True)
def mean_loss(loss: Compiled, w: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """F(w) alone, the same bits as that of `full`. x [N, d], y [N]."""
    total = 0.0
    for i in range(len(x)):
        total += loss(w, x[i], y[i], c)
    return total / len(x)


@compiled(kept=True)
def full(
    loss: Compiled, gradient: Compiled, w: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray, out: np.ndarray
) -> float:
    """F(w) = mean over records of the loss; out [d] becomes grad F(w). x [N, d], y [N]."""
    total, one = 0.0, np.empty(len(w))
    out[:] = 0.0
    for i in range(len(x)):
        total += loss(w, x[i], y[i], c)
        gradient(w, x[i], y[i], c, one)
        for j in range(len(w)):
            out[j] += one[j]
    for j in range(len(w)):
        out[j] /= len(x)
    return total / len(x)
