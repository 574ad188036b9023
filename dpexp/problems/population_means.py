"""Optimum, curvature and risk of a linear predictor over a population that the problem's short forms cannot say.

The loss of a user is w(x) rho(y - x'beta, scale), or w(x) l(x'beta, label). With u = x'beta less the place of y and v
the spread of the error, all means over a user's response given x are functions of (u, v, scale): `errors_of` integrates
them over the errors, by panels that end where the score or the density has a kink.

(a) Where errors do not depend on x, all slopes are true and everything at the optimum is (three numbers of loss and
errors) times (two matrices of the rows): the shift d of the intercept has E psi(e - d) = 0, the Hessian is the
derivative of that mean times E w xx', and the score covariance is E psi^2 times E w^2 xx'.
(b) Elsewhere Newton's method finds the optimum, with means at every row.
(c) The Hessian needs no derivative of the score: d/du E psi(e - u) is a mean of psi f' / f (`laws`).
(d) The gap F(theta) - F(theta*) is a mean over `POINTS` public rows, whose own gradient and Hessian at theta* are
replaced by the exact ones: relative errors are about 2e-5 at a distance of .1, 3e-3 at 1, and up to .1 beyond 3.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.errors import UsageError
from dpexp.problems.laws import UnitLaw, unit_law
from dpexp.problems.population import Errors, Population
from dpexp.problems.row_rules import Rows, rows_of, sobol_rows
from dpexp.problems.weighted_regression import WeightedRegression

POINTS = 256
FARTHEST = 1e5
"""a state with an entry beyond it counts as diverged"""
_NODES = 12
_CHUNK = 400_000
"""numbers of an array at once"""


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


class Optimum(NamedTuple):
    """The minimiser of the risk with its second-order constants."""

    theta: np.ndarray
    hessian: np.ndarray
    covariance: np.ndarray
    gradient: float
    """largest entry of the gradient that is left"""
    error: float
    """relative error of the rule for rows"""


def law_of(errors: Errors) -> UnitLaw:
    """The unit law of a population's errors."""
    df = errors.value("df") if errors.law == "t" else 1.0
    mixed = errors.law == "contaminated"
    share, far = (errors.value("share"), errors.value("far") / errors.value("sd")) if mixed else (0.0, 1.0)
    return unit_law(errors.law, df, share, far)


def errors_of(problem: WeightedRegression, u: np.ndarray, spread: np.ndarray, scale: float) -> Means:
    """`Means` at places u [K] and spreads [K] of the error."""
    law, k = law_of(errors_in(problem)), problem.constants
    low, high = law.ends
    count = max(12, math.ceil(2 * (math.asinh(high) - math.asinh(low))))
    base = np.sinh(np.linspace(math.asinh(low), math.asinh(high), count + 1))
    base = np.unique(np.concatenate([base, law.kinks]))
    z, step = np.polynomial.legendre.leggauss(_NODES)
    score, kinks = type(problem).score, np.array(problem.score_kinks(scale))
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


def errors_in(problem: WeightedRegression) -> Errors:
    """The law of the errors: the population's, or the problem's own."""
    assert problem.population is not None
    return problem.population.errors or problem.own_errors()


def chances(population: Population, t: np.ndarray) -> np.ndarray:
    """Chances of the label 1 at true predictors t."""
    from scipy.special import expit, ndtr

    link = "logit" if population.response is None else population.response.link
    return np.asarray(
        expit(t) if link == "logit" else ndtr(t) if link == "probit" else -np.expm1(-np.exp(np.minimum(t, 30)))
    )


def _labels(problem: WeightedRegression, t: np.ndarray, p: np.ndarray) -> Means:
    """`Means` of a loss of labels at predictors t [K] with chances p [K]."""
    k, score, h = problem.constants, type(problem).score, 1e-3

    def of(label: float, at: np.ndarray) -> np.ndarray:
        return np.asarray(score(at, label, 1.0, k)[0])

    one, zero = of(1.0, t), of(0.0, t)
    shifted = [p * of(1.0, t + s * h) + (1 - p) * of(0.0, t + s * h) for s in (-2, -1, 1, 2)]
    slope = (shifted[0] - 8 * shifted[1] + 8 * shifted[2] - shifted[3]) / (12 * h)
    nothing = np.zeros_like(t)
    return Means(p * one + (1 - p) * zero, nothing, p * one**2 + (1 - p) * zero**2, nothing, nothing, slope, nothing)


class _Places(NamedTuple):
    """What is known of every row before theta is."""

    rows: Rows
    true: np.ndarray
    """the place of y: true predictor and bend [K]"""
    spread: np.ndarray
    """of the error [K]"""


