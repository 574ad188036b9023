"""Noise sequences of a run as objects that hand out the next steps: the designs of `momentum_noise` and of Algorithm 2.

(a) Normals come from the role `noise` of a replicate; Algorithm 2 uses three sources of it, so that how a run is split
into blocks changes no bit. A source is eight streams of `dpexp.engine.lanes.streams`. Its numbers are theirs in turn:
number k is the next one of stream k mod 8. They are the same bits on every machine, and take about an eighth of the
time of numpy's normals: a private momentum needs dozens a step.
(b) Streams give normals in pairs, so numbers are made in whole turns of 16. Those that were not asked for are kept for
the next request. So the numbers do not depend on how many are asked for at a time.
(c) Settings that differ in budget or step size have the same noise up to a factor. So every sequence is a factor times
a sequence of unit noise on a tape, which the runs of one replicate share while they are stepped side by side. The tape
keeps its last block; a run that finds the tape beyond what it needs goes on with a tape of its own.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np

from dpexp.core.caches import kept_per_thread, shared_while_used
from dpexp.core.seeds import stream_state
from dpexp.engine.finite_sum.noise_designs import independent_noise, square_root_noise, tree_noise, tree_slots
from dpexp.engine.finite_sum.noise_windows import empty_windows, nodes_ending, window_noise
from dpexp.engine.lanes.streams import fill_normal
from dpexp.engine.lanes.vectors import LANES

TURN = 2 * LANES
"""numbers of one turn: a pair from each stream"""


class Normals:
    """Standard normals for one role of one replicate; `source` tells independent ones of that role apart."""

    def __init__(self, seed: int, replicate: int, role: str, source: int = 0) -> None:
        # (a); the parts of a key before these are those of numpy's generators
        parts = range(LANES * (source + 1), LANES * (source + 2))
        states = [stream_state(seed, replicate, role, part) for part in parts]
        self._state = np.ascontiguousarray(np.stack(states, axis=1))
        self._left = np.empty(0)

    def standard_normal(self, shape: tuple[int, int]) -> np.ndarray:
        """The next numbers, in the order of the array."""
        count = shape[0] * shape[1]
        kept = len(self._left)
        # (b)
        turns = -(-max(0, count - kept) // TURN)
        numbers = np.empty(kept + turns * TURN)
        numbers[:kept] = self._left
        if turns:
            fill_normal(self._state, numbers[kept:].reshape(-1, LANES), 2 * turns)
        self._left = numbers[count:].copy()
        return numbers[:count].reshape(shape)


class Unit(Protocol):
    """A sequence of noise, made from its beginning."""

    def take(self, count: int) -> np.ndarray:
        """The noise of the next `count` steps, [count, d]."""


class Tape:
    """A sequence of noise that several runs read, from after the first `done` steps: the last block made is kept."""

    def __init__(self, make: Callable[[], Unit], done: int = 0) -> None:
        self.make, self.unit = make, make()
        if done:
            self.unit.take(done)
        self.block, self.begin = np.empty((0, 0)), done

    def after(self, done: int, count: int) -> np.ndarray | None:
        """The noise of the `count` steps after the first `done`; None where the tape is elsewhere."""
        end = self.begin + len(self.block)
        # (c): the first run that asks has the next block made, and the others read it
        if done == end:
            return self.next(count)
        if self.begin <= done and done + count <= end:
            return self.block[done - self.begin : done - self.begin + count]
        return None

    def next(self, count: int) -> np.ndarray:
        """The noise of so many further steps."""
        self.begin += len(self.block)
        self.block = self.unit.take(count)
        return self.block


class Scaled:
    """`factor` times what is on a tape, from its beginning."""

    def __init__(self, tape: Tape, factor: float) -> None:
        # (c): runs that differ in the factor alone hold the same tape
        self.tape, self.factor, self.done = tape, factor, 0

    def fill(self, out: np.ndarray) -> None:
        """out [count, d] becomes the noise of the next steps."""
        found = self.tape.after(self.done, len(out))
        # (c)
        if found is None:
            self.tape = Tape(self.tape.make, self.done)
            found = self.tape.next(len(out))
        np.multiply(found, self.factor, out=out)
        self.done += len(out)


class Silence:
    """No noise."""

    def fill(self, out: np.ndarray) -> None:
        """out [count, d] becomes 0."""
        out[:] = 0.0


def scaled(kind: Callable[..., Unit], factor: float, *given: object) -> Scaled:
    """`factor` times the noise of this kind, made for what its class takes: `factor` is the standard deviation of a
    node, a gradient or an entry in units of the momentum, and for `Windows` a factor of its `stds` [4]."""
    return Scaled(_tape(kind, *given), factor)


@shared_while_used
def _tape(kind: Callable[..., Unit], *given: object) -> Tape:
    return Tape(lambda: kind(*given))


class Tree:
    """Algorithm 1."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float) -> None:
        self.normals = Normals(seed, replicate, "noise")
        self.slots, self.alpha, self.done = tree_slots(steps, d), alpha, 0

    def take(self, count: int) -> np.ndarray:
        out = np.empty((count, self.slots.shape[1]))
        tree_noise(self.normals.standard_normal(out.shape), self.done + 1, self.alpha, 1.0, self.slots, out)
        self.done += count
        return out


class Independent:
    """Fresh noise on every gradient."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float) -> None:
        self.normals = Normals(seed, replicate, "noise")
        self.last, self.alpha = np.zeros(d), alpha

    def take(self, count: int) -> np.ndarray:
        out = np.empty((count, len(self.last)))
        independent_noise(self.normals.standard_normal(out.shape), self.alpha, 1.0, self.last, out)
        return out


class SquareRoot:
    """The square root of the momentum's own matrix; the whole run is made at once, [T, d]."""

    def __init__(self, seed: int, replicate: int, d: int, steps: int, alpha: float) -> None:
        self.unit, self.done = _unit_square_root_noise(seed, replicate, d, steps, alpha), 0

    def take(self, count: int) -> np.ndarray:
        self.done += count
        return self.unit[self.done - count : self.done]


@kept_per_thread(1)
def _unit_square_root_noise(seed: int, replicate: int, d: int, steps: int, alpha: float) -> np.ndarray:
    """For std = 1, [T, d]; the settings of one replicate share it."""
    return square_root_noise(Normals(seed, replicate, "noise").standard_normal((steps, d)), alpha, 1.0)


class Windows:
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
