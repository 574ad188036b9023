"""Elementary functions and the normal law of lanes, as short series.

Each is a plain function of lanes, compiled where it is used. Every series is summed in one fixed order, so that every
machine returns the same bits. Logarithm, exponential, sine and cosine have errors of a few units in the last place; the
others say where theirs is absolute.

(a) A number is taken apart: x = 2^k m for the logarithm, x = k log 2 + r for the exponential. Integers become reals and
back without conversion instructions, because 2^52 + k has the integer k in its low bits.
(b) What is left is small, and a Taylor polynomial is enough: the first term left out is below half a unit in the last
place of the result.
(c) Tails are divided by their exponential decay. What remains varies slowly, and has a short Chebyshev series in t =
(s - a) / (s + a), which maps the half line to [-1, 1). Of squares only the part up to `_FAR` is needed, stretched to
[-1, 1].
"""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
from numba import njit
from numba.extending import overload
from numpy.polynomial.chebyshev import cheb2poly
from scipy.special import erfcx

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import elementwise
from dpexp.engine.lanes.elementwise import maximum, minimum, where
from dpexp.engine.lanes.vectors import (
    LANES,
    Real,
    Single,
    also_of_numbers,
    bits_of,
    chebyshev,
    in_any,
    load,
    polynomial,
    real_of,
    reals,
    store,
    times_power,
    wide_polynomial,
)

_inlined = njit(nogil=True, forceinline=True)

ONE_BITS = np.uint64(0x3FF0000000000000)
"""the bits of 1.0: an exponent of 0 and an empty mantissa"""
_MANTISSA = np.uint64(0x000FFFFFFFFFFFFF)
_52 = np.uint64(52)

_INTEGER = np.uint64(0x4330000000000000)
"""the bits of 2^52, of (a)"""
_INTEGER_AND_BIAS = 2.0**52 + 1023.0
"""that, and what is added to every exponent in the bits of a float"""
_ROUND = 1.5 * 2.0**52
"""added and taken away again it rounds to an integer; between the two its low bits are that integer, of either sign"""

