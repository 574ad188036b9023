"""Gaussian differential privacy: mu-GDP and its exact (epsilon, delta) and Renyi equivalents.

mu-GDP: two neighbours are at least as hard to distinguish as N(0, 1) and N(mu, 1) (Dong, Roth and Su
2022; `ldp-sgd` Definition 2). mu = 0 (no release), mu = inf (no privacy), epsilon = 0 and inf are ordinary
values.
"""

from __future__ import annotations

import math
from functools import lru_cache, partial

import numpy as np

from dpexp.accounting.functions import Floats, erfcx, exp, gauss_legendre
from dpexp.accounting.search import eps_of_delta, raised

NEAR = 0.5  # below this mu a difference of two Mills ratios loses digits, and its integral form is used


def delta_of(mu: float, eps: float) -> float:
    """The smallest delta such that mu-GDP implies (eps, delta)-DP (Dong, Roth and Su, Corollary 1).

    (a) delta = Phi(a) - e^eps Phi(b) with a = mu / 2 - eps / mu, b = -mu / 2 - eps / mu.
    (b) Since phi(a) = e^eps phi(b), it is phi(a) (R(-a) - R(-b)), R the Mills ratio, which neither overflows nor loses
    its digits in the tail. Where a > 0, Phi(a) is 1 - phi(a) R(a).
    (c) For small mu it is phi(a) times the integral of -R'(x) = 1 - x R(x) over -a < x < -b, which is mu long.
    Relative error below 1e-12 where delta is above 1e-300. Raises ValueError for negative or NaN arguments.
    """
    _require(mu >= 0 and eps >= 0, "mu and epsilon must not be negative")
    if mu == 0 or math.isinf(eps):
        return 1.0 if math.isinf(mu) and math.isinf(eps) else 0.0
    if math.isinf(mu):
        return 1.0
    # (a)
    a, b = mu / 2 - eps / mu, -mu / 2 - eps / mu
    density = math.exp(-a * a / 2)
    if a < 0 and density == 0:
        return 0.0
    # (c)
    if mu < NEAR:
        return float(density / math.sqrt(2 * math.pi) * mu * _mean_slope(-a, mu))
    # (b): phi(a) R(x) is `density` erfcx(x / sqrt 2) / 2
    near, far = erfcx(abs(a) / math.sqrt(2)), erfcx(-b / math.sqrt(2))
    return float(1 - density * (near + far) / 2 if a > 0 else density * (near - far) / 2)


def deltas_of(mus: np.ndarray, eps: float) -> np.ndarray:
    """`delta_of` for many mu >= 0 at once, [A] -> [A], from the same formulas."""
    _require(eps >= 0, "epsilon must not be negative")
    # (a), and the 1 of a > 0
    with np.errstate(all="ignore"):
        a, b = mus / 2 - eps / mus, -mus / 2 - eps / mus
        density = exp(-a * a / 2)
    deltas = np.where((a > 0) | (mus == math.inf), 1.0, 0.0)
    # (c)
    near, far = (density > 0) & (mus < NEAR), (density > 0) & (mus >= NEAR)
    slope = _mean_slope(-a[near, None], mus[near, None])
    deltas[near] = density[near] / math.sqrt(2 * math.pi) * mus[near] * slope
    # (b)
    mills = erfcx(np.abs([a[far], b[far]]) / math.sqrt(2)) / 2
    deltas[far] += density[far] * (np.where(a[far] > 0, -mills[0], mills[0]) - mills[1])
    return deltas


def eps_of(mu: float, delta: float) -> float:
    """The smallest epsilon such that mu-GDP implies (epsilon, delta)-DP; inf for delta = 0 unless mu = 0."""
    _require(mu >= 0 and 0 <= delta <= 1, "mu must not be negative, delta must be in [0, 1]")
    if delta == 0 or math.isinf(mu):
        return math.inf if mu > 0 and delta < 1 else 0.0
    return eps_of_delta(partial(delta_of, mu), delta, most=1e300)


def mu_of(eps: float, delta: float) -> float:
    """The largest mu such that mu-GDP implies (eps, delta)-DP; 0 for delta = 0, inf for delta = 1 or eps = inf."""
    _require(eps >= 0 and 0 <= delta <= 1, "epsilon must not be negative, delta must be in [0, 1]")
    if delta == 1 or math.isinf(eps):
        return math.inf
    # delta falls with 1 / mu, and the side on which it is at most its target rounds mu down
    return 1 / eps_of_delta(lambda x: delta_of(1 / x if x > 0 else math.inf, eps), delta, most=1e300) if delta else 0.0


@lru_cache(maxsize=256)  # every replicate of a run asks
def mu_within(eps: float, delta: float) -> float:
    """`mu_of`, lowered by its last digits where `eps_of` would state more than eps."""
    mu = mu_of(eps, delta)
    return mu if math.isinf(mu) else 1 / raised(1 / mu, lambda inverse: eps_of(1 / inverse, delta), eps)


def rdp_of(mu: float, order: float) -> float:
    """Renyi divergence of the given order > 0 between N(0, 1) and N(mu, 1): order mu^2 / 2."""
    _require(mu >= 0 and order > 0, "mu must not be negative, the order must be positive")
    return order * mu * mu / 2


def _mean_slope(start: float | Floats, length: float | Floats) -> Floats:
    """Mean of 1 - x R(x) over [start, start + length], R the Mills ratio of the normal law; length at most `NEAR`.

    Of numbers, or of columns [A, 1] -> [A].
    """
    nodes, weights = gauss_legendre(12)
    x = start + length * (nodes + 1) / 2
    mean: Floats = np.vecdot(1 - x * math.sqrt(math.pi / 2) * erfcx(x / math.sqrt(2)), weights) / 2
    return mean


def _require(condition: bool, message: str) -> None:
    if not condition:
        raise ValueError(message)
