"""Hockey-stick bounds for the last iterate on a bounded set, without convexity (`hidden-state`)."""

from __future__ import annotations

import math


def contraction(eps: float, reach: float) -> float:
    """theta_eps(r) = Q(eps / r - r / 2) - e^eps Q(eps / r + r / 2): the E_{e^eps} coefficient of the Gaussian kernel.

    `reach` is the largest distance r of two means in noise standard deviations. It is also delta(eps) of a Gaussian
    mechanism with mu = r. Relative error below 1e-12. Raises ValueError for negative arguments.
    """
    from dpexp.privacy.gdp import delta_of

    if not (eps >= 0 and reach >= 0):
        raise ValueError(f"epsilon and reach are at least 0, not {eps} and {reach}")
    return delta_of(reach, eps)


def last_iterate_delta(eps: float, reach: float, q: float, steps: float) -> float:
    """delta(eps, T) <= q theta (1 - x^T) / (1 - x), x = (1 - q) theta_eps(reach); steps may be inf.

    reach = (diameter + 2 eta C) / noise_std on the parameter, q the probability that the record is in a batch. Source:
    `hidden-state`, main result: d_t <= theta [(1 - q) d_{t-1} + q], d_0 = 0.
    """
    theta = contraction(eps, reach)
    x = (1 - q) * theta
    if theta == 0 or q == 0 or steps == 0:
        return 0.0
    if x == 1:
        return min(1.0, q * steps)
    share = 1.0 if math.isinf(steps) or x == 0 else -math.expm1(steps * math.log(x))
    return min(1.0, q * theta * share / (1 - x))
