"""One plain path of SGD, and the running sums from which the intervals of the literature are computed.

    theta_i = Proj( theta_{i-1} - eta_i m_i )

Every sum takes O(p^2) memory. A snapshot of the sums at a boundary is all that burn-in and batches need: what was
summed since is the difference of two snapshots. With `every` > 0 every k-th user sends a Hessian, and theta stays.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.aligned import lanes_zeros
from dpexp.engine.lanes.vectors import load, store
from dpexp.inference.messages import Sums, Users, compiled_messages, no_sums
from dpexp.inference.models import Model
from dpexp.inference.staged_newton import Server
from dpexp.inference.users import Source


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

    `points_square` and `cross` are summed only if `regressed`. The messages and the step are those of
    `compiled_messages`, one user at a time.
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
            one(first, every, 1, constants, eta, users, theta, hits, scratch, messages, b, b + 1, number, None)
            if asked_for_hessian:
                number += 1
            # most of the time would be that of these two sums
            elif regressed:
                for j in range(p):
                    # the first p rows of `scratch` hold m_i, and the next p hold theta_{i-1}
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


class Snapshot(NamedTuple):
    """Sums over the first `users` users."""

    users: int
    sums: PathSums
    messages: Sums
    """sums of gradient messages and of Hessians, as `dpexp.inference.newton` takes them; all weights are 1"""


class Walk(Server):
    """A server that walks one path, with sums that are never begun anew."""

    def __init__(self, model: Model, start: np.ndarray, regressed: bool = True) -> None:
        super().__init__(model, start)
        self.regressed, self.sums, self.messages = regressed, no_path_sums(model.p), no_sums(model.p)
        self._path = compiled_path(type(model.problem).score, model.curvature, model.has_scale)

    def begin(self) -> Sums:
        """The sums of all messages so far."""
        return self.messages

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        """The next users, as many as eta has entries; all of them enter the sums."""
        self._path(
            first, every, self.constants, eta, users, self.theta, self.hits, self.scratch, self.sums, sums,
            self.regressed,
        )  # fmt: skip

    def along(self, source: Source, eta: np.ndarray, boundaries: Sequence[int], every: int = 0) -> list[Snapshot]:
        """Snapshots after the users `boundaries` (increasing, n the last), of as many users as eta [n] has entries.

        With `every` > 0 every k-th user sends a Hessian.
        """
        found, done = list[Snapshot](), 0
        for boundary in boundaries:
            self.ask(source, eta[done:boundary], every, 1, done)
            done = boundary
            kept = PathSums(*(np.array(part) for part in self.sums)), Sums(*(np.array(part) for part in self.messages))
            found.append(Snapshot(boundary, *kept))
        return found


def average(end: Snapshot, begin: Snapshot) -> np.ndarray:
    """The mean of theta_i over the users between two snapshots [8, p]."""
    return np.asarray((end.sums.total - begin.sums.total).T / (end.users - begin.users))


def since(later: Snapshot, earlier: Snapshot) -> Sums:
    """Sums of messages over the users between two snapshots."""
    return Sums(*(a - b for a, b in zip(later.messages, earlier.messages, strict=True)))