def _places(problem: WeightedRegression) -> _Places:
    population = problem.population
    assert population is not None
    grown = population.errors is not None and population.errors.heteroscedastic is not None
    folded = grown or population.bend != 0
    # labels of rows with tails are decided far out, where the chance is steep on the first axis
    fine = 3 if problem.labels and population.design.law == "t" else 1
    rows = rows_of(population, tuple(population.beta[1:].tolist()), folded, fine)
    return _placed(problem, rows)


def _placed(problem: WeightedRegression, rows: Rows) -> _Places:
    population = problem.population
    assert population is not None
    true = rows.x @ population.beta
    if population.bend:
        true = true + population.bend * (rows.x[:, 1] ** 2 - population.mean_square)
    if problem.labels:
        return _Places(rows, true, np.ones_like(true))
    errors = errors_in(problem)
    a, b = errors.heteroscedastic or (1.0, 0.0)
    return _Places(rows, true, errors.size * (a + b * np.abs(rows.x[:, 1])))


@kept_once(32)
def optimum_of(problem: WeightedRegression) -> Optimum:
    """The minimiser over the problem's population. Raises UsageError where none is found."""
    population = problem.population
    assert population is not None
    places = _places(problem)
    a_matrix = places.rows.moments(1)
    eigenvalues = np.linalg.eigvalsh(a_matrix)
    if eigenvalues[0] <= 1e-12 * eigenvalues[-1]:
        raise UsageError(
            "the design is collinear: its columns and the intercept are linearly dependent", "drop a level"
        )
    alike = not problem.labels and np.ptp(places.spread) == 0 and population.bend == 0
    return _by_numbers(problem, places) if alike else _by_newton(problem, places)


def _by_numbers(problem: WeightedRegression, places: _Places) -> Optimum:
    """(a)"""
    from scipy.optimize import brentq, root

    size, p = float(places.spread[0]), problem.p
    spread = np.array([size])

    def at(shift: float, scale: float) -> Means:
        return errors_of(problem, np.array([shift]), spread, scale)

    scale, shift = problem.fixed_scale, 0.0
    if problem.has_scale:

        def both(point: np.ndarray) -> np.ndarray:
            found = at(float(point[0]), math.exp(float(point[1])))
            return np.array([found.g[0], found.h[0]])

        solution = root(both, np.array([0.0, math.log(size)]), tol=1e-14)
        shift, scale = float(solution.x[0]), math.exp(float(solution.x[1]))
        if abs(at(0.0, scale).g[0]) < 1e-12:
            shift = 0.0
    elif abs(at(0.0, scale).g[0]) > 1e-14:
        far = 1e3 * size
        shift = float(brentq(lambda d: float(at(d, scale).g[0]), -far, far, xtol=1e-15, rtol=1e-15))
    found = at(shift, scale)
    a_matrix, b_matrix = places.rows.moments(1), places.rows.moments(2)
    theta = problem.true_coefficients
    theta[0] += shift
    hessian, covariance = found.dg * a_matrix, found.gg * b_matrix
    if problem.has_scale:
        theta = np.append(theta, scale)
        hessian = _bordered(
            hessian, found.dh * a_matrix[0], _slope_in_scale(problem, np.array([shift]), spread, scale) * a_matrix[0, 0]
        )
        covariance = _bordered(covariance, found.gh * b_matrix[0], found.hh * b_matrix[0, 0])
    assert len(theta) == p
    left = max(abs(float(found.g[0])), problem.has_scale * abs(float(found.h[0]))) * float(a_matrix[0, 0])
    return Optimum(theta, hessian, covariance, left, places.rows.error)


def _slope_in_scale(problem: WeightedRegression, u: np.ndarray, spread: np.ndarray, scale: float) -> np.ndarray:
    """Derivative of the mean score in the scale, by that very scale."""
    h = 2e-3 * scale
    values = [errors_of(problem, u, spread, scale + s * h).h for s in (-2, -1, 1, 2)]
    return np.asarray((values[0] - 8 * values[1] + 8 * values[2] - values[3]) / (12 * h))


def _bordered(matrix: np.ndarray, side: np.ndarray, corner: np.ndarray) -> np.ndarray:
    """The symmetric matrix with one more row."""
    return np.block([[matrix, side[:, None]], [side[None], np.reshape(corner, (1, 1))]])


def _means(problem: WeightedRegression, places: _Places, theta: np.ndarray) -> Means:
    t = places.rows.x @ theta[: problem.d + 1]
    if problem.labels:
        assert problem.population is not None
        return _labels(problem, t, chances(problem.population, places.true))
    return errors_of(problem, t - places.true, places.spread, _scale(problem, theta))


def _scale(problem: WeightedRegression, theta: np.ndarray) -> float:
    return float(theta[-1]) if problem.has_scale else problem.fixed_scale


def _gradient(problem: WeightedRegression, places: _Places, found: Means) -> np.ndarray:
    mass = places.rows.mass * places.rows.weight
    gradient = places.rows.x.T @ (mass * found.g)
    return np.append(gradient, mass @ found.h) if problem.has_scale else gradient


