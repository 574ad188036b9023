"""Optimum, curvature and third derivative of the risk of a linear predictor over its population, by quadrature.

The loss of a user is w(x) rho(y - x'beta, scale), or w(x) l(x'beta, label). With u = x'beta less the place of y and v
the spread of the error, all means over a user's response given x are functions of (u, v, scale): `means_of` integrates
them over the errors, by panels that end where the score or the density has a kink.

(a) Newton's method finds the optimum. Where errors do not depend on x, all slopes are true and only the intercept and
the scale move, so that means are of one place; an intercept alone is found by a root of one number.
(b) The Hessian needs no derivative of the score: d/du E psi(e - u) is a mean of psi f' / f (`laws`). Further
derivatives are differences of seven points, whose error is about 1e-11.
(c) Where a score has kinks or jumps is found by halving the cells of a grid in which it is not straight.
(d) Rows that know the predictor along one direction alone (`slices`) carry a small rest of theta to first order.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.errors import UsageError
from dpexp.problems.laws import COLUMNS, GRID, Function, law_of, response_of, summed, tabulated
from dpexp.problems.mallows import cubic_moment, symmetrised
from dpexp.problems.row_rules import Points, Rows, rows_along

if TYPE_CHECKING:
    from dpexp.problems.linear_predictor import LinearPredictorProblem

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(12)
_CHUNK = 40_000  # numbers of an array at once: those that a processor has at hand
# first and second derivative from seven points a step apart
_STENCILS = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60, np.array([2, -27, 270, -490, 270, -27, 2]) / 180


class Means(NamedTuple):
    """Means over the response given x, [K]."""

    g: np.ndarray  # of the score in t
    h: np.ndarray  # of that in the scale
    gg: np.ndarray
    gh: np.ndarray
    hh: np.ndarray
    dg: np.ndarray  # derivative of g in t
    dh: np.ndarray  # derivative of h in t, which is that of g in the scale


class Places(NamedTuple):
    """Rows of a population, with what is known of each before theta is; moments of the loss of a user at theta [p]."""

    problem: LinearPredictorProblem
    rows: Rows
    true: np.ndarray  # the place of y: true predictor and bend [K]; 0 of labels
    spread: np.ndarray  # of the error, or the chance of the label 1 [K]

    def means(self, theta: np.ndarray, one: str = "") -> Means:
        """Means at every row: all, or the one of this name."""
        problem, t = self.problem, self.rows.predictor(theta[: self.problem.d + 1])
        scale = float(theta[-1]) if problem.has_scale else problem.fixed_scale
        return means_of(problem, t - self.true, self.spread, scale, one)

    def moved(self, theta: np.ndarray, name: str, k: int, step: float, order: int = 1) -> np.ndarray:
        """Derivative of a mean in parameter k, 0 or -1: in t, or in the scale; [K]."""
        along = np.eye(self.problem.p)[k]
        return _derivative(lambda h: getattr(self.means(theta + h * along, name), name), step, order)

    @property
    def label_row(self) -> np.ndarray:
        """E[w y x] of labels, [d + 1]."""
        return self.rows.mean(1, self.spread)

    def gradient(self, theta: np.ndarray, means: Means) -> np.ndarray:
        """Gradient of the risk, for the means there."""
        gradient = self.rows.mean(1, means.g)
        if (rest := self.rows.beside(theta[: self.problem.d + 1])) is not None:
            gradient = gradient + self.rows.moments(1, means.dg) @ rest
        return np.append(gradient, self.rows.mean(1, means.h)[0]) if self.problem.has_scale else gradient

    def second(self, theta: np.ndarray, means: Means, power: int) -> np.ndarray:
        """Hessian of the risk (power 1), or second moment of a user's gradient (power 2), for the means there."""
        name, f, side = ("dg", means.dg, means.dh) if power == 1 else ("gg", means.gg, means.gh)
        matrix, rest = self.rows.moments(power, f), self.rows.beside(theta[: self.problem.d + 1])
        third = None if rest is None else self.rows.tensor(self.moved(theta, name, 0, 0.02), power)
        matrix = matrix if third is None else matrix + third @ rest
        if not self.problem.has_scale:
            return matrix
        corner = means.hh if power == 2 else self.moved(theta, "h", -1, 1e-2 * float(theta[-1]))
        return bordered(matrix, self.rows, power, side, corner)


