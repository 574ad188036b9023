"""Arrays of lanes that begin where a cache line does.

The last axis has length 8, which is 64 bytes or one cache line. numpy begins its arrays at multiples of 16 bytes, and
then every lane spans two lines. The compiled loops of messages took up to 1.7 times as long with such arrays.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.lanes.vectors import LANES, VECTOR_BYTES


def lanes_empty(*shape: int) -> np.ndarray:
    """Uninitialised float64 [*shape, 8]."""
    count = math.prod(shape) * LANES
    # one vector more than is needed, so that one of its first eight numbers begins a cache line
    room = np.empty(count + LANES)
    skipped = -room.__array_interface__["data"][0] % VECTOR_BYTES // 8
    return room[skipped : skipped + count].reshape(*shape, LANES)


def lanes_zeros(*shape: int) -> np.ndarray:
    """Zeros [*shape, 8]."""
    zeros = lanes_empty(*shape)
    zeros.fill(0.0)
    return zeros
