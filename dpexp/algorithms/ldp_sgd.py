"""LDP-SGD and its Polyak-Ruppert average LDP-ASGD (`ldp-sgd`, equation (2) and section 3).

User i, who is used once, computes the gradient of its own loss at the public iterate, adds noise for its own budget
mu_i and sends the sum; the server takes one step and keeps the average of all iterates:

    theta_i     = Proj( theta_{i-1} - eta_i (grad f(theta_{i-1}, x_i) + (Delta / mu_i) omega_i) ),  omega_i ~ N(0, I_p)
    theta_bar_i = (theta_1 + ... + theta_i) / i
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np

from dpexp.core.parameters import Parameters
from dpexp.engine.lanes.elementwise import Value, maximum
from dpexp.engine.result import Passed
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.privacy.budgets import Budget
    from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
    from dpexp.schedules import Schedule


def descend(theta_j: Value, direction_j: Value, omega_j: Value, gradient_step: Value, noise_step: Value) -> Value:
    """theta_j - eta (g_j + (Delta / mu) omega_j), with gradient_step direction_j = eta g_j."""
    return theta_j - (gradient_step * direction_j + noise_step * omega_j)


def project(scale: Value, scale_min: float) -> Value:
    """The nearest scale that is at least scale_min: post-processing, so it costs no privacy."""
    return maximum(scale, scale_min)


def accumulate(total_j: Value, theta_j: Value) -> Value:
    """Running sum whose i-th value over i is the average theta_bar_i."""
    return total_j + theta_j


class LdpSgd(Parameters):
    """One pass over fresh users; user i adds the noise of its own budget mu_i before sending its gradient."""

    name: Literal["ldp-sgd"] = "ldp-sgd"

    estimators: ClassVar[tuple[str, ...]] = ("sgd", "asgd")
    metrics: ClassVar[tuple[str, ...]] = ("param_distance_sq", "coef_distance_sq", "loss_gap", "projections")
    runs_on: ClassVar[tuple[type, ...]] = (LinearPredictorProblem,)
    schedules: ClassVar[tuple[str, ...]] = ("power", "constant")

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Estimated time of one replicate of one of many settings, measured on a 2024 server core (`make bench`)."""
        return n * (0.55 * problem.p + 1.0) * 1e-9

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What is wrong with a setting: losses whose optimum or noise is not known."""
        return problem.complaints()

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that a worker holds at once: iterates and averages of eight replicates, and two rows a step.

        They are kept as the engine writes them, turned around for the metrics, squared, and shifted for the risk, which
        also takes a few numbers of every state; a segment holds step sizes, budgets and noise of 4096 steps.
        """
        from dpexp.engine.linear.one_pass import SEGMENT

        states = 8 * 2 * checkpoints * settings
        return states * 8 * (4 * problem.p + 8) + 8 * 8 * (SEGMENT * (2 * settings + 3) + 3 * 128 * problem.p)

    def mechanism(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> LocalGaussian:
        """The mechanism that n users run, from which the privacy statement is computed."""
        from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian

        return LocalGaussian(
            mu=budget,
            noise_sensitivity=problem.noise_sensitivity(),
            exact_sensitivity=problem.exact_sensitivity(),
            users=n,
        )

    def simulate(
        self,
        problem: LinearPredictorProblem,
        settings: Sequence[tuple[Schedule, Budget]],
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """Run the replicates of every (schedule, budget) on common users and noise, with metrics at `steps`.

        The numbers of a (setting, replicate) do not depend on the other settings and replicates of the call.
        """
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.engine.linear.kernel import Rule
        from dpexp.engine.linear.one_pass import Setting, run_lane_group

        steps = np.asarray(steps, dtype=np.int64)
        values = np.empty((len(settings), 2, len(steps), len(self.metrics), len(replicates)))
        rule, model = Rule(descend, project, accumulate), problem.model()
        for first in range(0, len(replicates), LANES):
            lanes = list(replicates[first : first + LANES])
            snapshots = run_lane_group(
                model, rule, [Setting(*s) for s in settings], problem.noise_sensitivity(), steps, seed, lanes
            )
            theta = np.ascontiguousarray(snapshots.theta[..., : len(lanes)].transpose(2, 1, 0, 4, 3))
            with np.errstate(over="ignore", invalid="ignore"):  # a diverged replicate is a result
                error_sq = (theta - problem.optimum()) ** 2
            block = values[..., first : first + len(lanes)]
            block[:, :, :, 0] = sum(error_sq[..., j] for j in range(problem.p))  # one order of summation for any shape
            block[:, :, :, 1] = sum(error_sq[..., j] for j in range(problem.d + 1))
            block[:, :, :, 2] = problem.risk_gap(theta)
            block[:, :, :, 3] = snapshots.projections[..., : len(lanes)].transpose(1, 0, 2)[:, None]
        return Passed(steps, self.estimators, self.metrics, values)
