"""What every weight and law of a population must do: stay within what it says, and be drawn as theory integrates it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from pydantic import ValidationError

from dpexp.conformance.check_result import Breach, NotTried, Promise, Subject
from dpexp.engine.lanes.elementwise import normal_density
from dpexp.engine.linear.designs import COLUMNS, ERRORS, function_of
from dpexp.engine.linear.linear_pass import draw_users
from dpexp.problems.laws import ColumnKind, ErrorKind
from dpexp.problems.linear_losses import HuberLinear
from dpexp.problems.population import Population
from dpexp.problems.weights import Weight

ROUNDING = 1e-9
LENGTHS = 1 + np.concatenate([np.linspace(0, 20, 2001), np.geomspace(20, 1e12, 2000)])
"""squared lengths of rows, with the leading 1"""


def _made(subject: Subject[type[Weight]]) -> Weight:
    try:
        return subject.value.model_validate({})
    except ValidationError as error:
        raise NotTried("a number of it has no default") from error


def between(subject: Subject[type[Weight]]) -> str:
    """Numbers from 0 to 1, which the engine multiplies by as they are on arrays."""
    weight = _made(subject)
    w = weight.of(LENGTHS)
    if w.shape != LENGTHS.shape or not np.all((w >= 0) & (w <= 1)):
        raise Breach("a weight is a number from 0 to 1 for every length", subject.value.weight)
    problem = HuberLinear(population=Population(d=3, weights=weight))
    x, _ = draw_users(problem.model(), 1000, 3)
    if (w := problem.weight(x)).shape != (1000,) or not np.isfinite(w).all():
        raise Breach("a weight of rows [n, d + 1] is [n]", subject.value.weight)
    return f"lengths up to {math.sqrt(LENGTHS[-1]):.0e}, and 1,000 users drawn"


def lengths(subject: Subject[type[Weight]]) -> str:
    """|w x| and the distances of w x in the plane that holds any two rows: those of (1, z) and (1, -z') are largest."""
    weight = _made(subject)
    reach, across, w = weight.reach(), weight.across(), weight.of(LENGTHS)
    if math.isinf(reach):
        return "no reach is stated: only `mu: inf` and algorithms that clip take it"
    longest = float(np.max(w * np.sqrt(LENGTHS)))
    if longest > reach * (1 + ROUNDING):
        raise Breach(f"a row has |w(x) x| = {longest:.6g}, and `reach` says {reach:.6g}", subject.value.reach)
    z = w * np.sqrt(LENGTHS - 1)
    apart = float(np.max(np.hypot(w[:, None] - w, z[:, None] + z)))
    if apart > across * (1 + ROUNDING):
        message = f"two rows have w x and w x' {apart:.6g} apart, and `across` says {across:.6g}"
        raise Breach(message, subject.value.across)
    return f"reach {longest:.4g} of {reach:.4g}, across {apart:.4g} of {across:.4g}"


def _numbers(subject: Subject[Any], section: str, law: object, count: int) -> tuple[Any, tuple[float, ...]]:
    """The law with its defaults, and the numbers k that its function is handed."""
    if missing := [key for key, value in subject.value.keys.items() if math.isnan(value)]:
        raise NotTried(f"`{missing[0]}` of it has no default")
    population = Population.model_validate({"d": 1, section: law})
    own: Any = population.errors or population.columns[0]
    return own, (*(subject.value.numbers(own) if subject.value.numbers else ()), *[0.0] * count)[:count]


def ends(subject: Subject[ColumnKind]) -> str:
    """Values and their mean square over standard normals from -9 to 9, beyond which there are none."""
    kind, g = subject.value, np.linspace(-9.0, 9.0, 180_001)
    own, k = _numbers(subject, "design", {"columns": ({"law": subject.name},)}, 4)
    x = np.broadcast_to(function_of(kind.column or subject.name, COLUMNS)(g, 0.0, k), g.shape)
    (low, high), stated = kind.ends(own), kind.mean_square(own)
    if not np.isfinite(x).all() or x.min() < low or x.max() > high:
        raise Breach(f"values from {x.min():.6g} to {x.max():.6g}, and `ends` says {low:g} and {high:g}", kind.column)
    square = float(np.sum(x * x * normal_density(g))) * (g[1] - g[0])
    if math.isfinite(stated) and abs(square - stated) > 1e-3 * square:
        raise Breach(f"the mean square is {square:.6g}, and `mean_square` says {stated:.6g}", kind.mean_square)
    return f"values from {x.min():.4g} to {x.max():.4g}, mean square {square:.4g}"


def drawn(subject: Subject[ErrorKind]) -> str:
    """Density, slope and survival belong together, and 100,000 even quantiles of the normal become such errors."""
    from scipy.special import ndtri

    kind, h = subject.value, 1e-5
    own, k = _numbers(subject, "errors", {"law": subject.name}, 2)
    z = ndtri((np.arange(100_000) + 0.5) / 100_000)
    # some of ours take a second normal, in a random order
    draws = function_of(kind.error or subject.name, ERRORS)(z, np.random.default_rng(1).permutation(z), k)
    unit, e = kind.unit(own), np.sort(draws)
    x = np.linspace(max(unit.ends[0], -6.0) + 2 * h, min(unit.ends[1], 6.0) - 2 * h, 2000)
    near, tail = np.log(unit.density(np.stack([x - h, x + h]))), unit.survival(np.stack([x - h, x, x + h]))
    for name, off, limit in (
        ("slope", unit.slope(x) - np.diff(near, axis=0)[0] / (2 * h), 1e-4),
        ("survival", unit.density(x) + (tail[2] - tail[0]) / (2 * h), 1e-4),
        ("error", 1 - np.searchsorted(e, x) / len(e) - tail[1], 1e-3 if kind.error else 6e-3),
    ):
        # a kink within h of a place spoils its difference
        if not np.mean(np.abs(off) < limit) > 0.98:
            raise Breach(f"`{name}` is not that of the others, by up to {np.abs(off).max():.2g}", kind.unit)
    return f"errors from {e[0]:.4g} to {e[-1]:.4g}, {len(x):,} places"


CHECKS: tuple[Promise[type[Weight]], ...] = (
    Promise("between 0 and 1", "Weights of rows and of drawn users are numbers from 0 to 1.", between),
    Promise("reach", "No weighted row is longer, and no two are farther apart, than stated: a search.", lengths),
)
COLUMN_CHECKS: tuple[Promise[ColumnKind], ...] = (
    Promise("ends", "Values stay within the stated ends, and have the stated mean square.", ends),
)
ERROR_CHECKS: tuple[Promise[ErrorKind], ...] = (
    Promise("drawn", "Density, slope, survival and draws of errors are of one law.", drawn),
)
