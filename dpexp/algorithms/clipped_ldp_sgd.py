"""LDP-SGD with clipped gradients: every user scales its gradient to norm at most C before it adds the noise.

    theta_i = Proj( theta_{i-1} - eta_i (clip(g_i) + (Delta / mu_i) omega_i) ),   g_i = grad f(theta_{i-1}, x_i),
    clip(g) = min(1, C / |g|) g,                 Delta = min(2 C, the problem's own sensitivity)

Proof that replacing user i's record moves clip(g_i) by at most that, at any theta:

* two vectors of norm at most C lie within 2 C of each other;
* clip is the projection onto the ball of radius C, which is convex, and a projection onto a convex set never moves two
  points apart: |clip(g) - clip(g')| <= |g - g'|, which is at most the sensitivity of g itself.

Both bounds hold at once, so their minimum does. 2 C is reached where opposite gradients of norm C or more occur.
"""

from __future__ import annotations

from typing import Literal, NamedTuple

from dpexp.algorithms.ldp_sgd import update
from dpexp.algorithms.one_pass import OnePassAlgorithm, Sensitivities
from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import Value, maximum
from dpexp.engine.linear.rule import Rule
from dpexp.problems.linear_predictor import LinearPredictorProblem


class ClipNumbers(NamedTuple):
    clip: float


def rescale(norm: Value, numbers: ClipNumbers) -> Value:
    """min(1, C / |g|)."""
    # as C / max(|g|, C) it never divides by 0
    return numbers.clip / maximum(norm, numbers.clip)


class ClippedLdpSgd(OnePassAlgorithm):
    """LDP-SGD whose users send gradients of norm at most `clip`, and noise to match."""

    name: Literal["clipped-ldp-sgd"] = "clipped-ldp-sgd"
    clip: Positive = 1.0
    """C, the largest norm of what a user sends before the noise"""

    def rule(self) -> Rule:
        return Rule(update, rescale, numbers=ClipNumbers(self.clip))

    def sensitivities(self, problem: LinearPredictorProblem) -> Sensitivities:
        """The minimum of 2 C and the problem's own, by the proof above."""
        noise, exact = super().sensitivities(problem)
        return Sensitivities(min(2 * self.clip, noise), min(2 * self.clip, exact))

    def radius(self, problem: LinearPredictorProblem) -> float:
        """A projection onto the ball of radius C moves no two points apart."""
        return min(self.clip, problem.message_radius())

    def longest(self, problem: LinearPredictorProblem) -> float:
        return min(self.clip, problem.gradient_bound())
