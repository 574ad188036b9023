"""LDP-SGD in which the server waits for a batch of users before it takes a step. In plain numpy."""

from typing import ClassVar, Literal

import numpy as np

from dpexp.algorithms.algorithm import Algorithm
from dpexp.core.parameters import Count
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.problems.linear_predictor import LinearPredictorProblem


class BatchLdpSgd(Algorithm):
    """Step i uses the mean message of `batch` fresh users."""

    name: Literal["batch-ldp-sgd"] = "batch-ldp-sgd"
    batch: Count = 4

    estimators: ClassVar = ("sgd",)
    metrics: ClassVar = ("param_distance_sq",)
    runs_on: ClassVar = (LinearPredictorProblem,)
    schedules: ClassVar = ("power", "constant")

    def seconds(self, problem, n):
        """One step of numpy takes about 30 microseconds."""
        return n * (3e-5 + 1e-7 * self.batch * problem.p)

    def memory(self, problem, n, checkpoints, settings):
        return 8 * (2 * n + 3 * self.batch * problem.p)

    def mechanism(self, problem, schedule, budget, n):
        """Every user sends one noisy gradient. The mean of a batch is a function of what they send."""
        noise, exact = problem.noise_sensitivity(), problem.exact_sensitivity()
        return LocalGaussian(mu=budget, noise_sensitivity=noise, exact_sensitivity=exact, users=n * self.batch)

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 1, len(steps), 1, len(replicates)))
        for s, (schedule, budget) in enumerate(settings):
            for r, replicate in enumerate(replicates):
                values[s, 0, :, 0, r] = self.errors(problem, schedule, budget, steps, seed, replicate)
        return Passed(np.asarray(steps), self.estimators, self.metrics, values)

    def errors(self, problem, schedule, budget, steps, seed, replicate):
        """Squared distance to the optimum at the checkpoints."""
        n = int(steps[-1])
        users, noise, budgets = (generator(seed, replicate, role) for role in ("data", "noise", "budget"))
        sizes, theta, found = schedule.step_sizes(1, n), problem.start(), {}
        for i in range(1, n + 1):
            x, y = problem.sample(users, self.batch)
            mu = budget.draw(1 - budgets.random(self.batch), (i - 1) * self.batch + 1)
            spread = problem.noise_sensitivity() / mu
            messages = problem.gradient(theta, x, y) + spread[:, None] * noise.standard_normal((self.batch, problem.p))
            theta = theta - sizes[i - 1] * messages.mean(axis=0)
            if problem.has_scale:
                theta[-1] = max(theta[-1], problem.scale_min)
            found[i] = np.sum((theta - problem.optimum()) ** 2)
        return [found[int(step)] for step in steps]


PLUGIN = Plugin(algorithms={"batch-ldp-sgd": BatchLdpSgd})
