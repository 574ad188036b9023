"""The random streams in plain Python integers and floats: xoshiro256++, and Box and Muller's normals."""

from __future__ import annotations

import math
from collections.abc import Iterator

U64 = (1 << 64) - 1


def rotl(x: int, k: int) -> int:
    return ((x << k) | (x >> (64 - k))) & U64


def xoshiro256pp(state: list[int]) -> Iterator[int]:
    """The 64-bit outputs of xoshiro256++ from a state of four integers."""
    s = [int(word) for word in state]
    while True:
        yield (rotl((s[0] + s[3]) & U64, 23) + s[0]) & U64
        t = (s[1] << 17) & U64
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotl(s[3], 45)


def unit(bits: int) -> float:
    """2 - (1 + the 52 high bits / 2^52), in (0, 1]."""
    return 1.0 - (bits >> 12) * 2.0**-52


def uniforms(state: list[int]) -> Iterator[float]:
    """Uniform numbers in (0, 1]."""
    for bits in xoshiro256pp(state):
        yield unit(bits)


def normals(state: list[int]) -> Iterator[float]:
    """Standard normals, in pairs; the angle lies in the eighth of the circle that three spare bits choose."""
    bits = xoshiro256pp(state)
    while True:
        a, b = next(bits), next(bits)
        radius = math.sqrt(-2.0 * math.log(unit(a)))
        angle = unit(b) * math.pi / 4
        pair = [math.cos(angle), math.sin(angle)]
        if b & 1:
            pair.reverse()
        yield radius * pair[0] * (-1 if b & 2 else 1)
        yield radius * pair[1] * (-1 if b & 4 else 1)
