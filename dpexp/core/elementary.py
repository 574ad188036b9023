"""Elementary functions of arrays, with the same bits on every machine.

numpy's own take other instructions where a processor has them, and the last digits follow. These use sums, products,
quotients and roundings of numpy alone, each of which is rounded correctly, in one fixed order. NaN stays NaN. Relative
errors, in units of 2^-53: exp and log 2, expm1 and log1p 4, erfcx at most 8 (`tests/test_elementary.py` compares with
50 digits).
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import wraps

import numpy as np

_BLOCK = 4096
"""numbers at once: what lies between the operations stays in the nearest cache"""

_PARTS = 32
"""of an octave: the table has 2^(j / 32)"""
_SHIFT = 400
_ROOTS = [1 << (_PARTS * _SHIFT) << j for j in range(_PARTS)]
for _ in range(5):  # five square roots are a 32nd root
    _ROOTS = [math.isqrt(root) for root in _ROOTS]
_TABLE = np.array([root / (1 << _SHIFT) for root in _ROOTS])
"""2^(j / 32), [32]; a quotient of integers is rounded correctly"""
_UNSEEN = [root - (int(t * 2.0**60) << _SHIFT - 60) for root, t in zip(_ROOTS, _TABLE.tolist(), strict=True)]
_REST = np.array([unseen / (1 << _SHIFT) for unseen in _UNSEEN])
"""what the table's rounding leaves, [32]"""
_PER_LN2 = _PARTS * 1.4426950408889634
_LN2_HIGH, _LN2_LOW = 0.693147180369123816490, 1.90821492927058770002e-10
"""log 2 in two parts, the first with 33 bits: its product with an integer of up to 20 bits is exact"""
_LEAST, _LARGEST = -746.0, 710.0
"""beyond these an exponential is 0 or inf"""
_SMALL = 2.0**-54
"""log1p of less is its argument"""
_ARTANH = [2 / (2 * k + 1) for k in range(1, 10)]
_HALF_ROOT = math.sqrt(0.5)
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
"""(s + 5/2) erfcx(s) as a polynomial in t = (s - 5/2) / (s + 5/2), s >= 0: interpolated at 29 Chebyshev points, error
4e-19"""


_SINE = [(-1.0) ** k / math.factorial(2 * k + 1) for k in range(1, 9)]
_COSINE = [(-1.0) ** k / math.factorial(2 * k) for k in range(1, 9)]
"""sin x = x + x^3 _SINE(x^2), cos x = 1 + x^2 _COSINE(x^2)"""


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
def exp(x: np.ndarray) -> np.ndarray:
    """e^x; 0 and inf beyond the range of numbers."""
    x = np.minimum(np.maximum(x, _LEAST), _LARGEST)
    octaves, scale, rest = _reduced(x)
    # in two factors, because 2^1024 and 2^-1075 are no numbers and their products with a table's entry are
    first = octaves >> 1
    with np.errstate(over="ignore", under="ignore"):
        return np.asarray((scale + rest) * _power(first) * _power(octaves - first))


@_in_blocks
def expm1(x: np.ndarray) -> np.ndarray:
    """e^x - 1, also where x is small."""
    octaves, scale, rest = _reduced(np.minimum(np.maximum(x, -50.0), 709.0))
    power = _power(octaves)
    found = (scale * power - 1) + rest * power  # the difference is exact where it is small
    return np.where(x > 709.0, exp(x), found) if np.any(x > 709.0) else np.asarray(found)


@_in_blocks
def log(x: np.ndarray) -> np.ndarray:
    """Natural logarithm of positive numbers; -inf of 0."""
    with np.errstate(divide="ignore", invalid="ignore"):
        mantissa, octaves = np.frexp(x)
        # in [sqrt(1/2), sqrt 2): log m = 2 artanh f, f = (m - 1) / (m + 1)
        below = mantissa < _HALF_ROOT
        mantissa = np.where(below, 2 * mantissa, mantissa)
        k = (octaves - below).astype(np.float64)
        found = k * _LN2_HIGH + (_log_of_mantissa(mantissa - 1) + k * _LN2_LOW)
    special = (x <= 0) | (x == np.inf)
    if np.any(special):
        found = np.where(x == 0, -np.inf, np.where(x < 0, np.nan, np.where(x == np.inf, np.inf, found)))
    return np.asarray(found)


