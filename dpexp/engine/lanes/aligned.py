"""Arrays that begin where a cache line does, so that no lanes straddle two of them."""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.lanes.vectors import VECTOR_BYTES


def aligned(*shape: int) -> np.ndarray:
    """Zeros, float64 [*shape]."""
    count, spare = math.prod(shape), VECTOR_BYTES // 8
    room = np.zeros(count + spare)
    skipped = -room.__array_interface__["data"][0] % VECTOR_BYTES // 8
    return room[skipped : skipped + count].reshape(shape)
