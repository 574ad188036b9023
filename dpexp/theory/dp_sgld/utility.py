"""Utility statements of `dp-sgld` with a constant step (section 4.1), printed and proved.

All bound the expected excess empirical risk of theta_K. xi^2 = E|grad L_B(theta*)|^2. They need every batch loss to be
beta-smooth, theta* inside the set (its gradient is taken to be 0), and eta <= 1 / (2 beta). In the recursion (10) the
printed proof loses a factor 2 of the term eta^2 xi^2: the `proved` forms keep it. For quadratic losses the printed
constant happens to be true.
"""

from __future__ import annotations

import math
from typing import Literal

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
    return {"printed": 0.5, "proved": 1.0}[form]
