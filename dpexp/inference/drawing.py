"""Standard normals of eight replicates at once, as arrays."""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.aligned import lanes_empty
from dpexp.engine.lanes.streams import fill_normal
from dpexp.engine.lanes.vectors import LANES


@compiled(kept=True)
def _fill(state, out, count):
    fill_normal(state, out, count)


def fill_standard_normals(state: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Normals [*shape, 8] of the streams in `state` uint64 [4, 8], which moves on by an even number of them."""
    count = math.prod(shape)
    even = count + count % 2  # they are drawn in pairs
    out = lanes_empty(even)
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
        if count == 0:
            return np.empty((0, self.width, LANES))
        old = len(self.spare)
        need = max(0, count - old)
        drawn = need + need * self.width % 2
        rows = lanes_empty(old + drawn, self.width)
        rows[:old] = self.spare
        _fill(self.state, rows[old:].reshape(-1, LANES), drawn * self.width)
        self.spare = rows[count:].copy()  # a view would keep all of the rows in memory
        return rows[:count]
