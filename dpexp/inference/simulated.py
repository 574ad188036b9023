"""Simulated users of a known population, as the stages of a fit ask for them, and persons who hold several rows.

Users are those that the engine draws for the problem's population. A person holds 1 + Poisson(2) rows whose normals
have the correlation c = 1/2. Rows z and errors e are linear in their normals where they are normal, so that

    z = sqrt(c) z' + sqrt(1 - c) z'',   y - b = sqrt(c) (y' - b) + sqrt(1 - c) (y'' - b)

is a row of a person, with b the intercept, (z', y') a user that all rows of the person share and (z'', y'') its own.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from dpexp.core.seeds import generator, stream_states
from dpexp.engine.lanes.streams import draw_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES, lanes_empty
from dpexp.engine.linear.linear_pass import UserStream
from dpexp.inference.messages import Users
from dpexp.inference.models import Model
from dpexp.inference.user_blocks import gradient_weights, hessian_users, hessian_weights
from dpexp.privacy.budgets import Budget
from dpexp.problems.linear_predictor import LinearPredictorProblem

MORE_ROWS, CORRELATION = 2.0, 0.5
"""of persons: rows beyond the first, on average, and the correlation of the normals that any two rows are made of"""


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


def lanes_of(replicates: Sequence[int]) -> list[int]:
    """The replicates of eight lanes: the last one fills the rest."""
    return [*replicates, *[replicates[-1]] * (LANES - len(replicates))]


def can_hold_rows(problem: LinearPredictorProblem) -> bool:
    """Whether rows and errors of the problem's population are linear in normals, so that persons can be simulated."""
    law, errors = problem.law, problem.law.errors
    plain = errors is None or (errors.law == "normal" and errors.heteroscedastic is None)
    rows = all(column.law == "normal" and column.value("mean") == 0 for column in law.columns)
    return not problem.labels and plain and rows and law.design.rows is None and law.bend == 0


Records = tuple[np.ndarray, np.ndarray, np.ndarray]
"""covariates [rows, d], responses [rows] and owners [rows]"""


def person_rows(problem: LinearPredictorProblem, seed: int, replicates: Sequence[int], persons: int) -> list[Records]:
    """The records of persons, who hold rows of their own number in every replicate."""
    counts = [1 + generator(seed, lane, "order").poisson(MORE_ROWS, persons) for lane in replicates]
    largest = max(int(rows.sum()) for rows in counts)
    x, y, _ = UserStream(problem.model(), seed, lanes_of(replicates)).take(persons + largest)
    intercept, common, own = problem.true_coefficients[0], math.sqrt(CORRELATION), math.sqrt(1 - CORRELATION)
    tables = []
    for k, rows in enumerate(counts):
        owners = np.repeat(np.arange(persons), rows)
        after = slice(persons, persons + len(owners))
        z = common * x[owners, :, k] + own * x[after, :, k]
        error = common * (y[owners, k] - intercept) + own * (y[after, k] - intercept)
        tables.append((z, intercept + error, owners))
    return tables


class Simulated:
    """Simulated users, drawn when it is their turn; a `dpexp.inference.user_blocks.UserSource`.

    No number depends on the budgets, so all settings of an experiment meet the same users and the same noise.
    """

    def __init__(
        self, model: Model, problem: LinearPredictorProblem, budget: Budget, seed: int, replicates: Sequence[int],
        weighted: bool = True, rising: bool = False,
    ) -> None:  # fmt: skip
        self.lanes = lanes_of(replicates)
        self.users = UserStream(problem.model(), seed, self.lanes)
        self.center = problem.true_coefficients[0]
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
        x, y, w = self.users.take(count)
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
            inverse = inverse * np.where(y < self.center, 2.0, 1.0)
        noise = self.noise.take(count), self.hessian_noise.take(hessian_users(count, first, every))
        return Users(x, y, w, inverse, v, u, *noise, np.arange(count + 1))
