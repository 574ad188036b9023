"""The compiled loops of `dpexp.inference.populations`: normals, and the records of users that they make, in lanes.

The laws are those of `populations.Population`.
"""

from __future__ import annotations

import math
from typing import Literal, NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler exp on lanes
from dpexp.engine.lanes.aligned import lanes_empty
from dpexp.engine.lanes.elementwise import logistic, maximum, sqrt, where
from dpexp.engine.lanes.streams import fill_normal
from dpexp.engine.lanes.vectors import LANES, load, read, reals, store
from dpexp.problems.mallows import mallows_weight


@compiled(kept=True)
def _fill(state, out, count):
    fill_normal(state, out, count)


class Rows:
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
        _fill(self.state, rows[old:].reshape(-1, LANES), drawn * self.width)
        self.spare = rows[count:].copy()  # a view would keep all of the rows in memory
        return rows[:count]


weight_of = compiled(mallows_weight, forceinline=True)
BINARY, NORMAL, STUDENT, EXPONENTIAL, HETEROSCEDASTIC = range(5)
"""kinds of responses"""
Errors = Literal["normal", "student", "exponential", "heteroscedastic"]
ERRORS: dict[Errors, tuple[int, int]] = {
    "normal": (NORMAL, 1), "student": (STUDENT, 4), "exponential": (EXPONENTIAL, 2),
    "heteroscedastic": (HETEROSCEDASTIC, 1),
}  # fmt: skip
"""their kinds, and the standard normals that one is made of"""


class Numbers(NamedTuple):
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
            elif law.response == EXPONENTIAL:  # half a chi-square of 2 degrees is exponential; of mean 0
                other = read(g, (b, used + 1))
                error = (error * error + other * other) / 2.0 - 1.0
            elif law.response == HETEROSCEDASTIC:
                error = error * (0.5 + 0.5 * maximum(first, -first))
            store(y, (b,), t + law.sigma * error)
