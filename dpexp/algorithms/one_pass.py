"""What all algorithms share in which every user is used once and sends one noisy gradient of a linear predictor.

An algorithm of this kind is its parameters and a `rule()`: how a user rescales its gradient, how the server moves the
iterate, and what the server remembers (`dpexp.engine.linear.rule`). Where a user's gradient is not the problem's own it
also says by `sensitivities()` how far the message of one user can move, and where a message has other units than a
gradient, by `messages()`, what it is. All else follows: the pass, the average of the iterates, the metrics, the noise
and the privacy statement.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dpexp.algorithms.algorithm import Algorithm, Settings
from dpexp.algorithms.schedules import Schedule
from dpexp.engine.linear.rule import Rule
from dpexp.engine.result import Passed
from dpexp.privacy.budgets import Budget
from dpexp.privacy.cap import cap
from dpexp.privacy.mechanisms.cap_sampling import CapSampling
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.privacy.mechanisms.mechanism import Stated
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.weights import NoWeight

if TYPE_CHECKING:
    from dpexp.engine.linear.linear_pass import PassSetting


class Sensitivities(NamedTuple):
    """How far what a user sends, before the noise, can move when the user's record is replaced (Euclidean norm)."""

    noise: float
    """Delta: user i adds noise of standard deviation Delta / mu_i to every coordinate"""
    exact: float
    """the smallest bound that is proved, from which the privacy statement follows"""


def infinite_sensitivity(problem: LinearPredictorProblem, sensitivity: float, budget: Budget) -> list[str]:
    """The complaint about a finite budget for messages without a bound."""
    private = budget.constant is None or math.isfinite(budget.constant)
    if not private or math.isfinite(sensitivity):
        return []
    if math.isfinite(problem.law.weight.reach()):
        hint = "give its class `score_bounds`, with a scale `gradient_bound` and `exact_sensitivity` too; or mu: inf"
        return [f"the sensitivity of {problem.name} is not known: its score has no stated bound\n{hint}"]
    if not isinstance(own := problem.law.weight, NoWeight):
        message = f"'population.weights': the weight '{own.name}' does not bound the length of w(x) x"
        return [f"{message}\ngive its class `reach`, or mu: inf"]
    return [
        "the sensitivity is infinite: rows are unbounded and 'population.weights' is none, so no noise is enough for a "
        "finite budget\nweights: mallows; or an algorithm that clips (clipped-ldp-sgd); or a bounded design (uniform, "
        "bernoulli, categorical). mu: inf runs without privacy"
    ]


def capped_messages(problem: LinearPredictorProblem, pure_eps: float) -> Stated:
    """What users release whose gradients are sent by cap sampling."""
    return Stated("cap-sampling", CapSampling(pure_eps=pure_eps, dimension=problem.p), "cap-sampling")


def finite(sensitivity: float) -> float:
    """The sensitivity, or 1 where there is none: then no budget is finite and no noise is added."""
    return sensitivity if math.isfinite(sensitivity) else 1.0


