"""Weighted M-estimators of a linear predictor as problems: users who are drawn one by one, and their population risk.

Optimum, curvature and third derivative of the risk are computed by `population_means`. No data are kept: every user is
drawn when it is their turn.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.problems.mallows import capped_weight, no_weight, rule
from dpexp.problems.problem import Problem
from dpexp.problems.weighted_regression import WeightedRegression

if TYPE_CHECKING:
    from dpexp.engine.linear.measuring import Measured, Rule
    from dpexp.engine.linear.one_pass import Model

_CUTS = (1, 2, 4, 8, 16, 32)
"""into how many parts panels are cut"""
_SMOOTH_SPREAD = 3.0
"""largest spread, in lengths over which the risk is smooth, for panels that are not cut"""


class Curvature(NamedTuple):
    """Second-order constants at the optimum theta* (all local: no m > 0 holds on the whole space)."""

    m: float
    """smallest eigenvalue of the Hessian of the population risk at theta*"""
    M: float
    """largest eigenvalue of that Hessian"""
    hessian: np.ndarray
    """[p, p]"""
    score_covariance: np.ndarray
    """[p, p] covariance S of the gradient of one user at theta*, without privacy noise"""


class Look(NamedTuple):
    """Metrics of states in lanes, [G, 8] each."""

    param_distance_sq: np.ndarray
    """|theta - theta*|^2"""
    coef_distance_sq: np.ndarray
    """the same without the scale"""
    loss_gap: np.ndarray
    """F(theta) - F(theta*), NaN where theta is not finite"""


class LinearPredictorProblem(WeightedRegression, Problem):
    """Base of the problems on such losses."""

    fresh_users: ClassVar[bool] = True

    def complaints(self) -> list[str]:
        """What makes these losses impossible to run, beyond the range of each parameter; empty where nothing does."""
        return []

    def require_one_user(self) -> None:
        """Evaluate the functions of one user as they stand. Raises UsageError, and what a wrong index raises."""
        kind, k = type(self), self.constants
        if kind.weight is not WeightedRegression.weight:
            hint = "weights of simulated users are those of the config: `population: {weights: {mallows: {cap: 3}}}`"
            raise UsageError(f"problem '{self.name}': its class overrides `weight`, which runs would ignore", hint)
        # compiled code looks up no index: beyond the constants it computes with whatever lies in memory
        kind.response(0.5, 0.5, k)
        if hasattr(kind, "conditional_risk"):  # of which the hinge loss has none
            kind.conditional_risk(0.5, 1.0, k)
        found = kind.score(0.5, 1.0, 1.0, k)
        if not isinstance(found, tuple) or len(found) != 2:
            hint = "derivatives by the linear predictor and by the scale: docs page extending"
            raise UsageError(f"problem '{self.name}': `score` returns {found}, and not two numbers", hint)

    def model(self) -> Model:
        """The functions and numbers from which the engine simulates this problem."""
        from dpexp.engine.linear import designs
        from dpexp.engine.linear.kernel import Law, Shape
        from dpexp.engine.linear.one_pass import Model

        errors, design, response = designs.Errors(self.response_noise), designs.Design(), type(self).response
        numbers = designs.independent_normals(self.sigma_z, self.d, 2.0)
        if self.population is not None:
            from dpexp.problems.laws import compiled, response_of

            design, errors, numbers = compiled(self.population, errors)
            response = response_of(self.population, response)
        weight = no_weight if math.isinf(self.cap) else capped_weight
        shape = Shape(response, errors, design, type(self).score, weight, self.has_scale)
        law = Law(self.true_coefficients, numbers, self.constants, self.fixed_scale, self.scale_min)
        return Model(shape, law, self.start())

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw `size` users: rows x [size, d + 1] and responses y [size]."""
        if self.population is not None:
            from dpexp.engine.linear.one_pass import draw_users

            return draw_users(self.model(), size, int(rng.integers(2**62)))
        x = np.concatenate([np.ones((size, 1)), self.sigma_z * rng.standard_normal((size, self.d))], axis=1)
        # uniform numbers in (0, 1], as the engine draws them
        e = rng.standard_normal(size) if self.response_noise == "normal" else 1.0 - rng.random(size)
        return x, type(self).response(x @ self.true_coefficients, e, self.constants)

    # --- optimum and curvature, by quadrature ------------------------------------------------------------------

    def optimum(self) -> np.ndarray:
        """theta*, the minimiser of the population risk, [p]."""
        from dpexp.problems.population_means import optimum_of

        return optimum_of(self).copy()

    def _second_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Hessian of the risk and covariance of the gradient at the optimum, [p, p] each."""
        from dpexp.problems.population_means import second_order_of

        return second_order_of(self)

    def unknown_curvature(self) -> UsageError | None:
        """Why nothing is predicted from the curvature of the risk; None where it is known."""
        if type(self)._second_order is not LinearPredictorProblem._second_order:
            return None
        from dpexp.problems.population_means import unknown_means

        return unknown_means(self)

    @property
    def knows_curvature(self) -> bool:
        """Whether anything can be predicted from the curvature of the risk."""
        return self.unknown_curvature() is None

    def curvature(self) -> Curvature:
        """Curvature constants at the optimum. Raises UsageError where they are not known."""
        hessian, covariance = self._second_order()
        eigenvalues = np.linalg.eigvalsh(hessian)
        return Curvature(float(eigenvalues[0]), float(eigenvalues[-1]), hessian, covariance)

    def smoothness(self) -> float:
        """M of `ldp-sgd`, Condition 2(i): by default the local one, the largest eigenvalue of the Hessian at theta*."""
        return self.curvature().M

    def third_derivative(self) -> np.ndarray | None:
        """Third derivative of the population risk at theta*, [p, p, p]; None where it is not known."""
        from dpexp.problems.population_means import third_derivative_of, unknown_means

        return None if unknown_means(self) else third_derivative_of(self)

    def hessian_lipschitz(self) -> float | None:
        """C1 with |H(theta) - H(theta*)| <= C1 |theta - theta*| for all theta (`ldp-sgd`, Condition 3, in the mean).

        None where no such constant is known.
        """
        from dpexp.problems.population_means import hessian_lipschitz_of, unknown_means

        return None if self.population is not None or unknown_means(self) else hessian_lipschitz_of(self)

    # --- risk --------------------------------------------------------------------------------------------------

    conditional_risk: ClassVar[Callable[..., Any]]
    """conditional_risk(t, scale, k): mean of rho over y given x, t the predictor less the true one; of labels the part
    without the label, at the predictor t"""
    risk_points: ClassVar[int] = 12
    """quadrature points a panel"""
    risk_parts: ClassVar[int] = 1
    """parts into which panels are cut; more where `conditional_risk` has kinks"""

    @property
    def risk_length(self) -> float:
        """Length over which `conditional_risk` is smooth: that of the errors, where they are known."""
        if self.labels:
            return 1.0
        try:
            return self.own_errors().size
        except UsageError:
            return 1.0

    def risk_origin(self) -> np.ndarray:
        """Coefficients [d + 1] from which the linear predictor in `conditional_risk` is counted."""
        return np.zeros(self.d + 1) if self.labels else self.true_coefficients

    def risk_slope(self) -> np.ndarray | None:
        """Coefficients [d + 1] of a part of the risk that is linear in beta: -E[w y x] of labels, None elsewhere."""
        if not self.labels:
            return None
        from dpexp.problems.population_means import mean_label_row

        return -mean_label_row(self)

    def _rules(self) -> list[Rule]:
        """Quadrature rules by reach: of whole panels, and of panels cut into parts for larger spreads."""
        # panels are about as long as the covariate's standard deviation; 12 points on each are enough where f changes
        # over a third of that or more, so panels are cut into twice as many parts for twice the spread
        length = _SMOOTH_SPREAD * self.risk_length
        rules = [rule(self.d, self.sigma_z, self.risk_points, parts=self.risk_parts * cut) for cut in _CUTS]
        return [(length * cut, a.nodes, a.weights) for cut, a in zip(_CUTS, rules, strict=True)]

    def _risk(self, theta: np.ndarray, measured: Measured) -> np.ndarray:
        """Population risk of states [G, p, 8] and of what was measured of them, up to a constant; [G, 8]."""
        from dpexp.engine.linear.measuring import expectations

        location, spread, scale = measured.location.ravel(), measured.spread.ravel(), measured.scale.ravel()
        f = type(self).conditional_risk
        mean = expectations(f, location, spread, scale, self._rules(), self.constants)
        return mean.reshape(measured.linear.shape) + measured.linear

    def _measured(self, theta: np.ndarray) -> tuple[Measured, np.ndarray]:
        """What is measured of states [G, p, 8], and their risk [G, 8]; NaN where a state is not finite."""
        from dpexp.engine.linear.measuring import Centres, measure

        slope = self.risk_slope() if self.population is None else None
        centres = Centres(
            self.optimum(), self.risk_origin(), np.zeros(0) if slope is None else slope, self.sigma_z, self.fixed_scale
        )
        measured = measure(theta, centres)
        if self.population is not None:
            from dpexp.problems.population_gaps import gap

            states = theta.transpose(0, 2, 1).reshape(-1, self.p)
            return measured, gap(self, states).reshape(measured.linear.shape)
        with np.errstate(over="ignore", invalid="ignore"):
            return measured, self._risk(theta, measured)

    def look(self, theta: np.ndarray) -> Look:
        """Metrics of states [G, p, 8] in lanes, which must be contiguous."""
        measured, risk = self._measured(theta)
        with np.errstate(over="ignore", invalid="ignore"):
            return Look(measured.param_distance_sq, measured.coef_distance_sq, risk - self.optimal_risk())

    def risk(self, theta: np.ndarray) -> np.ndarray:
        """Population risk at theta [..., p], up to a constant; [...]. NaN where theta is not finite."""
        from dpexp.engine.linear.measuring import in_lanes

        theta = np.asarray(theta, dtype=np.float64)
        count = math.prod(theta.shape[:-1])
        if self.population is not None:
            from dpexp.problems.population_gaps import exact_gap

            return exact_gap(self, theta.reshape(count, self.p)).reshape(theta.shape[:-1])
        _, risk = self._measured(in_lanes(theta.reshape(count, self.p)))
        return risk.ravel()[:count].reshape(theta.shape[:-1])

    def risk_gap(self, theta: np.ndarray) -> np.ndarray:
        """Exact population risk minus its minimum, F(theta) - F(theta*), for theta [..., p], by quadrature; [...].

        NaN where theta is not finite. The error of a risk is at most 1e-13 of it, up to where the standard deviation of
        the linear predictor is 80 times `risk_length`; it is 1e-6 where that is 1000 times or more. Near the optimum
        rounding leaves about 1e-15.
        """
        return self.risk(theta) - self.optimal_risk()

    def optimal_risk(self) -> float:
        """F(theta*), up to the constant that `risk` leaves out."""
        if self.population is not None:
            return 0.0
        return float(self.risk(self.optimum()))
