"""Means of score, Hessian and squared score over users and theta ~ N(m, C), for the closure of moments.

(a) Given a row and the scale the predictor x'theta is normal, and so is the scale: means over theta are those of a
function of two numbers, by Gauss-Hermite nodes, with the scale no less than its bound.
(b) That function, a mean over responses, is a table: by the residual's place, and by the scale, or where that is known
by the spread of the error, or for labels by the chance of a 1, between the tables of both labels.
(c) Rows are `ROWS` public points, whose own gradient at theta* is taken off: errors are about 1e-3.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.errors import UsageError
from dpexp.problems.laws import law_of
from dpexp.problems.population_means import bordered, means_of, optimum_of, placed, unknown_means
from dpexp.problems.row_rules import sobol_points
from dpexp.theory.ldp_sgd.closure import ScoreMeans

if TYPE_CHECKING:
    from dpexp.problems.linear_predictor import LinearPredictorProblem

ROWS = 1024
_HALF, _FAR = 500, 1e3
"""places of tables on either side, and where they end, in sizes of the error"""
_STEP = math.asinh(_FAR) / _HALF
_COARSE, _ACROSS_JUMPS, _PARTS = 0.25, 0.05, 8
"""steps of log scale, also where the density of errors jumps, which slopes do not follow smoothly; and into how many
parts a spline cuts them"""


def _normal_nodes(count: int) -> tuple[np.ndarray, np.ndarray]:
    nodes, weights = np.polynomial.hermite_e.hermegauss(count)
    return nodes, weights / weights.sum()


_NODES, _SCALES, _MIDDLE = _normal_nodes(9), _normal_nodes(3), _normal_nodes(1)


class GaussianMeans:
    """The means of a problem, as a function of (m [p], C [p, p]). Raises UsageError where they are not known."""

    def __init__(self, problem: LinearPredictorProblem) -> None:
        if (unknown := unknown_means(problem)) is not None:
            raise unknown
        self.problem, self.points = problem, sobol_points(problem.law, ROWS, 3)
        places = placed(problem, self.points)
        self.true = places.true
        # a size of 0 has no table
        self.spread = np.maximum(places.spread, 1e-3 * places.spread.max())
        size = problem.error_size
        self.unit = np.full(len(self.true), size)
        if problem.has_scale and np.ptp(self.spread) > 0:
            # in units of its own error every row has the table of one size
            self.unit = self.spread
            if not _is_homogeneous(problem):
                message = f"the score of {problem.name} is no function of (y - x'beta) / scale, and errors depend on x"
                raise UsageError(f"the closure of moments is not known where {message}")
        self.levels, self.tables = _tables(problem, self.spread, size)
        self.stretch = self.unit / size
        # (c)
        self.off = np.zeros(problem.p)
        self.off = self(optimum_of(problem), np.zeros((problem.p, problem.p))).gradient

    def __call__(self, m: np.ndarray, c: np.ndarray) -> ScoreMeans:
        rows, x, q = self.points, self.points.x, self.points.x.shape[1]
        middle, along, level = x @ m[:q] - self.true, np.zeros(len(x)), self.spread[:, None]
        variance = np.sum((x @ c[:q, :q]) * x, axis=1)
        nodes, shares = _NODES if np.any(c) else _MIDDLE
        scales, of_scales = _MIDDLE
        if self.problem.has_scale:
            # (a)
            deviation = math.sqrt(max(float(c[q, q]), 0.0))
            if deviation > 0:
                scales, of_scales = _SCALES
                along = x @ c[:q, q] / deviation
            level = np.maximum(m[q] + deviation * scales, self.problem.scale_min) / self.stretch[:, None]
        across = np.sqrt(np.maximum(variance - along**2, 0.0))
        centre = (middle[:, None] + along[:, None] * scales) / self.unit[:, None]
        level = np.repeat(np.interp(level, self.levels, np.arange(len(self.levels))), len(nodes), axis=1)
        places = centre[:, :, None] + (across / self.unit)[:, None, None] * nodes
        values = _interpolated(self.tables, level, places.reshape(len(x), -1), np.outer(of_scales, shares).ravel())
        g, dg, gg, *of_scale = values.T
        gradient, hessian, scores = rows.mean(1, g), rows.moments(1, dg / self.stretch), rows.moments(2, gg)
        if of_scale:
            h, dh, gh, hh, dh_scale = of_scale
            gradient = np.append(gradient, rows.mean(1, h)[0])
            hessian = bordered(hessian, rows, 1, dh / self.stretch, dh_scale / self.stretch)
            scores = bordered(scores, rows, 2, gh, hh)
        return ScoreMeans(gradient - self.off, hessian, scores)


def _interpolated(tables: np.ndarray, level: np.ndarray, centre: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """(b): sums by shares [n] over places [R, n] of the functions [R, F], linear between values of the tables."""
    from scipy.sparse import csr_array

    place = np.clip(np.arcsinh(centre) / _STEP + _HALF, 0.0, 2.0 * _HALF)
    low, cell = np.minimum(level.astype(int), len(tables) - 2), np.minimum(place.astype(int), 2 * _HALF - 1)
    upper, right, corner = level - low, place - cell, low * (2 * _HALF + 1) + cell
    corners = np.stack([corner, corner + 1, corner + 2 * _HALF + 1, corner + 2 * _HALF + 2], axis=2)
    inner, outer = (1 - upper) * shares, upper * shares
    parts = np.stack([inner * (1 - right), inner * right, outer * (1 - right), outer * right], axis=2)
    flat, ends = tables.reshape(-1, tables.shape[2]), np.arange(len(place) + 1) * parts[0].size
    return np.asarray(csr_array((parts.ravel(), corners.ravel(), ends), shape=(len(place), len(flat))) @ flat)


def _is_homogeneous(problem: LinearPredictorProblem) -> bool:
    """Whether the score depends on (y - t) / scale alone."""
    r, score, k = np.linspace(-7.3, 7.7, 41), type(problem).score, problem.constants
    (g, h), (far_g, far_h) = (score(0.0, by * r, by, k) for by in (1.0, 3.0))
    return bool(np.allclose(g, far_g, rtol=1e-9) and np.allclose(h, far_h, rtol=1e-9))


def _tables(problem: LinearPredictorProblem, spread: np.ndarray, size: float) -> tuple[np.ndarray, np.ndarray]:
    """(b): levels [L], increasing, and at them the functions of `GaussianMeans`, [L, 2 _HALF + 1, functions]."""
    grid = size * np.sinh(np.arange(-_HALF, _HALF + 1) * _STEP)
    if not problem.has_scale:
        low, high = float(spread.min()), float(spread.max())
        levels = np.geomspace(low, max(high, 1.1 * low), 2 + int(math.log(high / low) * _PARTS / _COARSE))
        levels = np.arange(2.0) if problem.labels else levels
        means = [means_of(problem, grid, np.full_like(grid, v), problem.fixed_scale) for v in levels]
        return levels, np.array([np.stack([f.g, f.dg, f.gg], axis=-1) for f in means])
    from scipy.interpolate import CubicSpline

    start = float(problem.start()[-1])
    ends = min(max(problem.scale_min, size / 50), start) / 2, 30 * max(size, start)
    low, high = map(math.log, ends)
    step = _COARSE if law_of(problem.error_law).jump is None else _ACROSS_JUMPS
    coarse = np.linspace(low, high, math.ceil((high - low) / step) + 1)
    means = [means_of(problem, grid, np.full_like(grid, size), s) for s in np.exp(coarse)]
    spline = CubicSpline(coarse, np.array([np.stack([f.g, f.dg, f.gg, f.h, f.dh, f.gh, f.hh], axis=-1) for f in means]))
    fine = np.linspace(low, high, _PARTS * (len(coarse) - 1) + 1)
    dh_scale = spline(fine, 1)[..., 3:4] / np.exp(fine)[:, None, None]
    return np.exp(fine), np.concatenate([spline(fine), dh_scale], axis=-1)


gaussian_means = kept_once(8)(GaussianMeans)
"""`GaussianMeans`, made once for a problem"""
