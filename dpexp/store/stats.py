"""What is stated of a cell: its rows of summary.parquet, statistics over replicates, and its row of cells.parquet.

(a) Squared errors are skewed, and Student's interval of their mean ends too low. Hall (1992, "On the removal of
skewness by transformation", J. R. Statist. Soc. B 54) removes it: with T = sqrt(n) (mean - truth) / s and the sample
skewness g, the cubic

    h(T) = T + (a / 3) T^2 + (a^2 / 27) T^3 + a / 6,   a = g / sqrt(n),

is nearly normal. It is ((1 + a T / 3)^3 - 1) / a + a / 6, so that it increases, and h(T) = x has the one solution

    h^-1(x) = (3 / a) ((1 + a (x - a / 6))^(1/3) - 1).

(b) The interval is mean - (s / sqrt(n)) h^-1(q) to mean - (s / sqrt(n)) h^-1(-q) with q the quantile of Student's t.
(c) No statistic leaves out diverged replicates: a mean is then inf or nan, and a quantile counts each as +inf.
(d) Nothing in a row differs between two reproductions.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.errors import NoSuchAnalysis, UsageError
from dpexp.theory.slopes import t_quantile

if TYPE_CHECKING:
    from dpexp.config.cells import Cell
    from dpexp.engine.result import CellData

CI_NAME = "95% interval of the mean (Student t, corrected for skewness)"
CI_LEVEL = 0.95


def interval(values: np.ndarray, level: float = CI_LEVEL) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean over replicates, the last axis of values [..., R], and both ends of its interval; each [...]. The ends are
    infinite with one replicate, and not a number where a value is not finite."""
    mean, _, low, high = _mean_sd_and_ends(values, level)
    return mean, low, high


