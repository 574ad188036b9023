"""Utility statements of `dp-sgld`, printed and proved: with a constant step (section 4.1), and decreasing steps (4.2).

xi^2 = E|grad L_B(theta*)|^2. They need every batch loss to be beta-smooth, theta* inside the set (its gradient is taken
to be 0), and eta <= 1 / (2 beta).

(a) With a constant step all bound the expected excess empirical risk of theta_K.
(b) With steps eta_k = 1 / (2 beta + lambda k / 2) they bound the AVERAGE excess risk of the iterates, while the privacy
statements cover the release of theta_K alone: a bound for the released model does not follow from them as printed.
"""

from __future__ import annotations

import math
from typing import Literal

from dpexp.theory.dp_sgld.privacy_statements import total_decreasing_step

Form = Literal["printed", "proved"]
"""`printed` follows the paper to the letter; `proved` has the constant that its argument gives"""


def lemma7(
    steps: int,
    step: float,
    smoothness: float,
    strong_convexity: float,
    d: int,
    sigma: float,
    xi_sq: float,
    delta0: float,
    form: Form = "printed",
) -> float:
    """Lemma (7): beta/2 delta0 exp(-lambda eta K) + beta eta xi^2 / (2 lambda) + beta d sigma^2 / lambda.

    delta0 = E|theta_0 - theta*|^2. Proved: beta eta xi^2 / lambda. Raises ValueError for eta > 1 / (2 beta).
    """
    if step * smoothness > 0.5 * (1 + 1e-12):
        raise ValueError("the lemma needs a step of at most 1 / (2 beta)")
    start = smoothness / 2 * delta0 * math.exp(-strong_convexity * step * steps)
    batch = _share(form) * smoothness * step * xi_sq / strong_convexity
    return start + batch + smoothness * d * sigma**2 / strong_convexity


def lemma41(
    steps: int,
    step: float,
    smoothness: float,
    strong_convexity: float,
    d: int,
    sigma: float,
    xi_sq: float,
    lipschitz: float,
    form: Form = "printed",
) -> float:
    """Lemma 4.1: lemma (7) with delta0 <= (2 L / lambda)^2, the squared diameter of the set."""
    delta0 = (2 * lipschitz / strong_convexity) ** 2
    return lemma7(steps, step, smoothness, strong_convexity, d, sigma, xi_sq, delta0, form)


def theorem41(
    order: float,
    eps: float,
    smoothness: float,
    strong_convexity: float,
    d: int,
    lipschitz: float,
    n: int,
    xi_sq: float,
    form: Form = "printed",
) -> float:
    """Theorem 4.1 under (order, eps)-Renyi privacy: 6 order beta d L^2 / (eps lambda^2 n^2) + xi^2 / (4 lambda).

    With eta = 1 / (2 beta), `theorem41_sigma` and `theorem41_steps`. Proved: xi^2 / (2 lambda). Raises ValueError where
    the number of steps would not be positive.
    """
    theorem41_steps(order, eps, smoothness, strong_convexity, d, n)
    private = 6 * order * smoothness * d * lipschitz**2 / (eps * strong_convexity**2 * n**2)
    return private + _share(form) * xi_sq / (2 * strong_convexity)


def theorem41_sigma(order: float, eps: float, strong_convexity: float, lipschitz: float, n: int) -> float:
    """sigma^2 = 4 order L^2 / (eps lambda n^2), of Theorems 4.1 and 4.2."""
    return math.sqrt(4 * order * lipschitz**2 / (eps * strong_convexity * n**2))


def theorem41_steps(order: float, eps: float, smoothness: float, strong_convexity: float, d: int, n: int) -> float:
    """K = (2 beta / lambda) log(eps n^2 / (order d)), a real number. Raises ValueError unless it is positive."""
    return _log_steps(eps * n**2 / (order * d), smoothness, strong_convexity)


def theorem41_dp(
    eps: float,
    delta: float,
    smoothness: float,
    strong_convexity: float,
    d: int,
    lipschitz: float,
    n: int,
    xi_sq: float,
    form: Form = "printed",
) -> float:
    """The (eps, delta) form: 48 beta d L^2 log(1 / delta) / (eps^2 lambda^2 n^2) + xi^2 / (4 lambda).

    Theorem 4.1 at half of eps and order 1 + 2 log(1 / delta) / eps. Proved: xi^2 / (2 lambda). Raises ValueError for
    eps > 2 log(1 / delta), and where the number of steps would not be positive.
    """
    log = log_inverse(eps, delta)
    theorem41_dp_steps(eps, delta, smoothness, strong_convexity, d, n)
    private = 48 * smoothness * d * lipschitz**2 * log / (eps**2 * strong_convexity**2 * n**2)
    return private + _share(form) * xi_sq / (2 * strong_convexity)


def dp_sigma(eps: float, delta: float, strong_convexity: float, lipschitz: float, n: int) -> float:
    """sigma^2 = 8 L^2 (eps + 2 log(1 / delta)) / (eps^2 lambda n^2), of both (eps, delta) forms.

    Printed with its closing parenthesis missing. Raises ValueError for eps > 2 log(1 / delta).
    """
    log = log_inverse(eps, delta)
    return math.sqrt(8 * lipschitz**2 * (eps + 2 * log) / (eps**2 * strong_convexity * n**2))


def theorem41_dp_steps(eps: float, delta: float, smoothness: float, strong_convexity: float, d: int, n: int) -> float:
    """K = (2 beta / lambda) log(eps^2 n^2 / (4 log(1 / delta) d)); above Theorem 4.1's, which is allowed."""
    return _log_steps(eps**2 * n**2 / (4 * log_inverse(eps, delta) * d), smoothness, strong_convexity)


def log_inverse(eps: float, delta: float) -> float:
    log = math.log(1 / delta)
    if not 0 < eps <= 2 * log:
        raise ValueError("the theorem speaks of 0 < eps <= 2 log(1 / delta)")
    return log


def _log_steps(ratio: float, smoothness: float, strong_convexity: float) -> float:
    # the logarithm of the ratio is that of the start's error over the noise's
    if ratio <= 1:
        raise ValueError("the theorem needs eps n^2 > order d: else its number of steps is not positive")
    return 2 * smoothness / strong_convexity * math.log(ratio)


def _share(form: Form) -> float:
    # in the recursion (10) the printed proof loses a factor 2 of the term eta^2 xi^2: the `proved` forms keep it. For
    # quadratic losses the printed constant happens to be true
    return {"printed": 0.5, "proved": 1.0}[form]


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
