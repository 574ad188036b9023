"""Laws of errors and of rows: as compiled code takes them, and for integrals over errors.

An error is its size times a unit error e with density f. `survival` is P(e > x), and `slope` is f' / f, by which the
derivative of a mean in its place is a mean again: d/du E psi(e - u) = E psi(e - u) f'(e) / f(e), plus psi(e_0 - u) j
where f jumps by j at e_0.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.lanes.elementwise import Value, exp, normal_cdf, where
from dpexp.problems.population import Errors, Population

if TYPE_CHECKING:
    from dpexp.engine.linear.designs import Design, DesignNumbers
    from dpexp.engine.linear.designs import Errors as CompiledErrors

Function = Callable[[np.ndarray], np.ndarray]


class UnitLaw(NamedTuple):
    """A law of unit errors."""

    density: Function
    slope: Function
    """f' / f"""
    survival: Function
    """P(e > x)"""
    ends: tuple[float, float]
    """beyond them nothing is left of bounded scores"""
    kinks: tuple[float, ...] = ()
    """where f or a derivative of it jumps"""
    jump: tuple[float, float] | None = None
    """where f jumps, and by how much"""


def unit_law(law: str, df: float = 1.0, share: float = 0.0, far: float = 1.0) -> UnitLaw:
    """The unit law of errors by its name; `far` is the ratio of the two deviations of a contaminated one."""
    from scipy.special import gammaln, ndtr, stdtr

    def normal(x: np.ndarray) -> np.ndarray:
        return np.exp(-x * x / 2) / math.sqrt(2 * math.pi)

    if law == "normal":
        return UnitLaw(normal, np.negative, lambda x: ndtr(-x), (-10.0, 10.0))
    if law == "t":
        log_mass = float(gammaln((df + 1) / 2) - gammaln(df / 2)) - math.log(df * math.pi) / 2
        return UnitLaw(
            lambda x: np.exp(log_mass - (df + 1) / 2 * np.log1p(x * x / df)),
            lambda x: -(df + 1) * x / (df + x * x),
            lambda x: stdtr(df, -x),
            # the ends are quantiles: beyond them the chance is 1e-16, or what float64 can hold
            (-_far_t(df), _far_t(df)),
        )
    if law == "laplace":
        return UnitLaw(
            lambda x: np.exp(-np.abs(x)) / 2,
            lambda x: -np.sign(x),
            lambda x: np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2),
            (-40.0, 40.0),
            kinks=(0.0,),
        )
    if law == "logistic":
        return UnitLaw(
            lambda x: 0.25 / np.cosh(x / 2) ** 2,
            lambda x: -np.tanh(x / 2),
            lambda x: 0.5 * (1 - np.tanh(x / 2)),
            (-40.0, 40.0),
        )
    if law == "contaminated":

        def wide(x: np.ndarray) -> np.ndarray:
            return normal(x / far) / far

        def density(x: np.ndarray) -> np.ndarray:
            return np.asarray((1 - share) * normal(x) + share * wide(x))

        end = 10.0 * max(1.0, far)
        return UnitLaw(
            density,
            lambda x: -x * ((1 - share) * normal(x) + share * wide(x) / far**2) / np.maximum(density(x), 1e-300),
            lambda x: (1 - share) * ndtr(-x) + share * ndtr(-x / far),
            (-end, end),
        )
    if law == "skewed":
        return UnitLaw(
            lambda x: np.where(x >= -1, np.exp(-np.maximum(x, -1.0) - 1), 0.0),
            lambda x: np.full_like(x, -1.0),
            lambda x: np.where(x > -1, np.exp(-np.maximum(x, -1.0) - 1), 1.0),
            (-1.0, 40.0),
            jump=(-1.0, 1.0),
        )
    if law == "bounded":

        def inside(x: np.ndarray) -> np.ndarray:
            return np.asarray(np.maximum(1 - np.abs(x), 0.0))

        return UnitLaw(
            lambda x: 2 * inside(x) ** 3,
            lambda x: -3 * np.sign(x) / np.maximum(inside(x), 1e-300),
            lambda x: np.where(x > 0, inside(x) ** 4 / 2, 1 - inside(x) ** 4 / 2),
            (-1.0, 1.0),
            kinks=(0.0,),
        )
    raise ValueError(f"unknown law of errors {law!r}")


def _far_t(df: float) -> float:
    # the chance beyond x falls like x^-df
    return min(max(40.0, 1e16 ** (1 / df) * math.sqrt(df)), 1e150)