class OnePassAlgorithm(Algorithm):
    """One pass over fresh users, each of whom sends its gradient plus noise for its own budget mu_i."""

    populations: ClassVar[bool] = True
    pure_budgets: ClassVar[bool] = True
    estimators: ClassVar[tuple[str, ...]] = ("sgd", "asgd")
    """the iterate theta_i, and the average (theta_1 + ... + theta_i) / i"""
    metrics: ClassVar[tuple[str, ...]] = ("param_distance_sq", "coef_distance_sq", "loss_gap", "projections")
    runs_on: ClassVar[tuple[type, ...]] = (LinearPredictorProblem,)
    schedules: ClassVar[tuple[str, ...]] = ("power", "constant")

    def rule(self) -> Rule:
        """The algorithm itself: the user's side and the server's side of one step."""
        raise NotImplementedError

    def sensitivities(self, problem: LinearPredictorProblem) -> Sensitivities:
        """Replace-one sensitivity of what a user sends: that of the problem's gradient unless the rule rescales it."""
        return Sensitivities(problem.noise_sensitivity(), problem.exact_sensitivity())

    def radius(self, problem: LinearPredictorProblem) -> float:
        """Of a ball that holds all that is sent before the noise; inf where only its diameter is known."""
        rule = self.rule()
        own = type(self).messages is OnePassAlgorithm.messages and rule.rescale is None and rule.whiten is None
        return problem.message_radius() if own else math.inf

    def longest(self, problem: LinearPredictorProblem) -> float:
        """R, the largest length of what a user sends before the noise, for messages by cap sampling; inf: not known."""
        return problem.gradient_bound() if math.isfinite(self.radius(problem)) else math.inf

    def messages(self, problem: LinearPredictorProblem) -> LinearPredictorProblem:
        """The problem whose gradients, once the rule has rescaled them, are what users send before noise: itself."""
        return problem

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        # ours are tried by the conformance suite; here that would load scipy for a look at a config
        if not type(problem).__module__.startswith("dpexp."):
            problem.require_one_user()
        faults = infinite_sensitivity(problem, self.sensitivities(problem).noise, budget)
        if budget.pure_eps is not None and type(self).simulate is not OnePassAlgorithm.simulate:
            faults.append(f"{self.name} has a loop of its own, which takes no eps with delta = 0: take mu")
        elif budget.pure_eps is not None and not np.isfinite(self.longest(problem)):
            faults.append(
                f"no length of the messages of {self.name} is known, which cap sampling (delta = 0) needs: "
                "give its class `longest`, or take mu"
            )
        return faults

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        # of many settings, measured on a 2024 server core (`make bench`)
        rule = self.rule()
        coordinates = (0.55 + 0.2 * len(rule.memory)) * problem.p
        return n * (coordinates + (3.0 if rule.rescale else 1.0)) * 1e-9

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that a worker holds at once: iterates and averages of eight replicates, and two rows a step."""
        from dpexp.engine.linear import BLOCK, KEPT, SEGMENT

        # What a rule remembers is one more state of every setting for each of its vectors.
        states, remembered = 8 * 2 * checkpoints * settings, 8 * 8 * settings * problem.p * len(self.rule().memory)
        # A segment holds step sizes, budgets and noise of its steps, and the step sizes of earlier segments are kept.
        segment = 8 * 8 * (SEGMENT * (2 * settings + 3) + 3 * BLOCK * problem.p)
        step_bytes = 8 * min(KEPT * SEGMENT, n * settings)
        # States are kept as the engine writes them, and some risks turn them around. Of each, six numbers are measured,
        # the risk takes as many, and four metrics are handed on.
        return states * 8 * (2 * problem.p + 16) + segment + remembered + step_bytes

    def mechanism(
        self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int
    ) -> LocalGaussian | Stated:
        # Whatever the rule's server side does is a function of what users send, so it changes nothing here.
        if budget.pure_eps is not None:
            return capped_messages(problem, budget.pure_eps)
        noise, exact = map(finite, self.sensitivities(problem))
        # what has a diameter fits into a ball of that times sqrt(p / (2 (p + 1))) (Jung)
        ball = min(self.radius(problem), exact * math.sqrt(problem.p / (2 * (problem.p + 1))))
        return LocalGaussian(
            mu=budget, noise_sensitivity=noise, exact_sensitivity=exact, users=n, dimension=problem.p, radius=ball,
            attained=problem.has_exact_sensitivity,
        )  # fmt: skip

    def passes(
        self, problem: LinearPredictorProblem, settings: Settings
    ) -> Iterator[tuple[list[int], list[PassSetting], float]]:
        """Settings whose messages are of one kind: their places, they, and Delta or the largest length."""
        from dpexp.engine.linear.caps import MessageCap
        from dpexp.engine.linear.linear_pass import PassSetting

        for pure in (False, True):
            places = [k for k, (_, budget) in enumerate(settings) if (budget.pure_eps is not None) == pure]
            passed = []
            for schedule, budget in (settings[k] for k in places):
                # rounded, so that every machine simulates the same numbers
                best = None if budget.pure_eps is None else cap(budget.pure_eps, problem.p)
                own = best and MessageCap(*(float(f"{number:.9g}") for number in (best.q, best.inside, best.m)))
                passed.append(PassSetting(schedule, budget, own))
            if places:
                yield places, passed, self.longest(problem) if pure else finite(self.sensitivities(problem).noise)

    def states(self, steps: np.ndarray) -> np.ndarray:
        """Steps, ascending, after which the pass must be seen for the estimates at `steps`; all of those among them."""
        return steps

    def estimates(self, states: np.ndarray, schedules: Sequence[Schedule], steps: np.ndarray) -> np.ndarray:
        """The estimators at `steps`, [K, E, S, p, L], from iterates and averages `states` [states, 2, S, p, L]."""
        return states

    def simulate(
        self,
        problem: LinearPredictorProblem,
        settings: Settings,
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """Run the replicates of every (schedule, budget) on common users and noise."""
        from dpexp.engine.lanes.vectors import LANES
        from dpexp.engine.linear.linear_pass import run_lane_group

        steps = np.asarray(steps, dtype=np.int64)
        states = self.states(steps)
        at = np.searchsorted(states, steps)
        values = np.empty((len(settings), len(self.estimators), len(steps), len(self.metrics), len(replicates)))
        last = np.empty((len(settings), len(self.estimators), len(replicates), problem.p))
        rule, model = self.rule(), self.messages(problem).model()
        for own, passed, size in self.passes(problem, settings):
            for first in range(0, len(replicates), LANES):
                lanes = list(replicates[first : first + LANES])
                record = run_lane_group(model, rule, passed, size, states, seed, lanes)
                theta = self.estimates(record.theta, [settings[s][0] for s in own], steps)
                places = slice(first, first + len(lanes))
                last[own, :, places] = theta[-1].transpose(1, 0, 3, 2)[:, :, : len(lanes)]
                measured = problem.metrics(theta.reshape(-1, problem.p, LANES))
                for metric, numbers in enumerate(measured):
                    per_setting = numbers.reshape(*theta.shape[:3], LANES)[..., : len(lanes)]
                    values[own, :, :, metric, places] = per_setting.transpose(2, 1, 0, 3)
                values[own, :, :, 3, places] = record.projections[at][..., : len(lanes)].transpose(1, 0, 2)[:, None]
        return Passed(steps, self.estimators, self.metrics, values, last)
