"""Elementary functions of arrays, with the same bits on every machine.

numpy's own take other instructions where a processor has them, and the last digits follow. These use sums, products,
quotients and roundings of numpy alone, each of which is rounded correctly, in one fixed order, and the bits of a number
for powers of 2. NaN stays NaN. Relative errors, in units of 2^-53: exp and log 2, log1p 4, erfcx at most 8
(`tests/core/test_elementary.py` compares with 60 digits).

exp: (a) x = (32 o + j) log(2) / 32 + r with |r| <= log(2) / 64. (b) e^r - 1 is a Taylor series.
(c) e^x = 2^o (T_j + R_j) e^r, where T_j + R_j is 2^(j / 32) in two parts; the largest term, T_j, is added last.
log: (d) x = 2^k m with m in [sqrt(1/2), sqrt 2). (e) log m = 2 artanh f = 2 f + 2 f^3 / 3 + .., f = (m - 1) / (m + 1).
erfcx: (f) (s + 5/2) erfcx(s) is smooth in t = (s - 5/2) / (s + 5/2), which takes [0, inf] to [-1, 1]: one polynomial.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import wraps

import numpy as np

_BLOCK = 4096
"""numbers at once: what lies between the operations stays in the nearest cache"""


_PARTS = 32
"""of an octave: the table has 2^(j / 32)"""
_SHIFT = 160
"""binary digits after the point"""
_ROOTS = [1 << (_PARTS * _SHIFT) << j for j in range(_PARTS)]
for _ in range(5):  # five square roots are a 32nd root
    _ROOTS = [math.isqrt(root) for root in _ROOTS]
_TABLE = np.array([root / (1 << _SHIFT) for root in _ROOTS])
"""2^(j / 32), [32]; a quotient of integers is rounded correctly"""
_UNSEEN = [root - (int(t * 2.0**60) << _SHIFT - 60) for root, t in zip(_ROOTS, _TABLE.tolist(), strict=True)]
_REST = np.array([unseen / (1 << _SHIFT) for unseen in _UNSEEN])
"""what the table's rounding leaves, [32]"""
# constants of operations on arrays are arrays: with a number of Python an operation of few numbers takes twice as long
_HALF, _ONE, _TWO, _HALF_ROOT = map(np.array, (0.5, 1.0, 2.0, math.sqrt(0.5)))
_PER_PART, _LAST_PART, _PART_BITS = map(np.array, (_PARTS * 1.4426950408889634, _PARTS - 1, _PARTS.bit_length() - 1))
_LN2_HIGH, _LN2_LOW = map(np.array, (0.693147180369123816490, 1.90821492927058770002e-10))
"""log 2 in two parts, the first with 33 bits: its product with an integer of up to 20 bits is exact"""
_PART_HIGH, _PART_LOW = (np.asarray(part / _PARTS) for part in (_LN2_HIGH, _LN2_LOW))
"""log(2) / 32: 2^-5 of a number has its digits, and so have products with it"""
_LEAST, _LARGEST = map(np.array, (-746.0, 710.0))
"""at these and beyond an exponential is 0 or inf: the least number is e^-744.4, the largest e^709.8"""
_TAYLOR = [np.array(1 / k) for k in (720, 120, 24, 6, 2)]
"""of (e^r - 1 - r) / r^2, the last term first"""
_ARTANH = [np.array(2 / (2 * k + 1)) for k in range(1, 10)]
"""of (e), without 2 f: f^2 is at most .0295, so that the next term is 2 f^21 / 21 = 8e-18"""
_LEAST_NORMAL = 2.0**-1022
_MANTISSA_BITS, _HALF_ROOT_BITS, _NORMAL_BITS = np.array(52), _HALF_ROOT.view(np.int64), np.array(1 << 52)
_ORDINARY = np.asarray(np.array(math.inf).view(np.uint64) - _NORMAL_BITS.view(np.uint64))
"""how many bit patterns there are from the least normal number to inf: those of all others are not among them"""
_LIFT = 54
"""octaves by which a number below the least normal one is lifted to become one"""
_TAIL_SCALE = 2.5
_TAIL = (
    1.054031820305718, -0.8046518494391489, 0.4539141166480974, -0.17125114524604834, 0.02836155013192034,
    0.008393044302542604, -0.004818785521591862, -0.00043920826768399727, 0.0007026937052302115, 5.830779238202563e-05,
    -0.00011260470395747812, -1.9531978077744924e-05, 1.8243796903501285e-05, 6.752806282121124e-06,
    -2.3305525486793496e-06, -1.9576858622935457e-06, -9.48600216300857e-09, 4.3782512688989403e-07,
    1.4269582458758609e-07, -5.647561711390771e-08, -5.653278005163941e-08, -6.327879191441739e-09,
    1.2677501816015788e-08, 5.815590880785276e-09, -1.330763029464738e-09, -1.5117473752802249e-09,
    -9.34969633002776e-11, 1.640185346965619e-10, 3.382263974407091e-11,
)  # fmt: skip
"""of (f), s >= 0: interpolated at 29 Chebyshev points, error 4e-19"""
_SCALE, _TAIL_ARRAYS = np.array(_TAIL_SCALE), [np.array(coefficient) for coefficient in _TAIL]


