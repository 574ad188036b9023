"""The regression models whose coefficients get intervals: gradient, curvature and what both can reveal of one record.

A record is a row x = (1, z) with a response y. Its loss is w(x) rho(y, x'beta, s) with w(x) = min(1, 2 / |x|^2), as in
`dpexp.problems.linear_predictor`, whose scores and sensitivities are used here. What this file adds is the second
derivative of the loss of one record: bounded as it is, so that a user can send it with noise and without clipping.

Steps follow from a public guess: normal errors and independent columns.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.engine.lanes.elementwise import Value
from dpexp.inference.public_numbers import rounded
from dpexp.inference.small_matrices import eigenvalues
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_losses import HuberLinear, MallowsLogistic
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.row_rules import rows_along
from dpexp.problems.weights import WEIGHT_CAP
from dpexp.theory.ldp_sgd.huber_messages import largest_stretch, normal_moments

MODELS: dict[str, type[LinearPredictorProblem]] = {"huber-linear": HuberLinear, "mallows-logistic": MallowsLogistic}
"""the losses of dpexp's own; `loss_of` knows those of plug-ins too"""
GUESSED_VARIANCE = 0.15
"""mean of p (1 - p) that is guessed of a logistic model: .25 if y is balanced, .1 if x explains much of it"""
CAREFUL_VARIANCE = 0.085
"""the same for plans of the local model, which must not promise too much"""
VARIANCE_OF_STEPS = 0.07
"""the same for the first steps of the local model. Where the truth is smaller the start, where a logistic risk is most
curved, is not forgotten; where it is larger little is lost, since later steps follow from what was measured. The
central model's steps would overshoot"""


@dataclass(frozen=True)
class Model:
    """One regression model in the units of the computation: covariates of size about 1, a residual scale of about 1."""

    problem: LinearPredictorProblem
    """the loss; the law that it assumes of x and y serves public guesses alone"""
    scale_row: float = 1.0
    """a: Hessian messages hold D hess f D with D = diag(1, ..., 1, a), a in the row of the scale"""
    stretched: bool = False
    """whether gradient messages hold the scale's entry `stretch` times, which costs no sensitivity"""
    variance: float = GUESSED_VARIANCE
    """mean of p (1 - p) that is guessed of a logistic model"""

    @property
    def p(self) -> int:
        return self.problem.p

    @property
    def d(self) -> int:
        return self.problem.d

    @property
    def has_scale(self) -> bool:
        return self.problem.has_scale

    @property
    def bends(self) -> bool:
        """Whether the curvature depends on the coefficients everywhere: of a binary response."""
        return self.problem.labels

    @property
    def curvature(self) -> Callable[..., Any]:
        """curvature(t, y, scale, k) -> second derivatives of rho, written for numbers and for lanes."""
        function = type(self.problem).second_derivatives
        assert function is not None  # `model_of` refuses such losses
        return function

    @property
    def hessian_scaling(self) -> np.ndarray:
        """The diagonal of D [p]."""
        return np.append(np.ones(self.d + 1), [self.scale_row] * self.has_scale)

    @property
    def curvature_bound(self) -> float:
        """B with |D hess f D|_F <= B / s for every record; s = 1 where there is no scale."""
        # Huber: hess f = (w / s) 1{|u| <= c} [x; u][x; u]', where w |x|^2 <= 2, w <= 1 and |u| <= c: its norm is at
        # most (2 + a^2 c^2) / s. Without a scale: w rho'' x x', at most twice the largest rho'' (2 / 4: logistic)
        joint = (self.scale_row * self.constants[0]) ** 2 if self.has_scale else 0.0
        return float(WEIGHT_CAP * self.problem.slope_bounds()[1] + joint)

    @cached_property
    def constants(self) -> np.ndarray:
        return self.problem.constants

    @cached_property
    def gradient_sensitivity(self) -> float:
        """Delta: the largest distance of two gradients at one theta, computed exactly (3.804234, logistic 2.828427)."""
        delta = self.problem.exact_sensitivity()
        # rows without weights have none; then no budget is finite and nothing is added
        return delta if math.isfinite(delta) else 1.0

    def hessian_sensitivity(self, scale: Value = 1.0) -> Value:
        """Delta_H at the public scale s (inference, section 1): sqrt 2 B / s."""
        # Hessians of single records are positive semidefinite, so <A, A'> >= 0 and |A - A'|_F <= sqrt 2 B / s
        return math.sqrt(2) * self.curvature_bound / scale

    @property
    def stretch(self) -> float:
        """By what the scale's entry of a gradient is multiplied before noise; the server divides."""
        law = self.problem
        return largest_stretch(law.c) if self.stretched and self.has_scale and isinstance(law, HuberLinear) else 1.0

    @property
    def gradient_scaling(self) -> np.ndarray:
        """The diagonal of D_a, a = `stretch` [p]."""
        return np.append(np.ones(self.d + 1), [self.stretch] * self.has_scale)

    @property
    def gradient_noise(self) -> np.ndarray:
        """The standard deviation of the noise of a gradient at mu = 1 [p], after the server has divided."""
        return np.asarray(self.gradient_sensitivity / self.gradient_scaling)

    def hessian_noise(self, scale: float) -> float:
        """That of the diagonal entries of a Hessian message."""
        return float(self.hessian_sensitivity(scale))

    def effective(self, mu: np.ndarray) -> np.ndarray:
        """The budgets for which the noise of messages is that of `gradient_noise` over mu."""
        return mu

    def scale_of(self, theta: np.ndarray) -> np.ndarray | float:
        """The scale among the parameters theta [..., p], or the one that is known."""
        return theta[..., -1] if self.has_scale else self.problem.fixed_scale

    @cached_property
    def guessed_hessian(self) -> np.ndarray:
        """H [p, p] if the law of the problem were the true one: the public guess from which steps and sizes follow."""
        if not self.bends:
            return rounded(self.problem.curvature().hessian)
        return self.label_slope * rounded(rows_along(self.problem.law).moments(1))

    @property
    def label_slope(self) -> float:
        """Mean second derivative that is guessed of a binary response: the `variance` of a logistic model, others in
        proportion to their largest."""
        return 4 * self.problem.slope_bounds()[1] * self.variance

    def steering(self, moments: np.ndarray) -> np.ndarray:
        """The Hessian [p, p] that is guessed for measured moments E w x x' [d + 1, d + 1], times the scale."""
        law = self.problem
        if self.bends:
            return self.label_slope * moments
        if not isinstance(law, HuberLinear):
            return self.guessed_hessian[0, 0] / rounded(rows_along(law.law).moments(1))[0, 0] * moments
        # .82 and .387 for c = 1.345: P(|e| <= c) E w x x' in the coefficients, E e^2 1{|e| <= c} E w in the scale
        normal = normal_moments(law.c)
        hessian = np.pad(normal.inside * moments, (0, int(self.has_scale)))
        if self.has_scale:
            hessian[-1, -1] = normal.square_inside * moments[0, 0]
        return hessian

    @property
    def guessed_message(self) -> np.ndarray:
        """D H D [p, p] for the guessed H."""
        return self.guessed_hessian * np.outer(self.hessian_scaling, self.hessian_scaling)

    @cached_property
    def least_curvature(self) -> float:
        """Its smallest eigenvalue."""
        return float(eigenvalues(self.guessed_message)[0])

    def hessian_sum(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray, share: np.ndarray) -> np.ndarray:
        """Sum of the second derivatives [p, p] of the losses of records x [n, d + 1], y [n], weighted by share."""
        q, total, w = self.d + 1, np.zeros((self.p, self.p)), share * self.problem.weight(x)
        tt, ts, ss = self.curvature(x @ theta[:q], y, self.scale_of(theta), self.constants)
        total[:q, :q] = (x * (w * tt)[:, None]).T @ x
        if self.has_scale:
            total[:q, q] = total[q, :q] = x.T @ (w * ts)
            total[q, q] = w @ ss
        return total