@_in_blocks
def log1p(x: np.ndarray) -> np.ndarray:
    """log(1 + x), also where x is small; x at least -1."""
    one = 1 + x
    # 1 + x is rounded: the derivative of the logarithm makes good for it
    with np.errstate(divide="ignore", invalid="ignore"):
        found = log(one) + np.where(one == np.inf, 0.0, (x - (one - 1)) / one)
    return np.where(np.abs(x) < _SMALL, x, np.where(one == 0, -np.inf, found))


@_in_blocks
def erfcx(x: np.ndarray) -> np.ndarray:
    """e^(x^2) erfc(x) for x >= 0: what the normal law leaves beyond a place, over its density."""
    below = x + _TAIL_SCALE
    with np.errstate(invalid="ignore"):
        t = np.where(x == np.inf, 1.0, (x - _TAIL_SCALE) / below)
    return np.asarray(_polynomial(t, _TAIL) / below)


def geometric(top: float, decay: float, count: int) -> np.ndarray:
    """e^(top - decay k) for k < count, decay > 0, by one product each; what is above e^700 is at least e^692.

    Relative error 6 units, and as many as the exponents are large.
    """
    block = max(1, min(512, int(8 / decay)))
    starts = exp(np.minimum(top - decay * np.arange(0, count, block), 700.0))
    return np.outer(starts, exp(-decay * np.arange(block))).ravel()[:count]


def circle(parts: np.ndarray, whole: int) -> tuple[np.ndarray, np.ndarray]:
    """cos and sin of 2 pi parts / whole for whole numbers >= 0, with an error of 3 units of the last place of 1.

    parts / whole of a turn are a number of quarters and a rest of at most half a quarter, exactly; the Taylor series
    of the rest end where the next terms are (pi / 4)^19 / 19! = 8e-20 and (pi / 4)^18 / 18! = 2e-18.
    """
    left = parts % whole
    quarters = (8 * left + whole) // (2 * whole)
    x = (4 * left - quarters * whole) * (math.pi / (2 * whole))
    square = x * x
    sine, cosine = x + x * square * _polynomial(square, _SINE), 1.0 + square * _polynomial(square, _COSINE)
    turned = (quarters & 1).astype(np.bool_)
    return (
        np.where(turned, sine, cosine) * np.where((quarters + 1) & 2, -1.0, 1.0),
        np.where(turned, cosine, sine) * np.where(quarters & 2, -1.0, 1.0),
    )


def geomspace(first: float, last: float, count: int) -> np.ndarray:
    """Numbers from first to last > 0 whose logarithms are evenly spaced; the ends are met to rounding."""
    return exp(np.linspace(math.log(first), math.log(last), count))


@_in_blocks
def ndtr(x: np.ndarray) -> np.ndarray:
    """Phi(x) of the standard normal law."""
    tail = exp(-x * x / 2) * erfcx(np.abs(x) * _HALF_ROOT) / 2
    return np.asarray(np.where(x < 0, tail, 1 - tail))


@_in_blocks
def log_ndtr(x: np.ndarray) -> np.ndarray:
    """log Phi(x), also where Phi(x) is below the least number."""
    half, tail = x * x / 2, erfcx(np.abs(x) * _HALF_ROOT) / 2
    with np.errstate(divide="ignore"):
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
    k = np.rint(x * _PER_LN2)
    with np.errstate(invalid="ignore"):
        whole = k.astype(np.int64)
    k /= _PARTS
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    part = whole & (_PARTS - 1)
    scale = _TABLE[part]
    # e^r - 1 by its Taylor series: the next term is .0109^7 / 7! = 4e-18
    more = r * (1 / 720)
    for n in (120, 24, 6, 2):
        more += 1 / n
        more *= r
    more *= r
    more += r
    return whole >> 5, scale, scale * more + _REST[part]


def _power(octaves: np.ndarray) -> np.ndarray:
    """2^octaves for whole numbers from -1022 to 1023, by the bits of the number."""
    return ((octaves + 1023) << 52).view(np.float64)


def _log_of_mantissa(over: np.ndarray) -> np.ndarray:
    """log(1 + over) for 1 + over in [sqrt(1/2), sqrt 2): 2 artanh f = 2 f + 2 f^3 / 3 + .., f = over / (2 + over)."""
    f = over / (2 + over)
    square = f * f
    # 2 f = over - over f, and over is exact: the leading term is not rounded
    return np.asarray(over - f * (over - square * _polynomial(square, _ARTANH)))


def _polynomial(x: np.ndarray, coefficients: list[float] | tuple[float, ...]) -> np.ndarray:
    """Sum of coefficients[k] x^k, from the last one on."""
    found = np.full_like(x, coefficients[-1])
    for coefficient in reversed(coefficients[:-1]):
        found *= x
        found += coefficient
    return found
