"""Exact moments of Langevin SGD on ridge regression, against which the utility bounds of `dp-sgld` are checked.

The update is linear in theta, so that the mean m and second moment S of e = theta_k - theta* obey a closed recursion
over uniform batches of fixed size: no simulation. Without projection.

(a) The gradient of a record is A_i e + g_i with A_i = x_i x_i' + lambda I and g_i its gradient at theta*. Its second
moment over records and e is the mean of A_i S A_i + A_i m g_i' + g_i m' A_i + g_i g_i'. Of the mean gradient H e it is
H S H.
(b) A batch mean has this, plus the difference of the two times the variance of a mean without replacement.
(c) S becomes S - eta (H S + S H) + eta^2 times (b) + 2 eta sigma^2 I, and m becomes m - eta H m.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np


@dataclass(frozen=True)
class Ridge:
    """l(theta, (x, y)) = (x'theta - y)^2 / 2 + lambda/2 |theta|^2 on n seeded records with |x| <= 2."""

    seed: int
    d: int = 5
    n: int = 200
    strong_convexity: float = 0.5

    @cached_property
    def records(self) -> tuple[np.ndarray, np.ndarray]:
        """x [n, d] and y [n]."""
        rng = np.random.Generator(np.random.PCG64(self.seed))
        x = rng.standard_normal((self.n, self.d))
        x /= np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True) / 2)
        return x, x @ rng.standard_normal(self.d) + 0.5 * rng.standard_normal(self.n)

    @cached_property
    def hessian(self) -> np.ndarray:
        x, _ = self.records
        return x.T @ x / self.n + self.strong_convexity * np.eye(self.d)

    @cached_property
    def optimum(self) -> np.ndarray:
        x, y = self.records
        return np.linalg.solve(self.hessian, x.T @ y / self.n)

    @cached_property
    def gradients(self) -> np.ndarray:
        """Gradients of the records at the optimum [n, d]; their mean is 0."""
        x, y = self.records
        return x * (x @ self.optimum - y)[:, None] + self.strong_convexity * self.optimum

    @property
    def smoothness(self) -> float:
        """beta of every record's loss."""
        x, _ = self.records
        return float(np.max(np.sum(x * x, axis=1))) + self.strong_convexity

    def xi_sq(self, batch_size: int) -> float:
        """E|grad L_B(theta*)|^2."""
        return float(np.mean(np.sum(self.gradients**2, axis=1))) * self._spread(batch_size)

    def risks(self, steps: np.ndarray, sigma: float, batch_size: int) -> np.ndarray:
        """E of the excess risk of theta_0 .. theta_K from the prescribed start, [K + 1]."""
        x, _ = self.records
        g, h, lam, c = self.gradients, self.hessian, self.strong_convexity, self._spread(batch_size)
        noise = g.T @ g / self.n
        mean = -self.optimum
        second = np.outer(mean, mean) + 2 * sigma**2 / lam * np.eye(self.d)
        risks = [float(np.sum(h * second)) / 2]
        for eta in steps:
            # (a), term by term
            cross = (x * (x @ mean)[:, None] + lam * mean).T @ g / self.n
            xx = x.T @ (x * np.einsum("ni,ij,nj->n", x, second, x)[:, None]) / self.n
            xs = x.T @ x / self.n @ second
            each = xx + lam * (xs + xs.T) + lam**2 * second + cross + cross.T + noise
            # (b) and (c)
            both = h @ second @ h
            second = second - eta * (h @ second + second @ h) + eta**2 * (both + c * (each - both))
            second += 2 * eta * sigma**2 * np.eye(self.d)
            mean = mean - eta * h @ mean
            risks.append(float(np.sum(h * second)) / 2)
        return np.array(risks)

    def _spread(self, batch_size: int) -> float:
        """Variance of a batch mean over that of one record, without replacement."""
        return (self.n - batch_size) / (batch_size * (self.n - 1))
