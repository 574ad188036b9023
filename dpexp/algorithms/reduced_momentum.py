"""Algorithm 2 of `momentum`: less noise for the momentum, because most of its release is a small change between epochs.

The estimate is rebuilt from trees over gradients at the anchor of their epoch, changes between consecutive anchors, and
residuals. One order repeats in every epoch, as then it is the momentum plus data-independent noise (Lemma 17), one
gradient a step. With a fresh order in each epoch it is not, and is not run here.

Only the iterates leave, not the nodes of the trees. Exact calibration therefore sets the noise by what the iterates
reveal, where that is known for every position of a record (`dpexp.privacy.momentum.certificates`), and by the
release of all nodes elsewhere; the ledger names the case.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpexp.algorithms.finite_sum_run import RunPlan, drawn_order
from dpexp.algorithms.private_momentum import PrintedFormulas, PrivateMomentum
from dpexp.algorithms.schedules import Schedule
from dpexp.core.parameters import Share
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.momentum import NoisyReducedMomentum
from dpexp.privacy.momentum.certificates import Certificate, MomentumSetting, certificate
from dpexp.privacy.momentum.tree_streams import printed_counts, printed_sensitivities, unit_split
from dpexp.problems.finite_sum import FiniteSum
from dpexp.theory.momentum.momentum_formulas import theorem8_sigma, theorem9_schedule

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.looking import Data
    from dpexp.engine.finite_sum.momentum_loop import Momentum


class ReducedMomentum(PrivateMomentum):
    """Sensitivity-reduced momentum; `prescribed` is the schedule of Theorem 9."""

    name: Literal["reduced-momentum"] = "reduced-momentum"
    order: Literal["fixed"] = "fixed"
    gamma: Share | None = None
    """weight of an epoch's own gradients; min(1/2, L eta N / G) where it is left out"""

    microseconds: ClassVar[float] = 0.35
    printed: ClassVar[PrintedFormulas] = PrintedFormulas(theorem9_schedule, theorem8_sigma, 3)
    released: ClassVar[type[Mechanism]] = NoisyReducedMomentum

    def mixing(self, problem: FiniteSum, eta: float) -> float:
        return self.gamma or min(0.5, problem.smoothness * eta * problem.count / problem.lipschitz)

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        if schedule.name == "prescribed" and (self.alpha is not None or self.gamma is not None):
            faults.append("Theorem 9 prescribes alpha and gamma")
        return faults

    def memory(self, problem: FiniteSum, n: int, checkpoints: int, settings: int) -> int:
        # The variances of four streams at every step are there while the noise is split. Noise blocks and windows, of
        # all runs that are stepped together, take eight numbers a record and parameter.
        windows = self.side_by_side(problem, n) * problem.count * problem.dimension
        return super().memory(problem, n, checkpoints, settings) + 8 * 8 * (n + windows)

    def unit_stds(self, problem: FiniteSum, plan: RunPlan, budget: Budget) -> tuple[np.ndarray, float]:
        """Standard deviations of the nodes of each stream, in units of the momentum: numbers [4] that do not depend on
        the budget, and a factor that does; zeros without noise."""
        mu, n = self.mu(budget), problem.count
        if math.isinf(mu):
            return np.zeros(4), 0.0
        if self.calibration == "exact":
            return unit_deviations(plan, n, problem.lipschitz, problem.smoothness), 1 / mu
        deltas = printed_sensitivities(n, plan.eta, problem.lipschitz)
        return plan.alpha * deltas * np.sqrt(printed_counts(n, plan.steps)), self.printed_sigma(budget)

    def stepper(
        self, problem: FiniteSum, plan: RunPlan, budget: Budget, seed: int, replicate: int, data: Data
    ) -> Momentum:
        from dpexp.engine.finite_sum.momentum_loop import Momentum
        from dpexp.engine.finite_sum.noise_designs import Noise
        from dpexp.engine.finite_sum.noise_windows import window_sequence

        n = problem.count
        order = drawn_order(seed, replicate, n, plan.steps, self.order)
        units, factor = self.unit_stds(problem, plan, budget)
        arguments = (seed, replicate, problem.dimension, plan.steps, n, plan.alpha, plan.gamma, tuple(units.tolist()))
        start, noise = problem.start(), Noise(factor, window_sequence, arguments)
        return Momentum(data, start, order, noise, plan.alpha, plan.eta, steps=plan.steps)

    def own_settings(self, problem: FiniteSum, plan: RunPlan) -> dict[str, Any]:
        settings = {"order": self.order, "step_size": plan.eta, "smoothness": problem.smoothness, "gamma": plan.gamma}
        if self.calibration == "exact":
            by_iterates = covering(plan, problem.count, problem.lipschitz, problem.smoothness) is not None
            return settings | {"accounting": "iterates" if by_iterates else "nodes"}
        return settings


def unit_deviations(plan: RunPlan, n: int, G: float, L: float) -> np.ndarray:
    """Node deviations [4] for mu = 1 in units of the momentum."""
    # the best split for the release of all nodes, times the mu of the iterates where it is certified
    stds = plan.alpha * G * np.array(unit_split(n, plan.steps, plan.alpha, plan.gamma, L * plan.eta * n / G))
    certified = covering(plan, n, G, L)
    return stds if certified is None else stds * certified.mu


def covering(plan: RunPlan, n: int, G: float, L: float) -> Certificate | None:
    """Privacy loss of the iterates with one order that repeats; None where not every position is known."""
    return certificate(MomentumSetting(n, plan.steps, plan.alpha, plan.gamma, L * plan.eta * n / G))
