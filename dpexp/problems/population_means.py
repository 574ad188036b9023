"""Optimum, curvature and third derivative of the risk of a linear predictor over its population, by quadrature.

The loss of a user is w(x) rho(y - x'beta, scale), or w(x) l(x'beta, label). With u = x'beta less the place of y and v
the spread of the error, all means over a user's response given x are functions of (u, v, scale): `errors_of` integrates
them over the errors, by panels that end where the score or the density has a kink.

(a) Where errors do not depend on x, all slopes are true and everything at the optimum is (three numbers of loss and
errors) times (two matrices of the rows): the shift d of the intercept has E psi(e - d) = 0, the Hessian is the
derivative of that mean times E w xx', and the score covariance is E psi^2 times E w^2 xx'.
(b) Elsewhere Newton's method finds the optimum, with means at every row.
(c) The Hessian needs no derivative of the score: d/du E psi(e - u) is a mean of psi f' / f (`laws`). Further
derivatives are differences of seven points, whose error is about 1e-11.
(d) Where a score has kinks or jumps is found by halving the cells of a grid in which it is not straight.
(e) Rows that know the predictor along one direction alone (`slices`) carry a small rest of theta to first order.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.errors import UsageError
from dpexp.problems.laws import law_of, response_of
from dpexp.problems.mallows import cubic_moment, symmetrised
from dpexp.problems.population import Errors
from dpexp.problems.row_rules import Points, Rows, rows_along
from dpexp.problems.slices import Slices
from dpexp.problems.weighted_regression import WeightedRegression

_NODES = 12
_CHUNK = 400_000
"""numbers of an array at once"""
_FIRST = np.array([-1, 9, -45, 0, 45, -9, 1]) / 60
_SECOND = np.array([2, -27, 270, -490, 270, -27, 2]) / 180
"""derivatives from seven points a step apart"""


class Means(NamedTuple):
    """Means over the response given x: of the score in t and in the scale, of their products, and derivatives."""

    g: np.ndarray
    h: np.ndarray
    gg: np.ndarray
    gh: np.ndarray
    hh: np.ndarray
    dg: np.ndarray
    """derivative of g in t"""
    dh: np.ndarray
    """derivative of h in t, which is that of g in the scale"""


class Places(NamedTuple):
    """What is known of every row before theta is."""

    rows: Rows
    true: np.ndarray
    """the place of y: true predictor and bend [K]"""
    spread: np.ndarray
    """of the error, or the chance of the label 1 [K]"""


class Optimum(NamedTuple):
    """The minimiser of the risk."""

    theta: np.ndarray
    """[p]"""
    gradient: float
    """largest entry of the gradient that is left"""
    error: float
    """relative error of the rule for rows"""


def errors_in(problem: WeightedRegression) -> Errors:
    """The law of the errors: the population's, or the problem's own. Raises UsageError where it is not known."""
    return problem.law.errors or problem.own_errors()


@kept_once(64)
def unknown_means(problem: WeightedRegression) -> UsageError | None:
    """Why means over the responses are not known; None where they are."""
    try:
        if problem.law.design.rows is not None:
            _ = problem.law.design.table
        if problem.labels:
            return None
        errors_in(problem)
    except UsageError as error:
        return error
    r, score, k = np.linspace(-3.3, 3.7, 41), type(problem).score, problem.constants
    # at t = 0 and elsewhere, since compiled scores see y and t apart
    values = [np.broadcast_to(score(t, t + r, problem.fixed_scale, k)[0], r.shape) for t in (0.0, 1.0, -2.0)]
    if np.ptp(values, axis=0).max() <= 1e-9 * (1 + np.abs(values).max()):
        return None
    return UsageError(f"the score of {problem.name} is no function of y - x'beta, so its means are not known")


def _slope(f: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """f'(0), (c)."""
    return np.asarray(sum(c * f(j * step) for j, c in zip(range(-3, 4), _FIRST, strict=True) if c) / step)


