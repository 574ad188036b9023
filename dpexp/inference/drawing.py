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


class Rows:
    """A stream of rows of normals [width, 8], which are the same rows however many are taken at a time."""

    def __init__(self, state: np.ndarray, width: int) -> None:
        self.state, self.width = state, width
        self.spare = np.empty((0, width, LANES))
        """at most one row: normals are drawn in pairs, and half a pair must not be lost"""

    def take(self, count: int) -> np.ndarray:
        """The next rows [count, width, 8]."""
        need = max(0, count - len(self.spare))
        fresh = fill_standard_normals(self.state, (need + need * self.width % 2, self.width))
        if len(self.spare) == 0 and len(fresh) == count:
            return fresh
        rows = np.concatenate([self.spare, fresh])
        self.spare = rows[count:]
        return rows[:count]
