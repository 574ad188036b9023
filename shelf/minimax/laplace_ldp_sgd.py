"""LDP-SGD with Laplace noise, against which Duchi, Jordan and Wainwright compare their optimal message.

The gradient of a user is w(x) s (1, z) with |s| <= S and |w(x) x| <= L, so that

(a)  |g - g'|_1 <= 2 S max |w(x) x|_1 <= 2 S sqrt(p) L,
(b)  message = g + Laplace(2 S sqrt(p) L / eps) in every coordinate is eps-differentially private,
(c)  theta_i = theta_{i-1} - eta_i message_i, and the average of the iterates.
"""

import math
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field
from scipy.special import log_ndtr

from dpexp.algorithms.algorithm import Algorithm
from dpexp.core.seeds import generator
from dpexp.engine.result import Passed
from dpexp.plugins import Plugin
from dpexp.privacy.analyses.analysis import ALL, guarantee
from dpexp.privacy.mechanisms.mechanism import Mechanism, Stated
from dpexp.problems.linear_predictor import LinearPredictorProblem


class LaplaceMessage(Mechanism):
    """One vector with independent Laplace noise in every coordinate."""

    noise_field: ClassVar[str] = "pure_eps"
    more_noise_is_larger: ClassVar[bool] = False
    pure_eps: Annotated[float, Field(gt=0)]

    def upper_bounds(self):
        holds = ("a user sends one message, whose L1 sensitivity is at most that of (a)",)
        return [guarantee("laplace", "Dwork and others (2006), Proposition 1", ALL, lambda delta: self.pure_eps, holds)]

    def lower_bounds(self):
        return []

    def description(self):
        return [("Released", "a vector with Laplace noise"), ("Budget", f"epsilon {self.pure_eps:g} with delta = 0")]


class LaplaceLdpSgd(Algorithm):
    """One pass over users, each of whom adds Laplace noise."""

    name: Literal["laplace-ldp-sgd"] = "laplace-ldp-sgd"

    estimators: ClassVar = ("sgd", "asgd")
    metrics: ClassVar = ("param_distance_sq",)
    runs_on: ClassVar = (LinearPredictorProblem,)
    populations: ClassVar = True
    pure_budgets: ClassVar = True
    schedules: ClassVar = ("power", "constant")

    def eps(self, budget):
        """Of `privacy: {eps: E, delta: 0}`; of `mu`, the largest whose messages are mu-GDP."""
        return budget.pure_eps or float(log_ndtr(budget.constant / 2) - log_ndtr(-budget.constant / 2))

    def complaints(self, problem, schedule, budget, n):
        return [] if budget.constant else ["Laplace noise takes one budget for all users"]

    def seconds(self, problem, n):
        return n * 4e-6

    def memory(self, problem, n, checkpoints, settings):
        return 8 * 16 * n * (problem.p + 1)

    def mechanism(self, problem, schedule, budget, n):
        return Stated(
            "laplace-message", LaplaceMessage(pure_eps=self.eps(budget)), "laplace", valid=budget.constant < math.inf
        )

    def simulate(self, problem, settings, steps, seed, replicates):
        values = np.empty((len(settings), 2, len(steps), 1, len(replicates)))
        users = [problem.sample(generator(seed, r, "data"), int(steps[-1])) for r in replicates]
        x, y = (np.stack(part, axis=1) for part in zip(*users, strict=True))
        noise = np.stack([generator(seed, r, "noise").laplace(size=(len(x), problem.p)) for r in replicates], axis=1)
        for s, (schedule, budget) in enumerate(settings):
            values[s, :, :, 0] = self.path(problem, schedule, self.eps(budget), x, y, noise, steps)
        return Passed(np.asarray(steps), self.estimators, self.metrics, values)

    def path(self, problem, schedule, eps, x, y, noise, steps):
        """Squared distances [2, K, R] of the iterate and of the average after the checkpoints."""
        scale = 2 * math.sqrt(problem.p) * problem.gradient_bound() / eps  # (a)
        theta, total, found, best = np.tile(problem.start(), (x.shape[1], 1)), 0.0, [], problem.optimum()
        for i, eta in enumerate(schedule.step_sizes(1, len(x))):
            theta = theta - eta * (problem.gradient(theta, x[i], y[i]) + scale * noise[i])  # (b), (c)
            total = total + theta
            if i + 1 in steps:
                found.append([np.sum((at - best) ** 2, axis=1) for at in (theta, total / (i + 1))])
        return np.swapaxes(found, 0, 1)


PLUGIN = Plugin(algorithms={"laplace-ldp-sgd": LaplaceLdpSgd}, mechanisms={"laplace-message": LaplaceMessage})
