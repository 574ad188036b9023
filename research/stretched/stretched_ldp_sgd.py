"""LDP-SGD whose users multiply the scale's entry of their gradient by a before the noise; the server divides it by a.

    theta_i = Proj( theta_{i-1} - eta_i D_a^-1 (D_a g_i + (Delta / mu_i) omega_i) ),   D_a = diag(1, ..., 1, a),

where theta = (beta, s) and g_i = grad f(theta_{i-1}, x_i). So the scale's entry has the noise of a budget a mu_i. Up to
a = sqrt(11 + 5 sqrt 5) / c, which is 3.5016 for c = 1.345, two messages are no farther apart than two gradients
(`furthest_messages` has the proof), so that Delta and the statement are those of `ldp-sgd`: what the server does is
post-processing. A larger a would need a larger Delta, and is refused.

How the engine of `ldp-sgd` computes it: with s' = a s the last entry is s'_i = s'_{i-1} - eta_i (a g + (Delta / mu_i)
omega), a step against the message itself. So the pass runs in (beta, a s) over users whose "gradient" is D_a g, and
what is seen of it is divided by a at the end.

No theorem of `ldp-sgd` is stated of this iteration: their noise is the same in every coordinate.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.one_pass import OnePassAlgorithm, Sensitivities
from dpexp.engine.lanes.elementwise import Value
from dpexp.engine.linear.rule import Rule
from dpexp.plugins import Plugin
from dpexp.problems.linear_losses import HuberLinear
from dpexp.problems.linear_losses import huber_score as unstretched
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.theory.ldp_sgd.huber_messages import furthest_messages, largest_stretch

if TYPE_CHECKING:
    from dpexp.algorithms.schedules import Schedule
    from dpexp.privacy.budgets import Budget


def score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """That of the Huber loss at the scale `scale` / a, with a times the derivative in the scale; a is k[3]."""
    in_t, in_scale = unstretched(t, y, scale / k[3], k)
    return in_t, k[3] * in_scale


class Messages(HuberLinear):
    """The same users asked at (beta, a s), where their `gradient` is D_a g, what they send before the noise.

    Its model, its gradient and its exact sensitivity are used; what the risk is and where it is least is not its own.
    """

    stretch: float

    score = staticmethod(score)

    @property
    def constants(self) -> np.ndarray:
        return np.append(super().constants, self.stretch)

    @property
    def scale_min(self) -> float:
        return self.stretch * super().scale_min

    def start(self) -> np.ndarray:
        return np.append(super().start()[:-1], self.stretch * self.start_sigma)

    def exact_sensitivity(self) -> float:
        return furthest_messages(self.c, self.stretch)


class StretchedLdpSgd(OnePassAlgorithm):
    """LDP-SGD whose users send `stretch` times the scale's entry of their gradient, with no more noise."""

    name: Literal["stretched-ldp-sgd"] = "stretched-ldp-sgd"
    populations: ClassVar[bool] = False
    stretch: Annotated[float, Field(ge=1, le=1e4)] = 3.5
    """a, by which a user multiplies the scale's entry before the noise, and the server divides it; 1 is LDP-SGD"""
    runs_on: ClassVar[tuple[type, ...]] = (HuberLinear,)

    def rule(self) -> Rule:
        return LdpSgd().rule()

    def complaints(self, problem: LinearPredictorProblem, schedule: Schedule, budget: Budget, n: int) -> list[str]:
        """What is wrong with a stretch."""
        assert isinstance(problem, HuberLinear)
        if not problem.has_scale:
            return ["stretch is of the scale's entry, and with scale: known there is none"]
        # with more, two messages are farther apart than two gradients: a price in privacy that is not paid
        if self.stretch > (largest := largest_stretch(problem.c)):
            return [f"stretch must be at most {largest:g} for c = {problem.c:g}: above that it costs privacy"]
        return super().complaints(problem, schedule, budget, n)

    def messages(self, problem: LinearPredictorProblem) -> Messages:
        return Messages(**problem.model_dump(), stretch=self.stretch)

    def sensitivities(self, problem: LinearPredictorProblem) -> Sensitivities:
        """How far messages move."""
        # the noise is that of `ldp-sgd`; the farthest two messages are those of the proof
        return Sensitivities(problem.noise_sensitivity(), self.messages(problem).exact_sensitivity())

    def estimates(self, states: np.ndarray, schedules: Sequence[Schedule], steps: np.ndarray) -> np.ndarray:
        """Iterates and averages in (beta, s)."""
        # the pass has run in (beta, a s)
        theta = states.copy()
        theta[..., -1, :] /= self.stretch
        return theta


PLUGIN = Plugin(algorithms={"stretched-ldp-sgd": StretchedLdpSgd})
