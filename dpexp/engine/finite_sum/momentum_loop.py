"""One loop for private momentum on a finite sum: the momentum, a noise sequence added to it, and a step.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{i(t)}),   m_hat_t = m_t + noise_t,
    w_{t+1} = w_t - eta m_hat_t / |m_hat_t|    (or - eta m_hat_t)

with any noise of `noise_designs` and `noise_windows`: Algorithm 1 of `momentum`, and Algorithm 2 for one order repeated
in every epoch. The momentum itself is private: only m_hat_t and w_t are released.

A step alone is a chain of dependent operations, in which the processor mostly waits. So eight runs are stepped side by
side: lane k is run k, with its own order, noise, weight and step. No lane looks at another, so a run has the same bits
in any company. Lanes are the last axis of what a kernel reads: records and noise are laid out anew for each.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.looking import Data, distance_and_dot
from dpexp.engine.finite_sum.losses import Compiled, Lanes, RecordLoss
from dpexp.engine.finite_sum.noise_designs import Noise
from dpexp.engine.lanes.elementwise import sqrt, where
from dpexp.engine.lanes.vectors import LANES, load, reals, store

HELD = 65536
"""numbers of noise that are held at once, 512 kB: few enough for the near caches, and no block costs much by itself"""
NUMBERS = 160
"""of each lane that are laid out at once: records and noise of a few steps then stay in the nearest cache"""


class Order(NamedTuple):
    """Which record each step uses; fixed before anything is computed from the data."""

    items: np.ndarray  # one epoch where it repeats, else all steps; int64
    repeats: bool

    def between(self, first: int, last: int) -> np.ndarray:
        """Records of the steps first..last."""
        if self.repeats:
            return self.items[np.arange(first - 1, last) % len(self.items)]
        return self.items[first - 1 : last]


class Momentum(NamedTuple):
    """A run along the noisy momentum."""

    data: Data
    start: np.ndarray
    order: Order
    noise: Noise
    alpha: float
    eta: float
    normalised: bool = True
    steps: int = 0
    """how many there are in all, so that noise can be made ahead; without it none is"""


class Together:
    """Up to eight runs on the same data, advanced side by side: run k is column k of w and estimate [d, 8]."""

    def __init__(self, runs: Sequence[Momentum]) -> None:
        self.runs, first = list(runs), runs[0]
        # columns without a run repeat the first one
        d, lanes = len(first.start), [*runs, *[first] * (LANES - len(runs))]
        self.w = np.stack([run.start for run in lanes], axis=1)
        self.m, self.estimate = np.zeros((2, d, LANES))
        self.rule = np.array([[r.alpha for r in lanes], [r.eta for r in lanes], [r.normalised for r in lanes]], float)
        # runs that differ in the factor of their noise alone have one sequence
        noises = {run.noise[1:]: run.noise for run in runs if run.noise.factor > 0}
        self.sequences = {sequence: noise.begun() for sequence, noise in noises.items()}
        self.length = max(1, HELD // (LANES * d))
        self.items, self.noise = np.zeros((LANES, self.length), np.int64), np.zeros((LANES, self.length, d))
        # first and last step of the block whose records and noise are held: none
        self.ready = (1, 0)

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        data, state = self.runs[0].data, (self.rule, self.w, self.m, self.estimate)
        take = lane_steps_of(data.loss)
        while first <= last:
            if first > self.ready[1]:
                self._prepare(first, last)
            begin, end = self.ready[0], min(last, self.ready[1])
            steps = first - begin, end - begin + 1
            take(data.x, data.y, data.constants, self.items, self.noise, *steps, *state)
            first = end + 1

    def _prepare(self, first: int, last: int) -> None:
        """Records and noise of the steps from `first`: as many as are held at once, or those up to `last`."""
        # no further than a run says that it goes: noise that nobody asks for would be drawn
        end = min(first + self.length - 1, *(max(last, run.steps) for run in self.runs))
        count = end - first + 1
        made = {sequence: take(count) for sequence, take in self.sequences.items()}
        for k, run in enumerate(self.runs):
            self.items[k, :count] = run.order.between(first, end)
            if run.noise.factor > 0:
                np.multiply(made[run.noise[1:]], run.noise.factor, out=self.noise[k, :count])
        self.items[len(self.runs) :, :count] = self.items[0, :count]
        self.noise[len(self.runs) :, :count] = self.noise[0, :count]
        self.ready = first, end


@njit(nogil=True, forceinline=True)
def _squared_length(v: Lanes) -> Lanes:
    """|v|^2 of every lane of v [d, 8]."""
    # two sums side by side, because an addition waits for the one before
    even, odd = reals(0.0), reals(0.0)
    for j in range(0, len(v) // 2 * 2, 2):
        a, b = load(v, (j,)), load(v, (j + 1,))
        even, odd = even + a * a, odd + b * b
    if len(v) % 2:
        a = load(v, (len(v) - 1,))
        even = even + a * a
    return even + odd


@kept_once(64)
def lane_steps_of(loss: RecordLoss) -> Compiled:
    """Some steps of eight runs, compiled for one loss."""
    parts, rest = loss.parts, loss.rest

    @compiled(cached=True)
    def lane_steps(
        x: np.ndarray,
        y: np.ndarray,
        c: np.ndarray,
        items: np.ndarray,
        noise: np.ndarray,
        begin: int,
        end: int,
        rule: np.ndarray,
        w: np.ndarray,
        m: np.ndarray,
        estimate: np.ndarray,
    ) -> None:
        """The steps begin..end - 1 of items [8, B] and noise [8, B, d]; w, m and estimate [d, 8] move on.

        rule [3, 8]: alpha, eta, and 1 where steps are normalised.
        """
        d = len(w)
        part = max(2, NUMBERS // d)
        records, responses, added = np.empty((part, d, LANES)), np.empty((part, LANES)), np.empty((part, d, LANES))
        alpha, eta, normalised = load(rule, (0,)), load(rule, (1,)), load(rule, (2,))
        keep = 1.0 - alpha
        for start in range(begin, end, part):
            count = min(part, end - start)
            for lane in range(LANES):
                for k in range(count):
                    i = items[lane, start + k]
                    responses[k, lane] = y[i]
                    for j in range(d):
                        records[k, j, lane] = x[i, j]
                        added[k, j, lane] = noise[lane, start + k, j]
            for k in range(count):
                far, along = distance_and_dot(w, records, k)
                _, pull, push = parts(far, along, load(responses, (k,)), c)
                for j in range(d):
                    w0, x0 = load(w, (j,)), load(records, (k, j))
                    g = pull * (w0 - x0) + push * x0 + rest(w0, c)[1]
                    mean = keep * load(m, (j,)) + alpha * g
                    store(m, (j,), mean)
                    store(estimate, (j,), mean + load(added, (k, j)))
                square = _squared_length(estimate)
                unit = where(square > 0.0, eta / sqrt(square), 0.0)
                scale = where(normalised > 0.0, unit, eta)
                for j in range(d):
                    store(w, (j,), load(w, (j,)) - scale * load(estimate, (j,)))

    return lane_steps
