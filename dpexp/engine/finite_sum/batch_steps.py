"""Noisy gradient steps from many records at once: full batches, Poisson samples, and the recursion over gradients.

All add fresh Gaussian noise to a sum over records, divided by a fixed number.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.looking import Data, slope
from dpexp.engine.finite_sum.losses import Compiled, RecordLoss


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


@dataclass(eq=False)
class DescentSteps:
    """w <- w - eta (mean gradient of the batch + std z)."""

    data: Data
    w: np.ndarray
    noise: np.random.Generator
    sampling: np.random.Generator
    q: float
    eta: float
    std: float

    def __post_init__(self) -> None:
        self.w, self.estimate = self.w.copy(), np.zeros(len(self.w))

    def advance(self, first: int, last: int) -> None:
        """Take the steps first..last."""
        data = self.data
        for _ in range(first, last + 1):
            # all records are a sum in lanes; Poisson samples are divided by q N, which is public, not by their size
            if self.q == 1:
                slope(data, self.w, self.estimate)
            else:
                batch = np.flatnonzero(self.sampling.random(len(data.x)) < self.q)
                sampled_sum_of(data.loss)(self.w, data.x, data.y, data.constants, batch, self.estimate)
                self.estimate /= self.q * len(data.x)
            if self.std > 0:
                self.estimate += self.std * self.noise.standard_normal(len(self.w))
            self.w -= self.eta * self.estimate


@dataclass(eq=False)
class RecursionSteps:
    """e_t = (1 - gamma)(e_{t-1} + grad F(w_t) - grad F(w_{t-1})) + gamma grad F(w_t) + s z_t.

    It starts from e_1 = grad F(w_1) + s_1 z_1, and w <- w - eta e_t / |e_t|: the idea behind Algorithm 2 of `momentum`
    with full batches.
    """

    data: Data
    w: np.ndarray
    noise: np.random.Generator
    gamma: float
    eta: float
    first_std: float
    std: float

    def __post_init__(self) -> None:
        self.w, (self.estimate, self.here, self.before) = self.w.copy(), np.zeros((3, len(self.w)))

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
            std = self.first_std if t == 1 else self.std
            if std > 0:
                self.estimate += std * self.noise.standard_normal(len(self.w))
            self.before[:] = self.here
            # added up in one order, which that of numpy's sums is not; 0 has no direction to step in
            square = float(np.cumsum(self.estimate * self.estimate)[-1])
            self.w -= (self.eta / np.sqrt(square) if square > 0 else 0.0) * self.estimate
