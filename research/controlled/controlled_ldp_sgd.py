"""LDP-SGD minus its linearised recursion on the same random numbers: the same errors from fewer replicates.

With H the Hessian of the risk and g_k the gradient of user k, both at theta*, and xi_k = g_k + (Delta / mu_k) omega_k,

    e_k = e_{k-1} - eta_k (H e_{k-1} + xi_k),   e_0 = theta_0 - theta*

meets the users and the noise of `ldp-sgd`. E|e_k|^2 is known exactly (`dpexp.theory.ldp_sgd.linearised`), so that

    |theta_k - theta*|^2 - (|e_k|^2 - E|e_k|^2)

has the mean of |theta_k - theta*|^2, and only the variance of the difference: a control variate with beta = 1. The same
holds of the average, and of the loss gap with e_k' H e_k / 2. docs/ldp-sgd.md has the proof, and where it pays.

How e is computed by the engine of `ldp-sgd`, for every eigenvalue h of H with its projector P:

(a) P e_k = f_k P e_0 + P r_k / h,   f_k = (1 - eta_1 h) ... (1 - eta_k h),   r_k = r_{k-1} - h eta_k (r_{k-1} + xi_k),
    with r_0 = 0: a pass with step sizes h eta_k over users whose gradient is r_{k-1} + g_k.
(b) r is linear in the noise. Where all users share mu, it is (1 - 1 / mu) r(no noise) + (1 / mu) r(noise of mu = 1).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar, Literal, NamedTuple

import numpy as np

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm
from dpexp.core.errors import UsageError
from dpexp.engine.lanes.elementwise import Value
from dpexp.engine.linear.rule import Memory, Numbers, Received, Rule
from dpexp.engine.result import Passed
from dpexp.inference.public_numbers import rounded
from dpexp.plugins import Plugin
from dpexp.privacy.budgets import Budget, ConstantBudget, ListBudget
from dpexp.problems.linear_losses import HuberLinear, MallowsLogistic, PinballLinear
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.theory.ldp_sgd.linearised import Modes, linearised_moments, modes_of, noisy_covariance

if TYPE_CHECKING:
    from dpexp.algorithms.algorithm import Settings
    from dpexp.algorithms.schedules import Schedule
    from dpexp.engine.linear.kernel import ModelShape
    from dpexp.engine.linear.linear_pass import PassModel

TOGETHER = 65536
"""steps whose factors are multiplied at once"""


def update(theta: Value, received: Received, memory: Memory, numbers: Numbers) -> tuple[Value, Memory]:
    """One step of r, of (a): against its own value and what a user sends."""
    return received.stepped - received.eta * theta, memory


class Scaled(NamedTuple):
    """Step sizes of a schedule times a factor."""

    schedule: Schedule
    factor: float

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        return self.factor * self.schedule.step_sizes(first, last)


class Linear(NamedTuple):
    """The linearised recursion of a problem under some budgets."""

    modes: Modes
    projectors: np.ndarray
    """onto the eigenvectors of every mode [J, p, p]"""
    start: np.ndarray
    """theta_0 - theta* [p]"""


class ControlledLdpSgd(OnePassAlgorithm):
    """LDP-SGD, with its squared distance and loss gap, and the same less their linear part."""

    name: Literal["controlled-ldp-sgd"] = "controlled-ldp-sgd"
    populations: ClassVar[bool] = False
    metrics: ClassVar[tuple[str, ...]] = (
        *OnePassAlgorithm.metrics,
        "param_distance_sq_controlled",
        "loss_gap_controlled",
    )
    runs_on: ClassVar[tuple[type, ...]] = (HuberLinear, MallowsLogistic, PinballLinear)
    """problems whose Hessian and covariance at theta* are known, and whose users can be asked there"""

    def rule(self) -> Rule:
        return LdpSgd().rule()

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """Losses, step sizes and budgets for which the second moment of the linearised recursion is not known."""
        faults = super().complaints(problem, schedule, budget, n) or list(_unknown(problem))
        if not faults and isinstance(budget, ListBudget):
            faults = ["a list of budgets gives every step a noise of its own, for which no second moment is computed"]
        if not faults:
            first, limit = float(schedule.step_sizes(1, 1)[0]), 2 / float(linear(problem, budget).modes.h[-1])
            if first > limit:
                faults = [
                    f"the linearised recursion grows: its first step size, {first:g}, must be at most {limit:.4g}"
                ]
        return faults

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Estimated time of one replicate of one of many settings."""
        # the linear recursion takes as long as the pass itself, or twice
        return 2.5 * super().seconds(problem, n)

    def memory(self, problem: LinearPredictorProblem, n: int, checkpoints: int, settings: int) -> int:
        """Bytes that a worker holds at once."""
        # of a setting also eight states: of four modes, with noise and without
        return super().memory(problem, n, checkpoints, settings) + 8 * 8 * 2 * checkpoints * 8 * settings * problem.p

    def simulate(
        self,
        problem: LinearPredictorProblem,
        settings: Settings,
        steps: np.ndarray,
        seed: int,
        replicates: Sequence[int],
    ) -> Passed:
        """`ldp-sgd`, and then the linearised recursion on the same streams, eight replicates at a time."""
        from dpexp.engine.lanes.vectors import LANES

        passed = super().simulate(problem, settings, steps, seed, replicates)
        values, plain = passed.values, [self.metrics.index(name) for name in ("param_distance_sq", "loss_gap")]
        for first in range(0, len(replicates), LANES):
            lanes = replicates[first : first + LANES]
            block = values[..., first : first + len(lanes)]
            block[:, :, :, -2:] = block[:, :, :, plain] - self.controls(problem, settings, passed.steps, seed, lanes)
        return passed

    def controls(
        self, problem: LinearPredictorProblem, settings: Settings, steps: np.ndarray, seed: int, lanes: Sequence[int]
    ) -> np.ndarray:
        """|e|^2 and e' H e / 2 less their exact means, for up to 8 replicates; [settings, 2, K, 2, replicates]."""
        from dpexp.engine.linear.linear_pass import PassSetting, run_lane_group

        # one pass for all: settings that share a schedule, an eigenvalue and a part of (b) share its states
        linears = [linear(problem, budget) for _, budget in settings]
        parts = [_parts(budget) for _, budget in settings]
        passes = {
            PassSetting(Scaled(schedule, h), part): None
            for (schedule, _), of, own in zip(settings, linears, parts, strict=True)
            for h in of.modes.h.tolist()
            for part, _ in own
        }
        place = {setting: number for number, setting in enumerate(passes)}
        delta = self.sensitivities(problem).noise
        states = run_lane_group(at_optimum(problem), Rule(update), list(passes), delta, steps, seed, lanes).theta
        values = np.empty((len(settings), 2, len(steps), 2, states.shape[-1]))
        at = tuple(steps.tolist())
        for s, (schedule, budget) in enumerate(settings):
            modes, projectors, start = linears[s]
            squares = np.empty((2, len(steps), len(modes.h), states.shape[-1]))
            for j, h in enumerate(modes.h.tolist()):
                # (a), whose r is the sum of the parts of (b); the projector comes last
                remainder = _left(schedule, h, at)
                error = remainder[:, :, None, None] * start[:, None]
                for part, share in parts[s]:
                    error = error + share / h * states[:, :, place[PassSetting(Scaled(schedule, h), part)]]
                along = sum(projectors[j, :, i, None] * error[:, :, i, None] for i in range(problem.p))
                squares[:, :, j] = np.sum(along * along, axis=2).transpose(1, 0, 2)
            # |e|^2 is the sum over modes of |P e|^2, and e' H e that of h |P e|^2
            away = squares - _exact(problem, schedule, budget, at)[..., None]
            values[s, :, :, 0] = away.sum(axis=2)
            values[s, :, :, 1] = (modes.h[:, None] / 2 * away).sum(axis=2)
        return values[..., : len(lanes)]


