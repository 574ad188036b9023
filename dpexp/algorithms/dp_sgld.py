"""DP-SGLD on softmax regression (`dp-sgld`, Algorithm 1): Langevin steps, the prescribed start, projection.

    theta_0     ~ Proj( N(0, (2 sigma^2 / lambda) I) )
    theta_{k+1} = Proj( theta_k - eta_k (1/m) sum_{B_k} grad l + sqrt(2 eta_k) N(0, sigma^2 I) ),  theta_K is released

sigma is set by an accountant for the target (eps, delta). "With replacement" of the paper is a fresh uniform subset in
every step: sampling fixed-size. Gradients are bounded by the normalisation of the records, not clipped: clipping would
break the convexity that last-iterate bounds need.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np

from dpexp.algorithms.finite_sum_run import MOST_STEPS
from dpexp.algorithms.schedules import Schedule
from dpexp.algorithms.softmax_runs import BatchNoise, SoftmaxAlgorithm, no_target, step_sizes, target
from dpexp.core.parameters import Positive
from dpexp.engine.softmax.softmax_loop import langevin_scale
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms import langevin
from dpexp.privacy.mechanisms.langevin import LangevinRun
from dpexp.privacy.samplings import BatchSampling
from dpexp.problems.softmax import Softmax

ANY_START = ("pld", "once-an-epoch")
"""accountants of all iterates: these are private from any start that does not depend on the records"""


class DpSgld(SoftmaxAlgorithm):
    """Langevin steps whose noise an accountant of `dpexp.privacy.mechanisms.langevin` sets."""

    name: Literal["dp-sgld"] = "dp-sgld"
    sampling: BatchSampling = "fixed-size"
    accountant: Literal["pld", "last-iterate", "once-an-epoch", "theorem-3-1", "published"] = "pld"
    radius: Positive | None = None
    """of the ball to which iterates are projected; a ball that must hold the minimiser where it is left out"""
    toys: ClassVar[tuple[Mapping[str, Any], ...]] = ({"batch_size": 1, "start": "zero"},)

    start: Literal["prescribed", "zero"] = "prescribed"
    """zero: theta_0 = 0. What holds of all iterates holds for any start, the printed bounds do not"""

    def complaints(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = [*no_target(budget), *super().complaints(problem, schedule, budget, n)]
        if self.start == "zero" and self.accountant not in ANY_START:
            faults.append(
                f"accountant '{self.accountant}' speaks of the prescribed start; start: zero goes with "
                f"{' or '.join(ANY_START)}, which compose all iterates"
            )
        if n <= MOST_STEPS:  # more are refused already
            faults += self._run(problem, schedule, n, ends=True).complaints()
        return list(dict.fromkeys(faults))

    def sigma(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> float:
        eps, delta = target(budget)
        run = self._run(problem, schedule, n)
        return 0.0 if math.isinf(eps) else langevin.sigma_for(run, eps, delta)

    def mechanism(self, problem: Softmax, schedule: Schedule, budget: Budget, n: int) -> LangevinRun:
        return replace(self._run(problem, schedule, n), sigma=self.sigma(problem, schedule, budget, n))

    def noise(self, problem: Softmax, schedule: Schedule, budget: Budget, sizes: np.ndarray) -> BatchNoise:
        sigma = self.sigma(problem, schedule, budget, len(sizes))
        scale = langevin_scale(sizes, sigma) if sigma else None
        # the spread of the prescribed start follows from sigma, and is 0 with it
        start = sigma if self.start == "prescribed" else 0.0
        return BatchNoise(scale=scale, start=start, radius=self._radius(problem))

    def _radius(self, problem: Softmax) -> float:
        return problem.radius if self.radius is None else self.radius

    def _run(self, problem: Softmax, schedule: Schedule, n: int, ends: bool = False) -> LangevinRun:
        """The run in the words of the accountants; with `ends`, of its first and last step alone."""
        # sizes never grow, so the ends say which step is largest and whether all count as one size
        rule = schedule.for_losses(problem.smoothness, problem.regulariser)
        sizes = np.append(rule.step_sizes(1, 1), rule.step_sizes(n, n)) if ends else step_sizes(problem, schedule, n)
        epochs = max(1, round(n * self.batch_size / problem.n))
        return LangevinRun(
            n=problem.n,
            batch_size=self.batch_size,
            sampling=self.sampling,
            steps=n,
            lipschitz=problem.lipschitz,
            smoothness=problem.smoothness,
            strong_convexity=problem.regulariser,
            diameter=2 * self._radius(problem),
            largest_step=float(sizes.max()),
            total_step=math.fsum(sizes),
            total_of_epochs=math.fsum(sizes[:epochs]),
            # sqrt(2 eta) sigma on the parameter is m sigma sqrt(2 / eta) on the sum: over that of the largest step
            groups=langevin.grouped(np.sqrt(sizes.max() / sizes)),
            by_epochs=self.by_epochs(problem.n),
            accountant=self.accountant,
        )
