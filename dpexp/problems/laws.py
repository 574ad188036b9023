"""Laws of columns and of errors, one entry each, and a population of them as compiled code takes it.

`engine.linear.designs` has the function of a normal number that makes a column or an error, by the same names; an entry
of a plug-in has its own. An error is its size times a unit error e with density f. By `slope` the derivative of a mean
in its place is a mean again: d/du E psi(e - u) = E psi(e - u) f'(e) / f(e), plus psi(e_0 - u) j where f jumps by j.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.parameters import Registry
from dpexp.engine.lanes.elementwise import Value, exp, normal_cdf, normal_density, where
from dpexp.problems.mallows import gauss_panels

if TYPE_CHECKING:
    from dpexp.engine.linear.designs import ErrorShape as CompiledErrors
    from dpexp.engine.linear.designs import RowNumbers, RowShape
    from dpexp.problems.population import ErrorLaw, Population

Function = Callable[[np.ndarray], np.ndarray]
REQUIRED = math.nan


def _normal_quantile(p: Any) -> Any:
    from scipy.special import ndtri

    return ndtri(p)


class ColumnKind(NamedTuple):
    """A law of columns; functions are of a `population.ColumnLaw`, whose attributes are the keys."""

    keys: dict[str, float]  # with their defaults, or REQUIRED
    numbers: Callable[[Any], tuple[Any, ...]]  # at most four, of compiled code; of a factor arrays
    mean_square: Callable[[Any], float] = lambda column: math.inf  # inf: not known, so that `bend` is refused
    ends: Callable[[Any], tuple[float, float]] = lambda column: (-math.inf, math.inf)  # least and largest value
    column: Callable[..., Any] | None = None
    """column(g, k), of a plug-in: a value from its standard normal g and the numbers k, in the rule language"""


def _category_numbers(column: Any) -> tuple[Any, ...]:
    cuts = np.append(_normal_quantile(np.cumsum(column.levels)[:-1]), 40.0)
    return np.ones(len(cuts) - 1), np.zeros(len(cuts) - 1), cuts[:-1], cuts[1:]


COLUMNS: Registry[ColumnKind] = Registry("column", {
    "normal": ColumnKind({"sd": 1.0, "mean": 0.0}, lambda c: (c.sd, c.mean, 0.0, 0.0), lambda c: c.sd**2 + c.mean**2),
    "t": ColumnKind(
        {"df": REQUIRED, "scale": 1.0}, lambda c: (c.df, c.scale, 0.0, 0.0),
        lambda c: c.scale**2 * c.df / (c.df - 2) if c.df > 2 else math.inf,
    ),
    "uniform": ColumnKind(
        {"low": -1.0, "high": 1.0}, lambda c: (c.high - c.low, c.low, 0.0, 0.0),
        lambda c: (c.low * c.low + c.low * c.high + c.high * c.high) / 3, lambda c: (c.low, c.high),
    ),
    "bernoulli": ColumnKind(
        {"p": REQUIRED, "low": 0.0, "high": 1.0}, lambda c: (c.high, c.low, 0.0, _normal_quantile(c.p)),
        lambda c: c.levels[0] * c.low**2 + c.levels[1] * c.high**2, lambda c: (c.low, c.high),
    ),
    "categorical": ColumnKind({"p": REQUIRED}, _category_numbers, lambda c: c.levels[1], lambda c: (0.0, 1.0)),
})  # fmt: skip
ROWS = ("normal", "t", "uniform")
"""laws of all columns together; `t` is spherical: one factor a row"""


class UnitLaw(NamedTuple):
    """A law of unit errors; functions are of arrays."""

    density: Function
    slope: Function  # f' / f
    survival: Function  # P(e > x)
    ends: tuple[float, float]  # beyond them no bounded score has mass above 1e-16
    kinks: tuple[float, ...] = ()  # where f or a derivative of it jumps
    jump: tuple[float, float] | None = None  # where f jumps, and by how much


class ErrorKind(NamedTuple):
    """A law of errors; functions are of a `population.ErrorLaw`, whose attributes are the keys."""

    keys: dict[str, float]  # with their defaults, or REQUIRED
    unit: Callable[[Any], UnitLaw]
    size: str = "scale"  # the key of what the unit error is multiplied by
    numbers: Callable[[Any], tuple[float, ...]] | None = None  # two at most, of compiled code
    error: Callable[..., Any] | None = None
    """error(z, k), of a plug-in: a unit error from a standard normal z and the numbers k, in the rule language"""


def wrong_numbers(kind: ColumnKind | ErrorKind, law: Any) -> str:
    """What is wrong with the numbers of a plug-in's law, or nothing; its `numbers` may raise ValueError."""
    own, most = (kind.column, 4) if isinstance(kind, ColumnKind) else (kind.error, 2)
    try:
        count = len(kind.numbers(law)) if own and kind.numbers else 0
    except ValueError as error:
        return str(error)
    return f"its `numbers` are {count}, and at most {most} are taken" if count > most else ""


