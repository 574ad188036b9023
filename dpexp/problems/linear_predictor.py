"""Weighted M-estimators of a linear predictor: the loss of one user, what it reveals, and the risk of a population.

A user holds a row x = (1, z) and a response y. The loss is w(x) rho(y, x'beta, scale), by default with the Mallows
weight, for which |w(x) x| <= sqrt 2 whatever the data. A problem is its score (the derivatives of rho) with the score's
range, from which all sensitivities follow, and the law of y (`ldp-sgd`, section 5). Users have z ~ N(0, sigma_z^2 I_d)
and coefficients `beta`, or a `population`; no data are kept. `population_means` and `population_gaps` integrate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from dpexp.core.caches import kept_once
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Dimension, Finite, Positive
from dpexp.problems import population_gaps as gaps
from dpexp.problems import population_means as means
from dpexp.problems.laws import compiled_population, response_of
from dpexp.problems.mallows import rule
from dpexp.problems.population import ErrorLaw, Population, RowLaw
from dpexp.problems.problem import Problem
from dpexp.problems.weights import NoWeight

if TYPE_CHECKING:
    from dpexp.engine.linear.linear_pass import PassModel
    from dpexp.engine.linear.measuring import Measured


_short_form = kept_once(64)(lambda d, sd, beta: Population(d=d, design=RowLaw(sd=sd), coefficients=beta))


class Curvature(NamedTuple):
    """Second-order constants at the optimum theta*, all local: no m > 0 holds everywhere."""

    m: float
    M: float  # smallest and largest eigenvalue of the Hessian of the population risk
    hessian: np.ndarray
    score_covariance: np.ndarray  # [p, p] covariance S of the gradient of one user, without privacy noise


class Metrics(NamedTuple):
    """Metrics of states in lanes, [G, 8] each."""

    param_distance_sq: np.ndarray  # |theta - theta*|^2
    coef_distance_sq: np.ndarray  # the same without the scale
    loss_gap: np.ndarray  # F(theta) - F(theta*), NaN where theta is not finite


class LinearPredictorProblem(Problem):
    """Base of the problems on such losses; theta = (beta_0..beta_d[, scale])."""

    d: Dimension = 5
    """number of random covariates; x has d + 1 entries"""
    sigma_z: Positive = 1.0
    """standard deviation of each covariate"""
    beta: Finite = 1.0
    start_beta: Finite = 0.0
    """every entry of the true coefficient vector, and of the starting one"""
    sensitivity: Literal["paper", "exact", "two-gradient-bounds"] | Positive = "paper"
    """which replace-one sensitivity Delta of the gradient sets the noise"""
    population: Population | None = None
    """the law of users, where `d`, `sigma_z`, `beta` and the scale of the errors are not enough"""

    populations: ClassVar[bool] = False  # whether a config may give a `population`
    labels: ClassVar[bool] = False  # y is 0 or 1, and 1 where the uniform number is at most the chance of 1
    score: ClassVar[Callable[..., Any]]  # score(t, y, scale, k) -> derivatives of rho in t and in the scale
    response_noise: ClassVar[Literal["normal", "uniform"]]  # law of the one random number e from which y is made
    response: ClassVar[Callable[..., Any]]  # response(t, e, k) -> y, for the true predictor t and constants k
    fields_of_loss: ClassVar[tuple[str, ...]] = ()  # attributes that are the constants k
    risk_parts: ClassVar[int] = 1  # into which panels are cut; more where `conditional_risk` has kinks
    conditional_risk: ClassVar[Callable[..., Any] | None] = None
    """conditional_risk(t, scale, k): mean of rho over y given x, t the predictor less the true one; of labels the part
    without the label, at the predictor t. With it the loss gap at checkpoints is exact (`population_gaps`, else)"""
    second_derivatives: ClassVar[Callable[..., Any] | None] = None
    """second_derivatives(t, y, scale, k) -> of rho in t twice, in t and the scale, in the scale twice (0 without a
    scale). With it and `slope_bounds` a fit of records can estimate the coefficients of this loss"""

    @model_validator(mode="before")
    @classmethod
    def _with_population(cls, values: object) -> object:
        if not isinstance(values, Mapping) or values.get("population") is None:
            return values
        population = Population.model_validate(values["population"])
        errors = population.errors if "sigma" in cls.model_fields else None
        own = {"population": population, "d": population.width}
        return {**values, **own, **({} if errors is None else {"sigma": errors.size})}

    @model_serializer(mode="wrap")
    def _one_form(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # a cell has the short forms or a population, so that the ids of those without one never change
        replaced = ["population"]
        if self.population is not None:
            replaced = ["d", "sigma_z", "beta", *(["sigma", "support"] if self.population.errors is not None else [])]
        return {key: value for key, value in dump(self).items() if key not in replaced}

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
        return np.array([getattr(self, field) for field in self.fields_of_loss] or [0.0])

    @property
    def fixed_scale(self) -> float:
        """The scale used where it is not a parameter."""
        return 1.0

    @property
    def scale_min(self) -> float:
        """Lower bound to which the scale is projected."""
        return 0.0

    @property
    def law(self) -> Population:
        """The population, in whichever form it was given; its `weight` is w, by which users multiply gradients."""
        return self.population or _short_form(self.d, self.sigma_z, self.beta)

    @property
    def true_coefficients(self) -> np.ndarray:
        """Coefficients that generate y, [d + 1]."""
        return self.law.beta

    def start(self) -> np.ndarray:
        """theta_0, [p]."""
        return np.full(self.p, self.start_beta)

    def require_one_user(self) -> None:
        """Evaluate the functions of one user in Python. Raises UsageError, and what a wrong index raises."""
        kind, k = type(self), self.constants
        self.model()
        # compiled code looks up no index: beyond the constants it computes with whatever lies in memory
        kind.response(0.5, 1.0, k)
        _ = kind.conditional_risk and kind.conditional_risk(0.5, 1.0, k)
        score = kind.score(0.5, 1.0, 1.0, k)
        if not isinstance(score, tuple) or len(score) != 2:
            hint = "derivatives by the linear predictor and by the scale: docs page extending"
            raise UsageError(f"problem '{self.name}': `score` returns {score}, and not two numbers", hint)
        if not self._integrated:
            if (unknown := means.unknown_means(self)) is not None:
                raise unknown
            self.mean_loss(np.zeros((1, 2)), np.array([1.0, 1.0 + self.law.grows]), np.ones((1, 1)))

    def score_bounds(self) -> tuple[float, float]:
        """Smallest and largest value of the score in t, over all data and parameters."""
        raise NotImplementedError

    def slope_bounds(self) -> tuple[float, float]:
        """Smallest and largest derivative of the score in t, times the scale, over all data and parameters."""
        return -math.inf, math.inf

    def gradient_bound(self) -> float:
        """C0, the largest norm of one user's gradient (`ldp-sgd`, Condition 1); inf: not known, as with a scale, whose
        entry is no part of `score_bounds`."""
        return math.inf if self.has_scale else self.law.weight.reach() * max(abs(s) for s in self.score_bounds())

    def message_radius(self) -> float:
        """Radius of a ball about some public point that holds all gradients at one theta."""
        return self.gradient_bound()

    def exact_sensitivity(self) -> float:
        """Largest distance between the gradients of two users at one theta (replace-one); inf: not known."""
        if self.has_scale:
            return math.inf
        # convex in both scores, so that the extremes are opposite scores on the longest w x, or one score on the two
        # w x that are farthest apart, if 0 is between the bounds
        low, high, weight = min(self.score_bounds()[0], 0.0), max(self.score_bounds()[1], 0.0), self.law.weight
        reach, across = weight.reach(), weight.across()
        if isinstance(weight, NoWeight) and self.labels and (low, high) == (-1.0, 1.0) and means.is_canonical(self):
            # the labels of one row move the score by 1 alone, so that opposite scores are those of different rows
            reach = max(reach, weight.together) / 2
        return max(reach * (high - low), across * max(abs(low), abs(high)))

    @property
    def has_exact_sensitivity(self) -> bool:
        """Whether two users are as far apart as `exact_sensitivity`, which of unweighted rows of a table, and of labels
        whose loss is no l(t) - y t, is a bound alone."""
        unusual = self.labels and not means.is_canonical(self)
        return not isinstance(self.law.weight, NoWeight) or not (unusual or self.law.design.rows is not None)

    def paper_sensitivity(self) -> float:
        """The sensitivity that the source prints, where it differs from the exact one."""
        return self.exact_sensitivity()

    def noise_sensitivity(self) -> float:
        """Delta, the sensitivity that sets the noise, as chosen by `sensitivity`."""
        if not isinstance(self.sensitivity, str):
            return self.sensitivity
        if self.sensitivity == "two-gradient-bounds":
            return 2 * self.gradient_bound()
        return self.paper_sensitivity() if self.sensitivity == "paper" else self.exact_sensitivity()

    def weight(self, x: np.ndarray) -> np.ndarray:
        """Weight of the rows x [..., d + 1]."""
        return self.law.weight.of(np.sum(x * x, axis=-1))

    def gradient(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Gradients [..., p] of the loss of users (x [..., d + 1], y [...]) at theta [..., p]."""
        q = self.d + 1
        # summed and not multiplied as matrices, so that the bits of a record do not depend on how many there are
        t = np.sum(x * theta[..., :q], axis=-1)
        g, h = type(self).score(t, y, theta[..., q] if self.has_scale else self.fixed_scale, self.constants)
        w = self.weight(x)
        parts = [(w * g)[..., None] * x, (w * h)[..., None]] if self.has_scale else [(w * g)[..., None] * x]
        return np.concatenate(parts, axis=-1)

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Losses [...] of users (x, y) at theta; shapes as in `gradient`."""
        raise NotImplementedError

    def own_errors(self) -> ErrorLaw:
        """The law of the errors where the population has none: normal ones are read off `response`.

        Raises UsageError where y is not t + size e.
        """
        t, e = np.array([[-2.0], [0.0], [3.0]]), np.array([-1.5, 0.5, 1.0, 4.0])
        moved = type(self).response(t, e, self.constants) - t if self.response_noise == "normal" else np.zeros((3, 4))
        if (size := float(moved[1, 2])) > 0 and np.allclose(moved, size * e, rtol=1e-12, atol=1e-12 * size):
            return ErrorLaw(law="normal", sd=size)
        raise UsageError(
            f"the response of {self.name} is not t + size e: its errors are not known, nor replaced by a population's",
            "give its class `own_errors` where y is t and an error, or `labels = True` where y is 0 or 1",
        )

    @property
    @kept_once(64)
    def error_law(self) -> ErrorLaw:
        """The law of the errors: the population's, or the problem's own. Raises UsageError where it is not known."""
        return self.law.errors or self.own_errors()

    @property
    def error_size(self) -> float:
        """What the unit error is multiplied by; 1 of labels."""
        return 1.0 if self.labels else self.error_law.size

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Mean of rho over the population's errors, [N, K], up to a constant: u [N, K] is the predictor less the place
        of y, spread [K] the size of the error and scale [N, 1]. Of labels, u is the predictor, and the part that
        depends on the label y, -y u, is left out.

        By default it is a table of the integral of the mean score, which knows one spread and no scale.
        """
        if self.has_scale or (not self.labels and np.ptp(spread) > 0):
            raise UsageError(f"the mean loss of {self.name} is not known: its class has no `mean_loss`")
        return means.loss_table(self)(u / self.error_size)

    def model(self) -> PassModel:
        """The functions and numbers from which the engine simulates this problem."""
        from dpexp.engine.linear.designs import ErrorShape
        from dpexp.engine.linear.kernel import ModelNumbers, ModelShape
        from dpexp.engine.linear.linear_pass import PassModel

        design, errors, numbers = compiled_population(self.law, ErrorShape(self.response_noise))
        if type(self).weight is not LinearPredictorProblem.weight:
            hint = "write a `dpexp.problems.weights.Weight`, and name it in `population: {weights: NAME}`"
            raise UsageError(f"problem '{self.name}': its class overrides `weight`, which runs would ignore", hint)
        # a population's errors replace a response that is t + size e, and no other one
        _ = self.law.errors and self.own_errors()
        response, weight = response_of(self.law, type(self).response), type(self.law.weight).weight
        shape = ModelShape(response, errors, design, type(self).score, weight, self.has_scale)
        law = ModelNumbers(self.true_coefficients, numbers, self.constants, self.fixed_scale, self.scale_min)
        return PassModel(shape, law, self.start())

    def sample(self, rng: np.random.Generator, size: int) -> tuple[np.ndarray, np.ndarray]:
        """Draw `size` users: rows x [size, d + 1] and responses y [size]."""
        if self.population is not None:
            from dpexp.engine.linear.linear_pass import draw_users

            return draw_users(self.model(), size, int(rng.integers(2**62)))
        x = np.concatenate([np.ones((size, 1)), self.sigma_z * rng.standard_normal((size, self.d))], axis=1)
        # uniform numbers in (0, 1], as the engine draws them
        e = rng.standard_normal(size) if self.response_noise == "normal" else 1.0 - rng.random(size)
        return x, type(self).response(x @ self.true_coefficients, e, self.constants)

    def optimum(self) -> np.ndarray:
        """theta*, the minimiser of the population risk, [p]."""
        return means.optimum_of(self).copy()

    _second_order = means.second_order_of

    def unknown_curvature(self) -> UsageError | None:
        """Why the curvature of the risk predicts nothing; None where it is known."""
        own = type(self)._second_order is not LinearPredictorProblem._second_order
        return None if own else means.unknown_means(self)

    def curvature(self) -> Curvature:
        """Raises UsageError where it is not known."""
        hessian, covariance = self._second_order()
        eigenvalues = np.linalg.eigvalsh(hessian)
        return Curvature(float(eigenvalues[0]), float(eigenvalues[-1]), hessian, covariance)

    def smoothness(self) -> float:
        """M of `ldp-sgd`, Condition 2(i): by default the local one, the largest eigenvalue of the Hessian at theta*."""
        return self.curvature().M

    def third_derivative(self) -> np.ndarray | None:
        """That of the population risk at theta*, [p, p, p]; None where it is not known."""
        return means.third_derivative_of(self)

    def hessian_lipschitz(self) -> float | None:
        """C1 with |H(theta) - H(theta*)| <= C1 |theta - theta*| for all theta (`ldp-sgd`, Condition 3, in the mean);
        None where no such constant is known."""
        return means.hessian_lipschitz_of(self)

    @property
    def _integrated(self) -> bool:
        """Whether compiled code integrates the risk along one coordinate."""
        own = type(self)._risk is not LinearPredictorProblem._risk
        known = own or (type(self).conditional_risk is not None and (not self.labels or means.is_canonical(self)))
        return self.population is None and known

    def _risk(self, theta: np.ndarray, measured: Measured) -> np.ndarray:
        """Population risk of states [G, p, 8] and of what was measured of them, up to a constant; [G, 8]."""
        from dpexp.engine.linear.measuring import expectations

        f, place = type(self).conditional_risk, (measured.location.ravel(), measured.spread.ravel())
        length = 1.0 if means.unknown_means(self) else self.error_size
        # panels are about as long as the covariate's standard deviation; 12 points on each are enough where f changes
        # over a third of that or more, so panels are cut into twice as many parts for twice the spread
        cuts = (1, 2, 4, 8, 16, 32)
        rules = [(3.0 * length * cut, *rule(self.d, self.sigma_z, parts=self.risk_parts * cut)) for cut in cuts]
        assert f is not None
        mean = expectations(f, *place, measured.scale.ravel(), rules, self.constants)
        return mean.reshape(measured.linear.shape) + measured.linear

    def metrics(self, theta: np.ndarray) -> Metrics:
        """Metrics of states [G, p, 8] in lanes."""
        from dpexp.engine.linear.measuring import Centres, in_lanes, measure

        # the optimum is measured last
        states = np.concatenate([theta, in_lanes(self.optimum()[None])])
        # of labels the predictor is counted from 0, and a part of their risk is linear, -E[w y x]'beta
        origin = np.zeros(self.d + 1) if self.labels else self.true_coefficients
        slope = -means.places_of(self).label_row if self.labels and self._integrated else np.zeros(0)
        measured = measure(states, Centres(self.optimum(), origin, slope, self.sigma_z, self.fixed_scale))
        with np.errstate(over="ignore", invalid="ignore"):
            if self._integrated:
                risk = self._risk(states, measured)
                gap = risk[:-1] - risk[-1, 0]
            else:
                gap = gaps.gap(self, theta.transpose(0, 2, 1).reshape(-1, self.p)).reshape(len(theta), -1)
        return Metrics(measured.param_distance_sq[:-1], measured.coef_distance_sq[:-1], gap)

    def risk_gap(self, theta: np.ndarray) -> np.ndarray:
        """F(theta) - F(theta*) of the population risk F for theta [..., p], [...]; NaN where theta is not finite.

        Of short forms its error is at most 1e-13 of F, up to where the standard deviation of the linear predictor is 80
        times the length over which it is smooth, and 1e-6 where that is 1000 times or more.
        """
        from dpexp.engine.linear.measuring import in_lanes

        states = np.asarray(theta, dtype=np.float64).reshape(-1, self.p)
        gap = self.metrics(in_lanes(states)).loss_gap if self._integrated else gaps.exact_gap(self, states)
        return gap.ravel()[: len(states)].reshape(np.shape(theta)[:-1])
