"""Columns `{law: lognormal, spread: 0.5}` and errors `{law: gumbel, scale: 2}` of a population."""

import math

import numpy as np

from dpexp.engine.lanes.elementwise import exp, log, normal_cdf
from dpexp.plugins import Plugin
from dpexp.problems.laws import ColumnKind, ErrorKind, UnitLaw


def lognormal(g, k):
    """exp(spread g) less its mean."""
    return exp(k[0] * g) - k[1]


def numbers(law):
    """The numbers k of a law, as the config has it. Raises ValueError."""
    if law.spread <= 0:
        raise ValueError(f"the spread must be positive, got {law.spread:g}")
    return law.spread, math.exp(law.spread**2 / 2)


def mean_square(law):
    return math.exp(law.spread**2) * math.expm1(law.spread**2)


def gumbel(z, k):
    """The quantile of P(e <= x) = exp(-exp(-x)) at Phi(z)."""
    return -log(-log(normal_cdf(z)))


GUMBEL = UnitLaw(
    density=lambda x: np.exp(-x - np.exp(-x)),
    slope=lambda x: np.exp(-x) - 1,
    survival=lambda x: -np.expm1(-np.exp(-x)),
    ends=(-4.0, 40.0),
)

PLUGIN = Plugin(
    columns={"lognormal": ColumnKind({"spread": 0.5}, numbers, mean_square, column=lognormal)},
    errors={"gumbel": ErrorKind({"scale": 1.0}, lambda law: GUMBEL, error=gumbel)},
)