def _in_blocks(function: Callable[[np.ndarray], np.ndarray]) -> Callable[[np.ndarray], np.ndarray]:
    @wraps(function)
    def blocked(x: np.ndarray) -> np.ndarray:
        x = np.asarray(x, dtype=np.float64)
        if x.size <= _BLOCK:
            return function(x)
        flat, found = x.ravel(), np.empty(x.size)
        for start in range(0, x.size, _BLOCK):
            found[start : start + _BLOCK] = function(flat[start : start + _BLOCK])
        return found.reshape(x.shape)

    return blocked


@_in_blocks
@np.errstate(over="ignore", under="ignore", invalid="ignore")
def exp(x: np.ndarray) -> np.ndarray:
    """e^x; 0 and inf beyond the range of numbers."""
    octaves, scale, rest = _reduced(np.minimum(np.maximum(x, _LEAST), _LARGEST))
    # (c); ldexp rounds once more where the number is below the least normal one
    rest += scale
    return np.asarray(np.ldexp(rest, octaves.astype(np.intc)))


@_in_blocks
def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm of positive numbers; -inf of 0."""
    bits = x.view(np.int64)
    if x.size and (bits - _NORMAL_BITS).view(np.uint64).max() >= _ORDINARY:
        return _log_of_any(x)
    return _log_of_bits(bits, 0)


def _log_of_bits(bits: np.ndarray, lifted: int) -> np.ndarray:
    """log of normal numbers by their bits, less `lifted` octaves."""
    # (d): the bits less those of sqrt(1/2) count the octaves above it
    octaves = (bits - _HALF_ROOT_BITS) >> _MANTISSA_BITS
    mantissa = (bits - (octaves << _MANTISSA_BITS)).view(np.float64)
    k = (octaves - lifted if lifted else octaves).astype(np.float64)
    # the product with the first part of log 2 is exact, and the small terms are added to each other first
    return np.asarray(k * _LN2_HIGH + (_log_of_mantissa(mantissa - _ONE) + k * _LN2_LOW))


def _log_of_any(x: np.ndarray) -> np.ndarray:
    """log where not all numbers are normal and positive."""
    small, normal = (x > 0) & (x < _LEAST_NORMAL), (x >= _LEAST_NORMAL) & (x < np.inf)
    found = np.where(
        small,
        _log_of_bits((np.where(small, x, 1.0) * 2.0**_LIFT).view(np.int64), _LIFT),
        _log_of_bits(np.where(normal, x, 1.0).view(np.int64), 0),
    )
    return np.where(small | normal, found, np.where(x == 0, -np.inf, np.where(x > 0, np.inf, np.nan)))


@_in_blocks
@np.errstate(divide="ignore", invalid="ignore")
def log1p(x: np.ndarray) -> np.ndarray:
    """log(1 + x), also where x is small; x at least -1."""
    one = x + _ONE
    whole = log(one)
    # 1 + x is rounded: the derivative of the logarithm makes good for it
    found = whole + (x - (one - _ONE)) / one
    return np.where(np.isinf(whole), whole, found) if np.isnan(found).any() else np.asarray(found)


@_in_blocks
@np.errstate(invalid="ignore")
def erfcx(x: np.ndarray) -> np.ndarray:
    """e^(x^2) erfc(x) for x >= 0: what the normal law leaves beyond a place, over its density."""
    # (f)
    below = x + _SCALE
    t = np.where(x == np.inf, _ONE, (x - _SCALE) / below)
    return np.asarray(_polynomial(t, _TAIL_ARRAYS) / below)


@_in_blocks
def ndtr(x: np.ndarray) -> np.ndarray:
    """Phi(x) of the standard normal law."""
    # Phi(-|x|), which keeps its digits where it is small; 1 less it is at least 1/2, and loses none
    tail = exp(-x * x * _HALF) * erfcx(np.abs(x) * _HALF_ROOT) * _HALF
    return np.asarray(np.where(x < 0, tail, _ONE - tail))


@_in_blocks
def log_ndtr(x: np.ndarray) -> np.ndarray:
    """log Phi(x), also where Phi(x) is below the least number."""
    half, tail = x * x * _HALF, erfcx(np.abs(x) * _HALF_ROOT) * _HALF
    return np.asarray(np.where(x < 0, log(tail) - half, log1p(-exp(-half) * tail)))


def erfcx_of(x: float) -> float:
    """e^(x^2) erfc(x) of one number >= 0."""
    if math.isinf(x):
        return 0.0
    below = x + _TAIL_SCALE
    t, found = (x - _TAIL_SCALE) / below, 0.0
    for coefficient in reversed(_TAIL):
        found = found * t + coefficient
    return found / below


def _reduced(x: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Octaves, scale and rest with e^x = 2^octaves (scale + rest): x = k log(2) / 32 + r, |r| <= log(2) / 64."""
    # (a): k = 32 o + j; its product with the first part of log(2) / 32 is exact
    k = np.rint(x * _PER_PART)
    whole = k.astype(np.int64)
    r = (x - k * _PART_HIGH) - k * _PART_LOW
    part = whole & _LAST_PART
    scale = _TABLE[part]
    # (b): the next term is .0109^7 / 7! = 4e-18
    more = r * _TAYLOR[0]
    for coefficient in _TAYLOR[1:]:
        more += coefficient
        more *= r
    more *= r
    more += r
    # (c): R_j is below 2^-53, so that R_j e^r is R_j
    return whole >> _PART_BITS, scale, scale * more + _REST[part]


