"""Laws from which users are simulated, right and wrong for the model, and the users that compiled loops make of them.

The covariates are z ~ N(0, sigma_z^2 R) with R_jk = rho for j != k; the last one may be a level that few hold, or vary
less than its stated range. The response is y = x'beta + curvature g(z) + sigma e for the linear model, where e has one
of several laws, and Bernoulli of the logistic function of the same predictor for the logistic model. What is estimated
is the minimiser of the population risk, whatever the law (inference, section 5).
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from dpexp.core.seeds import stream_states
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler exp on lanes
from dpexp.engine.lanes.aligned import lanes_empty
from dpexp.engine.lanes.elementwise import logistic, maximum, sqrt, where
from dpexp.engine.lanes.streams import draw_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES, load, read, reals, store
from dpexp.inference.messages import Users
from dpexp.inference.models import Model
from dpexp.inference.public_numbers import rounded
from dpexp.inference.users import gradient_weights, hessian_users, hessian_weights
from dpexp.privacy.budgets import Budget
from dpexp.problems.mallows import mallows_weight


class NormalRows:
    """A stream of rows of normals [width, 8], which are the same rows however many are taken at a time."""

    def __init__(self, state: np.ndarray, width: int) -> None:
        self.state, self.width = state, width
        self.spare = np.empty((0, width, LANES))
        """at most one row: normals are drawn in pairs, and half a pair must not be lost"""

    def take(self, count: int) -> np.ndarray:
        """The next rows [count, width, 8]."""
        if count == 0:
            return np.empty((0, self.width, LANES))
        old = len(self.spare)
        need = max(0, count - old)
        drawn = need + need * self.width % 2
        rows = lanes_empty(old + drawn, self.width)
        rows[:old] = self.spare
        draw_normal(self.state, rows[old:].reshape(-1, LANES), drawn * self.width)
        self.spare = rows[count:].copy()  # a view would keep all of the rows in memory
        return rows[:count]


weight_of = compiled(mallows_weight, forceinline=True)
BINARY, NORMAL, STUDENT, HETEROSCEDASTIC = range(4)
"""kinds of responses"""
ErrorLaw = Literal["normal", "student", "heteroscedastic"]
ERRORS: dict[ErrorLaw, tuple[int, int]]
ERRORS = {"normal": (NORMAL, 1), "student": (STUDENT, 4), "heteroscedastic": (HETEROSCEDASTIC, 1)}
"""their kinds, and the standard normals that one is made of"""


class LawNumbers(NamedTuple):
    """Of one law."""

    response: int
    """its kind"""
    slopes: np.ndarray
    """over beta [d]"""
    sigma_z: float
    own: float
    """sqrt(1 - rho), the share of a covariate that is its own"""
    common: float
    """sqrt(rho), that of the factor which all covariates share; there is one only if this is above 0"""
    beta: float
    sigma: float
    bend: float
    below: float
    """the last covariate is 1 where its normal is at most this, and -1 elsewhere; minus infinity: it stays normal"""
    narrow: float
    """by what the last covariate is divided"""


@compiled(kept=True)
def fill_records(g, uniform, law, x, y, w):
    """Write covariates [users, d, 8], responses and weights [users, 8] from normals [users, normals, 8] and uniforms.

    `uniform` [users, 8] is read for binary responses alone.
    """
    d = x.shape[1]
    used = d + 1 if law.common > 0.0 else d
    for b in range(x.shape[0]):
        total, first, square = reals(0.0), reals(0.0), reals(1.0)
        for j in range(d):
            z = read(g, (b, j))
            if law.common > 0.0:
                z = law.own * z + law.common * read(g, (b, d))
            if j == d - 1:
                if law.below > -math.inf:
                    z = where(z <= law.below, 1.0, -1.0)
                z = z / law.narrow
            total = total + law.slopes[j] * z
            if j == 0:
                first = z
            scaled = law.sigma_z * z
            store(x, (b, j), scaled)
            square = square + scaled * scaled
        store(w, (b,), weight_of(square))
        t = law.beta * (1.0 + law.sigma_z * total) + law.bend * (first * first - 1.0)
        if law.response == BINARY:
            store(y, (b,), where(load(uniform, (b,)) <= logistic(t), 1.0, 0.0))
        else:
            error = read(g, (b, used))
            if law.response == STUDENT:  # t with 3 degrees of freedom
                one, two, three = read(g, (b, used + 1)), read(g, (b, used + 2)), read(g, (b, used + 3))
                error = error / sqrt((one * one + two * two + three * three) / 3.0)
            elif law.response == HETEROSCEDASTIC:
                error = error * (0.5 + 0.5 * maximum(first, -first))
            store(y, (b,), t + law.sigma * error)


MORE_ROWS, CORRELATION = 2.0, 0.5
"""of persons: rows beyond the first, on average, and the correlation of the normals that any two rows are made of"""


@dataclass(frozen=True)
class Population:
    """The true law of a record."""

    d: int
    sigma_z: float = 1.0
    rho: float = 0.0
    """correlation of any two covariates"""
    beta: float = 1.0
    """every true coefficient"""
    sigma: float = 2.0
    """scale of the errors; not used by binary responses"""
    errors: ErrorLaw = "normal"
    bend: float = 0.0
    """the mean has bend (z_1^2 / sigma_z^2 - 1) on top of x'beta"""
    binary: bool = False
    rare: float = 0.0
    """the last covariate is sigma_z with this probability and -sigma_z otherwise; 0: normal like the others"""
    narrow: float = 1.0
    """by what the last covariate is divided: its range is stated so many times too wide"""
    steep: float = 0.0
    """0, or slopes that are steep, -steep, steep / 2 and again, times beta"""
    persons: bool = False
    """whether a record is a person, who holds 1 + Poisson(2) rows, as `panel` draws them"""

    @property
    def right(self) -> bool:
        """Whether predictors are those of the public guess."""
        return not self.rho and not self.rare and self.narrow == 1 and not self.steep

    @property
    def slopes(self) -> np.ndarray:
        """The true slopes over beta [d]."""
        return np.resize(self.steep * np.array([1.0, -1.0, 0.5]), self.d) if self.steep else np.ones(self.d)

    @property
    def normals(self) -> int:
        """Standard normals that one record takes: d covariates, one common factor, and the error."""
        return self.d + (self.rho > 0) + (0 if self.binary else ERRORS[self.errors][1])

    @property
    def numbers(self) -> LawNumbers:
        """The law as the compiled loop takes it."""
        from scipy.special import ndtri

        response = BINARY if self.binary else ERRORS[self.errors][0]
        own, common = math.sqrt(1 - self.rho), math.sqrt(self.rho)
        below = rounded(float(ndtri(self.rare))) if self.rare else -math.inf
        numbers = (self.sigma_z, own, common, self.beta, self.sigma, self.bend, below, self.narrow)
        return LawNumbers(response, self.slopes, *(float(number) for number in numbers))

    def records(self, g: np.ndarray, uniform: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Covariates [n, d] and responses [n] from normals [n, normals] and uniform numbers [n]."""
        n, rows = len(g), -(-len(g) // LANES)

        def in_lanes(values: np.ndarray) -> np.ndarray:
            """[rows, ..., 8] of [n, ...]; the last row is filled up with 0."""
            filled = np.concatenate([values, np.zeros((rows * LANES - n, *values.shape[1:]))])
            return np.ascontiguousarray(np.moveaxis(filled.reshape(rows, LANES, *values.shape[1:]), 1, -1))

        x, y, w = lanes_empty(rows, self.d), lanes_empty(rows), lanes_empty(rows)
        fill_records(in_lanes(g), in_lanes(uniform), self.numbers, x, y, w)
        return x.transpose(0, 2, 1).reshape(-1, self.d)[:n], y.reshape(-1)[:n]

    def panel(self, rng: np.random.Generator, persons: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Covariates [rows, d], responses and owners [rows] of persons whose rows are correlated by `CORRELATION`."""
        owners = np.repeat(np.arange(persons), 1 + rng.poisson(MORE_ROWS, persons))
        g = math.sqrt(CORRELATION) * rng.standard_normal((persons, self.normals))[owners]
        g += math.sqrt(1 - CORRELATION) * rng.standard_normal(g.shape)
        return *self.records(g, rng.random(len(g))), owners


class Strangers:
    """Records of users, from streams that depend on the seed and the replicate alone."""

    def __init__(self, law: Population, seed: int, replicates: Sequence[int]) -> None:
        self.law, self.seed = law, seed
        self.lanes = [*replicates, *[replicates[-1]] * (LANES - len(replicates))]
        self.response = stream_states(seed, self.lanes, "response")
        self.data = NormalRows(stream_states(seed, self.lanes, "data"), law.normals)

    def records(self, count: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Covariates [count, d, 8], responses and weights [count, 8] of the next users."""
        normals = self.data.take(count)
        uniform = lanes_empty(count if self.law.binary else 0)
        if self.law.binary:
            fill_uniform(self.response, uniform, count)
        x, y, w = lanes_empty(count, self.law.d), lanes_empty(count), lanes_empty(count)
        fill_records(normals, uniform, self.law.numbers, x, y, w)
        return x, y, w


class Simulated(Strangers):
    """Simulated users, drawn when it is their turn; a `dpexp.inference.users.UserSource`.

    No number depends on the budgets, so all settings of an experiment meet the same users and the same noise.
    """

    def __init__(
        self, model: Model, law: Population, budget: Budget, seed: int, replicates: Sequence[int],
        weighted: bool = True, rising: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(law, seed, replicates)
        self.model, self.budget, self.rising, self.served = model, budget, rising, 0
        self.weighted = weighted and budget.constant is None
        triangle = model.p * (model.p + 1) // 2
        self.noise = NormalRows(stream_states(seed, self.lanes, "noise"), model.p)
        self.hessian_noise = NormalRows(stream_states(seed, self.lanes, "noise", 1), triangle)
        self.uniform = stream_states(seed, self.lanes, "budget")
        if self.weighted:
            typical = 1 / budget.draw((np.arange(100_000) + 0.5) / 100_000, 1)
            self._mean_v = gradient_weights(model, typical).mean()
            self._mean_u = hessian_weights(model, typical).mean()

    def block(self, count: int, first: int, every: int) -> Users:
        """The next `count` users; with `rising` budgets are half as large where the outcome is below its centre."""
        x, y, w = self.records(count)
        uniform = lanes_empty(count)
        if self.budget.constant is None:
            fill_uniform(self.uniform, uniform, count)
        inverse = 1 / self.budget.draw(uniform, self.served + 1)
        self.served += count
        v = u = np.ones_like(inverse)
        if self.weighted:
            v = gradient_weights(self.model, inverse) / self._mean_v
            u = hessian_weights(self.model, inverse) / self._mean_u
        if self.rising:
            inverse = inverse * np.where(y < self.law.beta, 2.0, 1.0)
        noise = self.noise.take(count), self.hessian_noise.take(hessian_users(count, first, every))
        return Users(x, y, w, inverse, v, u, *noise, np.arange(count + 1))
