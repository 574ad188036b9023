"""Noise sequences of a run as objects that hand out the next steps: the designs of `momentum_noise` and of Algorithm 2.

Normals come from the role `noise` of a replicate; Algorithm 2 uses three sources of it, so that how a run is split into
blocks changes no bit.
"""

from __future__ import annotations

import numpy as np

from dpexp.engine.finite_sum.noise_designs import independent_noise, square_root_noise, tree_noise, tree_slots
from dpexp.engine.finite_sum.noise_windows import empty_windows, nodes_ending, window_noise
from dpexp.engine.finite_sum.normals import Normals
from dpexp.engine.finite_sum.per_thread import kept_per_thread


class Silence:
    """No noise."""

    def __init__(self, d: int) -> None:
        self.d = d

    def take(self, count: int) -> np.ndarray:
        return np.zeros((count, self.d))


class TreeNoise:
    """Algorithm 1; `std` is that of a node, in units of the momentum."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float, std: float) -> None:
        self.normals = Normals(seed, replicate, "noise")
        self.slots, self.alpha, self.std, self.done = tree_slots(steps, d), alpha, std, 0

    def take(self, count: int) -> np.ndarray:
        out = np.empty((count, self.slots.shape[1]))
        tree_noise(self.normals.standard_normal(out.shape), self.done + 1, self.alpha, self.std, self.slots, out)
        self.done += count
        return out


class IndependentNoise:
    """Fresh noise on every gradient."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float, std: float) -> None:
        self.normals = Normals(seed, replicate, "noise")
        self.last, self.alpha, self.std = np.zeros(d), alpha, std

    def take(self, count: int) -> np.ndarray:
        out = np.empty((count, len(self.last)))
        independent_noise(self.normals.standard_normal(out.shape), self.alpha, self.std, self.last, out)
        return out


class SquareRootNoise:
    """The square root of the momentum's own matrix; the whole run is made at once, [T, d]."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float, std: float) -> None:
        self.unit, self.std, self.done = unit_square_root_noise(seed, replicate, d, steps, alpha), std, 0

    def take(self, count: int) -> np.ndarray:
        self.done += count
        return self.std * self.unit[self.done - count : self.done]


@kept_per_thread(1)
def unit_square_root_noise(seed: int, replicate: int, d: int, steps: int, alpha: float) -> np.ndarray:
    """For std = 1, [T, d]; the settings of one replicate share it."""
    return square_root_noise(Normals(seed, replicate, "noise").standard_normal((steps, d)), alpha, 1.0)


class WindowNoise:
    """Algorithm 2; `stds` [4] are those of the nodes of its streams, in units of the momentum."""

    def __init__(
        self, seed: int, replicate: int, d: int, steps: int, n: int, alpha: float, gamma: float, stds: np.ndarray
    ) -> None:
        self.sources = [Normals(seed, replicate, "noise", source) for source in range(3)]
        self.memory, self.d, self.n = empty_windows(n, steps, d), d, n
        self.alpha, self.gamma, self.stds, self.done = alpha, gamma, np.asarray(stds, dtype=float), 0

    def take(self, count: int) -> np.ndarray:
        first, last = self.done + 1, self.done + count
        nodes = nodes_ending(first, last, self.n)
        gradient, change, residual = (
            source.standard_normal((k, self.d)) for source, k in zip(self.sources, (nodes, nodes, count), strict=True)
        )
        out = np.empty((count, self.d))
        rule = (first, self.n, self.alpha, self.gamma, self.stds, self.memory)
        window_noise(gradient, change, residual, *rule, out)
        self.done = last
        return out