def _beyond(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.exp(-np.maximum(x, -1.0) - 1))


def _inside(x: np.ndarray) -> np.ndarray:
    return np.asarray(np.maximum(1 - np.abs(x), 0.0))


def _t(law: Any) -> UnitLaw:
    from scipy.special import gammaln, stdtr

    df = law.df
    log_mass = float(gammaln((df + 1) / 2) - gammaln(df / 2)) - math.log(df * math.pi) / 2
    # the chance beyond x falls like x^-df: beyond the end it is 1e-16, or what float64 can hold
    end = min(max(40.0, 1e16 ** (1 / df) * math.sqrt(df)), 1e150)
    return UnitLaw(
        lambda x: np.exp(log_mass - (df + 1) / 2 * np.log1p(x * x / df)), lambda x: -(df + 1) * x / (df + x * x),
        lambda x: stdtr(df, -x), (-end, end),
    )  # fmt: skip


def _contaminated(law: Any) -> UnitLaw:
    share, far = law.share, law.far / law.sd

    def slope(x: np.ndarray) -> np.ndarray:
        near, wide = (1 - share) * normal_density(x), share * normal_density(x / far) / far
        return np.asarray(-x * (near + wide / far**2) / np.maximum(near + wide, 1e-300))

    end = 10.0 * max(1.0, far)
    return UnitLaw(
        lambda x: (1 - share) * normal_density(x) + share * normal_density(x / far) / far, slope,
        lambda x: (1 - share) * normal_cdf(-x) + share * normal_cdf(-x / far), (-end, end),
    )  # fmt: skip


ERRORS: Registry[ErrorKind] = Registry("law of errors", {
    "normal": ErrorKind(
        {"sd": 1.0}, lambda law: UnitLaw(normal_density, np.negative, lambda x: normal_cdf(-x), (-10.0, 10.0)), "sd",
    ),
    "t": ErrorKind({"df": REQUIRED, "scale": 1.0}, _t, numbers=lambda law: (law.df, 0.0)),
    "laplace": ErrorKind({"scale": 1.0}, lambda law: UnitLaw(
        lambda x: np.exp(-np.abs(x)) / 2, lambda x: -np.sign(x),
        lambda x: np.where(x > 0, np.exp(-np.abs(x)) / 2, 1 - np.exp(-np.abs(x)) / 2), (-40.0, 40.0), kinks=(0.0,),
    )),
    "logistic": ErrorKind({"scale": 1.0}, lambda law: UnitLaw(
        lambda x: 0.25 / np.cosh(x / 2) ** 2, lambda x: -np.tanh(x / 2), lambda x: 0.5 * (1 - np.tanh(x / 2)),
        (-40.0, 40.0),
    )),
    "contaminated": ErrorKind(
        {"share": 0.1, "sd": 1.0, "far": 10.0}, _contaminated, "sd",
        lambda law: (_normal_quantile(law.share), law.far / law.sd),
    ),
    "skewed": ErrorKind({"scale": 1.0}, lambda law: UnitLaw(
        lambda x: np.where(x >= -1, _beyond(x), 0.0), lambda x: np.full_like(x, -1.0), _beyond,
        (-1.0, 40.0), jump=(-1.0, 1.0),
    )),
    "bounded": ErrorKind({"support": 1.0}, lambda law: UnitLaw(
        lambda x: 2 * _inside(x) ** 3, lambda x: -3 * np.sign(x) / np.maximum(_inside(x), 1e-300),
        lambda x: np.where(x > 0, _inside(x) ** 4 / 2, 1 - _inside(x) ** 4 / 2), (-1.0, 1.0), kinks=(0.0,),
    ), "support"),
})  # fmt: skip


def law_of(errors: ErrorLaw) -> UnitLaw:
    """The unit law of a population's errors."""
    return ERRORS[errors.law].unit(errors)


STEP = math.asinh(1.0) / 120
_HALF = math.ceil(math.asinh(1e6) / STEP)
GRID, GROWTH = (f(np.arange(-_HALF, _HALF + 1) * STEP) for f in (np.sinh, np.cosh))
"""places of tables, even in asinh(a) on |a| <= 1e6, and da / d asinh(a) there; -1, 0 and 1 are among them"""


class Tables(NamedTuple):
    """Partial moments of unit errors."""

    over: Function  # U(a) = E[(e - a)_+ - e_+], so that E[(a - e)_+ - (-e)_+] = U(a) + a
    integral: Function  # V(a), the integral of U from 0: E[e_+^2 - (e - a)_+^2] / 2 less a E e_+, if that is finite


def tabulated(values: np.ndarray, slopes: np.ndarray) -> Function:
    """A function from its values on `GRID` and its derivatives in a there; cubic in asinh(a) between."""
    from scipy.interpolate import CubicHermiteSpline

    spline = CubicHermiteSpline(np.arange(-_HALF, _HALF + 1) * STEP, values, slopes * GROWTH)
    return lambda a: np.asarray(spline(np.arcsinh(a)))