def _hessian(problem: WeightedRegression, places: _Places, theta: np.ndarray, found: Means) -> np.ndarray:
    hessian = places.rows.moments(1, found.dg)
    if not problem.has_scale:
        return hessian
    mass, u = places.rows.mass * places.rows.weight, places.rows.x @ theta[:-1] - places.true
    corner = mass @ _slope_in_scale(problem, u, places.spread, float(theta[-1]))
    return _bordered(hessian, places.rows.x.T @ (mass * found.dh), corner)


def _by_newton(problem: WeightedRegression, places: _Places) -> Optimum:
    """(b)"""
    theta = problem.true_coefficients
    if problem.has_scale:
        theta = np.append(theta, float(np.average(places.spread, weights=places.rows.mass)))
    found = _means(problem, places, theta)
    gradient = _gradient(problem, places, found)
    hessian, fresh = _hessian(problem, places, theta, found), True
    for _ in range(60):
        size = float(np.abs(gradient).max())
        if size <= 1e-13:
            break
        new = theta - np.linalg.solve(hessian, gradient)
        tried = None if problem.has_scale and new[-1] <= 0 else _means(problem, places, new)
        of_new = gradient if tried is None else _gradient(problem, places, tried)
        if tried is None or np.abs(of_new).max() > 0.1 * size:
            # a step that gains little is tried with the Hessian of its own place, and then shorter
            if not fresh:
                hessian, fresh = _hessian(problem, places, theta, found), True
                continue
            step = (new - theta) / 2
            while np.abs(step).max() > 1e-12 and (tried is None or np.abs(of_new).max() >= size):
                new, step = theta + step, step / 2
                if not problem.has_scale or new[-1] > 0:
                    tried = _means(problem, places, new)
                    of_new = _gradient(problem, places, tried)
            if tried is None or np.abs(of_new).max() >= size:
                break
        theta, found, gradient, fresh = new, tried, of_new, False
    left = float(np.abs(gradient).max())
    if left > 1e-9 or np.abs(theta).max() > 1e3:
        hint = "smaller coefficients, or another link"
        raise UsageError("no minimiser of the risk was found: the classes are nearly separated, or it is flat", hint)
    hessian = _hessian(problem, places, theta, found)
    covariance = places.rows.moments(2, found.gg)
    if problem.has_scale:
        mass = places.rows.mass * places.rows.weight**2
        covariance = _bordered(covariance, places.rows.x.T @ (mass * found.gh), mass @ found.hh)
    return Optimum(theta, hessian, covariance, left, places.rows.error)


def clipped_optimum(problem: WeightedRegression, clip: float) -> np.ndarray:
    """The root of the mean gradient clipped to norm `clip`, of a problem with labels, [p]; errors are about 5e-6.

    g = w psi x is clipped to x times w psi between -clip / |x| and clip / |x|, which is a score of the predictor again,
    so that the root is the minimum of a convex risk where psi is monotone.
    """
    from scipy.optimize import root

    population = problem.population
    assert population is not None
    assert problem.labels
    # the clip makes kinks on every ray, so that panels are short
    rows = rows_of(population, tuple(population.beta[1:].tolist()), False, 10, 16)
    bound, score, k = clip / np.sqrt(np.sum(rows.x**2, axis=1)), type(problem).score, problem.constants
    chance = chances(population, rows.x @ population.beta)

    def mean(theta: np.ndarray) -> np.ndarray:
        t = rows.x @ theta
        one, zero = (np.clip(rows.weight * score(t, label, 1.0, k)[0], -bound, bound) for label in (1.0, 0.0))
        return np.asarray(rows.x.T @ (rows.mass * (chance * one + (1 - chance) * zero)))

    return np.asarray(root(mean, problem.true_coefficients, tol=1e-12).x)


# --- the risk of states ---------------------------------------------------------------------------------------------


class Tables(NamedTuple):
    """U(a) = E[(e - a)_+ - e_+] and its integral V from 0, on a grid that is even in asinh(a)."""

    step: float
    first: np.ndarray
    """[G, 2]: U and its derivative in asinh(a)"""
    second: np.ndarray
    """[G, 2]: V and its derivative in asinh(a)"""

    def _at(self, table: np.ndarray, a: np.ndarray) -> np.ndarray:
        place = np.arcsinh(a) / self.step + len(table) // 2
        k = np.clip(place.astype(np.int64), 0, len(table) - 2)
        s = place - k
        left, right = table[k], table[k + 1]
        value, end = left[..., 0], right[..., 0]
        slope, last = left[..., 1] * self.step, right[..., 1] * self.step
        gap = end - value
        return np.asarray(value + s * (slope + s * (3 * gap - 2 * slope - last + s * (slope + last - 2 * gap))))

    def over(self, a: np.ndarray) -> np.ndarray:
        """U(a)."""
        return self._at(self.first, a)

    def under(self, a: np.ndarray) -> np.ndarray:
        """E[(a - e)_+ - (-e)_+]."""
        return self._at(self.first, a) + a

    def integral(self, a: np.ndarray) -> np.ndarray:
        """V(a): E[e_+^2 - (e - a)_+^2] / 2 less a E e_+, where that mean is finite."""
        return self._at(self.second, a)


