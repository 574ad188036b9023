"""What a weighted M-estimator of a linear predictor is: the loss of one user, its gradient, and what both can reveal.

A user holds a row x = (1, z) and a response y. The loss is w(x) rho(y, x'beta, scale) with the Mallows weight
w(x) = min(1, cap / |x|^2), so that |w(x) x| <= sqrt(cap) whatever the data. A problem is its score (the derivatives of
rho) with the score's range, from which all sensitivities follow, and the law of y. Source: `ldp-sgd`, section 5.

Users have z ~ N(0, sigma_z^2 I_d) and coefficients `beta`, or a `population`. To a fit of records this law is
a public guess (`dpexp.inference.models`).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import SerializerFunctionWrapHandler, model_serializer, model_validator

from dpexp.core.errors import UsageError
from dpexp.core.parameters import Dimension, Finite, Parameters, Positive
from dpexp.problems.mallows import WEIGHT_CAP
from dpexp.problems.population import Design, Errors, Population


class WeightedRegression(Parameters):
    """Base of the weighted M-estimators of a linear predictor; theta = (beta_0..beta_d[, scale])."""

    name: str

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
    population: Population | None = None
    """the law of users, where `d`, `sigma_z`, `beta` and the scale of the errors cannot say it"""

    @model_validator(mode="before")
    @classmethod
    def _as_the_population_says(cls, given: object) -> object:
        if not isinstance(given, Mapping) or given.get("population") is None:
            return given
        population = given["population"]
        if not isinstance(population, Population):
            population = Population.model_validate(population)
        own: dict[str, Any] = {"population": population, "d": population.width}
        if population.errors is not None and "sigma" in cls.model_fields:
            own["sigma"] = population.errors.size
        return {**given, **own}

    @model_serializer(mode="wrap")
    def _one_form(self, dump: SerializerFunctionWrapHandler) -> dict[str, Any]:
        # a cell has the short forms or a population, so that the ids of those without one never change
        values: dict[str, Any] = dump(self)
        if self.population is None:
            values.pop("population", None)
            return values
        replaced = ["d", "sigma_z", "beta", *(["sigma", "support"] if self.population.errors is not None else [])]
        return {key: value for key, value in values.items() if key not in replaced}

    populations: ClassVar[bool] = False
    """whether a config may give a `population`"""
    labels: ClassVar[bool] = False
    """whether responses are labels 0 and 1; y is 1 where the uniform number is at most the chance of 1"""
    score: ClassVar[Callable[..., Any]]
    """score(t, y, scale, k) -> (derivative of rho in t, derivative of rho in the scale)"""
    response_noise: ClassVar[Literal["normal", "uniform"]]
    """law of the one extra random number from which y is made"""
    response: ClassVar[Callable[..., Any]]
    """response(t, e, k) -> y, for the true linear predictor t, response noise e, constants k"""

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
    def law(self) -> Population:
        """The population, in whichever form it was given."""
        if self.population is not None:
            return self.population
        return Population(d=self.d, design=Design(sd=self.sigma_z), coefficients=self.beta)

    @property
    def true_coefficients(self) -> np.ndarray:
        """Coefficients that generate y, [d + 1]."""
        return np.full(self.d + 1, self.beta) if self.population is None else self.population.beta

    @property
    def cap(self) -> float:
        """c of the weight min(1, c / |x|^2); inf without weights."""
        return WEIGHT_CAP if self.population is None else self.population.cap

    @property
    def longest_row(self) -> float:
        """sup |w(x) x|; inf where rows are unbounded and have no weights."""
        if self.cap < math.inf:
            return math.sqrt(self.cap)
        return math.inf if self.population is None else self.population.reach

    def start(self) -> np.ndarray:
        """theta_0, [p]."""
        return np.full(self.p, self.start_beta)

    def score_bounds(self) -> tuple[float, float]:
        """Smallest and largest value of the score in t, over all data and parameters."""
        raise NotImplementedError

    # --- privacy constants -------------------------------------------------------------------------------------

    def gradient_bound(self) -> float:
        """C0, the largest norm of one user's gradient (`ldp-sgd`, Condition 1)."""
        return self.longest_row * max(abs(s) for s in self.score_bounds())

    def message_radius(self) -> float:
        """Radius of a ball about some public point that holds all gradients at one theta."""
        return self.gradient_bound()

    def exact_sensitivity(self) -> float:
        """Largest distance between the gradients of two users at one theta (replace-one)."""
        # the extremes are opposite scores on the longest w x, or one score on the two w x that are farthest apart:
        # these are c apart for c <= 2, where {w x} fills a disc of that diameter, and else (1, z) and (1, -z)
        low, high = self.score_bounds()
        # the square is the cap itself: that of a rounded root would move the last bit of Delta, and so every iterate
        square = self.cap if self.cap < math.inf else self.longest_row**2
        across = square if self.cap < 2 else 2 * math.sqrt(square - 1)
        return max(self.longest_row * (high - low), across * max(abs(low), abs(high)))

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

    # --- one user ----------------------------------------------------------------------------------------------

    def weight(self, x: np.ndarray) -> np.ndarray:
        """Weight of the rows x [..., d + 1]."""
        return np.asarray(np.minimum(1.0, self.cap / np.sum(x * x, axis=-1)))

    def gradient(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Gradients [..., p] of the loss of users (x [..., d + 1], y [...]) at theta [..., p]."""
        q = self.d + 1
        # summed and not multiplied as matrices, so that the bits of a record do not depend on how many there are
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

    def own_errors(self) -> Errors:
        """The law of the errors where the population does not say it: normal ones are read off `response`.

        Raises UsageError where y is not t + size e.
        """
        t, e = np.array([[-2.0], [0.0], [3.0]]), np.array([-1.5, 0.5, 1.0, 4.0])
        if self.response_noise == "normal":
            moved = type(self).response(t, e, self.constants) - t
            size = float(moved[1, 2])
            if size > 0 and np.allclose(moved, size * e, rtol=1e-12, atol=1e-12 * size):
                return Errors(law="normal", sd=size)
        raise UsageError(
            f"the law of the errors of {self.name} is not known: its response is not t + size e",
            "give its class `own_errors`, or `labels = True` where y is 0 or 1",
        )

    def mean_loss(self, u: np.ndarray, spread: np.ndarray, scale: np.ndarray) -> np.ndarray:
        """Mean of rho over the population's errors, [N, K], up to a constant: u [N, K] is the predictor less the place
        of y, spread [K] the size of the error and scale [N, 1]. Of labels, u is the predictor, and the part that
        depends on the label y, -y u, is left out.
        """
        raise UsageError(f"the mean loss of {self.name} is not known: its class has no `mean_loss`")