def summed(cells: np.ndarray) -> np.ndarray:
    """Sums over the cells of `GRID` from the middle outwards, where small numbers keep their digits."""
    above, below = np.cumsum(cells[_HALF:]), np.cumsum(-cells[:_HALF][::-1])[::-1]
    return np.concatenate([below, [0.0], above])


@kept_once(16)
def tables_of(errors: ErrorLaw) -> Tables:
    """Tables for the unit errors of a law."""
    # the kinks of all laws are at -1, 0 and 1, which are ends of cells
    law, a = law_of(errors), GRID
    x, mass = (part.reshape(len(a) - 1, -1) for part in gauss_panels(a, 8))
    with np.errstate(over="ignore"):
        tail, slope = law.survival(x), -law.survival(a)
    first = summed(-np.sum(mass * tail, axis=1))
    # the integral of U over a cell is U at its left end times the width, less the mean of what is lost on the way
    lost = np.sum(mass * tail * (a[1:, None] - x), axis=1)
    second = summed(first[:-1] * np.diff(a) - lost)
    return Tables(tabulated(first, slope), tabulated(second, first))


def compiled_population(population: Population, own: CompiledErrors) -> tuple[RowShape, CompiledErrors, RowNumbers]:
    """What the engine compiles and the numbers that it is handed; `own` are the problem's errors, without `errors`."""
    from dpexp.engine.linear import designs

    rows, law, d = population.design, population.errors, population.width
    uniforms, normals, df, runs, numbers, table = 0, 0, 1.0, list[Any](), np.zeros((4, d)), np.zeros((0, d))
    if rows.rows is not None:
        table, uniforms = rows.table, 1
    elif rows.columns is None and rows.law == "t":
        df, numbers[0] = rows.value("df"), rows.value("scale")
        uniforms, normals = int(df) // 2, int(df) % 2
    elif rows.columns is None and rows.law == "normal" and rows.value("mean") == 0:
        numbers[0] = rows.value("sd")
    else:
        parts = []
        for column in population.columns:
            law_of_column = COLUMNS[column.law]
            four = (*law_of_column.numbers(column), 0.0, 0.0, 0.0, 0.0)[:4]
            parts.append([np.resize(part, column.width) for part in four])
            own_law, factor = law_of_column.column or column.law, column.law == "categorical"
            if runs and runs[-1][0] == own_law and not factor:
                runs[-1] = own_law, runs[-1][1] + column.times
            else:
                runs += (
                    [(own_law, column.width // column.times)] * column.times if factor else [(own_law, column.times)]
                )
        numbers = np.concatenate(parts, axis=1)
    errors, of_errors = own, np.array([1.0, 0.0, 0.0, 0.0, 1.0, population.bend, 0.0])
    if law is not None:
        kind = ERRORS[law.law]
        two = (*(kind.numbers(law) if kind.numbers else ()), 0.0, 0.0)[:2]
        of_errors[:5] = *(law.heteroscedastic or (1.0, 0.0)), *two, law.size
        second = kind.error is None and kind.numbers is not None
        errors = designs.ErrorShape("normal", kind.error or law.law, second, population.grows)
    if population.bend:
        of_errors[6], errors = population.mean_square, errors._replace(bends=True)
    (a, b, low, high), (mixing, mix) = numbers, _mixing(population)
    design = designs.RowShape(mixing, uniforms, normals, tuple(runs), rows.rows is not None)
    weight = np.array(population.weight.numbers(), dtype=float)
    return design, errors, designs.RowNumbers(a, b, low, high, mix, df, of_errors, weight, table)


def _mixing(population: Population) -> tuple[str, np.ndarray]:
    """How normals are correlated in place, and its numbers."""
    rule, d = population.design.correlation, population.width
    if rule is None:
        return "independent", np.zeros((2, d))
    if not isinstance(rule, tuple) and (r := rule.ar1) is not None:
        return "ar1", np.stack([np.full(d, math.sqrt((1 - r) * (1 + r))), np.full(d, r)])
    root = np.linalg.cholesky(population.correlation)
    if isinstance(rule, tuple):
        return "matrix", root
    return "exchangeable", np.stack([np.diag(root), np.append(root[-1, :-1], 0.0)])


def response_of(population: Population, own: Callable[..., Any]) -> Callable[..., Any]:
    """response(t, e, k) -> y: the problem's own, but for errors and links that the population gives."""
    if population.errors is not None:
        return LINKS["identity"]
    return own if population.response is None else LINKS.get(population.response.link, own)


LINKS: dict[str, Callable[..., Value]] = {
    "identity": lambda t, e, k: t + e,
    "probit": lambda t, e, k: where(e <= normal_cdf(t), 1.0, 0.0),
    "cloglog": lambda t, e, k: where(e <= 1.0 - exp(-exp(t)), 1.0, 0.0),
}
"""responses of errors, and labels by the chance of a 1"""