def _bend(f: Callable[[float], np.ndarray], step: float) -> np.ndarray:
    """f''(0)"""
    return np.asarray(sum(c * f(j * step) for j, c in zip(range(-3, 4), _SECOND, strict=True)) / step**2)


# --- one response ---------------------------------------------------------------------------------------------------


@kept_once(256)
def score_kinks(problem: WeightedRegression, scale: float) -> np.ndarray:
    """(d): residuals y - t at which a score has a kink or a jump."""
    score, k = type(problem).score, problem.constants

    def f(r: np.ndarray) -> np.ndarray:
        g, h = score(0.0, r, scale, k)
        return np.broadcast_to(g + 0.37 * np.asarray(h), r.shape)

    def off(low: np.ndarray, high: np.ndarray) -> np.ndarray:
        return np.abs(f((low + high) / 2) - (f(low) + f(high)) / 2)

    grid = scale * np.sinh(np.linspace(-16.7, 16.7123, 4001))
    low, high = grid[:-1], grid[1:]
    bent = off(low, high) > 1e-10 * (1e-300 + np.abs(f(grid)).max())
    low, high = low[bent], high[bent]
    for _ in range(24):
        middle = (low + high) / 2
        left = off(low, middle) >= off(middle, high)
        low, high = np.where(left, low, middle), np.where(left, middle, high)
    # of a smooth score the deviation falls like the square of the width, at a kink like the width
    found = off(low, high) > 1e-5 * (high - low) * np.abs(f(grid)).max() / (np.abs(low) + scale)
    low, high = low[found], high[found]
    jumps = np.abs(f(high) - f(low)) > 1e-6 * np.abs(f(grid)).max()
    width = 1e-5 * (np.abs(low) + scale)
    left, right = (f(low) - f(low - width)) / width, (f(high + width) - f(high)) / width
    with np.errstate(divide="ignore", invalid="ignore"):
        crossing = low + (f(high) - f(low) - right * (high - low)) / (left - right)
    for _ in range(48):
        middle = (low + high) / 2
        left_half = np.abs(f(middle) - f(low)) >= np.abs(f(high) - f(middle))
        low, high = np.where(left_half, low, middle), np.where(left_half, middle, high)
    return np.where(jumps, high, crossing)