_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts, the first short enough that its product with an exponent is exact"""
_LOG2_E = 1.4426950408889634

_ARTANH = tuple(1 / (2 * k + 1) for k in range(1, 10))
"""of (artanh f - f) / f^3 in f^2 <= .0294: the next term is .0294^10 / 21 = 2e-17 of f"""
_EXP = tuple(1 / math.factorial(k) for k in range(14))
"""up to |r| = log(2) / 2: the next term is .347^14 / 14! = 4e-18"""
_SIN = tuple((-1) ** k / math.factorial(2 * k + 1) for k in range(1, 8))
_COS = tuple((-1) ** k / math.factorial(2 * k) for k in range(9))
"""up to pi / 4: the next terms are .785^16 / 17! = 6e-17 of the sine, and .785^18 / 18! = 2e-18"""


@_inlined
def log(x):
    """Natural logarithm of normal positive lanes: x = 2^k m with m in (sqrt(1/2), sqrt 2], and log m = 2 artanh f for
    f = (m - 1) / (m + 1)."""
    # (a)
    bits = bits_of(x)
    m = real_of((bits & _MANTISSA) | ONE_BITS)
    k = real_of((bits >> _52) | _INTEGER) - _INTEGER_AND_BIAS
    # m from [1, 2) is moved to around 1: log x is then near 0 only where k is 0, and nothing cancels
    large = m > 1.4142135623730951
    m = where(large, m * 0.5, m)
    k = where(large, k + 1.0, k)
    # (b); the small terms are added up first
    f = (m - 1.0) / (m + 1.0)
    s = f * f
    return k * _LN2_HIGH + (2.0 * f + (2.0 * f * s * polynomial(s, _ARTANH) + k * _LN2_LOW))


@_inlined
def _exp_reduced(x):
    """Lanes r and 2^k with x = k log 2 + r and |r| <= log(2) / 2, for arguments in [-708, 708]: exp(x) = 2^k exp(r)."""
    shifted = x * _LOG2_E + _ROUND
    k = shifted - _ROUND
    # (a): 2^k has the bits of 1.0 with k added to its exponent
    return (x - k * _LN2_HIGH) - k * _LN2_LOW, real_of((bits_of(shifted) << _52) + ONE_BITS)


@_inlined
def exp(x):
    """Exponential of lanes, for arguments clipped to [-708, 708]; NaN counts as -708."""
    r, power = _exp_reduced(minimum(maximum(x, -708.0), 708.0))  # (a), then (b)
    return polynomial(r, _EXP) * power


@_inlined
def sin_cos(x):
    """Sine and cosine of lanes with |x| <= pi / 4, by their Taylor series."""
    y = x * x
    return x + x * y * polynomial(y, _SIN), polynomial(y, _COS)


_HALF_PI = 1.57079632673412561417, 6.07710050630396597660e-11, 2.02226624879595063154e-21
"""in three parts, the first two of 33 bits, so that their products with k < 2^20 are exact"""
_FAR_TURN = 1e6
"""beyond this, k could be too large"""
_ONE, _TWO, _ZERO, _TO_SIGN = (np.uint64(k) for k in (1, 2, 0, 62))
_EXPM1 = tuple(1 / math.factorial(k) for k in range(1, 15))


@_inlined
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
    near = x * x < _FAR_TURN * _FAR_TURN
    return where(near, sine, math.nan), where(near, cosine, math.nan)


@_inlined
def expm1(x):
    """exp(x) - 1 of lanes; near 0 by its series, whose next term is .35^14 / 15! = 3e-19 of it."""
    return where(x * x < 0.35 * 0.35, x * polynomial(x, _EXPM1), exp(x) - 1.0)


@_inlined
def softplus(x):
    """log(1 + exp(x)) of lanes, to a few units in the last place of the larger of 1 and x: below x = -37 it is 0.

    It is the larger of x and 0, plus log(1 + exp(-|x|)), whose argument is in [1, 2].
    """
    size = maximum(x, -x)
    return maximum(x, 0.0) + log(1.0 + exp(-size))


_TAIL_SCALE = 2.5
"""a of (c) for erfc"""


def _scaled_tail(t: float) -> float:
    """(s + 5/2) exp(s^2) erfc(s) at s = 5/2 (1 + t) / (1 - t), which varies little over t in [-1, 1)."""
    s = _TAIL_SCALE * (1 + t) / (1 - t)
    return float((s + _TAIL_SCALE) * erfcx(s))


def _chebyshev_series(function: Callable[[float], float], degree: int) -> tuple[float, ...]:
    """Coefficients of the series that has the function's values where the next polynomial, T_{degree + 1}, is 0."""
    count = degree + 1

    def cosine(halves: int) -> float:
        """Of so many halves of pi / count."""
        # whole turns are taken off before anything is rounded
        return math.cos(math.pi * (halves % (4 * count)) / (2 * count))

    values = [function(cosine(2 * j + 1)) for j in range(count)]
    # summed exactly: the products of matrices by which numpy finds them round as the processor has it
    sums = [math.fsum(v * cosine(k * (2 * j + 1)) for j, v in enumerate(values)) for k in range(count)]
    return (sums[0] / count, *(2 * s / count for s in sums[1:]))


_TAIL = _chebyshev_series(_scaled_tail, 25)
"""the series ends 9e-18 from the function, which is 1e-19 in a probability"""
_SQRT_HALF = math.sqrt(0.5)


@_inlined
def normal_cdf(x):
    """Standard normal distribution function of lanes, from the Chebyshev series of its scaled tail; error 1e-16."""
    # (c): Phi(-|x|) = erfc(s) / 2, and exp(-s^2) is taken of x, whose square loses less than that of s
    s = maximum(x, -x) * _SQRT_HALF
    shifted = s + _TAIL_SCALE
    tail = 0.5 * exp(-0.5 * x * x) * chebyshev((s - _TAIL_SCALE) / shifted, _TAIL) / shifted
    return where(x < 0.0, tail, 1.0 - tail)


_FAR, _MIDDLE = 9.0, 4.0
"""Beyond _FAR the tail of squares is less than 1e-20 and taken as 0. _MIDDLE bends [0, _FAR] so that a short polynomial
is enough."""


def _scaled_square_tail(t: float) -> float:
    """E[(Z - x)^2; Z > x] / phi(x) = (x^2 + 1) M(x) - x for Mills' ratio M, at t = 2 (_FAR + _MIDDLE) / _FAR
    x / (x + _MIDDLE) - 1, which runs over [-1, 1] with x in [0, _FAR]."""
    share = (t + 1) / 2 * _FAR / (_FAR + _MIDDLE)
    x = _MIDDLE * share / (1 - share)
    return float((x * x + 1) * math.sqrt(math.pi / 2) * erfcx(x * _SQRT_HALF) - x)


_SQUARE_TAIL = tuple(map(float, cheb2poly([Fraction(c) for c in _chebyshev_series(_scaled_square_tail, 20)])))
"""in powers, each coefficient rounded once: by Horner's rule it takes half the operations. The series ends 1e-17 from
the function; its coefficients add up to 1.26 in size, so that none cancel in powers"""
_BEND = 2 * (_FAR + _MIDDLE) / _FAR
"""the factor of t above"""

