"""From the probabilities of events under two laws to what the pair attains, rounded down.

(a) delta(eps) = sup over events S of P(S) - e^eps Q(S) is at least delta exactly when eps <= log((P(S) - delta) / Q(S))
for an event, so eps(delta) is the largest such value: every event gives a lower bound.
(b) A Renyi divergence of the masses of disjoint events is at most that of the laws (data processing), and dropping some
lowers it further, because every term q (r^a - 1 - a (r - 1)) is at least 0.
"""

from __future__ import annotations

import math

import numpy as np


def largest_eps(p: np.ndarray, log_q: np.ndarray, delta: float) -> float:
    """The largest epsilon that one of the events [E] attains, by (a): P rounded down, log Q rounded up; 0 if none."""
    room = p - delta
    above = room > 0
    return max(0.0, float(np.max(np.log(room[above]) - log_q[above]))) if above.any() else 0.0


def renyi_of_masses(p: np.ndarray, q: np.ndarray, order: float) -> float:
    """D_order(P || Q) of masses [C] above 0, at least 0; relative error about 1e-12, or 1e-9 where it is below 1e-9."""
    log_ratio = np.log(p) - np.log(q)
    u = np.expm1(log_ratio)
    # exp((a - 1) D) - 1 = sum of q ((p / q)^a - 1 - a u), because both sum to 1: every term is positive, and tiny
    # divergences keep their digits; of the series for small u, (a - 2)(a - 3) / 12 u^2 and the rest is left out
    with np.errstate(over="ignore", invalid="ignore"):
        small = order * (order - 1) / 2 * u * u * (1 + (order - 2) / 3 * u)
        terms = np.where(np.abs(u) * order < 1e-4, small, np.expm1(order * log_ratio) - order * u)
    if np.all(np.isfinite(terms)):
        return math.log1p(max(float(np.vecdot(q, terms)), 0.0)) / (order - 1)
    # where a power overflows, the plain sum of p^a q^(1-a) in logarithms, beside which the other terms are nothing
    exponents = np.log(q) + order * log_ratio
    top = float(exponents.max())
    return (top + math.log(float(np.exp(exponents - top).sum()))) / (order - 1)


def renyi_error(value: float, order: float, relative: float) -> float:
    """What relative errors of the masses can do to a Renyi divergence."""
    # the sum of p^a q^(1-a) is off by the factor (1 + e)^(2a - 1) at most
    general = relative * (2 * order - 1) / (order - 1)
    if value > 0.1:
        return general
    # a small divergence is about a/2 E[l^2], so that moving every log ratio l by 2 e moves it by a (2 e sqrt(2 D / a) +
    # 2 e^2); four times that is taken
    return min(general, 4 * order * (2 * relative * math.sqrt(2 * value / order) + 2 * relative**2))