def _mean_sd_and_ends(values: np.ndarray, level: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The same with the standard deviation; nan with one replicate."""
    count = values.shape[-1]
    with np.errstate(invalid="ignore", over="ignore"):
        mean = values.mean(axis=-1)
        if count < 2:
            unbounded = np.full(mean.shape, math.inf)
            return mean, np.full(mean.shape, math.nan), mean - unbounded, mean + unbounded
        deviation = values - mean[..., None]
        sd, a = np.sqrt(np.sum(deviation * deviation, axis=-1) / (count - 1)), np.zeros(mean.shape)
        if count > 2:
            # Fisher's G_1, corrected for its bias; scaled first, so that no cube overflows
            scaled = deviation / np.where(sd > 0, sd, 1.0)[..., None]
            cubes = np.sum(scaled * scaled * scaled, axis=-1)
            a = cubes * (count / ((count - 1) * (count - 2))) / math.sqrt(count)
        # (b)
        se, q = sd / math.sqrt(count), t_quantile(count - 1, level)
        return mean, sd, mean + -se * _unskewed(q, a), mean + -se * _unskewed(-q, a)


@lru_cache(maxsize=64)
def _ranks(count: int, q: float, level: float) -> tuple[int, int]:
    """1-based ranks l, u of the order statistics around the q-quantile of a continuous law. Binomial(n, q) of n values
    are below it: P(fewer than l) <= (1 - level) / 2 and P(at least u) <= the same."""
    from scipy.special import bdtr

    tail, below = (1 - level) / 2, bdtr(np.arange(count + 1.0), count, q)
    return int(np.searchsorted(below, tail, side="right")), int(np.searchsorted(below, 1 - tail, side="left")) + 1


def _unskewed(x: float, a: np.ndarray) -> np.ndarray:
    """h^-1(x) of (a)."""
    # below |a| = 1e-6 the limit x - a / 6 - a x^2 / 3 is right to 1e-11, where the quotient loses digits
    small = np.abs(a) < 1e-6
    wide = np.where(small, 1.0, a)
    return np.where(small, x - a / 6 - a * (x * x) / 3, 3 / wide * (_cube_root(1 + wide * (x - wide / 6)) - 1))


def _cube_root(u: np.ndarray) -> np.ndarray:
    """The cube root by basic arithmetic, so that all machines give the same bits: witnesses are digests of them."""
    fraction, power = np.frexp(np.abs(u))
    # |u| = m 2^(3k), k rounded up, so that m is in [1/8, 1)
    third = -((-power) // 3)
    m = np.ldexp(fraction, power - 3 * third)
    y = (1 + 2 * m) / 3
    # Newton's steps for y^3 = m from a start that is at most 21 % off; each squares what is missing, or nearly
    for _ in range(6):
        y = y - (y * y * y - m) / (3 * y * y)
    root: np.ndarray = np.copysign(np.ldexp(np.where(u == 0, 0.0, y), third), u)
    return root


def summarise(values: np.ndarray, diverged: np.ndarray) -> dict[str, np.ndarray]:
    """Summaries over the last axis (replicates) of values [..., R], with diverged bool of the same shape; each [...].
    `ci_lo, ci_hi` is `CI_NAME`, and `median_lo, median_hi` the 95% interval of the median by order statistics."""
    values, count = np.ascontiguousarray(values), values.shape[-1]
    mean, sd, low, high = _mean_sd_and_ends(values, CI_LEVEL)
    # (c): quantiles of a replicate that is lost are +inf, and its mean is what it is
    ordered = np.sort(np.where(np.isfinite(values), values, math.inf), axis=-1)
    below, above = _ranks(count, 0.5, CI_LEVEL)
    open_end = np.full(mean.shape, math.inf)
    return {
        "n": np.full(mean.shape, count),
        "n_diverged": diverged.sum(axis=-1),
        "mean": mean,
        "sd": sd,
        "se": sd / math.sqrt(count),
        **{name: _quantile(ordered, q) for name, q in _QUANTILES.items()},
        "ci_lo": low,
        "ci_hi": high,
        # an end is infinite where there are too few replicates for one
        "median_lo": ordered[..., below - 1] if below >= 1 else -open_end,
        "median_hi": ordered[..., above - 1] if above <= count else open_end,
    }


_QUANTILES = {"median": 0.5, "q05": 0.05, "q25": 0.25, "q75": 0.75, "q95": 0.95}


def _quantile(ordered: np.ndarray, q: float) -> np.ndarray:
    """Linear interpolation between order statistics along the last axis."""
    place = q * (ordered.shape[-1] - 1)
    low = math.floor(place)
    if (part := place - low) == 0:
        return ordered[..., low]
    with np.errstate(invalid="ignore", over="ignore"):
        between = (1 - part) * ordered[..., low] + part * ordered[..., low + 1]
    # a lost replicate among the two is +inf, whatever its share
    return np.where(np.isinf(ordered[..., low + 1]), math.inf, between)


def is_coordinate(metric: str) -> bool:
    """Whether a metric is one parameter, of those that `run.coefficients` records."""
    return metric == "scale" or metric.startswith("coefficient_")


def too_far(data: CellData, limit: float, own: Collection[str] = ()) -> np.ndarray:
    """Where a replicate's parameter is farther than `limit` from the optimum, or from zero if the optimum is not known,
    or any number is not finite: diverged. Bool [estimators, K, replicates]. `own` are the names of `run.metrics`."""
    # single parameters and own metrics are recorded after the last step alone
    every = [m for m, name in enumerate(data.metrics) if not is_coordinate(name) and name not in own]
    lost: np.ndarray = ~np.isfinite(data.values[:, :, every]).all(axis=2)
    lost[:, -1] |= ~np.isfinite(data.values[:, -1]).all(axis=1)
    for size in [name for name in ("param_distance_sq", "param_norm_sq") if name in data.metrics][:1]:
        lost |= ~(data.values[:, :, data.metrics.index(size)] <= limit**2)
    return lost


def with_distance(data: CellData) -> list[tuple[str, np.ndarray]]:
    """The metrics by name, each [estimators, K, replicates]; the distance joins its square."""
    columns = [(name, data.values[:, :, m]) for m, name in enumerate(data.metrics)]
    squares = [values for name, values in columns if name == "param_distance_sq"]
    return [*(("param_distance", np.sqrt(values)) for values in squares), *columns]


def summary_columns(cell: Cell, data: CellData) -> dict[str, np.ndarray]:
    """Rows of summary.parquet for one cell, column by column: by estimator, then metric, then step."""
    columns, diverged = with_distance(data), too_far(data, cell.run.diverged_above, cell.run.metrics)
    e, k, m = len(data.estimators), len(data.steps), len(columns)
    each = [summarise(values, diverged) for _, values in columns]
    return {
        "cell_id": np.full(e * m * k, cell.cell_id, object),
        "estimator": np.repeat(np.array(data.estimators, object), m * k),
        "step": np.tile(data.steps, e * m),
        "metric": np.tile(np.repeat(np.array([name for name, _ in columns], object), k), e),
        **{name: np.stack([summary[name] for summary in each], axis=1).ravel() for name in each[0]},
    }


class PairedDifference(NamedTuple):
    """A mean difference of paired values, and the ratio of the means, with intervals (95% unless asked otherwise)."""

    difference: float
    se: float
    ci_lo: float
    ci_hi: float
    ratio: float
    ratio_lo: float
    ratio_hi: float
    n: int


def paired_difference(a: np.ndarray, b: np.ndarray, level: float = CI_LEVEL) -> PairedDifference:
    """Mean of a - b over replicates [R] run on common random numbers, and mean a / mean b by the delta method. Raises
    ValueError where the shapes differ or there are fewer than two replicates."""
    if a.shape != b.shape or a.ndim != 1 or len(a) < 2:
        raise ValueError("two equally long vectors of at least 2 replicates are needed")
    n = len(a)
    with np.errstate(invalid="ignore", over="ignore", divide="ignore"):
        d = a - b
        se = float(d.std(ddof=1) / math.sqrt(n))
        middle, low, high = map(float, interval(d, level))
        mean_a, mean_b = float(a.mean()), float(b.mean())
        ratio = mean_a / mean_b if mean_b else math.nan
        # ratio - truth = mean(a - truth b) / mean(b), to first order the mean of (a - ratio b) / mean(b), which is 0
        around = (a - ratio * b) / mean_b if mean_b else np.full(n, math.nan)
        _, below, above = map(float, interval(around, level))
    return PairedDifference(middle, se, low, high, ratio, ratio + below, ratio + above, n)


# --- rows of cells.parquet ---

ACCURACY = 1e-9
"""relative, between kinds of processors: of privacy numbers, which are sums and quadratures by numpy"""


class Ended(NamedTuple):
    """How the replicates of a cell ended; of projections the mean number, None where they are not counted."""

    replicates: int
    diverged: int
    projections: float | None


def ended(cell: Cell, data: CellData) -> Ended:
    """What a row says of a cell's numbers."""
    counted = "projections" in data.metrics
    last = float(data.values[0, -1, data.metrics.index("projections")].mean()) if counted else None
    diverged = too_far(data, cell.run.diverged_above, cell.run.metrics).any(axis=(0, 1))
    return Ended(data.values.shape[-1], int(diverged.sum()), last)


def row_of(cell: Cell, deltas: Sequence[float], outcome: Ended, deployment: bool = False) -> dict[str, Any]:
    """The cell's row. Where the records are a user's own it names the released estimators, and whether by a deployment.

    Raises UsageError where the mechanism has no analysis.
    """
    mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
    try:
        statement = mechanism.row(tuple(deltas))
    except NoSuchAnalysis as error:
        setting = " ".join(f"{name}={value}" for name, value in cell.setting().items())
        place = f"{cell.experiment}: cell {cell.cell_id} {setting}, algorithm {cell.algorithm.name}"
        raise UsageError(f"{place}: {error.message}", error.hint) from None
    # analyses of dpexp are tried by its tests; those of a plug-in withdraw what its own pairs of neighbours refute
    kinds = {type(mechanism), type(getattr(mechanism, "mechanism", mechanism))}
    if not all(kind.__module__.startswith("dpexp.") for kind in kinds):
        from dpexp.privacy.analyses.analysis import refuted, with_last_iterate

        if refuted(mechanism.upper_bounds(), with_last_iterate(mechanism.lower_bounds()), deltas):
            statement = {**statement, "guarantee": False}
    replicates, diverged, projections = outcome
    outcomes: dict[str, Any] = {
        "status": "diverged" if diverged else "done",
        "reason": f"{diverged} replicates diverged" if diverged else "",
        "replicates": replicates,
        "n_diverged": diverged,
        **({"projections": projections} if projections is not None else {}),
    }
    if cell.problem.files():
        names = cell.algorithm.releases(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        of_replicates = "every replicate" if cell.run.release == "all" else "replicate 0"
        released = f"{' and '.join(names)} of {of_replicates}" if names else "nothing"
        outcomes |= {"released": released, "deployment": deployment}
    parameters = {"cell_id": cell.cell_id, **cell.columns()}
    # a mechanism may repeat a parameter, such as the accountant that a config names
    return {**parameters, **{name: statement[name] for name in statement if name not in parameters}, **outcomes}


def agree(value: Any, other: Any) -> bool:
    """Equal, where nan is the same as nan, or privacy numbers as two kinds of processors compute them."""
    numbers = isinstance(value, float) and isinstance(other, float)
    both_nan = value != value and other != other
    return bool(value == other) or both_nan or (numbers and math.isclose(value, other, rel_tol=ACCURACY))
