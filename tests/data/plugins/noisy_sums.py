"""Private least squares from three noisy sums: a method of `dpexp fit --method noisy-sums`."""

import math
from typing import ClassVar, Literal

import numpy as np

from dpexp.algorithms.covering import Covering, Estimate
from dpexp.core.parameters import Positive
from dpexp.inference.newton import symmetric_noise
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.problems.huber_linear import HuberLinear


class NoisySums(Covering):
    """beta = A^-1 b and s^2 = (c - b'beta) / A_00 from noisy A = mean(w x x'), b = mean(w x y) and c = mean(w y^2)."""

    name: Literal["noisy-sums"] = "noisy-sums"
    clip: Positive = 6.0
    """of responses, in standard deviations of the errors as guessed"""

    estimators: ClassVar = ("noisy-sums",)
    runs_on: ClassVar = (HuberLinear,)

    def complaints(self, problem, schedule, budget, n):
        one = [] if budget.constant is not None else ["one owner has one budget: mu is a number"]
        return super().complaints(problem, schedule, budget, n) + one

    def seconds(self, problem, n):
        return n * problem.p**2 * 1e-8

    def mechanism(self, problem, schedule, budget, n):
        """All sums over their bounds, sent as one vector: a record moves it by at most two largest norms."""
        sent = SampledGaussian(
            noise_multiplier=2 / budget.constant,
            sampling_probability=1,
            steps=1,
            sampling="full-batch",
            neighboring_relation="replace-one",
        )
        noisy = math.isfinite(budget.constant)
        return Stated("sampled-gaussian", sent, "gaussian-composition" if noisy else "no-noise", valid=noisy)

    def noise(self, model, budget, n):
        return budget.constant**-2 / n

    def estimate(self, model, x, y, budget, normals):
        problem, n, q = model.problem, len(y), x.shape[1] + 1
        reach = self.clip * problem.fixed_scale
        rows, y = np.column_stack([np.ones(n), x]), np.clip(y, -reach, reach)
        w = problem.weight(rows)
        # |w x x'| <= 2, |w x y| <= sqrt(2) reach and w y^2 <= reach^2: over these, all three have a norm of sqrt 3
        of_a, of_b, of_c = 2 * math.sqrt(3) / (budget.constant * n) * np.array([2, math.sqrt(2) * reach, reach**2])
        a = (rows * w[:, None]).T @ rows / n + of_a * symmetric_noise(normals((q, q)))
        b = rows.T @ (w * y) / n + of_b * normals((q,))
        c = float(w @ y**2 / n + of_c * normals((1,))[0])
        inverse = np.linalg.inv(a)
        beta = inverse @ b
        square, length = max(c - b @ beta, 1e-3) / a[0, 0], beta @ beta
        noise = of_b**2 * np.eye(q) + of_a**2 / 2 * (length * np.eye(q) + np.outer(beta, beta))
        covariance = inverse @ (a * square / n + noise) @ inverse
        if not problem.has_scale:
            return Estimate(beta, covariance)
        of_square = 2 * square**2 / n + (of_c**2 + 4 * length * of_b**2 + length**2 * of_a**2) / a[0, 0] ** 2
        covariance = np.pad(covariance, (0, 1))
        covariance[q, q] = of_square / (4 * square)
        return Estimate(np.append(beta, math.sqrt(square)), covariance)


PLUGIN = Plugin(algorithms={"noisy-sums": NoisySums})
