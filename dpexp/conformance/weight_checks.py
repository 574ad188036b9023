"""What every weight must do: stay between 0 and 1, and leave rows no longer and no farther apart than it says."""

from __future__ import annotations

import math

import numpy as np
from pydantic import ValidationError

from dpexp.conformance.check_result import Breach, NotTried, Promise, Subject
from dpexp.engine.linear.linear_pass import draw_users
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


CHECKS: tuple[Promise[type[Weight]], ...] = (
    Promise("between 0 and 1", "Weights of rows and of drawn users are numbers from 0 to 1.", between),
    Promise("reach", "No weighted row is longer, and no two are farther apart, than stated: a search.", lengths),
)