def law_of(errors: Errors) -> UnitLaw:
    """The unit law of a population's errors."""
    df = errors.value("df") if errors.law == "t" else 1.0
    mixed = errors.law == "contaminated"
    share, far = (errors.value("share"), errors.value("far") / errors.value("sd")) if mixed else (0.0, 1.0)
    return unit_law(errors.law, df, share, far)


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


def compiled(population: Population, own: CompiledErrors) -> tuple[Design, CompiledErrors, DesignNumbers]:
    """What the engine compiles and the numbers that it is handed; `own` are the problem's errors, without `errors`."""
    from scipy.special import ndtri

    from dpexp.engine.linear import designs

    rows, d = population.design, population.width
    mixing, mix = _mixing(population)
    a, b, low, high = np.ones(d), np.zeros(d), np.zeros(d), np.zeros(d)
    kinds: list[str] = []
    uniforms = normals = 0
    df, table = 1.0, np.zeros((0, d))
    if rows.rows is not None:
        table, uniforms = rows.table, 1
    elif rows.columns is None and rows.law == "t":
        df = rows.value("df")
        a[:], uniforms, normals = rows.value("scale"), int(df) // 2, int(df) % 2
    elif rows.columns is None and rows.law == "normal" and rows.value("mean") == 0:
        a[:] = rows.value("sd")
    else:
        j = 0
        for column in population.columns:
            if column.law == "categorical":
                cuts = np.append(ndtri(np.cumsum(column.levels)[:-1]), 40.0)
                low[j : j + column.width], high[j : j + column.width] = cuts[:-1], cuts[1:]
                kinds += ["category", *["more"] * (column.width - 1)]
            else:
                at = slice(j, j + column.width)
                if column.law == "normal":
                    a[at], b[at] = column.value("sd"), column.value("mean")
                elif column.law == "uniform":
                    a[at], b[at] = column.value("high") - column.value("low"), column.value("low")
                elif column.law == "t":
                    a[at], b[at] = column.value("df"), column.value("scale")
                else:
                    a[at], b[at], high[at] = column.value("high"), column.value("low"), ndtri(column.levels[1])
                kinds += [{"normal": "shifted"}.get(column.law, column.law)] * column.width
            j += column.width
    errors, numbers = own, np.array([1.0, 0.0, 0.0, 0.0, 1.0, population.bend, 0.0])
    law = population.errors
    if law is not None:
        unit = {
            "normal": designs.normal_error, "t": designs.t_error, "laplace": designs.laplace_error,
            "logistic": designs.logistic_error, "contaminated": designs.contaminated_error,
            "skewed": designs.skewed_error, "bounded": designs.bounded_error,
        }[law.law]  # fmt: skip
        numbers[4] = law.size
        if law.law == "t":
            numbers[2] = law.value("df")
        if law.law == "contaminated":
            numbers[2], numbers[3] = ndtri(law.value("share")), law.value("far") / law.value("sd")
        grows = law.heteroscedastic is not None
        if law.heteroscedastic is not None:
            numbers[:2] = law.heteroscedastic
        errors = designs.Errors("normal", unit, law.law in ("t", "contaminated"), grows)
    if population.bend:
        numbers[6] = population.mean_square
        errors = errors._replace(bends=True)
    design = designs.Design(mixing, uniforms, normals, tuple(kinds), rows.rows is not None)
    return design, errors, designs.DesignNumbers(a, b, low, high, mix, df, numbers, np.array([population.cap]), table)


def response_of(population: Population, own: Callable[..., Any]) -> Callable[..., Any]:
    """response(t, e, k) -> y: the problem's own, but for errors and links that the population gives."""
    if population.errors is not None:
        return added
    link = None if population.response is None else population.response.link
    return {"probit": probit, "cloglog": cloglog}.get(link or "", own)


def added(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = t + e."""
    return t + e


def probit(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = 1 with probability Phi(t), else 0."""
    return where(e <= normal_cdf(t), 1.0, 0.0)


def cloglog(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = 1 with probability 1 - exp(-exp(t)), else 0."""
    return where(e <= 1.0 - exp(-exp(t)), 1.0, 0.0)


def _mixing(population: Population) -> tuple[str, np.ndarray]:
    """How normals are correlated in place, and its numbers."""
    given, d = population.design.correlation, population.width
    if given is None:
        return "independent", np.zeros((2, d))
    root = np.linalg.cholesky(population.correlation)
    if isinstance(given, tuple):
        return "matrix", root
    if given.ar1 is not None:
        r = given.ar1
        return "ar1", np.stack([np.full(d, math.sqrt((1 - r) * (1 + r))), np.full(d, r)])
    return "exchangeable", np.stack([np.diag(root), np.append(root[-1, :-1], 0.0)])
