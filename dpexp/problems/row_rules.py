"""Quadrature over the rows of a population: points and masses, for means of w(x)^j f(x) over users.

The weight min(1, c / |x|^2) has a kink, at one distance on every ray from the origin. In this order:

(a) Independent normal columns of one law: one coordinate along the predictor, the mean weight across it (`mallows`).
(b) Spherical t, and functions of |x| itself: one coordinate along the predictor and the distance from the origin.
(c) Normal rows with any covariance, up to 3 columns: rays z = r L omega. The first axis lies along the predictor, or
along x_1 where an error depends on |x_1|, and is then split at 0.
(d) A box around the origin, up to 3 columns: rays through points of its faces.
(e) Bernoulli and categorical columns are enumerated, which moves the kink of the rest.
(f) Correlated normals of any number: the law of |x|^2 given the predictor, by a contour integral (`slices`).
(g) Everything else: a randomised Sobol sequence (16 scrambles of fixed seeds), whose error is three standard errors of
the mean weight.
(h) The rows of a public table themselves.
"""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.problems.laws import compiled
from dpexp.problems.mallows import POINTS, panels, rule, symmetrised
from dpexp.problems.population import Column, Population
from dpexp.problems.slices import Slices, slices_of

MOST_CELLS = 10_000
WHOLE = 2048
"""rows of a table over which gaps at checkpoints are sums; of a larger one a sample is"""
MOST_COLUMNS = 1000
"""of rows that are points in all coordinates"""
MOST_PARTS = 200
"""of equal length, into which a panel is cut"""
_NODES = 14
_INNER, _OUTER = np.array([0.0, 0.35, 0.7, 1.0]), np.array([0.0, 0.1, 0.3, 0.6, 1.0])
_OUTER_T = np.array([0.0, 0.3, 0.6, 0.8, 0.9, 0.96, 1.0])
_SCRAMBLES, _SOBOL = 16, 2**13


