"""One plain path of SGD, and the running sums from which the intervals of the literature are computed.

    theta_i = Proj( theta_{i-1} - eta_i m_i )

Every sum takes O(p^2) memory. A snapshot of the sums at a boundary is all that burn-in and batches need: what was
summed since is the difference of two snapshots. With `every` > 0 every k-th user sends a Hessian, and theta stays.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpexp.inference.models import Model
from dpexp.inference.path_kernel import PathSums, compiled_path, no_path_sums
from dpexp.inference.sums import Sums
from dpexp.inference.users import BLOCK, Source


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


def run_path(
    model: Model, start: np.ndarray, source: Source, eta: np.ndarray, boundaries: Sequence[int], every: int = 0
) -> Path:
    """As many users as eta [n] has entries, with snapshots after the users `boundaries` (increasing, the last is n)."""
    from dpexp.inference.staged_newton import Server
    from dpexp.inference.sums import no_sums

    server = Server(model, start)
    kernel = compiled_path(type(model.problem).score, model.curvature, model.has_scale)
    sums, messages, found, done = no_path_sums(model.p), no_sums(model.p), [], 0
    for boundary in boundaries:
        while done < boundary:
            count = min(BLOCK, boundary - done)
            users = source.block(count, done, every)
            steps = eta[done : done + count]
            kernel(
                done, every, server.constants, steps, users, server.theta, server.hits, server.scratch, sums, messages
            )
            done += count
        kept = PathSums(*(np.array(part) for part in sums)), Sums(*(np.array(part) for part in messages))
        found.append(Snapshot(boundary, *kept))
    return Path(model, tuple(found), server.theta, server.hits[0])


def since(later: Snapshot, earlier: Snapshot) -> Sums:
    """Sums of messages over the users between two snapshots."""
    return Sums(*(a - b for a, b in zip(later.messages, earlier.messages, strict=True)))
