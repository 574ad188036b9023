"""Utility statements of `dp-sgld` with steps eta_k = 1 / (2 beta + lambda k / 2) (section 4.2), printed and proved.

They bound the AVERAGE excess risk of the iterates, while the privacy statements cover the release of theta_K alone: a
bound for the released model does not follow from them as printed. Assumptions as in `utility`.
"""

from __future__ import annotations

import math

from dpexp.theory.dp_sgld.privacy import total_decreasing_step
from dpexp.theory.dp_sgld.utility import Form, log_inverse


def lemma11(
    steps: int,
    smoothness: float,
    strong_convexity: float,
    d: int,
    sigma: float,
    xi_sq: float,
    delta0: float,
    form: Form = "printed",
) -> float:
    """Lemma (11): 2 beta delta0 / K + 4 xi^2 / (K lambda) log(1 + lambda K / (4 beta)) + 2 d sigma^2.

    delta0 = E|theta_0 - theta*|^2. Printed for the average over theta_1 .. theta_K; its proof bounds the one over
    theta_0 .. theta_{K-1}, with the step eta_{k+1} at theta_k. Proved: for that average and the steps of Algorithm 1,
    eta_0 .. eta_{K-1}, the same telescoping gives (2 beta - lambda / 2) delta0 / K + 2 xi^2 / K sum eta_k
    + 2 d sigma^2.
    """
    # the noise of a step adds 2 d sigma^2 whatever its length, since its variance is 2 eta sigma^2
    noise = 2 * d * sigma**2
    if form == "printed":
        batch = 4 * xi_sq / (steps * strong_convexity) * math.log1p(strong_convexity * steps / (4 * smoothness))
        return 2 * smoothness * delta0 / steps + batch + noise
    total = total_decreasing_step(smoothness, strong_convexity, steps)
    return (2 * smoothness - strong_convexity / 2) * delta0 / steps + 2 * xi_sq * total / steps + noise


def theorem42(order: float, eps: float, strong_convexity: float, d: int, lipschitz: float, n: int) -> float:
    """Theorem 4.2 under (order, eps)-Renyi privacy: 18 order d L^2 / (eps lambda n^2).

    With `utility.theorem41_sigma` and `theorem42_steps`.
    """
    # 18 = 8 (start) + 8 (noise) + 2 (batches, with xi <= L and log(1 + x) <= sqrt x), so that no xi appears
    return 18 * order * d * lipschitz**2 / (eps * strong_convexity * n**2)


def theorem42_steps(order: float, eps: float, smoothness: float, strong_convexity: float, d: int, n: int) -> float:
    """K = max((beta / lambda) r, (lambda / beta) r^2) with r = eps n^2 / (order d), a real number."""
    return _steps(eps * n**2 / (order * d), smoothness, strong_convexity)


def theorem42_dp(eps: float, delta: float, strong_convexity: float, d: int, lipschitz: float, n: int) -> float:
    """The (eps, delta) form: 144 d L^2 log(1 / delta) / (eps^2 lambda n^2), with `utility.dp_sigma`.

    Printed without the average on its left side. Raises ValueError for eps > 2 log(1 / delta).
    """
    return 144 * d * lipschitz**2 * log_inverse(eps, delta) / (eps**2 * strong_convexity * n**2)


def theorem42_dp_steps(eps: float, delta: float, smoothness: float, strong_convexity: float, d: int, n: int) -> float:
    """K of Theorem 4.2 with r = eps^2 n^2 / (4 log(1 / delta) d)."""
    return _steps(eps**2 * n**2 / (4 * log_inverse(eps, delta) * d), smoothness, strong_convexity)


def _steps(r: float, smoothness: float, strong_convexity: float) -> float:
    return max(smoothness / strong_convexity * r, strong_convexity / smoothness * r**2)