def _log_of_mantissa(over: np.ndarray) -> np.ndarray:
    """log(1 + over) for 1 + over in [sqrt(1/2), sqrt 2), f = over / (2 + over)."""
    # (e)
    f = over / (over + _TWO)
    square = f * f
    # 2 f = over - over f, and over is exact: the leading term is not rounded
    return np.asarray(over - f * (over - square * _polynomial(square, _ARTANH)))


def _polynomial(x: np.ndarray, coefficients: Sequence[np.ndarray]) -> np.ndarray:
    """Sum of coefficients[k] x^k, from the last one on."""
    found: np.ndarray = x * coefficients[-1]
    for coefficient in coefficients[-2:0:-1]:
        found += coefficient
        found *= x
    found += coefficients[0]
    return found


def discounts(alpha: float, count: int) -> np.ndarray:
    """(1 - alpha)^k for k = 0..count - 1, 0 < alpha <= 1: the weights of gradients in a momentum.

    (1 - alpha)^k = exp(k log(1 - alpha)), by log1p so that tiny alpha keep their digits. Two short lists are made by
    the exp of a number, and one multiplication puts them together: k = i B + j gives exp(i B rate) exp(j rate). Where
    the power is at least 1e-300, its relative error is at most 2^-53 (3 + 3 |log|) < 3e-13: an exponent is a product of
    two rounded numbers, and its relative error counts as often as it is large.
    """
    if alpha == 1:
        return np.asarray(np.arange(count) == 0, dtype=float)
    # B = `length` is the root of the count, so that the two lists are the shortest
    rate, length = math.log1p(-alpha), math.isqrt(max(0, count - 1)) + 1
    near = np.array([math.exp(rate * j) for j in range(length)])
    far = np.array([math.exp(rate * (length * i)) for i in range(-(-count // length))])
    return np.asarray(np.multiply.outer(far, near).ravel()[:count])
