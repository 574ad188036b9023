"""The sensitivity of nodes to each record, compiled: every run with an order of its own needs that of the left ones.

(a) A node (y, z) counts with the square of the sum of (1 - alpha)^(z - t) over the steps t in it that use the record.
(b) Each record is taken by itself, its steps in the order of time: in each level one node at most is then unfinished,
and its sum is all that has to be kept.
"""

from __future__ import annotations

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.discounts import discounts


def left_sensitivities(items: np.ndarray, alpha: float) -> np.ndarray:
    """Squared sensitivity of all left nodes to each record, [N], in units of (2 G)^2; items int64 [T], 0 < alpha <= 1.

    O(T log T) time, O(T) memory.
    """
    return chosen_sensitivities(items, alpha, True, len(items).bit_length())


def chosen_sensitivities(
    items: np.ndarray,
    alpha: float,
    left_only: bool,
    levels: int,
    after: int = 0,
    beyond: int = 0,
    upto: int | None = None,
) -> np.ndarray:
    """The same of the nodes of the first `levels` levels that start after one step, and end beyond one and by another.

    All of them, or the left ones alone.
    """
    last = len(items) if upto is None else min(upto, len(items))
    # (b): the steps of each record, and where they begin among those of all
    times, begin = np.argsort(items, kind="stable"), np.concatenate([[0], np.cumsum(np.bincount(items))])
    levels = min(max(1, last.bit_length()), levels)
    return _summed(times, begin, discounts(alpha, len(items)), left_only, levels, after, beyond, last)


@compiled(cached=True)
def _summed(
    times: np.ndarray, begin: np.ndarray, powers: np.ndarray, left_only: bool, depth: int, after: int, beyond: int,
    last: int,
) -> np.ndarray:  # fmt: skip
    total, node, weight = np.zeros(len(begin) - 1), np.empty(depth, np.int64), np.empty(depth)
    for record in range(len(total)):
        node[:] = -1
        weight[:] = 0.0
        squares = 0.0
        for t in times[begin[record] : begin[record + 1]]:
            for level in range(depth):
                # the node of this level that holds the step is [index 2^level + 1, end]; a left one has an even index
                index = t >> level
                end = (index + 1) << level
                if end > last:
                    break  # nor is any longer one chosen: their ends are no earlier
                if (left_only and index & 1) or end <= beyond or end - (1 << level) < after:
                    continue
                # (a); the steps of a node follow each other, so that the node before is complete
                if node[level] != index:
                    squares += weight[level] ** 2
                    node[level] = index
                    weight[level] = 0.0
                weight[level] += powers[end - 1 - t]
        # the last node of every level is complete only now
        for level in range(depth):
            squares += weight[level] ** 2
        total[record] = squares
    return total
