"""Noisy gradient steps from many records at once: full batches, Poisson samples, and the recursion over gradients.

All add fresh Gaussian noise to a sum over records, divided by a fixed number.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.looking import slope
from dpexp.engine.finite_sum.losses import Compiled, RecordLoss
from dpexp.engine.finite_sum.momentum_loop import Data


@compiled(cached=True)
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


@kept_once(64)
def sampled_sum_of(loss: RecordLoss) -> Compiled:
    """The sum of the gradients of chosen records, compiled for one loss; out [d] becomes it."""
    gradient = loss.gradient

    @compiled(cached=True)
    def sampled_sum(
        w: np.ndarray, x: np.ndarray, y: np.ndarray, c: np.ndarray, batch: np.ndarray, out: np.ndarray
    ) -> None:
        slope_of_record = np.empty(len(w))
        out[:] = 0.0
        for i in batch:
            gradient(w, x[i], y[i], c, slope_of_record)
            for j in range(len(w)):
                out[j] += slope_of_record[j]

    return sampled_sum


class DescentSteps:
    """w <- w - eta (mean gradient of the batch + std z)."""

    def __init__(
        self,
        data: Data,
        start: np.ndarray,
        noise: np.random.Generator,
        sampling: np.random.Generator,
        q: float,
        eta: float,
        std: float,
    ) -> None:
        self.data, self.noise, self.sampling, self.q, self.eta, self.std = data, noise, sampling, q, eta, std
        self.w, self.estimate = start.copy(), np.zeros(len(start))

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        n = len(self.data.x)
        for _ in range(first, last + 1):
            # all records are a sum in lanes; Poisson samples are divided by q N, which is public, not by their size
            if self.q == 1:
                slope(self.data, self.w, self.estimate)
            else:
                batch = np.flatnonzero(self.sampling.random(n) < self.q)
                sampled_sum_of(self.data.loss)(self.w, *self.data.numbers, batch, self.estimate)
                self.estimate /= self.q * n
            if self.std > 0:
                self.estimate += self.std * self.noise.standard_normal(len(self.w))
            move(self.w, self.estimate, self.eta, False)


class RecursionSteps:
    """e_t = (1 - gamma)(e_{t-1} + grad F(w_t) - grad F(w_{t-1})) + gamma grad F(w_t) + s z_t.

    It starts from e_1 = grad F(w_1) + s_1 z_1, and w <- w - eta e_t / |e_t|: the idea behind Algorithm 2 of `momentum`
    with full batches.
    """

    def __init__(
        self,
        data: Data,
        start: np.ndarray,
        noise: np.random.Generator,
        gamma: float,
        eta: float,
        first_std: float,
        std: float,
    ) -> None:
        self.data, self.noise, self.gamma, self.eta, self.stds = data, noise, gamma, eta, (first_std, std)
        d = len(start)
        self.w, self.estimate, self.here, self.before = start.copy(), np.zeros(d), np.empty(d), np.zeros(d)

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        for t in range(first, last + 1):
            slope(self.data, self.w, self.here)
            # it starts from a gradient; later ones are mostly the estimate before, moved by what the gradient changed
            if t == 1:
                self.estimate[:] = self.here
            else:
                carried = self.estimate + self.here - self.before
                self.estimate[:] = (1 - self.gamma) * carried + self.gamma * self.here
            std = self.stds[0] if t == 1 else self.stds[1]
            if std > 0:
                self.estimate += std * self.noise.standard_normal(len(self.w))
            self.before[:] = self.here
            move(self.w, self.estimate, self.eta, True)