def _summed(cells: np.ndarray, middle: int) -> np.ndarray:
    """Sums over cells from the middle outwards, where small numbers keep their digits."""
    right, left = np.cumsum(cells[middle:]), np.cumsum(-cells[:middle][::-1])[::-1]
    return np.concatenate([left, [0.0], right])


@kept_once(16)
def tables_of(errors: Errors) -> Tables:
    """Tables for the unit errors of a law, on |a| <= 1e6."""
    # the kinks of all laws are at -1, 0 and 1, which are ends of cells
    law, step = law_of(errors), math.asinh(1.0) / 120
    half = math.ceil(math.asinh(1e6) / step)
    a = np.sinh(np.arange(-half, half + 1) * step)
    z, w = np.polynomial.legendre.leggauss(8)
    width = np.diff(a)[:, None] / 2
    x = (a[1:] + a[:-1])[:, None] / 2 + width * z
    tail = law.survival(x)
    mass = width * w
    first = _summed(-np.sum(mass * tail, axis=1), half)
    # the integral of U over a cell is U at its left end times the width, less the mean of what is lost on the way
    lost = np.sum(mass * tail * (a[1:, None] - x), axis=1)
    second = _summed(first[:-1] * np.diff(a) - lost, half)
    grows = np.cosh(np.arange(-half, half + 1) * step)
    return Tables(step, np.stack([first, -law.survival(a) * grows], 1), np.stack([second, first * grows], 1))


@kept_once(16)
def _public(problem: WeightedRegression) -> tuple[_Places, np.ndarray, np.ndarray, np.ndarray]:
    """Public rows with the corrections of (d): minus their gradient at theta*, half of what the Hessian lacks, and
    their losses there."""
    population = problem.population
    assert population is not None
    x = sobol_rows(population, POINTS, 1)
    weight = np.minimum(1.0, population.cap / np.sum(x * x, axis=1))
    places = _placed(problem, Rows(x, np.full(POINTS, 1 / POINTS), weight, 1.0))
    best = optimum_of(problem)
    found = _means(problem, places, best.theta)
    lacking = (best.hessian - _hessian(problem, places, best.theta, found)) / 2
    losses = np.asarray(problem.mean_loss(*_seen(problem, places, best.theta[None])))
    return places, -_gradient(problem, places, found), lacking, losses


def _seen(problem: WeightedRegression, places: _Places, theta: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """What a mean loss takes of states [N, p]: predictors less their place, or predictors [N, K]; spreads or chances
    [K]; scales [N, 1]."""
    t = theta[:, : problem.d + 1] @ places.rows.x.T
    scale = theta[:, -1:] if problem.has_scale else np.full((len(theta), 1), problem.fixed_scale)
    if problem.labels:
        assert problem.population is not None
        return t, chances(problem.population, places.true), scale
    return t - places.true, places.spread, scale


def exact_gap(problem: WeightedRegression, theta: np.ndarray) -> np.ndarray:
    """F(theta) - F(theta*) of states [N, p] by the whole rule for rows, [N]; NaN where a state is not finite."""
    places, best = _places(problem), optimum_of(problem).theta
    mass = places.rows.mass * places.rows.weight
    least = problem.mean_loss(*_seen(problem, places, best[None]))
    found = [(problem.mean_loss(*_seen(problem, places, state[None])) - least) @ mass for state in theta]
    return np.where(np.isfinite(theta).all(axis=1), np.concatenate([np.zeros(0), *found]), math.nan)


def gap(problem: WeightedRegression, theta: np.ndarray) -> np.ndarray:
    """F(theta) - F(theta*) of states [N, p], [N]; NaN where a state is not finite or far away. See (d)."""
    places, slope, lacking, least = _public(problem)
    best, mass = optimum_of(problem).theta, places.rows.mass * places.rows.weight
    out = np.full(len(theta), math.nan)
    finite = np.flatnonzero(np.isfinite(theta).all(axis=1) & (np.abs(theta).max(axis=1) < FARTHEST))
    for own in np.array_split(finite, 1 + len(finite) // 2048):
        state = theta[own]
        away = state - best
        mean = (problem.mean_loss(*_seen(problem, places, state)) - least) @ mass
        out[own] = mean + away @ slope + np.einsum("ni,ij,nj->n", away, lacking, away)
    return out
