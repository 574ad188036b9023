"""The compiled loop of `dpexp.inference.paths`: messages as in `messages`, with the sums of plain SGD beside them."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.aligned import lanes_zeros
from dpexp.engine.lanes.vectors import load, store
from dpexp.inference.messages import compiled_messages


class PathSums(NamedTuple):
    """Running sums over the steps s = 1, 2, ..., with T_s = theta_1 + ... + theta_s; the last axis has length 8.

    Hessian users are steps too: theta stays, and counts once more.
    """

    total: np.ndarray
    """T_s [p, 8]"""
    total_sum: np.ndarray
    """sum of T_s [p, 8]"""
    total_square: np.ndarray
    """sum of T_s^2 [p, 8]"""
    weighted: np.ndarray
    """sum of s T_s [p, 8]"""
    points_square: np.ndarray
    """sum of theta_{i-1} theta_{i-1}' over gradient users [p, p, 8]"""
    cross: np.ndarray
    """sum of m_i theta_{i-1}' over gradient users [p, p, 8]"""


def no_path_sums(p: int) -> PathSums:
    """Sums over nobody."""
    return PathSums(*(lanes_zeros(p) for _ in range(4)), *(lanes_zeros(p, p) for _ in range(2)))


@lru_cache(maxsize=16)
def compiled_path(score: Callable[..., Any], curvature: Callable[..., Any], has_scale: bool) -> Callable[..., Any]:
    """The compiled `path(first, every, constants, eta, users, theta, hits, scratch, sums, messages, regressed)`.

    `points_square` and `cross` are summed only if `regressed`: most of the time would be theirs. The messages and the
    step are those of `compiled_messages`, one user at a time; after it the first p rows of `scratch` hold m_i, and the
    next p hold theta_{i-1}.
    """
    one = compiled_messages(score, curvature, has_scale, inlined=True)

    @compiled(kept=True)
    def path(first, every, constants, eta, users, theta, hits, scratch, sums, messages, regressed):
        p = theta.shape[0]
        number = 0
        for b in range(len(eta)):
            for j in range(p):
                store(scratch, (p + j,), load(theta, (j,)))
            asked_for_hessian = every > 0 and (first + b + 1) % every == 0
            one(first, every, 1, constants, eta, users, theta, hits, scratch, messages, b, b + 1, number)
            if asked_for_hessian:
                number += 1
            elif regressed:
                for j in range(p):
                    m, at = load(scratch, (j,)), load(scratch, (p + j,))
                    for l in range(p):
                        other = load(scratch, (p + l,))
                        store(sums.cross, (j, l), load(sums.cross, (j, l)) + m * other)
                        store(sums.points_square, (j, l), load(sums.points_square, (j, l)) + at * other)
            s = float(first + b + 1)
            for j in range(p):
                total = load(sums.total, (j,)) + load(theta, (j,))
                store(sums.total, (j,), total)
                store(sums.total_sum, (j,), load(sums.total_sum, (j,)) + total)
                store(sums.total_square, (j,), load(sums.total_square, (j,)) + total * total)
                store(sums.weighted, (j,), load(sums.weighted, (j,)) + s * total)

    return path