class Points(NamedTuple):
    """Points of the law of rows, in all coordinates or in a few directions of an orthonormal basis."""

    x: np.ndarray
    """[K, q] coordinates in the basis"""
    basis: np.ndarray | None
    """[d + 1, q]; None: all coordinates, with the leading 1"""
    mass: np.ndarray
    """[3, K]: the mass of a point times the mean of w^j there, j = 0, 1, 2"""
    across: np.ndarray
    """[3, K]: the same times the mean square of each coordinate across the basis"""
    norm_sq: np.ndarray | None
    """[K] |x|^2, where a point has one"""
    error: float
    """relative error of the mean weight: about 1e-10 of a rule on rays, an estimate elsewhere"""

    def predictor(self, theta: np.ndarray) -> np.ndarray:
        """x'theta for theta [..., d + 1] in the basis, [..., K]."""
        return np.asarray((theta if self.basis is None else theta @ self.basis) @ self.x.T)

    def beside(self, theta: np.ndarray) -> np.ndarray | None:
        """The part of theta that `predictor` leaves out; None where there is none."""
        return None

    def mean(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        """E[w^power f x], [d + 1], for the values f of a function at the points."""
        found = self.x.T @ (self.mass[power] * f)
        return np.asarray(found if self.basis is None else self.basis @ found)

    def moments(self, power: int, f: np.ndarray | float = 1.0) -> np.ndarray:
        """E[w^power f x x'], [d + 1, d + 1]."""
        inner = (self.x * (self.mass[power] * f)[:, None]).T @ self.x
        if self.basis is None:
            return np.asarray(inner)
        rest = float(np.sum(self.across[power] * f))
        return np.asarray(self.basis @ inner @ self.basis.T + rest * self._beside)

    @property
    def _beside(self) -> np.ndarray:
        assert self.basis is not None
        return np.eye(len(self.basis)) - self.basis @ self.basis.T

    def tensor(self, f: np.ndarray | float = 1.0) -> np.ndarray | None:
        """E[w f x x x], [d + 1, d + 1, d + 1], symmetric."""
        inner = np.einsum("k,ki,kj,kl->ijl", self.mass[1] * f, self.x, self.x, self.x, optimize=True)
        if self.basis is None:
            return np.asarray(inner)
        b = self.basis
        return np.einsum("ijl,ai,bj,cl->abc", inner, b, b, b, optimize=True) + symmetrised(
            self._beside, b @ (self.x.T @ (self.across[1] * f))
        )


Rows = Points | Slices


def full_points(x: np.ndarray, mass: np.ndarray, cap: float, error: float) -> Points:
    """Points in all coordinates, x [K, d + 1] with their masses [K]."""
    square = np.sum(x * x, axis=1)
    weight = np.minimum(1.0, cap / square)
    return Points(x, None, mass * weight ** np.arange(3)[:, None], np.zeros((3, len(x))), square, error)


@kept_once(32)
def rows_along(
    population: Population,
    along: tuple[float, ...] | None = None,
    folded: bool = False,
    fine: int = 1,
    cuts: int = 1,
    whole: bool = False,
) -> Rows:
    """The rule of a population. `along` is the direction of the predictor (slopes; the true ones where left out),
    `folded` whether functions depend on |x_1| or x_1^2, and `fine` multiplies the number of nodes on the first axis.

    `cuts` divides panels along rays, for functions with kinks of their own; with `whole` points have all coordinates.
    """
    if population.design.rows is not None:
        return _of_table(population)
    d, slopes = population.width, population.beta[1:] if along is None else np.array(along)
    discrete = [c for c in population.columns if c.law in ("bernoulli", "categorical")]
    smooth = [c for c in population.columns if c not in discrete]
    rows_t = population.design.columns is None and population.design.law == "t"
    normal = all(c.law == "normal" and c.value("mean") == 0 for c in smooth)
    sizes = np.array(
        [c.value("scale" if rows_t else "sd") for c in smooth for _ in range(c.times)] if normal or rows_t else []
    )
    alike = population.design.correlation is None and not discrete and len(set(sizes)) == 1
    # with one coordinate functions may vary along it alone: x_1, if errors are symmetric and nothing is bent
    skewed = population.errors is not None and population.errors.law == "skewed"
    bent = folded and (skewed or population.bend != 0)
    if alike and not whole and not bent and (d > 3 - (cuts > 1) or (normal and not folded and cuts == 1)):
        axis = np.eye(d)[0] if folded or not np.any(slopes) else slopes / np.linalg.norm(slopes)
        if normal and cuts == 1:
            # how often functions of the predictor, which change over 6 units, change in one of the coordinate's
            parts = max(1, math.ceil(float(sizes[0] * np.linalg.norm(slopes)) / 6))
            if parts <= MOST_PARTS:
                return normal_axis(float(sizes[0]), axis, population.cap, parts)
            # far from 0 they are saturated: panels double from there on
            doubled = 2.0 ** np.arange(math.ceil(math.log2(10 * parts))) / parts
            return normal_axis(float(sizes[0]), axis, population.cap, 4, tuple(map(float, (*doubled, *-doubled))))
        return _spherical(population, float(sizes[0]), axis, folded, (fine, cuts))
    if d > MOST_COLUMNS:
        raise ValueError(f"rows of more than {MOST_COLUMNS} columns of their own law are not integrated")
    if normal and not discrete and d > 3 and not folded and not whole and cuts == 1:
        root = np.linalg.cholesky(population.correlation) * sizes[:, None]
        return slices_of(root, slopes, population.cap)
    points = None
    if whole:
        fine *= 2
    if math.prod((len(c.levels) ** (c.times if c.law == "bernoulli" else 1)) for c in discrete) <= MOST_CELLS:
        points = _on_rays(population, (discrete, smooth), (normal, rows_t), slopes, folded, (fine, cuts))
    return _sobol(population) if points is None else full_points(*points, population.cap, 1e-10)


def _axis_basis(axis: np.ndarray) -> np.ndarray:
    basis = np.zeros((len(axis) + 1, 2))
    basis[0, 0], basis[1:, 1] = 1.0, axis
    return basis


def normal_axis(sigma_z: float, axis: np.ndarray, cap: float, parts: int = 1, splits: tuple[float, ...] = ()) -> Points:
    """(a): panels are cut into `parts` and end at `splits`, in standard deviations along the unit vector `axis`."""
    d = len(axis)
    rules = [[rule(d, sigma_z, POINTS, j, tilted, splits, parts, cap) for j in range(3)] for tilted in (False, d > 1)]
    mass, across = (np.stack([r.weights for r in own]) for own in rules)
    z = sigma_z * rules[0][0].nodes
    x = np.stack([np.ones_like(z), z], axis=1)
    return Points(x, _axis_basis(axis), mass, sigma_z**2 * across * (d > 1), None, 1e-13)


def _spherical(population: Population, size: float, axis: np.ndarray, folded: bool, density: tuple[int, int]) -> Points:
    """(b): x = (1, r sin a) along the axis, a the angle, and (r cos a)^2 / (m - 1) in each coordinate across it."""
    fine, cuts = density
    m, df = len(axis), population.design.value("df") if population.design.law == "t" else 0.0
    sine, share = _latitudes(m, folded, fine)
    kink = np.full(len(sine), math.sqrt(population.cap - 1) / size)
    r, radial = _t(m, df, kink, cuts) if df else _chi(m, kink, cuts)
    x = np.stack([np.ones(r.size), size * (r * sine[:, None]).ravel()], axis=1)
    square = (size * r.ravel()) ** 2
    mass = (share[:, None] * radial).ravel() * np.minimum(1.0, population.cap / (1 + square)) ** np.arange(3)[:, None]
    rest = square * np.repeat(1 - sine**2, r.shape[1]) / (m - 1)
    return Points(x, _axis_basis(axis), mass, mass * rest, 1 + square, 1e-10)


def _on_rays(
    population: Population,
    columns: tuple[list[Column], list[Column]],
    laws: tuple[bool, bool],
    along: np.ndarray,
    folded: bool,
    density: tuple[int, int],
) -> tuple[np.ndarray, np.ndarray] | None:
    """(c) to (e); None where none of them applies."""
    (discrete, smooth), (normal, rows_t), (fine, cuts) = columns, laws, density
    correlated = population.design.correlation is not None
    m = sum(c.times for c in smooth)
    if m > 3 or (correlated and (discrete or any(c.law == "uniform" for c in smooth))):
        return None
    box = all(c.law == "uniform" and c.value("low") == -c.value("high") for c in smooth)
    if not (normal or rows_t or box):
        return None
    # places of the columns: the enumerated ones, and those on rays
    place = 1
    ones: list[int] = []
    rest: list[int] = []
    for column in population.columns:
        (ones if column in discrete else rest).extend(range(place, place + column.width))
        place += column.width
    key = "scale" if rows_t else "high" if box else "sd"
    sizes = np.array([c.value(key) for c in smooth for _ in range(c.times)])
    if m and not box:
        root = np.linalg.cholesky(population.correlation) * sizes[:, None] if correlated else np.diag(sizes)
        alike = not correlated and len(set(sizes)) == 1
        # the first axis: of x_1, or of what the predictor is on the axes of the root
        first = np.eye(m)[0] if folded else root.T @ along[[r - 1 for r in rest]]
        turns = 36 if not alike else 4 if cuts > 1 and not folded else 12
        directions, share = _directions(m, first, folded, fine, turns)
        directions = directions @ root.T
    elif m:
        directions, share = _faces(m, fine)
        directions = directions * sizes
    xs, masses = [], []
    for values, chance in _cells(discrete):
        free = population.cap - 1 - float(np.sum(np.square(values)))
        if not m:
            z, mass = np.zeros((1, 0)), np.ones(1)
        else:
            lengths = np.sqrt(np.sum(directions**2, axis=1))
            kink = np.sqrt(max(free, 0.0)) / lengths if math.isfinite(free) else np.full(len(share), math.inf)
            df = population.design.value("df") if rows_t else 0.0
            r, radial = _box(m, kink, cuts) if box else _t(m, df, kink, cuts) if rows_t else _chi(m, kink, cuts)
            z = (directions[:, None, :] * r[:, :, None]).reshape(-1, m)
            mass = (share[:, None] * radial).ravel()
        x = np.ones((len(mass), population.width + 1))
        x[:, ones], x[:, rest] = values, z
        xs.append(x)
        masses.append(chance * mass)
    return np.concatenate(xs), np.concatenate(masses)


def _cells(discrete: list[Column]) -> list[tuple[np.ndarray, float]]:
    """(d): values of the enumerated columns, and their chance."""
    options: list[list[tuple[tuple[float, ...], float]]] = []
    for column in discrete:
        if column.law == "categorical":
            eye = np.eye(len(column.levels))[:, 1:]
            options.append([(tuple(eye[k]), p) for k, p in enumerate(column.levels)])
        else:
            ends = column.value("low"), column.value("high")
            options += [[((v,), p) for v, p in zip(ends, column.levels, strict=True)]] * column.times
    cells = itertools.product(*options)
    return [(np.array([v for vs, _ in cell for v in vs]), math.prod(p for _, p in cell)) for cell in cells]


def _directions(m: int, first: np.ndarray, folded: bool, fine: int, turns: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors [n, m] and their shares of the sphere, the first axis along `first`; `turns` around it."""
    if m == 1:
        return np.array([[1.0], [-1.0]]), np.array([0.5, 0.5])
    if m == 2:
        count = 48 * fine
        if folded:
            angle, share = panels(np.array([-0.5, 0.0, 0.5, 1.0, 1.5]) * math.pi, count // 2)
            share = share / (2 * math.pi)
        else:
            angle, share = 2 * math.pi * np.arange(2 * count) / (2 * count), np.full(2 * count, 1 / (2 * count))
        found = np.stack([np.cos(angle), np.sin(angle)], axis=1)
    else:
        sine, share = _latitudes(m, folded, fine)
        around = 2 * math.pi * np.arange(turns) / turns
        across = np.stack([np.cos(around), np.sin(around)], axis=1)
        cosine = np.sqrt(1 - sine**2)
        found = np.concatenate(
            [np.repeat(sine, turns)[:, None], (cosine[:, None, None] * across).reshape(-1, m - 1)], axis=1
        )
        share = np.repeat(share, turns) / turns
    # a reflection takes the first axis to `first`
    length = float(np.linalg.norm(first))
    away = np.eye(m)[0] - first / length if length > 0 else np.zeros(m)
    if (square := float(away @ away)) > 1e-30:
        found = found - 2 * np.outer(found @ away, away) / square
    return found, share


def _latitudes(m: int, folded: bool, fine: int) -> tuple[np.ndarray, np.ndarray]:
    """First coordinates of points on the sphere of m >= 3 dimensions, and their shares of it."""
    # the density of one coordinate is proportional to (1 - w^2)^((m - 3) / 2): w = sin(angle)
    edges = np.array([-1.0, 0.0, 1.0] if folded else [-1.0, 1.0]) * math.pi / 2
    angle, share = panels(edges, 12 * fine if folded else 40 * fine)
    share = share * np.cos(angle) ** (m - 2)
    return np.sin(angle), share / share.sum()


def _faces(m: int, fine: int) -> tuple[np.ndarray, np.ndarray]:
    """(c): points of the faces of [-1, 1]^m and their shares."""
    v, w = panels(np.array([-1.0, 1.0]), 20 * fine)
    grid = np.array(list(itertools.product(v, repeat=m - 1))).reshape(len(v) ** (m - 1), m - 1)
    share = np.array([math.prod(ws) for ws in itertools.product(w / 2, repeat=m - 1)])
    found = [np.insert(grid, axis, side, axis=1) for axis in range(m) for side in (-1.0, 1.0)]
    return np.concatenate(found), np.tile(share, 2 * m) / (2 * m)


def _radial(kink: np.ndarray, end: float, outer: np.ndarray, cuts: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps [n, J] of panels on [0, end] that end at the kink of every ray, each cut into so many parts."""
    inside = np.minimum(kink, end)[:, None]
    edges = np.concatenate([inside * _INNER, inside + (end - inside) * outer[1:]], axis=1)
    x, w = panels(np.linspace(-1.0, 1.0, cuts + 1), _NODES if cuts == 1 else 6)
    half, middle = np.diff(edges)[:, :, None] / 2, (edges[:, 1:] + edges[:, :-1])[:, :, None] / 2
    return (middle + half * x).reshape(len(kink), -1), (half * w).reshape(len(kink), -1)


def _chi(m: int, kink: np.ndarray, cuts: int) -> tuple[np.ndarray, np.ndarray]:
    r, step = _radial(kink, math.sqrt(m) + 8.5, _OUTER, cuts)
    log_mass = (m / 2 - 1) * math.log(2) + math.lgamma(m / 2)
    return r, step * np.exp((m - 1) * np.log(np.maximum(r, 1e-300)) - r * r / 2 - log_mass)


def _t(m: int, df: float, kink: np.ndarray, cuts: int) -> tuple[np.ndarray, np.ndarray]:
    # r = sqrt(df) tan a
    a, step = _radial(np.arctan(kink / math.sqrt(df)), math.pi / 2, _OUTER_T, cuts)
    log_mass = math.lgamma(m / 2) + math.lgamma(df / 2) - math.lgamma((m + df) / 2) - math.log(2)
    density = np.exp((m - 1) * np.log(np.maximum(np.sin(a), 1e-300)) + (df - 1) * np.log(np.cos(a)) - log_mass)
    return math.sqrt(df) * np.tan(a), step * density


def _box(m: int, kink: np.ndarray, cuts: int) -> tuple[np.ndarray, np.ndarray]:
    r, step = _radial(kink, 1.0, _OUTER, cuts)
    return r, step * m * r ** (m - 1)


def _of_table(population: Population) -> Points:
    """(h)"""
    x = np.insert(population.design.table, 0, 1.0, axis=1)
    return full_points(x, np.full(len(x), 1 / len(x)), population.cap, 1e-15)


def sobol_rows(population: Population, count: int, seed: int) -> np.ndarray:
    """Rows [count, d + 1] of a scrambled Sobol sequence; count is a power of 2. Of a table its own, `WHOLE` at most."""
    if population.design.rows is not None:
        table = population.design.table
        if len(table) > WHOLE:
            table = table[np.random.default_rng(seed).permutation(len(table))[:WHOLE]]
        return np.insert(table, 0, 1.0, axis=1)
    from scipy.special import chdtri, ndtri
    from scipy.stats import qmc

    from dpexp.engine.linear import designs

    d = population.width
    design, _, numbers = compiled(population, designs.Errors())
    factored = design.uniforms + design.normals > 0
    u = qmc.Sobol(d + design.second + factored, rng=np.random.default_rng(seed)).random(count)
    u = np.clip(u, 2.0**-33, 1 - 2.0**-33)
    g = ndtri(u[:, : d + design.second])
    normals, more = g[:, :d], g[:, d:]
    if population.design.correlation is not None:
        normals = normals @ np.linalg.cholesky(population.correlation).T
    z = normals * numbers.a
    taken, first = 0, np.zeros(count)
    for j, kind in enumerate(design.columns):
        first = normals[:, j] if kind == "category" else first
        column = designs.COLUMNS["category" if kind == "more" else kind]
        z[:, j] = column(normals[:, j], more[:, taken] if kind == "t" else first, first, j, numbers)
        taken += kind == "t"
    if factored:
        z = z * np.sqrt(numbers.df / chdtri(numbers.df, u[:, -1]))[:, None]
    return np.concatenate([np.ones((count, 1)), z], axis=1)


def _sobol(population: Population) -> Points:
    """(g)"""
    parts = [sobol_rows(population, _SOBOL, seed) for seed in range(_SCRAMBLES)]
    x = np.concatenate(parts)
    found = full_points(x, np.full(len(x), 1 / len(x)), population.cap, 0.0)
    means = found.mass[1].reshape(_SCRAMBLES, -1).sum(axis=1) * _SCRAMBLES
    error = 3 * float(np.std(means, ddof=1)) / math.sqrt(_SCRAMBLES) / float(np.mean(means))
    return found._replace(error=max(error, 1e-5))
