"""Clipping at a quantile that is learned privately: Andrew, Thakkar, McMahan and Ramaswamy (NeurIPS 2021).

In round t a batch of m fresh users sends gradients clipped at C_t, and whether they were within it:

(a)  G = (sum of clip(g_i, C_t) + z_G C_t N(0, I)) / m,    b = (sum of (1{|g_i| <= C_t} - 1/2) + s N(0, 1)) / m + 1/2
(b)  theta <- theta - eta_t G,    C <- C exp(-rate (b - quantile))

Replacing a user moves the two sums by 2 C_t and by 1, so a round is mu-GDP with mu^2 = 4 / z_G^2 + 1 / s^2; every user
is in one round. With s = m / (20 mu), the paper's m / 20 at mu = 1, z_G = (2 / mu) / sqrt(1 - (20 / m)^2).
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.algorithm import Algorithm
from dpexp.core.parameters import Positive, Share
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.problems.linear_predictor import LinearPredictorProblem


class AdaptiveClipping(Algorithm):
    """Rounds of clipped gradients; with rate 0 the clipping bound stays where it starts, and no bit is sent."""

    name: Literal["adaptive-clipping"] = "adaptive-clipping"
    batch: Annotated[int, Field(ge=21)] = 100
    clip: Positive = 1.0
    """clipping bound of the first round"""
    rate: Annotated[float, Field(ge=0, le=1)] = 0.2
    """step size of the logarithm of the bound"""
    quantile: Share = 0.5
    """share of users whose gradients should be within the bound"""

    estimators: ClassVar = ("last",)
    metrics: ClassVar = ("param_distance_sq", "bound")
    runs_on: ClassVar = (LinearPredictorProblem,)
    populations: ClassVar = True
    schedules: ClassVar = ("power", "constant")
    toys: ClassVar = ({"batch": 40},)

    def seconds(self, problem, n):
        """A round of numpy takes about 60 microseconds."""
        return n * (6e-5 + 1e-7 * self.batch * problem.p)

    def memory(self, problem, n, checkpoints, settings):
        return 8 * (2 * n + 4 * self.batch * problem.p)

    def mechanism(self, problem, schedule, budget, n):
        """A user takes part in one round, whose two sums together are a Gaussian mechanism with mu of the budget."""
        return LocalGaussian(mu=budget, noise_sensitivity=2.0, exact_sensitivity=2.0, users=n * self.batch)

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 1, len(steps), 2, len(replicates)))
        for s, (schedule, budget) in enumerate(settings):
            for r, replicate in enumerate(replicates):
                values[s, 0, :, :, r] = self.path(problem, schedule, budget, steps, seed, replicate)
        return Passed(np.asarray(steps), self.estimators, self.metrics, values)

    def path(self, problem, schedule, budget, steps, seed, replicate):
        """Squared distance to the optimum and clipping bound after the checkpoints."""
        n, m = int(steps[-1]), self.batch
        users, noise = (generator(seed, replicate, role) for role in ("data", "noise"))
        sizes, theta, clip, at = schedule.step_sizes(1, n), problem.start(), self.clip, {}
        mu = float(budget.draw(np.full(1, 0.5), 1)[0])
        z = 2 / mu / math.sqrt(1 - (20 / m) ** 2 if self.rate else 1)
        s = m / (20 * mu)
        for t in range(1, n + 1):
            x, y = problem.sample(users, m)
            gradients = problem.gradient(theta, x, y)
            norms = np.linalg.norm(gradients, axis=1)
            omega = noise.standard_normal(problem.p + 1)
            mean = (gradients * np.minimum(1, clip / np.maximum(norms, 1e-12))[:, None]).sum(axis=0)
            theta = theta - sizes[t - 1] * (mean + z * clip * omega[:-1]) / m
            share = (np.sum(norms <= clip) - m / 2 + s * omega[-1]) / m + 0.5
            clip *= math.exp(-self.rate * (share - self.quantile))
            at[t] = (np.sum((theta - problem.optimum()) ** 2), clip)
        return [at[int(step)] for step in steps]


PLUGIN = Plugin(algorithms={"adaptive-clipping": AdaptiveClipping})