def errors_of(problem: WeightedRegression, u: np.ndarray, spread: np.ndarray, scale: float) -> Means:
    """`Means` at places u [K] and spreads [K] of the error."""
    if len(u) > 1 and np.ptp(u) <= 1e-12 * (1 + np.abs(u).max()) and np.ptp(spread) == 0:
        # one place for all rows, but for rounding
        return Means(*(np.broadcast_to(part, u.shape) for part in errors_of(problem, u[:1], spread[:1], scale)))
    law, k = law_of(errors_in(problem)), problem.constants
    low, high = law.ends
    count = max(12, math.ceil(2 * (math.asinh(high) - math.asinh(low))))
    base = np.sinh(np.linspace(math.asinh(low), math.asinh(high), count + 1))
    base = np.unique(np.concatenate([base, law.kinks]))
    z, step = np.polynomial.legendre.leggauss(_NODES)
    score, kinks = type(problem).score, score_kinks(problem, scale)
    found = []
    size = max(1, _CHUNK // (_NODES * (len(base) + len(kinks))))
    for start in range(0, len(u), size):
        at, wide = u[start : start + size, None], spread[start : start + size, None]
        own = np.clip((at + kinks) / wide, low, high)
        edges = np.sort(np.concatenate([np.broadcast_to(base, (len(at), len(base))), own], axis=1), axis=1)
        half, middle = np.diff(edges)[:, :, None] / 2, (edges[:, 1:] + edges[:, :-1])[:, :, None] / 2
        e = (middle + half * z).reshape(len(at), -1)
        mass = (half * step).reshape(len(at), -1) * law.density(e)
        g, h = score(0.0, wide * e - at, scale, k)
        g, h = np.broadcast_to(g, e.shape), np.broadcast_to(h, e.shape)
        moved = mass * law.slope(e) / wide
        dg, dh = np.sum(moved * g, axis=1), np.sum(moved * h, axis=1)
        if law.jump is not None:
            there, by = law.jump
            of_g, of_h = score(0.0, wide * there - at, scale, k)
            dg, dh = dg + (of_g * by / wide)[:, 0], dh + (of_h * np.ones_like(at) * by / wide)[:, 0]
        parts = (g, h, g * g, g * h, h * h)
        found.append([*(np.sum(mass * part, axis=1) for part in parts), dg, dh])
    return Means(*map(np.concatenate, zip(*found, strict=True)))


def chances(problem: WeightedRegression, t: np.ndarray) -> np.ndarray:
    """Chances of the label 1 at true predictors t: the largest uniform number of which the label is 1."""
    response = response_of(problem.law, type(problem).response)
    low, high = np.zeros_like(t), np.ones_like(t)
    with np.errstate(over="ignore"):
        for _ in range(54):
            middle = (low + high) / 2
            one = response(t, middle, problem.constants) > 0.5
            low, high = np.where(one, middle, low), np.where(one, high, middle)
    return np.asarray(low)


def _labels(problem: WeightedRegression, t: np.ndarray, p: np.ndarray) -> Means:
    """`Means` of a loss of labels at predictors t [K] with chances p [K]."""
    score, k = type(problem).score, problem.constants

    def of(label: float, at: np.ndarray) -> np.ndarray:
        return np.asarray(score(at, label, 1.0, k)[0])

    one, zero, nothing = of(1.0, t), of(0.0, t), np.zeros_like(t)
    slope = _slope(lambda h: p * of(1.0, t + h) + (1 - p) * of(0.0, t + h), 0.01)
    return Means(p * one + (1 - p) * zero, nothing, p * one**2 + (1 - p) * zero**2, nothing, nothing, slope, nothing)


# --- all rows -------------------------------------------------------------------------------------------------------


@kept_once(32)
def places_of(problem: WeightedRegression, whole: bool = False) -> Places:
    """Rows of the population, for functions of the true predictor; with `whole` for any function of x."""
    population = problem.law
    grown = population.errors is not None and population.errors.heteroscedastic is not None
    folded = grown or population.bend != 0
    # labels of rows with tails are decided far out, where the chance is steep on the first axis
    fine = 3 if problem.labels and population.design.law == "t" else 1
    return placed(problem, rows_along(population, None, folded, fine, whole=whole))


def placed(problem: WeightedRegression, rows: Rows) -> Places:
    """Places of these rows."""
    population = problem.law
    true = rows.predictor(population.beta)
    if problem.labels:
        return Places(rows, true, chances(problem, true))
    errors = errors_in(problem)
    a, b = errors.heteroscedastic or (1.0, 0.0)
    spread = np.full_like(true, errors.size * a)
    if b or population.bend:
        # such rows have their first coordinate beside the constant
        assert isinstance(rows, Points)
        spread = spread + errors.size * b * np.abs(rows.x[:, 1])
        true = true + population.bend * (rows.x[:, 1] ** 2 - population.mean_square) if population.bend else true
    return Places(rows, true, spread)


def alike(problem: WeightedRegression) -> bool:
    """Whether (a) holds."""
    population = problem.law
    return not (problem.labels or population.bend) and errors_in(problem).heteroscedastic is None


def means_at(problem: WeightedRegression, places: Places, theta: np.ndarray) -> Means:
    """Means at every row, for theta [p]."""
    t = places.rows.predictor(theta[: problem.d + 1])
    if problem.labels:
        return _labels(problem, t, places.spread)
    return errors_of(problem, t - places.true, places.spread, scale_of(problem, theta))


def scale_of(problem: WeightedRegression, theta: np.ndarray) -> float:
    """The scale among the parameters [p], or the one that is known."""
    return float(theta[-1]) if problem.has_scale else problem.fixed_scale


@kept_once(32)
def optimum_of(problem: WeightedRegression) -> np.ndarray:
    """The minimiser over the problem's population, [p]. Raises UsageError where none is found."""
    return find_optimum(problem).theta


def find_optimum(problem: WeightedRegression) -> Optimum:
    """The same with what is left of the gradient and the error of the rule for rows."""
    if (unknown := unknown_means(problem)) is not None:
        raise unknown
    if problem.law.design.columns is not None or problem.law.design.rows is not None:
        eigenvalues = np.linalg.eigvalsh(places_of(problem).rows.moments(1))
        if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:
            raise UsageError(
                "the design is collinear: its columns and the intercept are linearly dependent", "drop a level"
            )
    return _by_numbers(problem) if alike(problem) else _by_newton(problem, places_of(problem))


def _by_numbers(problem: WeightedRegression) -> Optimum:
    """(a)"""
    from scipy.optimize import brentq, root

    size = errors_in(problem).size
    spread = np.array([size])

    def at(shift: float, scale: float) -> Means:
        return errors_of(problem, np.array([shift]), spread, scale)

    shift, scale = 0.0, size if problem.has_scale else problem.fixed_scale
    start = at(shift, scale)
    # symmetric errors of the law that the scale is consistent for are where they seem to be, to the last bit
    if max(abs(start.g[0]), problem.has_scale * abs(start.h[0])) > 1e-14:
        if problem.has_scale:

            def both(point: np.ndarray) -> np.ndarray:
                found = at(float(point[0]), math.exp(float(point[1])))
                return np.array([found.g[0], found.h[0]])

            solution = root(both, np.array([0.0, math.log(size)]), tol=1e-14)
            shift, scale = float(solution.x[0]), math.exp(float(solution.x[1]))
            if abs(at(0.0, scale).g[0]) < 1e-12:
                shift = 0.0
        else:
            far = 1e3 * size
            shift = float(brentq(lambda d: float(at(d, scale).g[0]), -far, far, xtol=1e-15, rtol=1e-15))
    found, rows = at(shift, scale), places_of(problem).rows
    theta = problem.true_coefficients
    theta[0] += shift
    left = max(abs(float(found.g[0])), problem.has_scale * abs(float(found.h[0]))) * float(rows.mean(1)[0])
    return Optimum(np.append(theta, [scale] * problem.has_scale), left, rows.error)


def _gradient(problem: WeightedRegression, places: Places, found: Means, theta: np.ndarray) -> np.ndarray:
    gradient = places.rows.mean(1, found.g)
    if (rest := places.rows.beside(theta[: problem.d + 1])) is not None:
        gradient = gradient + places.rows.moments(1, found.dg) @ rest
    return np.append(gradient, places.rows.mean(1, found.h)[0]) if problem.has_scale else gradient


def hessian_at(problem: WeightedRegression, places: Places, theta: np.ndarray, found: Means) -> np.ndarray:
    """Hessian of the risk at theta [p], for the means there."""
    hessian = places.rows.moments(1, found.dg)
    rest = places.rows.beside(theta[: problem.d + 1])
    if rest is not None and (third := _thirds(problem, places, theta, 1)) is not None:
        hessian = hessian + third @ rest
    if not problem.has_scale:
        return hessian
    u, scale = places.rows.predictor(theta[:-1]) - places.true, float(theta[-1])
    in_scale = _slope(lambda h: errors_of(problem, u, places.spread, scale + h).h, 1e-2 * scale)
    return _bordered(hessian, places.rows.mean(1, found.dh), places.rows.mean(1, in_scale)[0])


def _thirds(problem: WeightedRegression, places: Places, theta: np.ndarray, power: int) -> np.ndarray | None:
    """(e): E[w^power f' x x x], f the second derivative of the loss (power 1) or its squared score (power 2)."""
    name, rows = ("dg", "gg")[power - 1], places.rows
    moved = np.eye(problem.p)[0]
    slope = _slope(lambda h: getattr(means_at(problem, places, theta + h * moved), name), 0.02)
    return rows.tensor(slope, power) if isinstance(rows, Slices) else rows.tensor(slope)


def _bordered(matrix: np.ndarray, side: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """The symmetric matrix with one more row."""
    return np.block([[matrix, side[:, None]], [side[None], np.reshape(corner, (1, 1))]])


def _by_newton(problem: WeightedRegression, places: Places) -> Optimum:
    """(b)"""
    theta = problem.true_coefficients
    if problem.has_scale:
        assert isinstance(places.rows, Points)
        theta = np.append(theta, float(np.average(places.spread, weights=places.rows.mass[0])))
    found = means_at(problem, places, theta)
    gradient = _gradient(problem, places, found, theta)
    hessian: np.ndarray | None = None
    fresh = False
    for _ in range(60):
        size = float(np.abs(gradient).max())
        if size <= 1e-13:
            break
        if hessian is None:
            hessian, fresh = hessian_at(problem, places, theta, found), True
        new = theta - np.linalg.solve(hessian, gradient)
        tried = None if problem.has_scale and new[-1] <= 0 else means_at(problem, places, new)
        of_new = gradient if tried is None else _gradient(problem, places, tried, new)
        if tried is None or np.abs(of_new).max() > 0.1 * size:
            # a step that gains little is tried with the Hessian of its own place, and then shorter
            if not fresh:
                hessian = None
                continue
            step = (new - theta) / 2
            while np.abs(step).max() > 1e-12 and (tried is None or np.abs(of_new).max() >= size):
                new, step = theta + step, step / 2
                if not problem.has_scale or new[-1] > 0:
                    tried = means_at(problem, places, new)
                    of_new = _gradient(problem, places, tried, new)
            if tried is None or np.abs(of_new).max() >= size:
                break
        theta, found, gradient, fresh = new, tried, of_new, False
    left = float(np.abs(gradient).max())
    if left > 1e-9 or np.abs(theta).max() > 1e3:
        hint = "smaller coefficients, or another link"
        raise UsageError("no minimiser of the risk was found: the classes are nearly separated, or it is flat", hint)
    return Optimum(theta, left, places.rows.error)


def second_order_of(problem: WeightedRegression) -> tuple[np.ndarray, np.ndarray]:
    """Hessian of the risk and covariance of the gradient at the optimum, [p, p] each."""
    theta, places = optimum_of(problem), places_of(problem)
    found = means_at(problem, places, theta)
    hessian = hessian_at(problem, places, theta, found)
    covariance = places.rows.moments(2, found.gg)
    rest = places.rows.beside(theta[: problem.d + 1])
    if rest is not None and (third := _thirds(problem, places, theta, 2)) is not None:
        covariance = covariance + third @ rest
    if problem.has_scale:
        covariance = _bordered(covariance, places.rows.mean(2, found.gh), places.rows.mean(2, found.hh)[0])
    return hessian, covariance


def third_derivative_of(problem: WeightedRegression) -> np.ndarray | None:
    """Third derivative of the risk at the optimum, [p, p, p]; None where rows do not keep third moments."""
    theta, places = optimum_of(problem), places_of(problem)
    rows, spread = places.rows, places.spread
    t = rows.predictor(theta[: problem.d + 1])
    if problem.labels:
        return rows.tensor(_label_bend(problem, t, spread))
    u = t - places.true
    scale, size = scale_of(problem, theta), float(spread.min())
    tensor = rows.tensor(_slope(lambda h: errors_of(problem, u + h, spread, scale).dg, 0.02 * size))
    if tensor is None or not problem.has_scale:
        return tensor
    q, h = problem.d + 1, 0.02 * scale
    found = np.zeros((q + 1,) * 3)
    found[:q, :q, :q] = tensor
    in_scale = np.eye(q + 1)[-1]

    def at(moved: float) -> Means:
        return errors_of(problem, u, spread, scale + moved)

    inner = np.pad(rows.moments(1, _slope(lambda m: at(m).dg, h)), (0, 1))
    side = np.append(rows.mean(1, _slope(lambda m: at(m).dh, h)), 0.0)
    found += symmetrised(inner, in_scale) + symmetrised(np.outer(in_scale, in_scale), side)
    found[-1, -1, -1] += rows.mean(1, _bend(lambda m: at(m).h, h))[0]
    return found


def _label_bend(problem: WeightedRegression, t: np.ndarray, p: np.ndarray) -> np.ndarray:
    score, k = type(problem).score, problem.constants
    return _bend(lambda h: p * score(t + h, 1.0, 1.0, k)[0] + (1 - p) * score(t + h, 0.0, 1.0, k)[0], 0.02)


def hessian_lipschitz_of(problem: WeightedRegression) -> float | None:
    """The largest third derivative of the mean loss in t, times the largest E w |x'u|^3; None with a scale."""
    from scipy.optimize import minimize_scalar

    if problem.has_scale:
        return None
    scale = problem.fixed_scale
    if problem.labels:

        def third(t: np.ndarray) -> np.ndarray:
            return np.maximum(*(np.abs(_label_bend(problem, t, np.full_like(t, p))) for p in (0.0, 1.0)))

        far = 15.0
    else:
        size, kinks = errors_in(problem).size, score_kinks(problem, scale)

        def third(t: np.ndarray) -> np.ndarray:
            wide = np.full_like(t, size)
            return np.abs(_slope(lambda h: errors_of(problem, t + h, wide, scale).dg, 0.02 * size))

        far = 8 * size + float(np.abs(kinks).max(initial=0.0))
    grid = np.linspace(-far, far, 1201)
    best = float(grid[int(np.argmax(third(grid)))])
    step = float(grid[1] - grid[0])
    found = minimize_scalar(
        lambda t: -float(third(np.array([t]))[0]), bounds=(best - step, best + step), method="bounded",
        options={"xatol": 1e-7 * far},
    )  # fmt: skip
    return -float(found.fun) * cubic_moment(problem.d, problem.sigma_z)


def mean_label_row(problem: WeightedRegression) -> np.ndarray:
    """E[w y x] of labels, [d + 1]."""
    places = places_of(problem)
    return places.rows.mean(1, places.spread)


def clipped_optimum(problem: WeightedRegression, clip: float) -> np.ndarray:
    """The root of the mean gradient clipped to norm `clip`, of a problem with labels, [p]; errors are about 5e-6.

    g = w psi x is clipped to x times w psi between -clip / |x| and clip / |x|, which is a score of the predictor again,
    so that the root is the minimum of a convex risk where psi is monotone.
    """
    from scipy.optimize import root

    # the clip makes kinks on every ray, so that panels are short
    rows = rows_along(problem.law, None, False, 10, 16)
    assert problem.labels
    assert isinstance(rows, Points)
    assert rows.norm_sq is not None
    bound, score, k = clip / np.sqrt(rows.norm_sq), type(problem).score, problem.constants
    weight, true = np.minimum(1.0, problem.cap / rows.norm_sq), problem.true_coefficients
    chance = chances(problem, rows.predictor(true))
    # the root lies in the span of the rows' directions, and is found there
    basis = np.eye(problem.p) if rows.basis is None else rows.basis

    def mean(at: np.ndarray) -> np.ndarray:
        t = rows.x @ at
        one, zero = (np.clip(weight * score(t, label, 1.0, k)[0], -bound, bound) for label in (1.0, 0.0))
        return np.asarray(rows.x.T @ (rows.mass[0] * (chance * one + (1 - chance) * zero)))

    return np.asarray(basis @ root(mean, basis.T @ true, tol=1e-12).x)
