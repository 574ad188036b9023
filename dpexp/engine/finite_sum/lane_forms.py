"""Losses of eight records at once, for looks at all records: `dpexp.engine.finite_sum.looking` says how they enter.

The functions are those of `dpexp.engine.lanes.vectormath`, whose series are the same on every machine, and differ from
the ones of `dpexp.engine.finite_sum.losses` by a few units in the last place. Where they are not accurate, a value is
NaN: the look is then taken record by record.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.lanes.elementwise import logistic, softplus, sqrt, where
from dpexp.engine.lanes.vectormath import exp, sin_cos
from dpexp.engine.lanes.vectors import bits_of, polynomial, real_of

Lanes = Any
"""eight reals as one value of compiled code"""


class LaneForm(NamedTuple):
    """A loss of eight records at once; `dpexp.engine.finite_sum.looking` says how it enters."""

    parts: Callable[..., Any]
    """(|w - x|^2, w.x, y, c) in lanes -> value, pull, push"""
    rest: Callable[..., Any]
    """(w_j, c) of one coordinate, in lanes or a number -> what it adds whatever the record is, and the derivative"""


_HALF_PI = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
"""in three parts, the first two of 33 bits, so that their products with k < 2^20 are exact"""
_ROUND = 1.5 * 2.0**52
_FAR = 1e6
"""beyond this, k could be too large"""
_ONE, _TWO, _ZERO, _TO_SIGN = (np.uint64(k) for k in (1, 2, 0, 62))
_EXPM1 = tuple(1 / math.factorial(k) for k in range(1, 15))


@njit(nogil=True, forceinline=True)
def sine_cosine(x):
    """Sine and cosine of lanes: x = k pi / 2 + r with |r| <= pi / 4, then k quarter turns; NaN for |x| >= 10^6."""
    # k is the nearest integer, of which `shifted` has the low bits
    shifted = x * (2 / math.pi) + _ROUND
    k = shifted - _ROUND
    r = ((x - k * _HALF_PI[0]) - k * _HALF_PI[1]) - k * _HALF_PI[2]
    s, c = sin_cos(r)
    turns = bits_of(shifted)
    odd = (turns & _ONE) != _ZERO
    sine, cosine = where(odd, c, s), where(odd, s, c)
    # the second lowest bit of k turns the sign of the sine, that of k + 1 the sign of the cosine
    sine = real_of(bits_of(sine) ^ ((turns & _TWO) << _TO_SIGN))
    cosine = real_of(bits_of(cosine) ^ (((turns + _ONE) & _TWO) << _TO_SIGN))
    near = x * x < _FAR * _FAR
    return where(near, sine, math.nan), where(near, cosine, math.nan)


@njit(nogil=True, forceinline=True)
def expm1(x):
    """exp(x) - 1 of lanes; near 0 by its series, whose next term is .35^14 / 15! = 3e-19 of it."""
    return where(x * x < 0.35 * 0.35, x * polynomial(x, _EXPM1), exp(x) - 1.0)


@njit(nogil=True, forceinline=True)
def nothing(w: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes]:
    return 0.0 * w, 0.0 * w


@njit(nogil=True, forceinline=True)
def _rippled(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    # square / (1 + root) is root - 1, with all digits where the square is small
    root = sqrt(1.0 + square)
    sine, cosine = sine_cosine(c[1] * along)
    return square / (1.0 + root) + c[0] * sine, 1.0 / root, (c[0] * c[1]) * cosine


@njit(nogil=True, forceinline=True)
def _bump(away: Lanes, c: np.ndarray) -> Lanes:
    """c^2 / 2 (1 - exp(-away)) and exp(-away), which the lanes' exp does not let fall to 0 by itself."""
    value = (-0.5 * c[0] * c[0]) * expm1(-away)
    return where(away < 1e300, value, math.nan), where(away < 700.0, exp(-away), 0.0)


@njit(nogil=True, forceinline=True)
def _welsch_mean(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    away = square / (c[0] * c[0])
    value, pull = _bump(away, c)
    return value, pull, 0.0 * square


@njit(nogil=True, forceinline=True)
def _sigmoid(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    s = logistic(-(y * along))
    return c[0] * s, 0.0 * s, -(c[0] * y * s * (1.0 - s))


@njit(nogil=True, forceinline=True)
def _welsch(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    residual = along - y
    away = residual * residual / (c[0] * c[0])
    value, pull = _bump(away, c)
    return value, 0.0 * residual, residual * pull


@njit(nogil=True, forceinline=True)
def _logistic(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    margin = y * along
    return softplus(-margin), 0.0 * margin, -(y * logistic(-margin))


@njit(nogil=True, forceinline=True)
def _squared_sigmoid(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    s = logistic(along)
    off = s - (1.0 + y) / 2.0
    return off * off, 0.0 * s, 2.0 * off * s * (1.0 - s)


@njit(nogil=True, forceinline=True)
def _tukey(square: Lanes, along: Lanes, y: Lanes, c: np.ndarray) -> Lanes:
    residual = along - y
    away = residual * residual / (c[0] * c[0])
    # 0 beyond c, where the loss is constant
    left = where(away > 1.0, 0.0, 1.0 - away)
    return (c[0] * c[0] / 6.0) * (1.0 - left * left * left), 0.0 * residual, residual * left * left


@njit(nogil=True, forceinline=True)
def ridge(w: Lanes, c: np.ndarray) -> tuple[Lanes, Lanes]:
    """lam w^2 / (1 + w^2) of one coordinate, and its derivative 2 lam w / (1 + w^2)^2."""
    square = w * w
    under = 1.0 + square
    return c[0] * (square / under), 2.0 * c[0] * w / (under * under)


RIPPLED = LaneForm(_rippled, nothing)
WELSCH_MEAN = LaneForm(_welsch_mean, nothing)
SIGMOID = LaneForm(_sigmoid, nothing)
WELSCH = LaneForm(_welsch, nothing)
LOGISTIC = LaneForm(_logistic, ridge)
SQUARED_SIGMOID = LaneForm(_squared_sigmoid, nothing)
TUKEY = LaneForm(_tukey, nothing)
