"""Standard normals of eight replicates at once, as arrays."""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.streams import fill_normal
from dpexp.engine.lanes.vectors import LANES


@compiled(kept=True)
def _fill(state, out, count):
    fill_normal(state, out, count)


def fill_standard_normals(state: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Normals [*shape, 8] of the streams in `state` uint64 [4, 8], which moves on by an even number of them."""
    count = math.prod(shape)
    even = count + count % 2  # they are drawn in pairs
    out = np.empty((even, LANES))
    _fill(state, out, even)
    return out[:count].reshape(*shape, LANES)
