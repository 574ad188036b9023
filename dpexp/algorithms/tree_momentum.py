"""Algorithm 1 of `momentum`: normalised momentum whose noise comes from the nodes of a binary tree, and its variants.

    m_t = (1 - alpha) m_{t-1} + alpha grad f(w_t, x_{i(t)}),   w_{t+1} = w_t - eta m_hat_t / |m_hat_t|

m_hat_t adds the discounted noise of the nodes of COMPOSE(1, t); only left nodes are ever used, one a step. The design
of the noise and the normalisation are options, and each is calibrated to the same budget.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np

from dpexp.algorithms.finite_sum_run import RunPlan, drawn_order
from dpexp.algorithms.private_momentum import PrintedFormulas, PrivateMomentum
from dpexp.algorithms.schedules import Schedule
from dpexp.core.caches import kept_per_thread
from dpexp.privacy.budgets import Budget
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.momentum import NoisyTreeMomentum
from dpexp.privacy.momentum import trees
from dpexp.problems.finite_sum import FiniteSum
from dpexp.theory.momentum.momentum_formulas import theorem4_sigma, theorem6_schedule

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.looking import Data
    from dpexp.engine.finite_sum.momentum_loop import Momentum, Order

NOISE_BYTES = 1 << 28
"""bytes of square-root noise that are held at once, if it is that of more than one run"""


class TreeMomentum(PrivateMomentum):
    """Private momentum on one record a step; `prescribed` is the schedule of Theorem 6."""

    name: Literal["tree-momentum"] = "tree-momentum"
    design: Literal["tree", "square-root", "independent"] = "tree"
    """noise of tree nodes; of the square root of the momentum's matrix; fresh on every gradient"""
    normalised: bool = True
    """false: w_{t+1} = w_t - eta m_hat_t"""
    order: Literal["reshuffled", "fixed"] = "reshuffled"

    microseconds: ClassVar[float] = 0.2
    printed: ClassVar[PrintedFormulas] = PrintedFormulas(theorem6_schedule, theorem4_sigma, 1)
    released: ClassVar[type[Mechanism]] = NoisyTreeMomentum

    def seconds(self, problem: FiniteSum, n: int) -> float:
        # square-root noise takes two Fourier transforms of the whole run for every parameter
        noise = n * problem.dimension * 50e-9 if self.design == "square-root" else 0.0
        return super().seconds(problem, n) + noise

    def complaints(self, problem: FiniteSum, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        faults = super().complaints(problem, schedule, budget, n)
        if schedule.name == "prescribed" and (self.alpha is not None or not self.normalised or self.design != "tree"):
            faults.append("Theorem 6 prescribes alpha, for normalised steps with tree noise")
        if self.design == "square-root" and self.order != "fixed":
            faults.append("square-root noise is calibrated for a fixed order: give `order: fixed`")
        if self.design != "tree" and self.calibration == "paper":
            faults.append(f"the paper has no calibration of {self.design} noise")
        return faults

    def memory(self, problem: FiniteSum, n: int, checkpoints: int, settings: int) -> int:
        # square-root noise is made for the whole run at once: the normals of one replicate, and the noise of all that
        # are stepped together
        runs = self.side_by_side(problem, n)
        noise_bytes = 8 * n * ((2 + runs) * problem.dimension + 16) if self.design == "square-root" else 0
        return super().memory(problem, n, checkpoints, settings) + noise_bytes

    def side_by_side(self, problem: FiniteSum, n: int) -> int:
        group = super().side_by_side(problem, n)
        return group if self.design != "square-root" else max(1, min(group, NOISE_BYTES // (8 * n * problem.dimension)))

    def node_std(self, problem: FiniteSum, plan: RunPlan, budget: Budget, order: Order) -> float:
        """Standard deviation of one node (entry, gradient) in units of the momentum; 0 without noise."""
        mu, G = self.mu(budget), problem.lipschitz
        if math.isinf(mu):
            return 0.0
        if self.calibration == "paper":
            count = trees.printed_count(problem.count, plan.steps)
            return trees.printed_node_std(plan.alpha, G, self.printed_sigma(budget), count)
        return trees.exact_node_std(plan.alpha, G, mu, self.sensitivity(problem.count, plan, order))

    def sensitivity(self, n: int, plan: RunPlan, order: Order) -> float:
        """Largest squared sensitivity over records, in units of (2 G)^2."""
        # one order that repeats is the same for all replicates: its sensitivity is computed once
        if self.design == "tree" and order.repeats:
            return fixed_tree(n, plan.steps, plan.alpha)
        if self.design == "tree":
            return reshuffled_tree(order.items.tobytes(), plan.alpha)
        if self.design == "square-root":
            return fixed_square_root(n, plan.steps, plan.alpha)
        # fresh noise: every use of a record counts once, and there is one in each epoch
        return float(-(-plan.steps // n))

    def stepper(
        self, problem: FiniteSum, plan: RunPlan, budget: Budget, seed: int, replicate: int, data: Data
    ) -> Momentum:
        from dpexp.engine.finite_sum.momentum_loop import Momentum
        from dpexp.engine.finite_sum.noise_designs import DESIGNS, Noise

        order = drawn_order(seed, replicate, problem.count, plan.steps, self.order)
        arguments = (seed, replicate, problem.dimension, plan.steps, plan.alpha)
        noise = Noise(self.node_std(problem, plan, budget, order), DESIGNS[self.design], arguments)
        return Momentum(data, problem.start(), order, noise, plan.alpha, plan.eta, self.normalised, plan.steps)

    def own_settings(self, problem: FiniteSum, plan: RunPlan) -> dict[str, Any]:
        return {"order": self.order, "design": self.design}


@lru_cache(maxsize=256)
def fixed_tree(n: int, steps: int, alpha: float) -> float:
    """Largest squared sensitivity of the tree for one order that repeats."""
    from dpexp.privacy.momentum.left_nodes import left_sensitivities

    return float(left_sensitivities(trees.fixed_order(n, steps), alpha).max())


@kept_per_thread(2)
def reshuffled_tree(items: bytes, alpha: float) -> float:
    """The same for an order that does not repeat, as int64 bytes; settings of one replicate share it."""
    from dpexp.privacy.momentum.left_nodes import left_sensitivities

    return float(left_sensitivities(np.frombuffer(items, dtype=np.int64), alpha).max())


fixed_square_root = lru_cache(maxsize=256)(trees.square_root_sensitivity_fixed)
