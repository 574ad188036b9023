"""Quadrature over the rows of a population: points and masses, for means of w(x)^j f(x) over users.

The weight min(1, c / |x|^2) has a kink, at one distance on every ray from the origin. In this order:

(a) Independent normal columns of one law: one coordinate along the predictor, the mean weight across it (`mallows`).
(b) Spherical t, and functions of |x| itself: one coordinate along the predictor and the distance from the origin.
(c) Correlated normals of any number, if not nearly collinear: the law of |x|^2 given the predictor (`slices`).
(d) Up to 3 columns: rays z = r L omega of normal rows with any covariance and of t rows, the first axis along the
predictor, or along x_1 where an error depends on |x_1|, and then split at 0; and rays through the faces of a box.
(e) Bernoulli and categorical columns together with (d) are enumerated, which moves the kink of the rest.
(f) Everything else: a randomised Sobol sequence (16 scrambles of fixed seeds), whose error is three standard errors of
the mean weight.
(g) The rows of a public table themselves.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.problems.laws import compiled_population
from dpexp.problems.mallows import AxisRule, axis_orders, cut, gauss_panels, symmetrised
from dpexp.problems.population import Population
from dpexp.problems.slices import Slices, slices_of
from dpexp.problems.weights import Weight

MOST_CELLS, MOST_POINTS, MOST_REFINED = 10_000, 4_000_000, 800_000
WHOLE = 2048  # rows of a table over which gaps at checkpoints are sums; of a larger one a sample is
MOST_COLUMNS = 1000  # of a population, which configs refuse to exceed
MOST_PARTS = 200  # of equal length, into which a panel is cut
_INNER = np.array([0.0, 0.35, 0.7, 1.0])
_OUTER = {"t": np.array([0.3, 0.6, 0.8, 0.9, 0.96, 1.0]), "": np.array([0.1, 0.3, 0.6, 1.0])}
"""ends of panels on rays, as shares of the way to the kink and from there to the end"""
_SCRAMBLES, _SOBOL = 16, 2**13


class Points(NamedTuple):
    """Points of the law of rows, in all coordinates or in a few directions of an orthonormal basis."""

    x: np.ndarray  # [K, q] coordinates in the basis
    basis: np.ndarray  # [d + 1, q]; the identity: all coordinates, with the leading 1
    mass: np.ndarray  # [3, K]: mass of a point times the mean of w^j, j = 0, 1, 2
    across: np.ndarray  # [3, K]: the same times the mean square across the basis
    norm_sq: np.ndarray | None  # [K] |x|^2, where a point has one
    error: float  # relative error of the mean weight: about 1e-10 of a rule on rays, an estimate elsewhere

    def predictor(self, theta: np.ndarray) -> np.ndarray:
        """x'theta for theta [..., d + 1] in the basis, [..., K]."""
        return np.asarray((theta @ self.basis) @ self.x.T)

    def beside(self, theta: np.ndarray) -> np.ndarray | None:
        """The part of theta that `predictor` leaves out; None where there is none."""
        return None

    def mean(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        """E[w^power f x], [d + 1], for the values f of a function at the points."""
        return np.asarray(self.basis @ (self.x.T @ (self.mass[power] * f)))

    def moments(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        """E[w^power f x x'], [d + 1, d + 1]."""
        inner = (self.x * (self.mass[power] * f)[:, None]).T @ self.x
        return np.asarray(self.basis @ inner @ self.basis.T + float(np.sum(self.across[power] * f)) * self._rest)

    def tensor(self, f: np.ndarray | float = 1.0, power: int = 1) -> np.ndarray | None:
        """E[w^power f x x x], [d + 1, d + 1, d + 1], symmetric."""
        inner = np.einsum("k,ki,kj,kl->ijl", self.mass[power] * f, self.x, self.x, self.x, optimize=True)
        along = np.einsum("ijl,ai,bj,cl->abc", inner, *[self.basis] * 3, optimize=True)
        return np.asarray(along + symmetrised(self._rest, self.basis @ (self.x.T @ (self.across[power] * f))))

    @property
    def _rest(self) -> np.ndarray:
        return np.asarray(np.eye(len(self.basis)) - self.basis @ self.basis.T)


Rows = Points | Slices


def _full(x: np.ndarray, population: Population, error: float, mass: np.ndarray | float) -> Points:
    """Points in all coordinates, x [K, d + 1] with their masses, [K] or the same for all."""
    square = np.sum(x * x, axis=1)
    mass = np.broadcast_to(mass, len(x)) * population.weight.of(square) ** np.arange(3)[:, None]
    return Points(x, np.eye(x.shape[1]), mass, np.zeros((3, len(x))), square, error)


def _on_axis(z: np.ndarray, axis: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Points (1, z) [K, 2] along the unit vector `axis`, and their basis."""
    return np.stack([np.ones_like(z), z], axis=1), np.stack([np.eye(len(axis) + 1)[0], np.append(0.0, axis)], axis=1)


class _Parts(NamedTuple):
    """Columns of a population by how they are integrated."""

    enumerated: np.ndarray  # [d] whether a column is
    options: list[list[tuple[np.ndarray, float]]]  # values of the enumerated ones, and their chances
    family: str  # of the rest: normal, t (of whole rows), box (around the origin); empty: none of these
    sizes: np.ndarray  # [m] standard deviation, scale or half width of every column of the rest
    df: float
    correlated: bool


def _parts_of(population: Population) -> _Parts:
    rows, key, family = population.design, "sd", ""
    options: list[list[tuple[np.ndarray, float]]] = []
    enumerated = [column.law in ("bernoulli", "categorical") for column in population.columns]
    for column in itertools.compress(population.columns, enumerated):
        values = np.array(column.ends)[:, None] if column.law == "bernoulli" else np.eye(len(column.levels))[:, 1:]
        options += [list(zip(values, column.levels, strict=True))] * column.times
    rest = [column for column, listed in zip(population.columns, enumerated, strict=True) if not listed]
    if rows.columns is None and rows.law == "t":
        family, key = "t", "scale"
    elif all(c.law == "normal" and c.value("mean") == 0 for c in rest):
        family = "normal"
    elif all(c.law == "uniform" and c.value("low") == -c.value("high") for c in rest):
        family, key = "box", "high"
    sizes = np.array([c.value(key) for c in rest for _ in range(c.times)]) if family else np.zeros(0)
    df, places = rows.value("df") if family == "t" else 0.0, [column.width for column in population.columns]
    return _Parts(np.repeat(enumerated, places), options, family, sizes, df, rows.correlation is not None)


@kept_once(32)
def rows_along(
    population: Population,
    along: tuple[float, ...] | None = None,
    folded: bool = False,
    fine: int = 1,
    cuts: int = 1,
    full: bool = False,
) -> Rows:
    """The rule of a population. `along` is the direction of the predictor (slopes; the true ones where left out),
    `folded` whether functions depend on |x_1| or x_1^2, and `fine` multiplies the number of nodes on the first axis.

    `cuts` divides panels along rays, for functions with kinks of their own; with `full` points have all coordinates.
    """
    if (rows := population.design).rows is not None:
        return _full(np.insert(rows.table, 0, 1.0, axis=1), population, 1e-15, 1 / len(rows.table))
    if isinstance(population.weights, Weight):
        # where it has kinks is not known
        return _sobol(population)
    d, slopes, cap = population.width, population.beta[1:] if along is None else np.array(along), population.cap
    parts = _parts_of(population)
    normal, m, discrete = parts.family == "normal", len(parts.sizes), len(parts.options) > 0
    alike = parts.family in ("normal", "t") and not (parts.correlated or discrete) and len(set(parts.sizes)) == 1
    # with one coordinate functions may vary along it alone: x_1, if errors are symmetric and nothing is bent
    skewed = population.errors is not None and population.errors.law == "skewed"
    bent = folded and (skewed or population.bend != 0)
    if alike and not full and not bent and (d > 3 - (cuts > 1) or (normal and not folded and cuts == 1)):
        size, axis = float(parts.sizes[0]), np.eye(d)[0]
        if not folded and np.any(slopes):
            axis = slopes / np.linalg.norm(slopes)
        if not normal or cuts > 1:
            return _spherical(parts, axis, cap, folded, fine, cuts)
        # how often functions of the predictor, which change over 6 units, change in one of the coordinate's
        count, splits = max(1, math.ceil(float(size * np.linalg.norm(slopes)) / 6)), np.zeros(0)
        if count > MOST_PARTS:
            # far from 0 they are saturated: panels double from there on
            splits, count = 2.0 ** np.arange(math.ceil(math.log2(10 * count))) / count, 4
        return normal_axis(size, axis, cap, count, tuple(np.append(splits, -splits).tolist()))
    if normal and not discrete and d > 3 and not folded and not full and cuts == 1:
        covariance = population.correlation * np.outer(parts.sizes, parts.sizes)
        # of nearly collinear columns the law of |x|^2 is too narrow for its contour, as the mass says
        if (slices := slices_of(covariance, slopes, cap)).error < 1e-4:
            return slices
    mixed, cells = parts.correlated and (discrete or parts.family == "box"), math.prod(map(len, parts.options))
    if not parts.family or m > 3 or mixed or cells > MOST_CELLS:
        return _sobol(population)
    fine *= 1 + full
    while cells * _most_points(parts, fine, cuts, 1) > MOST_POINTS and max(fine, cuts) > 1:
        fine, cuts = max(1, fine // 2), max(1, cuts // 2)
    return _refined(population, parts, slopes, folded, fine, cuts) or _sobol(population)


def _refined(
    population: Population, parts: _Parts, slopes: np.ndarray, folded: bool, fine: int, cuts: int
) -> Points | None:
    """(d) and (e) with as many directions as unequal scales need, or faces that the kink crosses; None where Sobol rows
    are as good. The error is that of E[w x x'], in units of its diagonal, as twice as many directions show it."""
    # values of the enumerated columns move the kink alone
    lone = parts._replace(options=[[(np.zeros_like(own[0][0]), 1.0)] for own in parts.options])
    cells, times, error, unknown = math.prod(map(len, parts.options)), 1, 1e-10, True

    def second(directions: int) -> np.ndarray:
        # without the nodes of functions that are steep or have kinks, which would often be too many to be doubled
        return _on_rays(population, lone, slopes, folded, 1, 1, directions).moments(1)

    before = second(times)
    while unknown and _most_points(parts, 1, 1, 2 * times) <= MOST_POINTS:
        after = second(2 * times)
        size = np.sqrt(np.maximum(np.diag(after), 1e-300))
        error = max(1e-10, float(np.max(np.abs(after - before) / np.outer(size, size))))
        unknown = error > 1e-8 and cells * _most_points(parts, fine, cuts, 2 * times) <= MOST_REFINED
        times, before = times * (1 + unknown), after
    if error > 1e-4 or cells * _most_points(parts, fine, cuts, times) > MOST_POINTS:
        return None
    return _on_rays(population, parts, slopes, folded, fine, cuts, times)._replace(error=error)


def _most_points(parts: _Parts, fine: int, cuts: int, times: int) -> int:
    """At most so many points on the rays of one cell of the enumerated columns, with so many times the directions."""
    m, finer = len(parts.sizes), fine * times
    rays = (
        2 * m * (20 * finer) ** (m - 1) if parts.family == "box" and m else (1, 2, 96 * finer, 1440 * finer * times)[m]
    )
    return rays * (9 * (14 if cuts == 1 else 6 * cuts) if m else 1)


def normal_axis(sigma_z: float, axis: np.ndarray, cap: float, parts: int = 1, splits: tuple[float, ...] = ()) -> Points:
    """(a): panels are cut into `parts` and end at `splits`, in standard deviations along the unit vector `axis`."""
    z, mass, across = axis_orders(len(axis), sigma_z, splits, parts, cap)
    return Points(*_on_axis(sigma_z * z, axis), mass, sigma_z**2 * across, None, 1e-13)


def _spherical(parts: _Parts, axis: np.ndarray, cap: float, folded: bool, fine: int, cuts: int) -> Points:
    """(b): x = (1, r sin a) along the axis, a the angle, and (r cos a)^2 / (m - 1) in each coordinate across it."""
    m, size = len(axis), float(parts.sizes[0])
    sine, share = _latitudes(m, folded, fine)
    r, radial = _radii(parts, np.full(len(sine), math.sqrt(cap - 1) / size), cuts)
    square = (size * r.ravel()) ** 2
    mass = (share[:, None] * radial).ravel() * np.minimum(1.0, cap / (1 + square)) ** np.arange(3)[:, None]
    rest = square * np.repeat(1 - sine**2, r.shape[1]) / (m - 1)
    return Points(*_on_axis(size * (r * sine[:, None]).ravel(), axis), mass, mass * rest, 1 + square, 1e-10)


def _on_rays(
    population: Population, parts: _Parts, slopes: np.ndarray, folded: bool, fine: int, cuts: int, times: int
) -> Points:
    """(d) and (e), with so many times the directions."""
    m, sizes = len(parts.sizes), parts.sizes
    ones, rest = 1 + np.flatnonzero(parts.enumerated), 1 + np.flatnonzero(~parts.enumerated)
    directions, share = np.zeros((1, 0)), np.ones(1)
    if m and parts.family == "box":
        directions, share = _faces(m, fine * times, folded)
        directions = directions * sizes
    elif m:
        root = np.linalg.cholesky(population.correlation) * sizes[:, None] if parts.correlated else np.diag(sizes)
        uneven = parts.correlated or len(set(sizes)) > 1
        # the first axis: of x_1, or of what the predictor is on the axes of the root
        first = np.eye(m)[0] if folded else root.T @ slopes[rest - 1]
        turns = 36 if uneven else 4 if cuts > 1 and not folded else 12
        directions, share = _directions(first, folded, fine * times, turns * times)
        directions = directions @ root.T
    lengths, xs, masses = np.sqrt(np.sum(directions**2, axis=1)), [], []
    for cell in itertools.product(*parts.options):
        values, r, radial = np.array([v for own, _ in cell for v in own]), np.zeros((1, 1)), np.ones((1, 1))
        if m:
            free = max(population.cap - 1 - float(np.sum(np.square(values))), 0.0)
            r, radial = _radii(parts, math.sqrt(free) / lengths, cuts)
        x = np.ones((r.size, population.width + 1))
        x[:, ones], x[:, rest] = values, (directions[:, None, :] * r[:, :, None]).reshape(r.size, m)
        xs.append(x)
        masses.append(math.prod(chance for _, chance in cell) * (share[:, None] * radial).ravel())
    return _full(np.concatenate(xs), population, 1e-10, np.concatenate(masses))


def _directions(first: np.ndarray, folded: bool, fine: int, turns: int) -> AxisRule:
    """Unit vectors [n, m], m <= 3, and their shares of the sphere, the first axis along `first`; `turns` around it."""
    m = len(first)
    if m == 1:
        return np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])
    if m == 2 and folded:
        angle, share = gauss_panels(np.array([-0.5, 0.0, 0.5, 1.0, 1.5]) * math.pi, 24 * fine)
        share = share / (2 * math.pi)
    else:
        turns = 96 * fine if m == 2 else turns
        angle, share = 2 * math.pi * np.arange(turns) / turns, np.full(turns, 1 / turns)
    units = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    if m == 3:
        sine, share = _latitudes(m, folded, fine)
        across = (np.sqrt(1 - sine**2)[:, None, None] * units).reshape(-1, m - 1)
        units = np.concatenate([np.repeat(sine, turns)[:, None], across], axis=1)
        share = np.repeat(share, turns) / turns
    # a reflection takes the first axis to `first`
    length = float(np.linalg.norm(first))
    away = np.eye(m)[0] - first / length if length > 0 else np.zeros(m)
    if (square := float(away @ away)) > 1e-30:
        units = units - 2 * np.outer(units @ away, away) / square
    return units, share


def _latitudes(m: int, folded: bool, fine: int) -> AxisRule:
    """First coordinates of points on the sphere of m >= 3 dimensions, and their shares of it."""
    # the density of one coordinate is proportional to (1 - w^2)^((m - 3) / 2): w = sin(angle)
    edges = np.array([-1.0, 0.0, 1.0] if folded else [-1.0, 1.0]) * math.pi / 2
    angle, share = gauss_panels(edges, 12 * fine if folded else 40 * fine)
    share = share * np.cos(angle) ** (m - 2)
    return np.sin(angle), share / share.sum()


def _faces(m: int, fine: int, folded: bool) -> AxisRule:
    """Points of the faces of [-1, 1]^m and their shares."""
    v, w = gauss_panels(np.array([-1.0, 0.0, 1.0] if folded else [-1.0, 1.0]), (10 if folded else 20) * fine)
    grid = np.array(list(itertools.product(v, repeat=m - 1))).reshape(len(v) ** (m - 1), m - 1)
    share = np.array([math.prod(ws) for ws in itertools.product(w / 2, repeat=m - 1)])
    faces = [np.insert(grid, axis, side, axis=1) for axis in range(m) for side in (-1.0, 1.0)]
    return np.concatenate(faces), np.tile(share, 2 * m) / (2 * m)


def _radii(parts: _Parts, kink: np.ndarray, cuts: int) -> AxisRule:
    """Radii and their masses [n, J] on rays: panels end at the kink [n] of every ray, each in so many parts; of t rows
    in the angle a, with r = sqrt(df) tan a."""
    m, family, df = len(parts.sizes), parts.family, parts.df
    kink = np.arctan(kink / math.sqrt(df)) if family == "t" else kink
    end = {"normal": math.sqrt(m) + 8.5, "t": math.pi / 2, "box": 1.0}[family]
    inside = np.minimum(kink, end)[:, None]
    edges = np.concatenate([inside * _INNER, inside + (end - inside) * _OUTER["t" * (family == "t")]], axis=1)
    r, step = gauss_panels(cut(edges, cuts), 14 if cuts == 1 else 6)
    if family == "box":
        return r, step * m * r ** (m - 1)
    if family == "normal":
        log_mass = (m / 2 - 1) * math.log(2) + math.lgamma(m / 2)
        return r, step * np.exp((m - 1) * np.log(np.maximum(r, 1e-300)) - r * r / 2 - log_mass)
    log_mass = math.lgamma(m / 2) + math.lgamma(df / 2) - math.lgamma((m + df) / 2) - math.log(2)
    density = np.exp((m - 1) * np.log(np.maximum(np.sin(r), 1e-300)) + (df - 1) * np.log(np.cos(r)) - log_mass)
    return math.sqrt(df) * np.tan(r), step * density


def sobol_points(population: Population, count: int, *seeds: int) -> Points:
    """Rows of scrambled Sobol sequences of some seeds, as points of one mass; `count`, a power of 2, of each. Of a
    table its own rows, `WHOLE` at most."""
    if population.design.rows is not None:
        z = population.design.table
        z = z if len(z) <= WHOLE else z[np.random.default_rng(seeds[0]).permutation(len(z))[:WHOLE]]
    else:
        z = np.concatenate([_sobol_rows(population, count, seed) for seed in seeds])
    return _full(np.insert(z, 0, 1.0, axis=1), population, 1.0, 1 / len(z))


def _sobol_rows(population: Population, count: int, seed: int) -> np.ndarray:
    """Such rows of one seed [count, d], without the leading 1."""
    from scipy.special import chdtri, ndtri
    from scipy.stats import qmc

    from dpexp.engine.linear import designs

    d = population.width
    design, _, numbers = compiled_population(population, designs.ErrorShape())
    factored = design.uniforms + design.normals > 0
    u = qmc.Sobol(d + design.second + factored, rng=np.random.default_rng(seed)).random(count)
    u = np.clip(u, 2.0**-33, 1 - 2.0**-33)
    g = ndtri(u[:, : d + design.second])
    normals, more = g[:, :d], g[:, d:]
    if population.design.correlation is not None:
        normals = normals @ np.linalg.cholesky(population.correlation).T
    z = normals * numbers.a
    place = used = 0
    for law, count in design.columns:
        column = designs.function_of(law, designs.COLUMNS)
        for j in range(place, place + count):
            four = tuple(part[j] for part in (numbers.a, numbers.b, numbers.low, numbers.high))
            own = normals[:, place if law == "categorical" else j]
            z[:, j] = column(own, more[:, used] if law == "t" else 0.0, four)
            used += law == "t"
        place += count
    return z * np.sqrt(numbers.df / chdtri(numbers.df, u[:, -1]))[:, None] if factored else z


def _sobol(population: Population) -> Points:
    """(f)"""
    points = sobol_points(population, _SOBOL, *range(_SCRAMBLES))
    means = points.mass[1].reshape(_SCRAMBLES, -1).sum(axis=1) * _SCRAMBLES
    error = 3 * float(np.std(means, ddof=1)) / math.sqrt(_SCRAMBLES) / float(np.mean(means))
    return points._replace(error=max(error, 1e-5))