_DENSITY = tuple(c / math.sqrt(2 * math.pi) for c in _EXP)


@_inlined
def _decay(x):
    """exp(x) / sqrt(2 pi) of lanes -100 < x <= 0, as `exp` computes it; what it is of others is of no use."""
    r, power = _exp_reduced(x)
    return wide_polynomial(r, _DENSITY) * power


@_inlined
def normal_square_below(a):
    """E[(a - Z)^2; Z < a] of lanes, for a standard normal Z; error a few units in the last place of 1 + a^2.

    Below 0 it is the tail phi(x) ((x^2 + 1) M(x) - x) at x = -a, and above 0 all but the tail of E (a - Z)^2 = a^2 + 1.
    """
    size = maximum(a, -a)
    near = size < _FAR
    tail = reals(0.0)
    # (c)
    if in_any(near):  # which decides the time alone: a lane that is far away has no tail in any company
        scaled = wide_polynomial(_BEND * (size / (size + _MIDDLE)) - 1.0, _SQUARE_TAIL)
        tail = where(near, scaled * _decay(-0.5 * a * a), 0.0)
    return where(a < 0.0, tail, (a * a + 1.0) - tail)


_LN2_HIGH_SINGLE, _LN2_LOW_SINGLE = 0.693359375, -2.12194440e-4
"""log 2 in two parts for float32: the first has 9 bits, so its product with an exponent is exact"""
_ROUND_SINGLE = 1.5 * 2.0**23
_EXP_SINGLE = _EXP[:8]
"""the next term is .35^8 / 8! = 6e-9, a tenth of a unit in the last place"""


@_inlined
def exp_single(x):
    """Exponential of float32 lanes, for arguments clipped to [-87, 88]; NaN stays NaN."""
    x = where(x > 88.0, 88.0, where(x < -87.0, -87.0, x))
    shifted = x * _LOG2_E + _ROUND_SINGLE
    k = shifted - _ROUND_SINGLE
    # (a), in single precision
    r = (x - k * _LN2_HIGH_SINGLE) - k * _LN2_LOW_SINGLE
    return times_power(polynomial(r, _EXP_SINGLE), shifted)


def _on_lanes(function: Any, compiled: Any, lanes: Any = Real) -> None:
    """Let `function` of `elementwise` mean `compiled` on lanes, and on numbers too where it does on float64 lanes."""

    @overload(function)
    def choose(a):
        if a is lanes:
            return lambda a: compiled(a)

    if lanes is Real:
        also_of_numbers(function)


@_inlined
def _log(a):
    # a number below the least normal one is lifted by 54 octaves
    small = a < 2.2250738585072014e-308
    lifted = log(where(small, a * 18014398509481984.0, a)) - where(small, 37.429947750237048, 0.0)
    return where(a < math.inf, where(a > 0.0, lifted, where(a < 0.0, math.nan, -math.inf)), a)


for _function, _meaning in {
    elementwise.exp: exp,
    elementwise.log: _log,
    elementwise.expm1: expm1,
    elementwise.absolute: _inlined(lambda a: maximum(a, -a)),
    elementwise.logistic: _inlined(lambda a: 1.0 / (1.0 + exp(-a))),
    elementwise.softplus: softplus,
    elementwise.normal_density: _inlined(lambda a: 0.3989422804014327 * exp(-0.5 * a * a)),
    elementwise.normal_cdf: normal_cdf,
    elementwise.normal_square_below: normal_square_below,
}.items():
    _on_lanes(_function, _meaning)
_on_lanes(elementwise.exp, exp_single, Single)


@compiled(cached=True)
def _fill(out: np.ndarray, first: np.ndarray, exponent: float) -> None:
    steps = load(first, (0,))
    for i in range(len(out)):
        store(out, (i,), exp(exponent * log(steps + float(LANES * i))))


def powers(first: int, last: int, exponent: float) -> np.ndarray:
    """i^exponent for i = first..last, both included; [last - first + 1]. numpy's depend on the processor.

    As exp(exponent log i). Its relative error is about that of exponent log i, 1e-16 times the size of that: at most
    4e-15 for exponents in [-1, 0] and 10^12 steps.
    """
    count = last - first + 1
    out = np.empty((-(-count // LANES), LANES))
    _fill(out, np.arange(first, first + LANES, dtype=np.float64)[None], float(exponent))
    return out.ravel()[:count]
