"""One loop for private momentum on a finite sum: the momentum, a noise sequence added to it, and a step.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{i(t)}),   m_hat_t = m_t + noise_t,
    w_{t+1} = w_t - eta m_hat_t / |m_hat_t|    (or - eta m_hat_t)

`Momentum` steps so, with any noise of `dpexp.engine.finite_sum.noise_process`: Algorithm 1 of `momentum`, and Algorithm
2 for one order repeated in every epoch. `Together` steps up to eight such runs side by side. The momentum itself is
private: only m_hat_t and w_t are released, and metrics that use it are diagnostics.

`Reconstruction` is Algorithm 2 for any order of N records, from the values that its trees hold. Sums over the steps to
t are discounted by (1 - alpha)^(t - i), and A_q is the iterate at the first step of epoch q:

(a) G sums the gradients at A_q, D what these have changed since A_{q-1}, and r the gradients at w_i less those at A_q.
(b) The sum over the last N steps is the one to t less (1 - alpha)^N times the one to t - N, which was kept.
(c) H stands for G over the last N steps: fresh in epoch 1; later 1 - gamma times (H of an epoch ago plus D over the
last N steps), plus gamma times the fresh one.
(d) C stands for G over all steps: C_t = (1 - alpha)^N C_{t-N} + H_t, and in epoch 0 it is G.
(e) m_hat_t = alpha (C_t + r) + noise_t. Without noise it is m_t only when the order repeats: the same record must have
been used N steps ago for its change to be known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.lane_steps import lane_steps_of
from dpexp.engine.finite_sum.losses import Compiled, Pair
from dpexp.engine.finite_sum.noise_process import Noise
from dpexp.engine.lanes.vectors import LANES

NUMBERS = 65536
"""of noise that are held at once, 512 kB: few enough for the near caches, and so many that a block costs little by
itself"""


@dataclass(frozen=True, eq=False)
class Data:
    """A finite sum as the kernels take it."""

    pair: Pair
    x: np.ndarray
    y: np.ndarray
    constants: np.ndarray

    @property
    def numbers(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Records, responses and constants."""
        return self.x, self.y, self.constants

    @cached_property
    def tiles(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Records in groups of eight: x [B, d, 8], y [B, 8], and 1 where there is one, 0 where the last group ends."""
        n, d = self.x.shape
        groups = -(-n // LANES)
        padded, responses, present = np.zeros((groups * LANES, d)), np.zeros(groups * LANES), np.zeros(groups * LANES)
        padded[:n], responses[:n], present[:n] = self.x, self.y, 1.0
        records = np.ascontiguousarray(padded.reshape(groups, LANES, d).transpose(0, 2, 1))
        return records, responses.reshape(groups, LANES), present.reshape(groups, LANES)


class Order(NamedTuple):
    """Which record each step uses; fixed before anything is computed from the data."""

    items: np.ndarray
    """one epoch where it repeats, else all steps; int64"""
    repeats: bool

    def between(self, first: int, last: int) -> np.ndarray:
        """Records of the steps first..last."""
        if self.repeats:
            return self.items[np.arange(first - 1, last) % len(self.items)]
        return self.items[first - 1 : last]


@compiled(kept=True)
def move(w: np.ndarray, estimate: np.ndarray, eta: float, normalised: bool) -> None:
    scale = eta
    if normalised:
        square = 0.0
        for j in range(len(w)):
            square += estimate[j] ** 2
        # 0 has no direction to step in
        scale = eta / math.sqrt(square) if square > 0 else 0.0
    for j in range(len(w)):
        w[j] -= scale * estimate[j]


class Values(NamedTuple):
    """What `Reconstruction` remembers: values of the sums that the trees of Algorithm 2 hold, without noise."""

    anchor: np.ndarray
    """A_q [d]"""
    previous: np.ndarray
    """A_{q-1} [d]"""
    sums: np.ndarray
    """discounted sums G[1, t], D[1, t] and r[1, t]: [3, d]"""
    past_gradient: np.ndarray
    """G[1, t] of the last N steps [N, d]"""
    past_change: np.ndarray
    """D[1, t] of the last N steps [N, d]"""
    windows: np.ndarray
    """H of the last N steps [N, d]"""
    totals: np.ndarray
    """C of the last N steps [N, d]"""


@kept_once(64)
def reconstructed_steps_of(pair: Pair) -> Compiled:
    """Some steps of `Reconstruction`, compiled for one loss."""
    gradient = pair.gradient

    @compiled(kept=True)
    def reconstructed_steps(
        x: np.ndarray,
        y: np.ndarray,
        c: np.ndarray,
        items: np.ndarray,
        noise: np.ndarray,
        first: int,
        alpha: float,
        gamma: float,
        eta: float,
        w: np.ndarray,
        values: Values,
        estimate: np.ndarray,
    ) -> None:
        n, d = values.windows.shape
        here, there, before = np.empty(d), np.empty(d), np.zeros(d)
        keep = 1 - alpha
        fade = math.exp(n * math.log1p(-alpha)) if alpha < 1 else 0.0
        for k in range(len(items)):
            t, i = first + k, items[k]
            place = (t - 1) % n
            # an epoch begins: its first iterate is the new anchor
            if place == 0:
                values.previous[:] = values.anchor
                values.anchor[:] = w
            gradient(w, x[i], y[i], c, here)
            gradient(values.anchor, x[i], y[i], c, there)
            if t > n:
                gradient(values.previous, x[i], y[i], c, before)
            for j in range(d):
                # (a) and (b) for G; what is kept in this place is still of the step t - N
                values.sums[0, j] = keep * values.sums[0, j] + there[j]
                values.sums[2, j] = keep * values.sums[2, j] + here[j] - there[j]
                plain = values.sums[0, j] - fade * values.past_gradient[place, j]
                values.past_gradient[place, j] = values.sums[0, j]
                if t <= n:
                    values.totals[place, j] = plain  # (d)
                else:
                    # (a) and (b) for D
                    values.sums[1, j] = keep * values.sums[1, j] + there[j] - before[j]
                    moved = values.sums[1, j] - fade * values.past_change[place, j]
                    values.past_change[place, j] = values.sums[1, j]
                    # (c), then (d)
                    window = plain
                    if t > 2 * n:
                        window = (1 - gamma) * (values.windows[place, j] + moved) + gamma * plain
                    values.windows[place, j] = window
                    values.totals[place, j] = fade * values.totals[place, j] + window
                # (e)
                estimate[j] = alpha * (values.totals[place, j] + values.sums[2, j]) + noise[k, j]
            move(w, estimate, eta, True)

    return reconstructed_steps


class Momentum:
    """Steps along the noisy momentum: one run, to be advanced alone or in a `Together`.

    `steps` is how many there are in all, so that noise can be made ahead; without it none is.
    """

    def __init__(
        self,
        data: Data,
        start: np.ndarray,
        order: Order,
        noise: Noise,
        alpha: float,
        eta: float,
        normalised: bool = True,
        steps: int = 0,
    ) -> None:
        self.data, self.order, self.noise, self.steps = data, order, noise, steps
        self.alpha, self.eta, self.normalised = alpha, eta, normalised
        self.w, self.m, self.estimate = start.copy(), np.zeros(len(start)), np.zeros(len(start))

    @cached_property
    def _alone(self) -> Together:
        return Together([self])

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        self._alone.advance(first, last)


class Together:
    """Up to eight runs on the same data, advanced side by side: run k is column k of w and estimate [d, 8]."""

    def __init__(self, runs: Sequence[Momentum]) -> None:
        self.runs, first = list(runs), runs[0]
        # columns without a run repeat the first one
        d, lanes = len(first.w), [*runs, *[first] * (LANES - len(runs))]
        self.w, self.m, self.estimate = (
            np.stack([getattr(run, name) for run in lanes], axis=1) for name in ("w", "m", "estimate")
        )
        # the runs' own vectors become these columns
        for k, run in enumerate(runs):
            run.w, run.m, run.estimate = self.w[:, k], self.m[:, k], self.estimate[:, k]
        self.rule = np.array([[r.alpha for r in lanes], [r.eta for r in lanes], [r.normalised for r in lanes]], float)
        self.take, self.records = lane_steps_of(first.data.pair), first.data.numbers
        # runs that differ in the factor of their noise alone have one sequence
        noises = {run.noise[1:]: run.noise for run in runs if run.noise.factor > 0}
        self.sequences = {sequence: noise.begun() for sequence, noise in noises.items()}
        self.length = max(1, NUMBERS // (LANES * d))
        self.items, self.noise = np.zeros((LANES, self.length), np.int64), np.zeros((LANES, self.length, d))
        # first and last step of the block whose records and noise are held: none
        self.ready = (1, 0)

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        while first <= last:
            if first > self.ready[1]:
                self._prepare(first, last)
            begin, end = self.ready[0], min(last, self.ready[1])
            state = self.rule, self.w, self.m, self.estimate
            self.take(*self.records, self.items, self.noise, first - begin, end - begin + 1, *state)
            first = end + 1

    def _prepare(self, first: int, last: int) -> None:
        """Records and noise of the steps from `first`: as many as are held at once, or those up to `last`."""
        # no further than a run says that it goes: noise that nobody asks for would be drawn
        end = min(first + self.length - 1, *(max(last, run.steps) for run in self.runs))
        count = end - first + 1
        made = {sequence: unit.take(count) for sequence, unit in self.sequences.items()}
        for k, run in enumerate(self.runs):
            self.items[k, :count] = run.order.between(first, end)
            if run.noise.factor > 0:
                np.multiply(made[run.noise[1:]], run.noise.factor, out=self.noise[k, :count])
        self.items[len(self.runs) :, :count] = self.items[0, :count]
        self.noise[len(self.runs) :, :count] = self.noise[0, :count]
        self.ready = first, end


class Reconstruction:
    """Algorithm 2 for any order, from the values of its trees: three gradients a step, memory 4 N d."""

    def __init__(
        self, data: Data, start: np.ndarray, order: Order, noise: Noise, alpha: float, eta: float, gamma: float
    ) -> None:
        n, d = data.x.shape[0], len(start)
        self.data, self.order, self.factor = data, order, noise.factor
        self.sequence = noise.begun() if noise.factor > 0 else None
        self.alpha, self.eta, self.gamma = alpha, eta, gamma
        self.w, self.estimate = start.copy(), np.zeros(d)
        self.values = Values(np.zeros(d), np.zeros(d), np.zeros((3, d)), *(np.zeros((n, d)) for _ in range(4)))

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        steps, d = reconstructed_steps_of(self.data.pair), len(self.w)
        length = max(1, NUMBERS // d)
        for begin in range(first, last + 1, length):
            end = min(last, begin + length - 1)
            count = end - begin + 1
            noise = np.zeros((count, d)) if self.sequence is None else self.factor * self.sequence.take(count)
            rule = (begin, self.alpha, self.gamma, self.eta)
            steps(*self.data.numbers, self.order.between(begin, end), noise, *rule, self.w, self.values, self.estimate)
