"""One plain path of SGD, and the running sums from which the intervals of the literature are computed.

    theta_i = Proj( theta_{i-1} - eta_i m_i )

Every sum takes O(p^2) memory. A snapshot of the sums at a boundary is all that burn-in and batches need: what was
summed since is the difference of two snapshots. With `every` > 0 every k-th user sends a Hessian, and theta stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpexp.inference.lockstep import Conversation, Stage, alone
from dpexp.inference.messages import Users
from dpexp.inference.models import Model
from dpexp.inference.path_kernel import PathSums, compiled_path, no_path_sums
from dpexp.inference.staged_newton import Server
from dpexp.inference.sums import Sums, no_sums
from dpexp.inference.users import Source


class Snapshot(NamedTuple):
    """Sums over the first `users` users."""

    users: int
    sums: PathSums
    messages: Sums
    """sums of gradient messages and of Hessians, as `dpexp.inference.newton` takes them; all weights are 1"""


class Path(NamedTuple):
    """What is kept of one path of eight replicates."""

    model: Model
    snapshots: tuple[Snapshot, ...]
    """at the boundaries that were asked for, in their order; the last one is the end"""
    theta: np.ndarray
    """the last iterate [p, 8]"""
    projections: np.ndarray
    """[8]"""


class Walk:
    """A server that walks one path; a `dpexp.inference.lockstep.Host` whose sums are never begun anew."""

    def __init__(self, model: Model, start: np.ndarray, regressed: bool = True) -> None:
        self.model, self.server, self.regressed = model, Server(model, start), regressed
        self.sums, self.messages = no_path_sums(model.p), no_sums(model.p)
        self._kernel = compiled_path(type(model.problem).score, model.curvature, model.has_scale)

    def begin(self) -> Sums:
        """The sums of all messages so far."""
        return self.messages

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        server = self.server
        self._kernel(
            first, every, server.constants, eta, users, server.theta, server.hits, server.scratch, self.sums, sums,
            self.regressed,
        )  # fmt: skip

    def along(self, eta: np.ndarray, boundaries: Sequence[int], every: int = 0) -> Conversation[Path]:
        """As many users as eta [n] has entries, with snapshots after the users `boundaries` (increasing, n the last).

        With `every` > 0 every k-th user sends a Hessian.
        """
        found, done = [], 0
        for boundary in boundaries:
            if boundary > done:
                yield Stage(eta[done:boundary], every, 1, done)
            done = boundary
            kept = PathSums(*(np.array(part) for part in self.sums)), Sums(*(np.array(part) for part in self.messages))
            found.append(Snapshot(boundary, *kept))
        return Path(self.model, tuple(found), self.server.theta, self.server.hits[0])


class Chains:
    """One path after another, each from the start with users of its own; a `dpexp.inference.lockstep.Host`."""

    def __init__(self, model: Model, start: np.ndarray) -> None:
        self.model, self.start = model, start
        self.walk = Walk(model, start, regressed=False)

    def begin(self) -> Sums:
        return self.walk.begin()

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        self.walk.serve(users, first, eta, every, summed, sums)

    def along(self, eta: np.ndarray, burned: int, count: int) -> Conversation[list[Path]]:
        """So many paths, with snapshots after the users `burned` and at the end."""
        found = []
        for _ in range(count):
            self.walk = Walk(self.model, self.start, regressed=False)
            found.append((yield from self.walk.along(eta, [burned, len(eta)])))
        return found


def run_path(
    model: Model, start: np.ndarray, source: Source, eta: np.ndarray, boundaries: Sequence[int], every: int = 0
) -> Path:
    """One path alone, with the users of a source; see `Walk.along`."""
    walk = Walk(model, start)
    return alone(walk, walk.along(eta, boundaries, every), source)


def since(later: Snapshot, earlier: Snapshot) -> Sums:
    """Sums of messages over the users between two snapshots."""
    return Sums(*(a - b for a, b in zip(later.messages, earlier.messages, strict=True)))
