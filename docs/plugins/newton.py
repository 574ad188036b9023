"""Intervals around a few noisy Newton steps by one owner of all records, from a noisy Hessian and noisy scores."""

import math
from typing import ClassVar, Literal

import numpy as np

from dpexp.algorithms.covering import Covering, Estimate
from dpexp.core.parameters import Count
from dpexp.inference.newton import symmetric_noise
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian


class NoisyNewton(Covering):
    """theta <- theta - H^-1 (mean gradient + noise), in half of the steps with a guessed H, then with a released one.

    The covariance is H^-1 (S / n + noise) H^-1 for the released mean S of g g', so that no law has to be guessed right.
    """

    name: Literal["noisy-newton"] = "noisy-newton"
    rounds: Count = 5
    """steps of each kind"""

    estimators: ClassVar = ("noisy-newton",)

    def complaints(self, problem, schedule, budget, n):
        one = [] if budget.constant is not None else ["one owner has one budget: mu is a number"]
        return super().complaints(problem, schedule, budget, n) + one

    def seconds(self, problem, n):
        return 1e-3 + 3 * self.rounds * n * problem.p * 2e-8

    def mechanism(self, problem, schedule, budget, n):
        """Means of gradients, Hessians and g g', each over its sensitivity; a record moves a sum by two norms."""
        releases = 3 * self.rounds + 1
        sent = SampledGaussian(
            noise_multiplier=2 * math.sqrt(releases) / budget.constant,
            sampling_probability=1,
            steps=releases,
            sampling="full-batch",
            neighboring_relation="replace-one",
        )
        noisy = math.isfinite(budget.constant)
        return Stated("sampled-gaussian", sent, "gaussian-composition" if noisy else "no-noise", valid=noisy)

    def noise(self, model, budget, n):
        """1 / mu^2 of the efficient bound: an owner adds noise once, to the mean."""
        return budget.constant**-2 / n

    def estimate(self, model, x, y, budget, normals):
        problem, n, p = model.problem, len(y), model.problem.p
        bound, unit = problem.gradient_bound(), math.sqrt(3 * self.rounds + 1) / (budget.constant * n)
        rows, theta, scaling = np.column_stack([np.ones(n), x]), problem.start(), np.outer(*[model.hessian_scaling] * 2)
        # two Hessians, or two matrices g g', are at most sqrt 2 largest norms apart, since both are semidefinite
        for k in range(2 * self.rounds):
            scale = model.scale_of(theta)
            hessian = model.guessed_hessian * (model.scale_of(problem.optimum()) / scale)
            if k >= self.rounds:
                noise = model.hessian_sensitivity(scale) * unit * symmetric_noise(normals((p, p)))
                hessian = model.hessian_sum(theta, rows, y, np.full(n, 1 / n)) + noise / scaling
            gradients, inverse = problem.gradient(theta, rows, y), np.linalg.inv(hessian)
            theta = theta - inverse @ (gradients.mean(axis=0) + 2 * bound * unit * normals((p,)))
            if problem.has_scale:
                theta[-1] = max(theta[-1], 0.5 * scale, problem.scale_min)
        noise = math.sqrt(2) * bound**2 * unit * symmetric_noise(normals((p, p)))
        scores = gradients.T @ gradients / n + noise
        return Estimate(theta, inverse @ (scores / n + (2 * bound * unit) ** 2 * np.eye(p)) @ inverse.T)


PLUGIN = Plugin(algorithms={"noisy-newton": NoisyNewton})
