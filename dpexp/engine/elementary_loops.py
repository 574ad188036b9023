"""The loops of `core.elementary`, compiled: the same operations in the same order, and so the same bits.

Without leave to contract or to reorder, a compiler does every sum, product, quotient and rounding as IEEE 754 says,
like numpy does. A loop has no arrays between its operations, and a call no dozens of others in it: it takes a tenth of
the time for many numbers, and a fortieth for few. Each scalar function here is its namesake there, and takes its
constants from there; `tests/engine/test_elementary.py` compares every bit.
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from dpexp.core.elementary import (
    _ARTANH,
    _HALF_ROOT,
    _LARGEST,
    _LEAST,
    _LN2_HIGH,
    _LN2_LOW,
    _PARTS,
    _PER_LN2,
    _REST,
    _TABLE,
    _TAIL,
    _TAIL_SCALE,
)
from dpexp.engine.compiled import compiled

_SERIES = tuple(_ARTANH)
_WHOLE = 1.5 * 2.0**52
"""added to a number below 2^51, it leaves the nearest whole number in the last bits: a tie goes to the even one"""


@intrinsic
def _bits_of(typingctx, x):
    """The 64 bits of a number."""
    return types.int64(types.float64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.IntType(64)
    )


@intrinsic
def _number_of(typingctx, bits):
    """The number whose 64 bits these are."""
    return types.float64(types.int64), lambda context, builder, signature, args: builder.bitcast(
        args[0], ir.DoubleType()
    )


@intrinsic
def _polynomial(typingctx, x, coefficients):
    """Sum of coefficients[k] x^k for a tuple of them, from the last one on, without a loop."""

    def codegen(context, builder, signature, args):
        *others, found = cgutils.unpack_tuple(builder, args[1])
        for coefficient in reversed(others):
            found = builder.fadd(builder.fmul(found, args[0]), coefficient)
        return found

    return types.float64(x, coefficients), codegen


@compiled(inline="always", error_model="numpy")
def _power(octaves):
    return _number_of((octaves + 1023) << 52)


@compiled(inline="always", error_model="numpy")
def _reduced(x):
    k = x * _PER_LN2 + _WHOLE
    whole = _bits_of(k) - _bits_of(_WHOLE)
    k = (k - _WHOLE) / _PARTS
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    part = whole & (_PARTS - 1)
    scale = _TABLE[part]
    more = r * (1 / 720)
    more = (more + 1 / 120) * r
    more = (more + 1 / 24) * r
    more = (more + 1 / 6) * r
    more = (more + 1 / 2) * r
    more = more * r + r
    return whole >> 5, scale, scale * more + _REST[part]


@compiled(inline="always", error_model="numpy")
def _exp(x):
    at = min(max(x, _LEAST), _LARGEST) if x == x else 0.0
    octaves, scale, rest = _reduced(at)
    first = octaves >> 1
    found = (scale + rest) * _power(first) * _power(octaves - first)
    return found if x == x else x


@compiled(inline="always", error_model="numpy")
def _expm1(x):
    at = min(max(x, -50.0), 709.0) if x == x else 0.0
    octaves, scale, rest = _reduced(at)
    power = _power(octaves)
    found = (scale * power - 1) + rest * power
    if x > 709.0:
        return _exp(x)
    return found if x == x else x


@compiled(inline="always", error_model="numpy")
def _log_of_mantissa(over):
    f = over / (2 + over)
    square = f * f
    return over - f * (over - square * _polynomial(square, _SERIES))


@compiled(inline="always", error_model="numpy")
def _log(x):
    subnormal = x < 2.0**-1022
    bits = _bits_of(x * 2.0**54 if subnormal else x)
    octaves = (bits >> 52) - (1022 + 54 if subnormal else 1022)
    mantissa = _number_of((bits & 0xFFFFFFFFFFFFF) | 0x3FE0000000000000)
    below = mantissa < _HALF_ROOT
    mantissa = 2 * mantissa if below else mantissa
    k = float(octaves - 1 if below else octaves)
    found = k * _LN2_HIGH + (_log_of_mantissa(mantissa - 1) + k * _LN2_LOW)
    if x > 0 and x < np.inf:
        return found
    return -np.inf if x == 0 else np.nan if x < 0 else x


@compiled(inline="always", error_model="numpy")
def _log1p(x):
    one = 1 + x
    found = _log(one) + (0.0 if one == np.inf else (x - (one - 1)) / one)
    return -np.inf if one == 0 else found


@compiled(inline="always", error_model="numpy")
def _erfcx(x):
    below = x + _TAIL_SCALE
    t = 1.0 if x == np.inf else (x - _TAIL_SCALE) / below
    return _polynomial(t, _TAIL) / below


@compiled(inline="always", error_model="numpy")
def _ndtr(x):
    tail = _exp(-x * x / 2) * _erfcx(abs(x) * _HALF_ROOT) / 2
    return tail if x < 0 else 1 - tail


@compiled(inline="always", error_model="numpy")
def _log_ndtr(x):
    half, tail = x * x / 2, _erfcx(abs(x) * _HALF_ROOT) / 2
    return _log(tail) - half if x < 0 else _log1p(-_exp(-half) * tail)


@compiled(kept=True, error_model="numpy")
def exp(x, out):
    for k in range(len(x)):
        out[k] = _exp(x[k])


@compiled(kept=True, error_model="numpy")
def expm1(x, out):
    for k in range(len(x)):
        out[k] = _expm1(x[k])


@compiled(kept=True, error_model="numpy")
def log(x, out):
    for k in range(len(x)):
        out[k] = _log(x[k])


@compiled(kept=True, error_model="numpy")
def log1p(x, out):
    for k in range(len(x)):
        out[k] = _log1p(x[k])


@compiled(kept=True, error_model="numpy")
def erfcx(x, out):
    for k in range(len(x)):
        out[k] = _erfcx(x[k])


@compiled(kept=True, error_model="numpy")
def ndtr(x, out):
    for k in range(len(x)):
        out[k] = _ndtr(x[k])


@compiled(kept=True, error_model="numpy")
def log_ndtr(x, out):
    for k in range(len(x)):
        out[k] = _log_ndtr(x[k])
