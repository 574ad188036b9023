"""Intervals around the last of a few noisy Newton steps by one owner of all records."""

import math
from typing import ClassVar, Literal

import numpy as np

from dpexp.algorithms.covering import Covering, Estimate
from dpexp.core.parameters import Count
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian


class NoisyNewton(Covering):
    """theta <- theta - H^-1 (mean gradient + noise), with the H of the law that is guessed."""

    name: Literal["noisy-newton"] = "noisy-newton"
    rounds: Count = 12

    estimators: ClassVar = ("noisy-newton",)

    def complaints(self, problem, schedule, budget, n):
        one = [] if budget.constant is not None else ["one owner has one budget: mu is a number"]
        return super().complaints(problem, schedule, budget, n) + one

    def seconds(self, problem, n):
        return 1e-3 + self.rounds * n * problem.p * 2e-8

    def mechanism(self, problem, schedule, budget, n):
        """Means of all gradients: a record moves their sum by two largest norms."""
        sent = SampledGaussian(
            noise_multiplier=2 * math.sqrt(self.rounds) / budget.constant,
            sampling_probability=1,
            steps=self.rounds,
            sampling="full-batch",
            neighboring_relation="replace-one",
        )
        noisy = math.isfinite(budget.constant)
        return Stated("sampled-gaussian", sent, "gaussian-composition" if noisy else "no-noise", valid=noisy)

    def noise(self, model, budget, n):
        """1 / mu^2 of the efficient bound: an owner adds noise once, to the mean."""
        return budget.constant**-2 / n

    def estimate(self, model, x, y, budget, normals):
        problem, n = model.problem, len(y)
        size = 2 * problem.gradient_bound() * math.sqrt(self.rounds) / (budget.constant * n)
        rows, theta, inverse = np.column_stack([np.ones(n), x]), problem.start(), np.linalg.inv(model.guessed_hessian)
        first, last = problem.optimum()[-1], theta[-1]  # the scale of the guess, and of the start
        for _ in range(self.rounds):
            mean = problem.gradient(theta, rows, y).mean(axis=0)
            # curvature goes as one over the scale of the errors, which is released with every step
            step = inverse * (theta[-1] / first) if problem.has_scale else inverse
            theta = theta - step @ (mean + size * normals((problem.p,)))
            if problem.has_scale:
                theta[-1] = last = max(theta[-1], 0.5 * last, problem.scale_min)
        inverse = inverse * (theta[-1] / first) if problem.has_scale else inverse
        return Estimate(theta, inverse @ (model.guessed_covariance / n + size**2 * np.eye(problem.p)) @ inverse)


PLUGIN = Plugin(algorithms={"noisy-newton": NoisyNewton})
