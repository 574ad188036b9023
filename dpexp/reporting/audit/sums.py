"""Two worlds for the algorithms on finite sums: a canary of slope G or -G, and every noisy sum of many short runs.

The engine's own steps are taken (`Stepper.advance`, one at a time) with the algorithm's own order, noise and
calibration. As for DP-SGD a copy is audited: all settings but size, on few records, for few steps, at a larger target.
Losses are linear, so that gradients are as long as they may be, and the same at all iterates.

(a) What is known to the adversary: the order of the records, which no guarantee keeps secret, and so both noise-free
twins, with the canary's slope G and with -G. (b) Poisson samples are secret: there the ratio is averaged over them.
(c) Noise of different steps may be one draw: its covariance is taken from runs of their own, and divided out.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import cast

import numpy as np

from dpexp.algorithms.algorithm import Algorithm
from dpexp.algorithms.batch_descent import BatchDescent
from dpexp.algorithms.finite_sum_run import FiniteSumAlgorithm, RunPlan
from dpexp.config.cells import Cell
from dpexp.engine.finite_sum.loop import Data
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.audit.claim import claim_of
from dpexp.privacy.audit.statistics import LEAST_DIMENSION, counts, of_correlated_steps, of_replaced_steps, whitening
from dpexp.privacy.budgets import Target
from dpexp.privacy.mechanisms.released import Released
from dpexp.problems.canaries import LinearCanaries
from dpexp.problems.finite_sum import FiniteSum
from dpexp.reporting.audit.auditable import COPIES, Copy, Look, Seen, coins, settings_of

RECORDS = 6
"""of a copy: in each step one of them, or all, or a sample"""
SAMPLED = 0.25
"""the rate of the copy's Poisson samples, where the config draws any"""
NOISES = 1500
"""replicates from which the covariance of the noise is taken, in every coordinate"""
FAR_SEED = 2**40
"""added to the seed of these, so that they are other runs"""
DELTA = 1e-5
"""of the copy's target, where the config gives a mu"""