def exact(schedule: Schedule, modes: Modes, steps: np.ndarray) -> np.ndarray:
    """Exact second moments of the linearised iterate and of its average, [2, K, J]: one number a mode."""
    fields = schedule.model_dump()
    moments = linearised_moments(steps, np.array([fields["eta"]]), float(fields.get("alpha", 0.0)), modes)
    return rounded(np.stack([moments.iterate[0], moments.average[0]]))


@lru_cache(maxsize=1024)
def _exact(problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, steps: tuple[int, ...]) -> np.ndarray:
    """`exact`, computed once for all replicates."""
    # it takes as long as a few replicates
    return exact(schedule, linear(problem, budget).modes, np.array(steps))


@lru_cache(maxsize=256)
def linear(problem: LinearPredictorProblem, budget: Budget) -> Linear:
    """Modes and projectors of the Hessian at theta*."""
    # rounded, so that every machine simulates the same numbers
    curvature, start = problem.curvature(), problem.start() - problem.optimum()
    hessian, scores = rounded(curvature.hessian), rounded(curvature.score_covariance)
    covariance = noisy_covariance(scores, problem.noise_sensitivity(), budget.mean_inverse_square)
    modes = Modes(*(rounded(part) for part in modes_of(hessian, covariance, start)))
    values, vectors = np.linalg.eigh(hessian)
    # eigenvalues that are the same but for rounding are one mode, whose projector is onto all of their vectors
    of = np.argmin(np.abs(values[:, None] - modes.h), axis=1)
    return Linear(
        modes, rounded(np.stack([vectors[:, of == j] @ vectors[:, of == j].T for j in range(len(modes.h))])), start
    )


