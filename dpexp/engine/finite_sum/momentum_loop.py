"""One loop for private momentum on a finite sum: the momentum, a noise sequence added to it, and a step.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{i(t)}),   m_hat_t = m_t + noise_t,
    w_{t+1} = w_t - eta m_hat_t / |m_hat_t|    (or - eta m_hat_t)

`Momentum` steps so, with any noise of `dpexp.engine.finite_sum.noise_process`: Algorithm 1 of `momentum`, and Algorithm
2 for one order repeated in every epoch. `Together` steps up to eight such runs side by side. The momentum itself is
private: only m_hat_t and w_t are released, and metrics that use it are diagnostics.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from dpexp.engine.finite_sum.lane_steps import lane_steps_of
from dpexp.engine.finite_sum.losses import RecordLoss
from dpexp.engine.finite_sum.noise_process import Noise
from dpexp.engine.lanes.vectors import LANES

NUMBERS = 65536
"""of noise that are held at once, 512 kB: few enough for the near caches, and so many that a block costs little by
itself"""


@dataclass(frozen=True, eq=False)
class Data:
    """A finite sum as the kernels take it."""

    loss: RecordLoss
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
        self.take, self.records = lane_steps_of(first.data.loss), first.data.numbers
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