class SumsAudit:
    """All noisy sums and the last iterate of a copy of an algorithm on a finite sum."""

    def __init__(
        self, cell: Cell, problem: FiniteSum, algorithm: FiniteSumAlgorithm, delta: float, copy: Copy
    ) -> None:  # fmt: skip
        self.algorithm, self.schedule, self.steps = algorithm.name, cell.schedule, copy.steps
        small: dict[str, object] = {"epochs": None}
        self.quiet = copy.quiet
        self.sampled = isinstance(algorithm, BatchDescent) and algorithm.sampling_rate < 1
        if self.sampled:
            small["sampling_rate"] = SAMPLED
        self.copy = algorithm.model_copy(update=small)
        self.budget = Target(eps=copy.eps, delta=delta)
        eta, own = self.schedule.step_size(self.steps), cell.schedule.step_size(cell.run.n)
        # the change of a gradient over one epoch, over its length, is the config's: noise for small changes rests on it
        ratio = problem.smoothness * own * algorithm.passes(problem) / problem.lipschitz
        first = LinearCanaries(
            records_count=RECORDS, width=LEAST_DIMENSION, slope=-1.0, canary=RECORDS - 1, stated_smoothness=1.0
        )  # fmt: skip
        first = first.model_copy(update={"stated_smoothness": ratio / (eta * algorithm.passes(first))})
        self.worlds = [first, first.model_copy(update={"slope": 1.0})]
        self.plan: RunPlan = self.copy.plan(first, self.schedule, self.budget, self.steps)
        sampled = ", Poisson samples" if self.sampled else ""
        self.label = f"{algorithm.name} on {problem.name}{settings_of(cast('Algorithm', algorithm), small)}{sampled}"
        rate = f", sampling_rate {SAMPLED:g}" if self.sampled else ""
        self.size = (
            f"a copy: {RECORDS} records of linear losses{rate}, {self.steps} steps, "
            f"noise set for eps = {copy.eps:g} at {delta:g}"
        )

    @cached_property
    def stated(self) -> Analysis:
        """The valid analysis of all noisy sums with the smallest epsilon."""
        return min((one for one in self._valid if not one.secret), key=self._eps)

    @cached_property
    def stated_of_iterates(self) -> Analysis:
        """The same where only iterates leave, and some of what a run computes does not."""
        return min(self._valid, key=self._eps)

    @cached_property
    def mechanism(self) -> Released:
        """What the copy releases, by the algorithm's own words."""
        return cast("Algorithm", self.copy).mechanism(self.worlds[0], self.schedule, self.budget, self.steps)

    @cached_property
    def _valid(self) -> list[Analysis]:
        return [one for one in self.mechanism.upper_bounds() if one.valid and one.released == ALL]

    def _eps(self, analysis: Analysis) -> float:
        return analysis.eps(self.budget.delta)

    @cached_property
    def looks(self) -> Sequence[Look]:
        who, of_sums, of_iterates = "a record that is replaced", self.stated, self.stated_of_iterates
        kinds = [(ALL, "likelihood ratio", of_sums, False), (LAST, "projection", of_iterates, False)]
        if self.quiet:
            kinds = [(ALL, one, of_sums, True) for one in ("steps without noise", "pairs of equal noise")]
        elif of_iterates.secret:
            kinds.append((ALL, "directions of the steps", of_iterates, False))
        return [Look(released, who, name, claim_of(by), by, counted) for released, name, by, counted in kinds]

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        canary = coins(seed, replicates)
        runs = [self.run(self.worlds[int(there)], seed, r) for there, r in zip(canary, replicates, strict=True)]
        sums, last = (np.stack(part) for part in zip(*runs, strict=True))
        # (b)
        if self.sampled:
            noise = np.full(self.steps, self.deviation)
            effects = np.zeros_like(sums)
            effects[:, :, 0] = 1 / (SAMPLED * RECORDS)
            ratio = of_replaced_steps(sums, effects, noise, SAMPLED)
            bare = counts(sums, effects, noise)
        else:
            # (a), (c)
            twins = [np.stack([self.clean(world, seed, r) for r in replicates]) for world in self.worlds]
            # the noise-free twin of the first world is taken off, and the two differ by the canary alone
            rest, effects = sums - twins[0], twins[1] - twins[0]
            ratio = of_correlated_steps(rest[:, :, 0], effects[:, :, 0], self.white)
            fresh = [np.einsum("st,rtj->rsj", self.white, one) for one in (rest, effects)]
            bare = counts(fresh[0], fresh[1], np.ones(self.steps))
        if self.quiet:
            return [Seen(np.asarray(one, float), canary) for one in bare]
        found = [ratio, -last[:, 0]]
        if self.stated_of_iterates.secret:
            # a step of fixed length shows the direction of a sum, and not its length
            directions = sums[:, :, 0] / np.linalg.norm(sums, axis=2)
            found.append(np.sum(directions * (effects[:, :, 0] @ self.white.T @ self.white), axis=1))
        return [Seen(np.asarray(one, float), canary) for one in found]

    def run(
        self, problem: LinearCanaries, seed: int, replicate: int, noise: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The noisy sums [T, d] of a replicate, and its last iterate [d]."""
        algorithm = self.copy if noise else self.copy.model_copy(update={"noise": False})
        data = Data(problem.pair, *problem.records, problem.constants)
        stepper = algorithm.stepper(problem, self.plan, self.budget, seed, replicate, data)
        sums = np.empty((self.steps, problem.dimension))
        for t in range(self.steps):
            # one step at a time, so that every noisy sum is seen
            stepper.advance(t + 1, t + 1)
            sums[t] = stepper.estimate
        return sums, stepper.w.copy()

    def clean(self, problem: LinearCanaries, seed: int, replicate: int) -> np.ndarray:
        """The sums without noise, which a public order of the records gives [T, d]."""
        return self.run(problem, seed, replicate, noise=False)[0]

    @cached_property
    def noises(self) -> np.ndarray:
        """Noise of runs of their own in every coordinate but the canary's [runs times (d - 1), T]."""
        runs = [self.run(self.worlds[0], FAR_SEED, r)[0][:, 1:] for r in range(NOISES)]
        return np.concatenate([run.T for run in runs])

    @cached_property
    def white(self) -> np.ndarray:
        """What makes the steps' noise independent [T, T]."""
        return whitening(self.noises)

    @property
    def deviation(self) -> float:
        """Of fresh noise on the sums."""
        return float(np.sqrt(np.mean(self.noises**2)))


def audits_of_sums(cell: Cell) -> Sequence[SumsAudit] | str | None:
    """An audit of each kind of copy of an algorithm on a finite sum."""
    problem, algorithm, budget = cell.problem, cell.algorithm, cell.privacy.mu
    if not (isinstance(algorithm, FiniteSumAlgorithm) and isinstance(problem, FiniteSum)):
        return None
    if cell.schedule.name == "prescribed":
        return f"{algorithm.name}: a prescribed schedule fixes the size; path-length or constant steps are audited"
    if not algorithm.noise:
        return f"{algorithm.name}, noise: false: no privacy is claimed"
    delta = budget.target[1] if budget.target else DELTA
    return [SumsAudit(cell, problem, algorithm, delta, copy) for copy in COPIES]