def _parts(budget: Budget) -> list[tuple[Budget, float]]:
    """Budgets, and what the recursion under each counts in that under `budget`: (b)."""
    if budget.constant is None:
        return [(budget, 1.0)]
    # the same two parts for every budget, so that a second one costs no second pass
    return [(ConstantBudget(mu=math.inf), 1 - 1 / budget.constant), (ConstantBudget(mu=1.0), 1 / budget.constant)]


@lru_cache(maxsize=256)
def _left(schedule: Schedule, h: float, steps: tuple[int, ...]) -> np.ndarray:
    """f_k of (a), and the mean of f_1..f_k, at the steps; [K, 2]."""
    factor: np.ndarray = np.ones(1)
    total: np.ndarray = np.zeros(1)
    at, factors = np.array(steps), []
    for first in range(0, steps[-1], TOGETHER):
        last = min(first + TOGETHER, steps[-1])
        # one product after the other, so that the bits are the same wherever it is cut
        factor = np.cumprod(np.append(factor[-1:], 1 - h * schedule.step_sizes(first + 1, last)))
        total = np.cumsum(np.append(total[-1:], factor[1:]))
        here = at[(at > first) & (at <= last)]
        factors.append(np.stack([factor[here - first], total[here - first] / here], axis=1))
    return np.concatenate(factors)


# --- the gradient at theta*


def at_optimum(problem: LinearPredictorProblem) -> PassModel:
    """The problem whose users send g_k, wherever theta is; it starts from 0, and its scale is free."""
    model = problem.model()
    scale = problem.optimum()[-1] if problem.has_scale else problem.fixed_scale
    law = model.law._replace(k=np.append(model.law.k, scale), scale_min=-math.inf)
    return model._replace(shape=_shape_at_optimum(model.shape), law=law, start=np.zeros(problem.p))


@lru_cache(maxsize=64)
def _shape_at_optimum(shape: ModelShape) -> ModelShape:
    """What is drawn is the score at theta* itself; where there is a scale, the residual, from which both follow."""
    from dpexp.engine.lanes.language import inlined

    # k[-1], the last of the constants, is the scale at theta*
    response, score = inlined(shape.response), inlined(shape.score)
    if shape.has_scale:
        return shape._replace(
            response=lambda t, e, k: response(t, e, k) - t, score=lambda t, y, scale, k: score(0.0, y, k[-1], k)
        )
    return shape._replace(
        response=lambda t, e, k: score(t, response(t, e, k), k[-1], k)[0], score=lambda t, y, scale, k: (y, 0.0)
    )


@lru_cache(maxsize=64)
def _unknown(problem: LinearPredictorProblem) -> tuple[str, ...]:
    """Why the second moment of a problem's linearised recursion is not known; empty where it is."""
    try:
        optimum = problem.optimum()
    except UsageError as error:
        return (error.message,)
    if not np.array_equal(optimum[: problem.d + 1], problem.true_coefficients):
        return (
            f"the optimum of {problem.name} is not at the true coefficients (for pinball-linear it is with tau: 1/2), "
            "where alone the second moment of the linearised recursion is exact",
        )
    curvature = problem.curvature()
    if curvature.m <= 1e-12 * curvature.M:
        return (f"the Hessian of {problem.name} is singular at the optimum: there is no linear part",)
    return ()


PLUGIN = Plugin(algorithms={"controlled-ldp-sgd": ControlledLdpSgd})
