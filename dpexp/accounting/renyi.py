"""Renyi divergences of the sampled Gaussian mechanism, for real orders, and their conversion to (epsilon, delta).

One step adds N(0, sigma^2) and moves by 1 with probability q. Three one-step quantities, in increasing order:

* `base_from_mixture`: D_alpha(N(0) || mixture), the printed S_alpha of `noisy-sgd`, Definition 2.10. No privacy bound
  by itself: it stays below log 1/(1-q) whatever the noise, and neighbours can be exchanged.
* `mixture_from_base`: D_alpha(mixture || N(0)), what the add/remove accountants of the literature compute.
* `symmetrised`: the larger of both for the pair whose trade-off curve is the symmetrised subsampled Gaussian.

Conversions take the best order. Any order is valid, so that a search which misses it is loose but never wrong. With
x = order - 1 > 0 (Canonne, Kamath and Steinke, 2020, Proposition 12)

    epsilon = rdp - log(1 + 1 / x) - (log delta + log(1 + x)) / x,
    log delta = x (rdp - epsilon - log(1 + 1 / x)) - log(1 + x).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import lru_cache

import numpy as np

from dpexp.accounting.functions import gauss_legendre
from dpexp.accounting.search import GOLDEN, Least, least, narrow

Nodes = Callable[[float, float, float, float], tuple[np.ndarray, np.ndarray]]
"""order, q, noise, power -> nodes and steps of a quadrature"""

_SMALL = 1e-2
_REACH = 14.0
_LEAST = 0.02
"""below this noise multiplier the step is bounded as if the record were always there, which loses next to nothing"""
_LEAST_FROM_MIXTURE = 0.05
"""below this one E r^(1 - order) is that of r = 1 - q, its least value, which r exceeds with probability P(Z > 10) =
1e-23 only; by quadrature E u = 0 is a sum of numbers beyond e^700, which lost all digits from 0.03 on"""


def base_from_mixture(order: float, q: float, sigma: float) -> float:
    """D_order(N(0, sigma^2) || (1-q) N(0, sigma^2) + q N(1, sigma^2)); order > 1. Relative error about 1e-14."""
    return at_each("base_from_mixture", q, ((order, sigma),))[0]


def mixture_from_base(order: float, q: float, sigma: float) -> float:
    """D_order((1-q) N(0, sigma^2) + q N(1, sigma^2) || N(0, sigma^2)); order > 1. Relative error about 1e-14."""
    return at_each("mixture_from_base", q, ((order, sigma),))[0]


def symmetrised(order: float, q: float, sigma: float) -> float:
    """Renyi divergence of the pair with the trade-off curve C_q(G(1 / sigma)) of Dong, Roth and Su; order > 1."""
    return at_each("symmetrised", q, ((order, sigma),))[0]


def at_each(step: str, q: float, places: Sequence[tuple[float, float]]) -> list[float]:
    """One of the three divergences, by the name of its function, at (order, sigma) pairs: the bits of one by one."""
    nodes_of = _half_line if step == "symmetrised" else _whole_line
    exchanged = step == "base_from_mixture"
    places_and_powers = [
        (float(order), float(sigma), float(1 - order if exchanged else order)) for order, sigma in places
    ]
    values = {place: _known(place[0], q, place[1], place[2]) for place in places_and_powers}
    unknown = tuple(place for place, known in values.items() if known is None)
    values.update(zip(unknown, _quadrature(nodes_of, float(q), unknown), strict=True))
    return [float(values[place] or 0.0) for place in places_and_powers]


def _known(order: float, q: float, sigma: float, power: float) -> float | None:
    """The divergence where no integral is needed. Raises ValueError for what is no order, probability or noise."""
    if not order > 1:
        raise ValueError(f"the order is greater than 1, not {order}")
    if not 0 <= q <= 1:
        raise ValueError(f"the sampling probability is in [0, 1], not {q}")
    if not sigma >= 0:
        raise ValueError(f"the noise multiplier is at least 0, not {sigma}")
    if q == 0 or math.isinf(sigma):
        return 0.0
    if q == 1:
        return order / (2 * sigma * sigma) if sigma > 0 else math.inf
    if power < 0 and sigma < _LEAST_FROM_MIXTURE:
        return -math.log1p(-q)
    if sigma < _LEAST:
        return math.inf if sigma == 0 else order / (2 * sigma * sigma)
    return None


@lru_cache(maxsize=50_000)
def _quadrature(
    nodes_of: Nodes, q: float, places_and_powers: tuple[tuple[float, float, float], ...]
) -> tuple[float, ...]:
    """log of 1 + E[excess of the integrand's powers] over order - 1, for each (order, noise, power)."""
    if not places_and_powers:
        return ()
    orders, sigmas, powers = (list(each) for each in zip(*places_and_powers, strict=True))
    nodes, steps = zip(*(nodes_of(order, q, sigma, power) for order, sigma, power in places_and_powers), strict=True)
    both = [powers, [1 - power for power in powers]] if nodes_of is _half_line else [powers]
    means = _log_means(nodes, steps, q, sigmas, both)
    return tuple(mean / (order - 1) for mean, order in zip(means, orders, strict=True))


def _whole_line(order: float, q: float, sigma: float, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps of the trapezoidal rule for log E (1 + u)^power, u = q (exp(z / sigma - 1 / (2 sigma^2)) - 1)."""
    # a negative power has one peak, left of the law at 0: one window reaches from it to there, and one is at the other
    # law
    peaks = _peaks(power, sigma) if power > 0 else [(_peak(q, sigma, power), 0.0), (1 / sigma, 1 / sigma)]
    # The rule's error is about e^(-2 pi a / h) times the integral along Im z = a.
    # Along Im z = a that of a positive power is at most e^(a^2 / 2) times the one that is sought. That of a
    # negative one has poles at a = pi sigma and grows from cos(a / sigma) = 0 on; its peak is up to three times as
    # narrow as the normal density, so that the factor is e^(9 a^2 / 2). With a = 1.4 sigma for h = sigma / 6, and a =
    # 2.1 where sigma is above 1.5, the error is below e^-50.
    windows, widest = _windows(peaks), 0.25 if power > 0 else 0.15
    steps = [min(widest, sigma / 6) if power < 0 or _turns(q, sigma, *ends) else widest for ends in windows]
    z = [np.arange(low, high + h, h) for (low, high), h in zip(windows, steps, strict=True)]
    return np.concatenate(z), np.repeat(steps, [len(part) for part in z])


def _half_line(order: float, q: float, sigma: float, power: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and steps for E[r^order + r^(1 - order) - r - 1; z > 1 / (2 sigma)], r = 1 + u.

    That is exp((order - 1) S) - 1.
    """
    start = 1 / (2 * sigma)
    x, w = _GAUSS
    nodes, weights = [], []
    for low, high in _windows(_peaks(order, sigma), start):
        # Gauss's rule of 16 nodes on a piece of half length l has the error rho^-32 for an integrand that is bounded on
        # the ellipse of half axes l (rho + 1 / rho) / 2 and l (rho - 1 / rho) / 2.
        # Poles are pi sigma away, and large powers grow from pi sigma / 2 on: with l <= sigma that is rho = 3.4 at
        # least, 1e-17; and with l = 1/2 the normal density grows by e^14 at rho = 8, which leaves 1e-23.
        longest = min(1.0, 2 * sigma) if _turns(q, sigma, low, high) else 1.0
        edges = np.linspace(low, high, 1 + math.ceil((high - low) / longest))
        half = np.diff(edges)[:, None] / 2
        nodes.append((edges[:-1, None] + half * (1 + x)).ravel())
        weights.append((half * w).ravel())
    return np.concatenate(nodes), np.concatenate(weights)


def _turns(q: float, sigma: float, low: float, high: float) -> bool:
    """Whether r turns from a constant to an exponential within 2 of a window: its zeros are pi sigma away."""
    # in other windows no zero is near, and |r| is next to that of the real line: steps are those of the normal density
    place = 1 / (2 * sigma) + sigma * (math.log1p(-q) - math.log(q))
    return low - 2 < place < high + 2


def _peaks(power: float, sigma: float) -> list[tuple[float, float]]:
    """Intervals with all peaks of e^g, g = -z^2 / 2 + power log r, power > 0, and of the two laws."""
    # At a peak z = a w, a = power / sigma, where the second law's share w of r rises from 0 to 1 like a logistic
    # function of z / sigma, and g'' = -1 + a w (1 - w) / sigma <= 0.
    # So w <= 1 / 2 means z <= 2 sigma, and w >= 1 / 2 means a - z <= 2 sigma. Near z = b sigma, b < 1, g falls by
    # sigma^2 (s^2 / 2 - b (e^s - 1 - s)) over s sigma, which can be little; but as far as it falls at all, b (e^s - 1)
    # <= s, that is more than 40 at 2 sigma + 14.
    top = max(1.0, power) / sigma
    return [(0.0, min(2 * sigma, top)), (1 / sigma, 1 / sigma), (max(0.0, top - 2 * sigma), top)]


def _peak(q: float, sigma: float, power: float) -> float:
    """The one peak of e^(-z^2 / 2) r^power, power < 0, to 1/8."""

    def beyond(z: float) -> bool:
        # the share w of the second law in r, by its odds
        odds = math.log(q) - math.log1p(-q) + z / sigma - 1 / (2 * sigma * sigma)
        share = 1 / (1 + math.exp(-odds)) if odds > -700 else 0.0
        # at the peak z = power w / sigma, whose sides fall and rise in z
        return z >= power * share / sigma

    return narrow(beyond, power / sigma, 0.0, absolute=0.125).below


def _windows(peaks: Sequence[tuple[float, float]], least: float = -math.inf) -> list[tuple[float, float]]:
    """Disjoint intervals that reach 14 standard deviations beyond the peaks, where all of the integrand's mass is."""
    merged: list[tuple[float, float]] = []
    for first, last in sorted(peaks):
        low, high = max(least, first - _REACH), last + _REACH
        if high <= least:
            continue
        if merged and low <= merged[-1][1]:
            merged[-1] = merged[-1][0], max(merged[-1][1], high)
        else:
            merged.append((low, high))
    return merged


_GAUSS = gauss_legendre(16)


@np.errstate(all="ignore")
def _log_means(
    nodes: Sequence[np.ndarray],
    steps: Sequence[np.ndarray],
    q: float,
    sigmas: Sequence[float],
    powers: Sequence[Sequence[float]],
) -> list[float]:
    """log(1 + sum of E[(1 + u)^k - 1 - k u] over its powers k) for each noise, with its nodes z and steps.

    Each of `powers` has one for each noise, all above 1 or all negative. No cancellation, no overflow.
    """
    counts = [len(z) for z in nodes]
    starts = np.concatenate([[0], np.cumsum(counts[:-1])]).astype(np.int64)
    z, sigma = np.concatenate(nodes), np.repeat(np.array(sigmas), counts)
    exponent = z / sigma - 1 / (2 * sigma * sigma)
    # e^709 is the largest number; beyond 700 r is q e^exponent to all digits
    if exponent.max() < 700.0:
        u = q * np.expm1(exponent)
        log_r = np.log1p(u)
    else:
        u = q * np.expm1(np.minimum(exponent, 700.0))
        log_r = np.where(exponent < 700.0, np.log1p(u), math.log(q) + exponent)
    density = np.concatenate(steps) / math.sqrt(2 * math.pi)
    weight = density * np.exp(-z * z / 2)
    total, large = np.zeros(len(counts)), np.full(len(counts), -np.inf)
    for each in powers:
        power = each[0] if len(set(each)) == 1 else np.repeat(np.array(each), counts)
        far = np.maximum(power * log_r, log_r) > 300.0
        if not far.any():
            total += np.add.reduceat(weight * _excess(log_r, u, power), starts)
            continue
        # beyond e^300 it is r^k - k r, which may be no numbers, and their weight 0
        log_weight = np.log(density) - z * z / 2
        logs = np.where(far, power * log_r + log_weight, -np.inf)
        large = np.maximum(large, np.where(np.maximum.reduceat(logs, starts) > 600.0, _log_sums(logs, starts), -np.inf))
        # no excess may overflow where it is not used
        near = weight * _excess(np.where(far, 0.0, log_r), np.where(far, 0.0, u), power)
        rest, log_k = np.exp(np.minimum(logs, 600.0)), np.log(np.abs(power))
        if np.all(power > 1):  # no digits are lost where the power is next to 1
            rest *= -np.expm1(np.where(far, log_k - (power - 1) * log_r, 0.0))
        else:
            rest += np.exp(log_k + log_r + log_weight)
        total += np.add.reduceat(np.where(far, rest, near), starts)
    # beyond e^600 the far nodes are all that counts
    return [top if top > 0 else math.log1p(mean) for top, mean in zip(large.tolist(), total.tolist(), strict=True)]


def _log_sums(logs: np.ndarray, starts: np.ndarray) -> np.ndarray:
    """log of the sum of e^logs over each piece, [pieces]."""
    tops = np.maximum(np.maximum.reduceat(logs, starts), -1e300)
    counts = np.diff(np.append(starts, len(logs)))
    return tops + np.log(np.maximum(np.add.reduceat(np.exp(logs - np.repeat(tops, counts)), starts), 1e-300))


def _excess(log_r: np.ndarray, u: np.ndarray, power: float | np.ndarray) -> np.ndarray:
    """(1 + u)^power - 1 - power u, all powers above 1 or all negative."""
    small = np.abs(u) * np.maximum(1.0, np.abs(power)) < _SMALL
    # the same in two forms: by the first no digits are lost where the power is next to 1
    if np.all(power > 1):
        out = (1 + u) * np.expm1((power - 1) * log_r) - (power - 1) * u
    else:
        out = np.expm1(power * log_r) - power * u
    # where power u is small all digits would cancel, and a series keeps them
    at = np.flatnonzero(small)
    if len(at):
        few, v = power[at] if isinstance(power, np.ndarray) else power, u[at]
        term = v * few
        total = np.zeros_like(v)
        # the binomial series from its second term on, as far as the next term is below 0.01^9 of the first
        for n in range(2, 11):
            term = term * v * ((few - n + 1) / n)
            total += term
        out[at] = total
    return out


Rdp = Callable[[float], float]
"""order -> Renyi divergence"""
_PLACES: list[float] = np.log(np.geomspace(5e-4, 4e3, 25)).tolist()
"""log(order - 1) between the first and the last between which the best is sought"""
_AROUND = _PLACES[1] - _PLACES[0]
_WIDE = -30.0, 90.0
_CLOSE = 2e-5
"""how closely log(order - 1) is found: epsilon is flat there, and misses the least by about the square of it"""


def improved_eps(order: float, rdp: float, delta: float) -> float:
    """Epsilon, at least 0, at delta > 0 of a Renyi divergence of that order."""
    x = order - 1
    return max(0.0, rdp - math.log1p(1 / x) - (math.log(delta) + math.log1p(x)) / x)


def _log_delta(x: float, rdp: float, eps: float) -> float:
    return x * (rdp - eps - math.log1p(1 / x)) - math.log1p(x)


def least_over_orders(value: Callable[[float], float], wide: bool = False) -> Least:
    """The order > 1 and the least value that a search finds, of values that have one valley; inf where none is finite.

    So have epsilon and log delta of a curve of divergences: epsilon times order - 1, and log delta, are convex in the
    order. `wide` is for a straight curve, whose best order can be far beyond that of others.
    """
    low, high = _WIDE if wide else (_PLACES[0], _PLACES[-1])
    if not math.isfinite(value(1 + math.exp(low + GOLDEN * (high - low)))):  # where the search would begin
        best = min(range(len(_PLACES)), key=lambda k: value(1 + math.exp(_PLACES[k])))
        low, high = _PLACES[max(0, best - 1)], _PLACES[min(len(_PLACES) - 1, best + 1)]
    found = least(lambda x: value(1 + math.exp(x)), low, high, xatol=1e-9 if wide else _CLOSE)
    return Least(1 + math.exp(found.x), found.value)


def eps_near(curve: Rdp, order: float, delta: float) -> float:
    """The smallest epsilon of a curve that a search by its own values finds around an order."""
    x = math.log(order - 1)

    def eps(log_excess: float) -> float:
        return improved_eps(1 + math.exp(log_excess), curve(1 + math.exp(log_excess)), delta)

    return least(eps, x - _AROUND, x + _AROUND, xatol=1e-4).value


def eps_of_curve(curve: Rdp, delta: float, sharp: Rdp | None = None, wide: bool = False) -> tuple[float, float]:
    """Smallest epsilon over real orders of a Renyi curve, and the order that gives it; (inf, nan) if none is finite.

    Where `sharp` is given it is the curve that counts, evaluated at one order: `curve` is nearly the same for less and
    finds that order.
    """
    order, eps = least_over_orders(lambda order: improved_eps(order, curve(order), delta), wide)
    if not math.isfinite(eps):
        return math.inf, math.nan
    return improved_eps(order, sharp(order), delta) if sharp else eps, order


def delta_of_curve(curve: Rdp, eps: float, wide: bool = False) -> float:
    """Delta at epsilon, at the best order."""
    return math.exp(min(least_over_orders(lambda order: _log_delta(order - 1, curve(order), eps), wide).value, 0.0))