def bordered(matrix: np.ndarray, rows: Rows, power: int, side: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """Moments of the coefficients with one more row: E[w^power side x], and E[w^power corner] of the scale alone."""
    edge = rows.mean(power, side)[:, None]
    return np.block([[matrix, edge], [edge.T, rows.mean(power, corner)[:1, None]]])


@kept_once(64)
def unknown_means(problem: LinearPredictorProblem) -> UsageError | None:
    """Why means over the responses are not known; None where they are."""
    try:
        # rows of stored results are not read
        _ = problem.law.design.rows and problem.law.design.table
        _ = problem.error_size
    except UsageError as error:
        return error
    if problem.labels:
        return None
    r, score, k = np.linspace(-3.3, 3.7, 41), type(problem).score, problem.constants
    # at t = 0 and elsewhere, since compiled scores see y and t apart
    values = [np.broadcast_to(score(t, t + r, problem.fixed_scale, k)[0], r.shape) for t in (0.0, 1.0, -2.0)]
    if np.ptp(values, axis=0).max() <= 1e-9 * (1 + np.abs(values).max()):
        return None
    return UsageError(f"the score of {problem.name} is no function of y - x'beta, so its means are not known")


def _derivative(f: Callable[[float], np.ndarray], step: float, order: int = 1) -> np.ndarray:
    """f'(0) or f''(0), (b)."""
    terms = (c * f(j * step) for j, c in zip(range(-3, 4), _STENCILS[order - 1], strict=True) if c)
    return np.asarray(sum(terms) / step**order)


def _halved(low: np.ndarray, high: np.ndarray, lower: Callable[..., np.ndarray], times: int) -> tuple[np.ndarray, ...]:
    """Cells [K] after so many halvings, each to the half that `lower` (of low end, middle and high end) chooses."""
    for _ in range(times):
        middle = (low + high) / 2
        below = lower(low, middle, high)
        low, high = np.where(below, low, middle), np.where(below, middle, high)
    return low, high


@kept_once(256)
def score_kinks(problem: LinearPredictorProblem, scale: float) -> np.ndarray:
    """(c): residuals y - t at which a score has a kink or a jump."""

    def f(r: np.ndarray) -> np.ndarray:
        g, h = type(problem).score(0.0, r, scale, problem.constants)
        return np.broadcast_to(g + 0.37 * np.asarray(h), r.shape)

    def bend(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.abs(f((low + high) / 2) - (f(low) + f(high)) / 2)

    grid = scale * np.sinh(np.linspace(-16.7, 16.7123, 4001))
    low, high, largest = grid[:-1], grid[1:], np.abs(f(grid)).max() + 1e-300
    for times in (24, 32):
        # of a smooth score the bend falls like the square of the width, at a kink like the width
        least = 1e-10 if times == 24 else 1e-5 * (high - low) / (np.abs(low) + scale)
        bent = bend(low, high) > least * largest
        low, high = _halved(low[bent], high[bent], lambda a, b, c: bend(a, b) >= bend(b, c), times)
    return high


def means_of(problem: LinearPredictorProblem, u: np.ndarray, spread: np.ndarray, scale: float, one: str = "") -> Means:
    """`Means` at places u [K] and spreads [K] of the error, or of labels at predictors u and their chances `spread`:
    all, or the one of this name."""
    if problem.labels:
        return _means_of_labels(problem, u, spread)
    if len(u) > 1 and np.ptp(u) <= 1e-12 * (1 + np.abs(u).max()) and np.ptp(spread) == 0:
        # one place for all rows, but for rounding
        return Means(*(np.broadcast_to(part, u.shape) for part in means_of(problem, u[:1], spread[:1], scale, one)))
    law, score, k = law_of(problem.error_law), type(problem).score, problem.constants
    first, last = map(math.asinh, law.ends)
    base = np.sinh(np.linspace(first, last, 1 + max(12, math.ceil(2 * (last - first)))))
    base = np.union1d(base, np.array(law.kinks))
    kinks, names = score_kinks(problem, scale), (one,) if one else Means._fields

    def block(at: np.ndarray, wide: np.ndarray) -> Iterator[np.ndarray]:
        """The means of these names, for places and spreads [K, 1]."""
        own = np.clip((at + kinks) / wide, *law.ends)
        edges = np.sort(np.concatenate([np.broadcast_to(base, (len(at), len(base))), own], axis=1), axis=1)
        half, middle = np.diff(edges)[:, :, None] / 2, (edges[:, 1:] + edges[:, :-1])[:, :, None] / 2
        e = (middle + half * _NODES).reshape(len(at), -1)
        mass = (half * _WEIGHTS).reshape(len(at), -1) * law.density(e)
        moved = mass * law.slope(e) / wide if names[-1][0] == "d" else mass
        parts = dict(zip("gh", score(0.0, wide * e - at, scale, k), strict=True))
        for name in names:
            value = math.prod(parts[of] for of in name.removeprefix("d"))
            mean = np.sum((moved if name[0] == "d" else mass) * value, axis=1)
            if name[0] == "d" and law.jump is not None:
                jump = dict(zip("gh", score(0.0, wide * law.jump[0] - at, scale, k), strict=True))[name[1]]
                mean = mean + (jump * law.jump[1] / wide)[:, 0]
            yield mean

    size = max(1, _CHUNK // (len(_NODES) * (len(base) + len(kinks))))
    blocks = [list(block(u[i : i + size, None], spread[i : i + size, None])) for i in range(0, len(u), size)]
    found = dict(zip(names, map(np.concatenate, zip(*blocks, strict=True)), strict=True))
    return Means(*(found.get(name, np.full(len(u), math.nan)) for name in Means._fields))


def _means_of_labels(problem: LinearPredictorProblem, t: np.ndarray, p: np.ndarray) -> Means:
    """`Means` of a loss of labels at predictors t [K] with chances p [K]."""
    score, k, nothing = type(problem).score, problem.constants, np.zeros_like(t)

    def mean(shift: float, power: int = 1) -> np.ndarray:
        of_one, of_zero = (np.asarray(score(t + shift, label, 1.0, k)[0]) ** power for label in (1.0, 0.0))
        return np.asarray(p * of_one + (1 - p) * of_zero)

    return Means(mean(0.0), nothing, mean(0.0, 2), nothing, nothing, _derivative(mean, 0.01), nothing)


def chances(problem: LinearPredictorProblem, t: np.ndarray) -> np.ndarray:
    """Chances of the label 1 at true predictors t: the largest uniform number with label 1."""
    response, k = response_of(problem.law, type(problem).response), problem.constants
    with np.errstate(over="ignore"):
        return _halved(np.zeros_like(t), np.ones_like(t), lambda low, e, high: response(t, e, k) <= 0.5, 54)[0]


@kept_once(64)
def is_canonical(problem: LinearPredictorProblem) -> bool:
    """Whether a loss of labels is l(t) - y t, so that the label's part is linear in theta."""
    t, score, k = np.linspace(-30.0, 30.0, 121), type(problem).score, problem.constants
    return bool(np.allclose(score(t, 0.0, 1.0, k)[0] - score(t, 1.0, 1.0, k)[0], 1.0, rtol=0, atol=1e-12))


@kept_once(16)
def loss_table(problem: LinearPredictorProblem, label: float = 0.0) -> Function:
    """The mean loss at u = size a, less that at 0, by a; of labels that of one label at the predictor u.

    It is the integral of the mean score, cell by cell from values and slopes at the ends (Euler and Maclaurin).
    """
    size = problem.error_size
    u = size * GRID
    means = means_of(problem, u, np.full_like(u, label if problem.labels else size), problem.fixed_scale)
    wide = np.diff(u)
    cells = wide * (means.g[1:] + means.g[:-1]) / 2 - wide**2 * np.diff(means.dg) / 12
    return tabulated(summed(cells), means.g * size)


def fineness(problem: LinearPredictorProblem, slopes: np.ndarray) -> int:
    """How many times the nodes of other functions those of labels take along these slopes: 1 for a predictor that
    deviates by 2 or less, 8 at most; errors are then about 1e-9 up to deviations of 6, and 1e-7 up to 12."""
    if not problem.labels:
        return 1
    population, largest = problem.law, 1e3
    squares = [(column.width, COLUMNS[column.law].mean_square(column)) for column in population.columns]
    scaled = slopes * np.concatenate([np.full(width, min(math.sqrt(square), largest)) for width, square in squares])
    # rows with tails are decided far out, where the chance is steep on the first axis
    tails = 3 if population.design.law == "t" else 1
    return min(8, tails * math.ceil(max(1.0, math.sqrt(float(scaled @ population.correlation @ scaled)) / 2)))


@kept_once(32)
def places_of(problem: LinearPredictorProblem, full: bool = False) -> Places:
    """Rows of the population, for functions of the true predictor; with `full` for any function of x."""
    population, slopes = problem.law, problem.true_coefficients[1:]
    folded = population.grows or population.bend != 0
    return placed(problem, rows_along(population, None, folded, fineness(problem, slopes), full=full))


def placed(problem: LinearPredictorProblem, rows: Rows) -> Places:
    """Places of these rows."""
    population = problem.law
    true = rows.predictor(population.beta)
    if problem.labels:
        return Places(problem, rows, np.zeros_like(true), chances(problem, true))
    errors = problem.error_law
    a, b = errors.heteroscedastic or (1.0, 0.0)
    spread = np.full_like(true, errors.size * a)
    if b or population.bend:
        # such rows have their first coordinate beside the constant
        assert isinstance(rows, Points)
        spread = spread + errors.size * b * np.abs(rows.x[:, 1])
        true = true + population.bend * (rows.x[:, 1] ** 2 - population.mean_square) if population.bend else true
    return Places(problem, rows, true, spread)


def alike(problem: LinearPredictorProblem) -> bool:
    """Whether errors do not depend on x."""
    return not (problem.labels or problem.law.bend or problem.law.grows)


@kept_once(32)
def optimum_of(problem: LinearPredictorProblem) -> np.ndarray:
    """(a): the minimiser over the problem's population, [p]. Raises UsageError where none is found."""
    if (unknown := unknown_means(problem)) is not None:
        raise unknown
    places, q = places_of(problem), problem.d + 1
    if problem.law.design.columns is not None or problem.law.design.rows is not None:
        eigenvalues = np.linalg.eigvalsh(places.rows.moments(1))
        if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:
            message = "the design is collinear: its columns and the intercept are linearly dependent"
            raise UsageError(message, "drop a column, or a level")

    def state(theta: np.ndarray) -> tuple[np.ndarray, Means, np.ndarray]:
        means = places.means(theta)
        return theta, means, places.gradient(theta, means)

    theta, spread, slopes_move = problem.true_coefficients, places.spread, not alike(problem)
    if problem.has_scale:
        theta = np.append(theta, spread[0] if np.ptp(spread) == 0 else np.average(spread, weights=places.rows.mass[0]))
    theta, means, gradient = state(theta)
    if not (problem.labels or problem.has_scale) and np.abs(gradient).max() > 1e-14:
        from scipy.optimize import brentq

        # one number, by a method that does not mind where the risk is straight
        far = 1e3 * float(spread[0])
        at_shift = partial(means_of, problem, spread=spread[:1], scale=problem.fixed_scale, one="g")
        theta[0] += brentq(lambda u: float(at_shift(np.array([u])).g[0]), -far, far, xtol=1e-15, rtol=1e-15)
        theta, means, gradient = state(theta)
    for _ in range(100):
        if (size := float(np.abs(gradient).max())) <= 1e-13:
            break
        step = np.linalg.solve(places.second(theta, means, 1), gradient)
        step[1:q] *= slopes_move
        trials = theta - 0.5 ** np.arange(30)[:, None] * step
        states = (state(trial) for trial in trials if not problem.has_scale or trial[-1] > 0)
        better = next((found for found in states if np.abs(found[2]).max() < size), None)
        if better is None:
            break
        theta, means, gradient = better
    if float(np.abs(gradient).max()) > 1e-9 or (problem.labels and np.abs(theta).max() > 1e3):
        why = "the classes are nearly separated" if problem.labels else "the risk is flat"
        hint = "smaller coefficients, or another link" if problem.labels else "larger errors"
        raise UsageError(f"no minimiser of the risk was found: {why}", hint)
    return theta


@kept_once(64)
def second_order_of(problem: LinearPredictorProblem) -> tuple[np.ndarray, np.ndarray]:
    """Hessian of the risk and covariance of the gradient at the optimum, [p, p] each."""
    theta, places = optimum_of(problem), places_of(problem)
    means = places.means(theta)
    return places.second(theta, means, 1), places.second(theta, means, 2)


@kept_once(64)
def third_derivative_of(problem: LinearPredictorProblem) -> np.ndarray | None:
    """Third derivative of the risk at the optimum, [p, p, p]; None where rows do not keep third moments."""
    if unknown_means(problem) is not None:
        return None
    theta, places = optimum_of(problem), places_of(problem)
    moved, rows = partial(places.moved, theta), places.rows
    tensor = rows.tensor(moved("dg", 0, 0.02 if problem.labels else 0.02 * float(places.spread.min())))
    if tensor is None or not problem.has_scale:
        return tensor
    third, h, in_scale = np.pad(tensor, (0, 1)), 0.02 * float(theta[-1]), np.eye(problem.p)[-1]
    inner = np.pad(rows.moments(1, moved("dg", -1, h)), (0, 1))
    side = np.append(rows.mean(1, moved("dh", -1, h)), 0.0)
    third += symmetrised(inner, in_scale) + symmetrised(np.outer(in_scale, in_scale), side)
    third[-1, -1, -1] += rows.mean(1, moved("h", -1, h, 2))[0]
    return third


def hessian_lipschitz_of(problem: LinearPredictorProblem) -> float | None:
    """The largest third derivative of the mean loss in t, times the largest E w |x'u|^3, of short forms."""
    from scipy.optimize import minimize_scalar

    if problem.has_scale or problem.population is not None or unknown_means(problem) is not None:
        return None
    size, scale = problem.error_size, problem.fixed_scale
    # a mean over labels is between those of either label
    levels = np.array([[0.0], [1.0]] if problem.labels else [[size]])
    far = 15.0 if problem.labels else 8 * size + float(np.abs(score_kinks(problem, scale)).max(initial=0.0))

    def third(t: np.ndarray) -> np.ndarray:
        u, v = (part.ravel() for part in np.broadcast_arrays(t, levels))
        moved = _derivative(lambda h: means_of(problem, u + h, v, scale, "dg").dg, 0.02 * size)
        return np.abs(moved).reshape(len(levels), -1).max(axis=0)

    grid, step = np.linspace(-far, far, 1201, retstep=True)
    best = float(grid[int(np.argmax(third(grid)))])
    bounds, options = (best - step, best + step), {"xatol": 1e-7 * far}
    peak = minimize_scalar(lambda t: -float(third(np.array([t]))[0]), bounds=bounds, method="bounded", options=options)
    return -float(peak.fun) * cubic_moment(problem.d, problem.sigma_z)


@kept_once(64)
def clipped_optimum(problem: LinearPredictorProblem, clip: float) -> np.ndarray:
    """The root of the mean gradient clipped to norm `clip`, of a problem with labels, [p]; errors are about 1e-5.

    g = w psi x is clipped to x times w psi between -clip / |x| and clip / |x|, which is a score of the predictor again,
    so that the root is the minimum of a convex risk where psi is monotone.
    """
    from scipy.optimize import root

    # the clip makes kinks on every ray, so that panels are short
    rows = rows_along(problem.law, None, False, 10, 16)
    assert isinstance(rows, Points)
    assert rows.norm_sq is not None
    bound, weight = clip / np.sqrt(rows.norm_sq), problem.law.weight.of(rows.norm_sq)
    true, score, k = problem.true_coefficients, type(problem).score, problem.constants
    chance = chances(problem, rows.predictor(true))

    def mean(at: np.ndarray) -> np.ndarray:
        t = rows.x @ at
        of_one, of_zero = (np.clip(weight * score(t, label, 1.0, k)[0], -bound, bound) for label in (1.0, 0.0))
        return np.asarray(rows.x.T @ (rows.mass[0] * (chance * of_one + (1 - chance) * of_zero)))

    # the root lies in the span of the rows' directions, and is found there
    return np.asarray(rows.basis @ root(mean, rows.basis.T @ true, tol=1e-12).x)
