"""Privacy statements of `dp-sgld`, section 3, as printed: FALSE for mini-batches, so never use them to claim.

All bound the Renyi divergence between the last iterates on two data sets of n records that differ in one. The
batch size appears nowhere: the proofs average the drift difference over batches, and the divergence is not linear in it
(`dpexp.papers.dp_sgld.exact_law` has exact counterexamples). With full batches they hold. `steps` counts iterations.
"""

from __future__ import annotations

import math

import numpy as np


def theorem33(order: float, lipschitz: float, n: int, sigma: float, lsi: float, total_step: float) -> float:
    """2 order L^2 / (c n^2 sigma^4) (1 - exp(-sigma^2 c sum eta)) where the iterates' laws satisfy c-LSI."""
    scale = 2 * order * lipschitz**2 / (lsi * n**2 * sigma**4)
    return scale * -math.expm1(-(sigma**2) * lsi * total_step)


def corollary31(order: float, lipschitz: float, n: int, sigma: float, lsi: float, step: float, steps: int) -> float:
    """Theorem 3.3 with a constant step."""
    return theorem33(order, lipschitz, n, sigma, lsi, step * steps)


def theorem31(
    order: float, lipschitz: float, n: int, sigma: float, strong_convexity: float, total_step: float
) -> float:
    """4 order L^2 / (lambda n^2 sigma^2) (1 - exp(-lambda sum eta / 2)).

    `total_step` is the sum of the steps that are used (`total_decreasing_step`, or eta K), not its upper bound.
    """
    # squared as a product, which becomes inf or 0 where a power would raise
    share = lipschitz / (n * sigma)
    return 4 * order * (share * share) / strong_convexity * -math.expm1(-strong_convexity * total_step / 2)


def corollary32(
    order: float, lipschitz: float, n: int, sigma: float, strong_convexity: float, step: float, steps: int
) -> float:
    """Theorem 3.1 with a constant step below 1 / beta."""
    return theorem31(order, lipschitz, n, sigma, strong_convexity, step * steps)


def corollary33(
    order: float, lipschitz: float, n: int, sigma: float, strong_convexity: float, smoothness: float, steps: int
) -> float:
    """4 order L^2 / (lambda n^2 sigma^2) lambda K / (4 beta + lambda K), for eta_k = 1 / (2 beta + lambda k / 2).

    Slightly below Theorem 3.1 for Algorithm 1 as printed, which uses eta_0 .. eta_{K-1}; right for eta_1 .. eta_K, as
    an upper bound of their sum.
    """
    scale = 4 * order * lipschitz**2 / (strong_convexity * n**2 * sigma**2)
    return scale * strong_convexity * steps / (4 * smoothness + strong_convexity * steps)


def decreasing_steps(smoothness: float, strong_convexity: float, steps: int, first: int = 0) -> np.ndarray:
    """eta_k = 1 / (2 beta + lambda k / 2) for k = first .. first + steps - 1, [steps]."""
    return 1 / (2 * smoothness + strong_convexity * np.arange(first, first + steps, dtype=np.float64) / 2)


def total_decreasing_step(smoothness: float, strong_convexity: float, steps: int, first: int = 0) -> float:
    """Exact sum of `decreasing_steps`, O(1): (2 / lambda) {digamma(x + K) - digamma(x)}, x = first + 4 beta / lambda.

    Relative error below 1e-9 where lambda K / beta is above 1e-6; below that the terms are added one by one.
    """
    from scipy.special import digamma

    # the difference of two digammas loses digits where few steps are summed
    if steps <= 10_000:
        return math.fsum(decreasing_steps(smoothness, strong_convexity, steps, first))
    x = first + 4 * smoothness / strong_convexity
    return 2 / strong_convexity * float(digamma(x + steps) - digamma(x))


def eps_of_slope(slope: float, delta: float) -> float:
    """Smallest epsilon of eps(order) = slope order by Mironov's rule: slope + 2 sqrt(slope log(1 / delta)).

    The rule of the paper; the later ones (`dpexp.accounting.renyi`) give about a fifth less at epsilon 1.
    """
    return slope + 2 * math.sqrt(slope * math.log(1 / delta))


def slope_of_eps(eps: float, delta: float) -> float:
    """The slope whose `eps_of_slope` is eps: (sqrt(log(1 / delta) + eps) - sqrt(log(1 / delta)))^2."""
    # as a quotient: the difference of the two roots would lose digits at small eps
    log = math.log(1 / delta)
    return (eps / (math.sqrt(log + eps) + math.sqrt(log))) ** 2


def sigma_for_eps(
    eps: float, delta: float, lipschitz: float, n: int, strong_convexity: float, total_step: float
) -> float:
    """The sigma at which Theorem 3.1 with Mironov's rule claims (eps, delta)."""
    # the slope of Theorem 3.1 in the order is proportional to 1 / sigma^2
    return math.sqrt(theorem31(1, lipschitz, n, 1, strong_convexity, total_step) / slope_of_eps(eps, delta))