def model_of(problem: LinearPredictorProblem) -> Model:
    """The model of a loss. Raises UsageError, at the line of its plug-in, for one whose coefficients no method finds.

    A method needs a convex loss of the linear predictor with a bounded second derivative: what a record sends of its
    Hessian is then bounded too.
    """
    low, high = problem.slope_bounds()
    faults = {
        "its class has no `second_derivatives`": type(problem).second_derivatives is None,
        f"`slope_bounds` are {low:g} and {high:g}, not finite numbers from 0": not 0 <= low <= high < math.inf,
        "it has a scale, which only huber-linear may": problem.has_scale and not isinstance(problem, HuberLinear),
    }
    for fault in (text for text, present in faults.items() if present):
        hint = f"docs page extending, section 'A model of a fit'; models of dpexp: {', '.join(MODELS)}"
        raise UsageError(f"{PROBLEMS.source(problem.name)}: no fit of {problem.name}: {fault}", hint)
    return Model(problem)


def loss_of(name: str) -> type[LinearPredictorProblem]:
    """The class of a model of `dpexp fit`, by its name. Raises UsageError for one that is not there."""
    loss = MODELS.get(name) or PROBLEMS.get(name)
    if loss is None or not issubclass(loss, LinearPredictorProblem):
        plugins = [key for key in PROBLEMS.sources if issubclass(PROBLEMS[key], LinearPredictorProblem)]
        known = [*MODELS, *plugins]
        raise UsageError(f"no model {name!r}", f"{guess(name, known)}models: {', '.join(known)}")
    return loss


def unit_model(name: str, d: int, scale_is_known: bool = False, c: float = 1.345) -> Model:
    """The model of d standardised covariates divided by sqrt d, with errors of size 1 where a loss names their size."""
    # divided so, |x|^2 is about 2 and hardly any record loses weight; under the same budget the standard errors of
    # slopes are .67 (d = 5) or .46 (d = 20) times as long (inference, section 7)
    kind, law = loss_of(name), dict[str, Any](d=d, sigma_z=1 / math.sqrt(d), sensitivity="exact")
    if kind is HuberLinear:
        law |= {"sigma": 1.0, "c": c, "scale": "known" if scale_is_known else "joint"}
    elif "sigma" in kind.model_fields:
        law["sigma"] = 1.0
    return as_fitted(model_of(kind(**law)))


def as_fitted(model: Model) -> Model:
    """The model with the messages of `dpexp fit`: balanced Hessians, and gradients with the scale's entry stretched."""
    return replace(balanced(model), stretched=True)


def balanced(model: Model) -> Model:
    """The model with the a at which the least curvatures of coefficients and scale, as guessed, are equal in D H D.

    With standardised covariates divided by sqrt d slopes curve less than the scale does, and a is .65 (d = 5) or .46
    (d = 10): the noise falls to .72 and .63, and half as many users measure the curvature as well.
    """
    if not model.has_scale:
        return model
    hessian = model.guessed_hessian
    least = float(eigenvalues(hessian[:-1, :-1])[0])
    # the noise of a Hessian message follows from B = 2 + a^2 c^2, so it is wasted on whichever of the two is larger
    return replace(model, scale_row=float(np.clip(math.sqrt(least / hessian[-1, -1]), 0.3, 1.5)))


def careful(model: Model) -> Model:
    """The model with the guess from which the local model is planned."""
    return replace(model, variance=CAREFUL_VARIANCE)
