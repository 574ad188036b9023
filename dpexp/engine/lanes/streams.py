"""Random numbers in lanes: each lane draws from the stream of its own replicate.

The generator is xoshiro256++ (Blackman and Vigna, 2021), the normals are Box and Muller's. A stream is a sequence of
numbers that depends on its state alone, so a replicate's numbers do not depend on its lane or on how steps are grouped
(blocks hold an even number of steps, so no pair of normals straddles two of them).
"""

from __future__ import annotations

import math

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.elementwise import sqrt, where
from dpexp.engine.lanes.vectormath import ONE_BITS, log, sin_cos
from dpexp.engine.lanes.vectors import bits_of, load, real_of, store

_SIGN = np.uint64(0x8000000000000000)
_B1, _B12, _B17, _B19, _B23, _B41, _B45, _B61, _B62 = (np.uint64(k) for k in (1, 12, 17, 19, 23, 41, 45, 61, 62))
_ZERO = np.uint64(0)
_QUARTER_PI = math.pi / 4


@njit(nogil=True, forceinline=True)
def next_state(s0, s1, s2, s3):
    """One step of xoshiro256++: the 64 random bits, then the new state."""
    total = s0 + s3
    bits = ((total << _B23) | (total >> _B41)) + s0
    t = s1 << _B17
    s2 = s2 ^ s0
    s3 = s3 ^ s1
    s1 = s1 ^ s2
    s0 = s0 ^ s3
    s2 = s2 ^ t
    s3 = (s3 << _B45) | (s3 >> _B19)
    return bits, s0, s1, s2, s3


@njit(nogil=True, forceinline=True)
def unit(bits):
    """Uniform numbers in (0, 1], multiples of 2^-52, from the 52 high bits.

    ONE_BITS are the sign and exponent of 1.0. With the 52 bits as its fraction this is the float 1 + m 2^-52 in [1, 2).
    2 less it is never 0, so its logarithm is finite.
    """
    return 2.0 - real_of((bits >> _B12) | ONE_BITS)


@compiled(cached=True)
def fill_uniform(state, out, count):
    """Write the next `count` uniform numbers of every lane to out [>= count, 8]; state uint64 [4, 8] moves on."""
    s0, s1, s2, s3 = load(state, (0,)), load(state, (1,)), load(state, (2,)), load(state, (3,))
    for k in range(count):
        bits, s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
        store(out, (k,), unit(bits))
    store(state, (0,), s0)
    store(state, (1,), s1)
    store(state, (2,), s2)
    store(state, (3,), s3)


@njit(nogil=True)
def fill_normal(state, out, count):
    """Write the next `count` (even) standard normals of every lane to out [>= count, 8]; state uint64 [4, 8] moves on.

    Box and Muller: for uniform U and an independent uniform angle, sqrt(-2 log U) (sin, cos) of the angle are two
    independent standard normals.
    """
    s0, s1, s2, s3 = load(state, (0,)), load(state, (1,)), load(state, (2,)), load(state, (3,))
    for k in range(count // 2):
        a, s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
        b, s0, s1, s2, s3 = next_state(s0, s1, s2, s3)
        radius = sqrt(-2.0 * log(unit(a)))
        # The angle is drawn in the first eighth of the circle, where sine and cosine are cheap. The reflections in the
        # diagonal and in both axes map that eighth onto each of the eight, so three fair bits that are independent of
        # the angle make it uniform on the whole circle. These are the lowest three; `unit` uses bits 12 to 63.
        sine, cosine = sin_cos(unit(b) * _QUARTER_PI)
        # bit 0: the reflection in the diagonal
        swap = (b & _B1) != _ZERO
        u = radius * where(swap, sine, cosine)
        v = radius * where(swap, cosine, sine)
        # bits 1 and 2, moved to where a float has its sign: the reflections in the axes
        store(out, (2 * k,), real_of(bits_of(u) ^ ((b << _B62) & _SIGN)))
        store(out, (2 * k + 1,), real_of(bits_of(v) ^ ((b << _B61) & _SIGN)))
    store(state, (0,), s0)
    store(state, (1,), s1)
    store(state, (2,), s2)
    store(state, (3,), s3)


@compiled(cached=True)
def draw_normal(state, out, count):
    """`fill_normal` for Python to call, which a second process does not compile."""
    fill_normal(state, out, count)
