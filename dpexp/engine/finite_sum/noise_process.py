"""Noise sequences of a run as objects that hand out the next steps: the designs of `noise_designs` and of Algorithm 2.

(a) Normals come from the role `noise` of a replicate; Algorithm 2 uses three sources of it, so that how a run is split
into blocks changes no bit. A source is eight streams of `dpexp.engine.lanes.streams`. Its numbers are theirs in turn:
number k is the next one of stream k mod 8. They are the same bits on every machine, and take about an eighth of the
time of numpy's normals: a private momentum needs dozens a step.
(b) Streams give normals in pairs, so numbers are made in whole turns of 16. Unused ones are kept for
the next request. So the numbers do not depend on the size of requests.
(c) Settings that differ in budget or step size have the same noise up to a factor. So a `Noise` is a factor and a
sequence of unit noise, which is made once for all runs that are stepped side by side.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.core.caches import kept_per_thread
from dpexp.core.seeds import stream_state
from dpexp.engine.finite_sum.noise_designs import independent_noise, square_root_noise, tree_noise, tree_slots
from dpexp.engine.finite_sum.noise_windows import empty_windows, nodes_ending, window_noise
from dpexp.engine.lanes.streams import draw_normal
from dpexp.engine.lanes.vectors import LANES

TURN = 2 * LANES
"""numbers of one turn: a pair from each stream"""


class Normals:
    """Standard normals for one role of one replicate; `source` numbers independent ones of that role."""

    def __init__(self, seed: int, replicate: int, role: str, source: int = 0) -> None:
        # (a); the parts of a key before these are those of numpy's generators
        parts = range(LANES * (source + 1), LANES * (source + 2))
        states = [stream_state(seed, replicate, role, part) for part in parts]
        self._state = np.ascontiguousarray(np.stack(states, axis=1))
        self._left = np.empty(0)

    def standard_normal(self, shape: tuple[int, int]) -> np.ndarray:
        """The next numbers, in the order of the array."""
        count = shape[0] * shape[1]
        spare = len(self._left)
        # (b)
        turns = -(-max(0, count - spare) // TURN)
        numbers = np.empty(spare + turns * TURN)
        numbers[:spare] = self._left
        if turns:
            draw_normal(self._state, numbers[spare:].reshape(-1, LANES), 2 * turns)  # type: ignore[no-untyped-call]
        self._left = numbers[count:].copy()
        return numbers[:count].reshape(shape)


class Unit(Protocol):
    """A sequence of noise, made from its beginning."""

    def take(self, count: int) -> np.ndarray:
        """The noise of the next `count` steps, [count, d]."""


class Noise(NamedTuple):
    """Noise of a run, added to its momentum: a factor times a sequence, which nothing but these values decides."""

    factor: float
    """standard deviation of a node, a gradient or an entry in units of the momentum; for `WindowNoise` the factor of
    its `stds`; 0: no noise and no draws"""
    kind: Callable[..., Unit]
    arguments: tuple[object, ...]
    """what the class takes"""

    def begun(self) -> Unit:
        """The sequence at its beginning."""
        return self.kind(*self.arguments)


class TreeNoise:
    """Algorithm 1."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float) -> None:
        self.normals = Normals(seed, replicate, "noise")
        self.slots, self.alpha, self.done = tree_slots(steps, d), alpha, 0

    def take(self, count: int) -> np.ndarray:
        out = np.empty((count, self.slots.shape[1]))
        tree_noise(self.normals.standard_normal(out.shape), self.done + 1, self.alpha, 1.0, self.slots, out)
        self.done += count
        return out


class IndependentNoise:
    """Fresh noise on every gradient."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float) -> None:
        self.normals = Normals(seed, replicate, "noise")
        self.last, self.alpha = np.zeros(d), alpha

    def take(self, count: int) -> np.ndarray:
        out = np.empty((count, len(self.last)))
        independent_noise(self.normals.standard_normal(out.shape), self.alpha, self.last, out)
        return out


class SquareRootNoise:
    """The square root of the momentum's own matrix; the whole run is made at once, [T, d]."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float) -> None:
        self.unit, self.done = _unit_square_root_noise(seed, replicate, d, steps, alpha), 0

    def take(self, count: int) -> np.ndarray:
        self.done += count
        return self.unit[self.done - count : self.done]


@kept_per_thread(1)
def _unit_square_root_noise(seed: int, replicate: int, d: int, steps: int, alpha: float) -> np.ndarray:
    """For std = 1, [T, d]; the settings of one replicate share it."""
    return square_root_noise(Normals(seed, replicate, "noise").standard_normal((steps, d)), alpha)


class WindowNoise:
    """Algorithm 2; `stds` [4] are those of the nodes of its streams."""

    def __init__(
        self,
        seed: int,
        replicate: int,
        d: int,
        steps: int,
        n: int,
        alpha: float,
        gamma: float,
        stds: tuple[float, ...],
    ) -> None:
        self.sources = [Normals(seed, replicate, "noise", source) for source in range(3)]
        self.memory, self.d, self.n = empty_windows(n, steps, d), d, n
        self.alpha, self.gamma, self.stds, self.done = alpha, gamma, np.array(stds), 0

    def take(self, count: int) -> np.ndarray:
        first, last = self.done + 1, self.done + count
        # (a): gradients and changes have one normal a node, residuals one a step, each in order of the steps
        nodes = nodes_ending(first, last, self.n)
        gradient, change, residual = (
            source.standard_normal((k, self.d)) for source, k in zip(self.sources, (nodes, nodes, count), strict=True)
        )
        out = np.empty((count, self.d))
        rule = (first, self.n, self.alpha, self.gamma, self.stds, self.memory)
        window_noise(gradient, change, residual, *rule, out)
        self.done = last
        return out


DESIGNS: dict[str, Callable[..., Unit]] = {
    "tree": TreeNoise,
    "square-root": SquareRootNoise,
    "independent": IndependentNoise,
}
"""of Algorithm 1, by the name that a config gives"""
