"""The shape shared by every weighted M-estimator of a linear predictor.

A user holds a row x = (1, z), z ~ N(0, sigma_z^2 I_d), and a response y. The loss is w(x) rho(y, x'beta, scale) with
the Mallows weight w(x) = min(1, 2 / |x|^2), so that |w(x) x| <= sqrt(2) whatever the data. A problem adds its law of y,
its score (the two derivatives of rho) and its population risk. Source: `ldp-sgd`, section 5.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.parameters import Dimension, Finite, Positive
from dpexp.engine.lanes.elementwise import Value, minimum
from dpexp.problems.mallows import WEIGHT_CAP, rule
from dpexp.problems.problem import ProblemBase

if TYPE_CHECKING:
    from dpexp.engine.linear.measuring import Measured
    from dpexp.engine.linear.one_pass import Model
    from dpexp.engine.linear.quadrature import Rules
    from dpexp.problems.gauss_rules import ShortRule


def mallows_weight(norm_sq: Value) -> Value:
    """w(x) = min(1, 2 / |x|^2) from |x|^2, which de-weights outlying covariates."""
    return minimum(1.0, WEIGHT_CAP / norm_sq)


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


_CUTS = (1, 2, 4, 8, 16)
"""into how many parts panels are cut"""
_SMOOTH_SPREAD = 5.0
"""largest spread, in lengths over which the risk is smooth, for panels that are not cut"""


class Look(NamedTuple):
    """Metrics of states in lanes, [G, 8] each."""

    param_distance_sq: np.ndarray
    """|theta - theta*|^2"""
    coef_distance_sq: np.ndarray
    """the same without the scale"""
    loss_gap: np.ndarray
    """F(theta) - F(theta*), NaN where theta is not finite"""


class LinearPredictorProblem(ProblemBase):
    """Base of the weighted M-estimators of a linear predictor; theta = (beta_0..beta_d[, scale]).

    No data are kept: every user is drawn when it is their turn.
    """

    fresh_users: ClassVar[bool] = True

    d: Dimension = 5
    """number of random covariates; x has d + 1 entries"""
    sigma_z: Positive = 1.0
    """standard deviation of each covariate"""
    beta: Finite = 1.0
    """every entry of the true coefficient vector"""
    start_beta: Finite = 0.0
    """every entry of the starting coefficient vector"""
    sensitivity: Literal["paper", "exact", "two-gradient-bounds"] | Positive = "paper"
    """which replace-one sensitivity Delta of the gradient sets the noise"""

    response_noise: ClassVar[Literal["normal", "uniform"]]
    """law of the one extra random number from which y is made"""
    response: ClassVar[Callable[..., Any]]
    """response(t, e, k) -> y, for the true linear predictor t, response noise e, constants k"""
    score: ClassVar[Callable[..., Any]]
    """score(t, y, scale, k) -> (derivative of rho in t, derivative of rho in the scale)"""

    @property
    def has_scale(self) -> bool:
        """Whether the last parameter is a scale, kept above `scale_min` by projection."""
        return False

    @property
    def p(self) -> int:
        """Number of parameters."""
        return self.d + 1 + self.has_scale

    @property
    def constants(self) -> np.ndarray:
        """The numbers k handed to `response` and `score`, float64."""
        return np.zeros(1)

    @property
    def fixed_scale(self) -> float:
        """The scale used where it is not a parameter."""
        return 1.0

    @property
    def scale_min(self) -> float:
        """Lower bound to which the scale is projected."""
        return 0.0

    @property
    def true_coefficients(self) -> np.ndarray:
        """Coefficients that generate y, [d + 1]."""
        return np.full(self.d + 1, self.beta)

    def start(self) -> np.ndarray:
        """theta_0, [p]."""
        return np.full(self.p, self.start_beta)

    def optimum(self) -> np.ndarray:
        """theta*, the minimiser of the population risk, [p]."""
        raise NotImplementedError

    def score_bounds(self) -> tuple[float, float]:
        """Smallest and largest value of the score in t, over all data and parameters."""
        raise NotImplementedError

    def complaints(self) -> list[str]:
        """What makes these losses impossible to run, beyond the range of each parameter; empty where nothing does."""
        return []

    # --- privacy constants -------------------------------------------------------------------------------------

    def gradient_bound(self) -> float:
        """C0, the largest norm of one user's gradient (`ldp-sgd`, Condition 1)."""
        return math.sqrt(WEIGHT_CAP) * max(abs(s) for s in self.score_bounds())

    def exact_sensitivity(self) -> float:
        """Largest distance between the gradients of two users at one theta (replace-one).

        w(x) x lives in the ball-like set with largest norm sqrt 2 and, between two of its points, largest distance 2;
        the extremes are opposite scores on the same x, or one score on (1, z) and (1, -z) with |z| = 1.
        """
        low, high = self.score_bounds()
        return max(math.sqrt(WEIGHT_CAP) * (high - low), 2 * max(abs(low), abs(high)))

    def paper_sensitivity(self) -> float:
        """The sensitivity that the source prints, where it differs from the exact one."""
        return self.exact_sensitivity()

    def noise_sensitivity(self) -> float:
        """Delta, the sensitivity that sets the noise, as chosen by `sensitivity`."""
        named: dict[str, Callable[[], float]] = {
            "paper": self.paper_sensitivity,
            "exact": self.exact_sensitivity,
            "two-gradient-bounds": lambda: 2 * self.gradient_bound(),
        }
        return named[self.sensitivity]() if isinstance(self.sensitivity, str) else self.sensitivity

    # --- one user ----------------------------------------------------------------------------------------------

    @staticmethod
    def weight(x: np.ndarray) -> np.ndarray:
        """Mallows weight of the rows x [..., d + 1]."""
        return mallows_weight(np.sum(x * x, axis=-1))

    def model(self) -> Model:
        """The functions and numbers from which the engine simulates this problem."""
        from dpexp.engine.linear.kernel import Law, Shape
        from dpexp.engine.linear.one_pass import Model

        kind = type(self)
        shape = Shape(kind.response, self.response_noise == "normal", kind.score, mallows_weight, self.has_scale)
        law = Law(self.true_coefficients, self.sigma_z, self.constants, self.fixed_scale, self.scale_min)
        return Model(shape, law, self.start())

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw `size` users: rows x [size, d + 1] and responses y [size]."""
        x = np.concatenate([np.ones((size, 1)), self.sigma_z * rng.standard_normal((size, self.d))], axis=1)
        e = rng.standard_normal(size) if self.response_noise == "normal" else 1.0 - rng.random(size)
        return x, type(self).response(x @ self.true_coefficients, e, self.constants)

    def gradient(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Gradients [..., p] of the loss of users (x [..., d + 1], y [...]) at theta [..., p]."""
        q = self.d + 1
        t = np.sum(x * theta[..., :q], axis=-1)
        scale = theta[..., q] if self.has_scale else self.fixed_scale
        g, h = type(self).score(t, y, scale, self.constants)
        w = self.weight(x)
        parts = [(w * g)[..., None] * x]
        if self.has_scale:
            parts.append((w * h)[..., None])
        return np.concatenate(parts, axis=-1)

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Losses [...] of users (x, y) at theta; shapes as in `gradient`."""
        raise NotImplementedError

    # --- population --------------------------------------------------------------------------------------------

    conditional_risk: ClassVar[Callable[..., Any]]
    """conditional_risk(t, scale, k): mean of rho over y given x, at t = `risk_origin`-centred linear predictor"""
    risk_points: ClassVar[int] = 12
    """quadrature points a panel"""
    risk_parts: ClassVar[int] = 1
    """parts into which panels are cut; more where `conditional_risk` has kinks"""

    @property
    def risk_length(self) -> float:
        """Length over which `conditional_risk` is smooth."""
        return 1.0

    def risk_origin(self) -> np.ndarray:
        """Coefficients [d + 1] from which the linear predictor in `conditional_risk` is counted."""
        return self.true_coefficients

    def risk_slope(self) -> np.ndarray | None:
        """Coefficients [d + 1] of a part of the risk that is linear in beta, where there is one."""
        return None

    def risk_rules(self) -> tuple[ShortRule, ...]:
        """Shorter rules for small spreads of the linear predictor, by reach, where `conditional_risk` is smooth."""
        return ()

    def _rules(self) -> Rules:
        """The rules that `risk_rules` gives, then one of whole panels, and ones of panels cut into parts.

        Panels are about as long as the covariate's standard deviation. 12 points on each are enough where f changes
        over a fifth of that or more, so panels are cut into twice as many parts for twice the spread.
        """
        from dpexp.engine.linear.quadrature import rules_of

        longer = [rule(self.d, self.sigma_z, self.risk_points, parts=self.risk_parts * cut) for cut in _CUTS]
        reaches = [_SMOOTH_SPREAD * self.risk_length * cut for cut in _CUTS]
        return rules_of([*self.risk_rules(), *((r, a.nodes, a.weights) for r, a in zip(reaches, longer, strict=True))])

    def _risk(self, theta: np.ndarray, measured: Measured) -> np.ndarray:
        """Population risk of states [G, p, 8] and of what was measured of them, up to a constant; [G, 8]."""
        from dpexp.engine.linear.quadrature import expectations

        location, spread, scale = measured.location.ravel(), measured.spread.ravel(), measured.scale.ravel()
        f = type(self).conditional_risk
        mean = expectations(f, location, spread, scale, self._rules(), self.constants)
        return mean.reshape(measured.linear.shape) + measured.linear

    def _measured(self, theta: np.ndarray) -> tuple[Measured, np.ndarray]:
        """What is measured of states [G, p, 8], and their risk [G, 8]; NaN where a state is not finite."""
        from dpexp.engine.linear.measuring import Centres, measure

        slope = self.risk_slope()
        centres = Centres(
            self.optimum(), self.risk_origin(), np.zeros(0) if slope is None else slope, self.sigma_z, self.fixed_scale
        )
        measured = measure(theta, centres)
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
        return float(self.risk(self.optimum()))

    @property
    def knows_curvature(self) -> bool:
        """Whether anything can be predicted from the curvature of the risk: a problem need not say it."""
        return type(self)._second_order is not LinearPredictorProblem._second_order

    def curvature(self) -> Curvature:
        """Curvature constants at the optimum. Raises UsageError where the problem does not say them."""
        hessian, covariance = self._second_order()
        eigenvalues = np.linalg.eigvalsh(hessian)
        return Curvature(float(eigenvalues[0]), float(eigenvalues[-1]), hessian, covariance)

    def _second_order(self) -> tuple[np.ndarray, np.ndarray]:
        """Hessian of the risk and covariance of the gradient at the optimum, [p, p] each."""
        raise UsageError(
            f"the curvature of {self.name} is not known: its class has no `_second_order`",
            "nothing is predicted from it; dpexp run compares settings of any problem",
        )

    def smoothness(self) -> float:
        """M of `ldp-sgd`, Condition 2(i): by default the local one, the largest eigenvalue of the Hessian at theta*."""
        return self.curvature().M

    def third_derivative(self) -> np.ndarray | None:
        """Third derivative of the population risk at theta*, [p, p, p]; None where it is not known."""
        return None

    def hessian_lipschitz(self) -> float | None:
        """C1 with |H(theta) - H(theta*)| <= C1 |theta - theta*| for all theta (`ldp-sgd`, Condition 3, in the mean).

        None where no such constant is known.
        """
        return None
