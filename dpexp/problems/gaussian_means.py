"""Means of score, Hessian and squared score over users and theta ~ N(m, C), for the closure of moments.

(a) Given a row the predictor x'theta is normal too, so that means over theta are means of a function of one number, by
Gauss-Hermite nodes; that function, a mean over responses, is a table.
(b) Rows are `ROWS` public points, whose own gradient at theta* is taken off: errors are about 1e-3.
"""

from __future__ import annotations

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.errors import UsageError
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population_means import errors_of, optimum_of, placed, unknown_means
from dpexp.problems.row_rules import sobol_points
from dpexp.theory.ldp_sgd.closure import ScoreMeans

ROWS = 1024
_NODES, _HALF = 13, 3000
_FAR = 1e3
"""where tables end, in sizes of the error"""


class GaussianMeans:
    """The means of a problem, as a function of (m [p], C [p, p]). Raises UsageError where they are not known."""

    def __init__(self, problem: LinearPredictorProblem) -> None:
        if (unknown := unknown_means(problem)) is not None:
            raise unknown
        if problem.has_scale:
            raise UsageError("the closure of moments is of coefficients, and this problem estimates a scale too")
        points = sobol_points(problem.law, ROWS, 3)
        places = placed(problem, points)
        if not problem.labels and np.ptp(places.spread) > 0:
            raise UsageError("the closure of moments is of errors that do not depend on x")
        self.x, self.mass = points.x, points.mass
        self.nodes, weights = np.polynomial.hermite_e.hermegauss(_NODES)
        self.weights = weights / weights.sum()
        self.true = np.zeros(len(points.x)) if problem.labels else places.true
        self.size, self.step = 1.0 if problem.labels else problem.error_law.size, np.arcsinh(_FAR) / _HALF
        grid = self.size * np.sinh(np.arange(-_HALF, _HALF + 1) * self.step)
        if problem.labels:
            score, k, h = type(problem).score, problem.constants, 1e-4
            self.chances = np.stack([places.spread, 1 - places.spread])
            tables = []
            for label in (1.0, 0.0):
                value, above, below = (score(grid + s, label, 1.0, k)[0] for s in (0.0, h, -h))
                tables.append((value, (above - below) / (2 * h), value**2))
        else:
            means = errors_of(problem, grid, np.full_like(grid, self.size), problem.fixed_scale)
            self.chances, tables = np.ones((1, len(points.x))), [(means.g, means.dg, means.gg)]
        self.tables = np.array(tables)
        """[1 or 2 labels, 3, values at the grid]"""
        self.off = np.zeros(problem.p)
        best = optimum_of(problem)
        # (b)
        self.off = self(best, np.zeros((problem.p, problem.p))).gradient

    def __call__(self, m: np.ndarray, c: np.ndarray) -> ScoreMeans:
        middle = self.x @ m - self.true
        spread = np.sqrt(np.maximum(np.sum((self.x @ c) * self.x, axis=1), 0.0))
        nodes, weights = (self.nodes, self.weights) if np.any(c) else (np.zeros(1), np.ones(1))
        place = np.arcsinh((middle[:, None] + spread[:, None] * nodes) / self.size) / self.step + _HALF
        cell = np.clip(place.astype(np.int64), 0, 2 * _HALF - 1)
        share = np.clip(place - cell, 0.0, 1.0)
        table = self.tables
        at = (1 - share) * table[:, :, cell] + share * table[:, :, cell + 1]
        g, dg, gg = np.einsum("lr,lfrn,n->fr", self.chances, at, weights)
        of_rows = [(self.x * (self.mass[power] * f)[:, None]).T @ self.x for power, f in ((1, dg), (2, gg))]
        return ScoreMeans(self.x.T @ (self.mass[1] * g) - self.off, *of_rows)


@kept_once(16)
def gaussian_means(problem: LinearPredictorProblem) -> GaussianMeans:
    """`GaussianMeans`, made once for a problem."""
    return GaussianMeans(problem)
