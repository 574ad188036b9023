"""The statements of `momentum` as formulas: sigma for (eps, delta), schedules and the gradient norms they guarantee.

Theorems 4 and 8 are the Renyi loss of both algorithms over 1 / sigma^2; Theorems 6 and 9 their schedules. These follow
from Lemmas 5 and 7: what a normalised step gains, and the noise of Algorithm 2's estimate.
"""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Prescription:
    """A prescribed schedule for N records; both theorems give alpha = 1 / N, up to rounding in the last digit."""

    steps: int
    """T, rounded; may be far beyond anything that can be run"""
    exact_steps: float
    """T before rounding, at which alpha is evaluated"""
    alpha: float
    """momentum: the weight of the newest gradient"""
    eta: float
    """step size 1 / sqrt(N T), at the rounded T"""
    gamma: float
    """cross-epoch weight of Algorithm 2; 1 in Algorithm 1, which has none"""
    refused: str = ""
    """why the theorem's own conditions fail; empty when they hold"""

    @property
    def feasible(self) -> bool:
        """Whether the theorem's conditions on the schedule hold."""
        return not self.refused


def require_problem(N: int, d: int, eps: float, delta: float) -> None:
    """Raises ValueError unless N >= 1, d >= 1, eps > 0 finite and 0 < delta < 1."""
    if N < 1 or d < 1 or not 0 < eps < math.inf or not 0 < delta < 1:
        raise ValueError(f"N={N}, d={d}, eps={eps}, delta={delta}: need N, d >= 1, eps > 0 and 0 < delta < 1")


def theorem6_schedule(N: int, d: int, eps: float, delta: float) -> Prescription:
    """T from T log2 T = eps N^2 / sqrt(d log(1 / delta)), alpha = eps N / (T log2 T sqrt(d log(1 / delta))).

    T is rounded. alpha is 1 / N identically, and the printed condition on eps is alpha <= 1. Refused when T < N: the
    count V of nodes that hold a record needs a whole epoch. Raises ValueError for an impossible problem.
    """
    from scipy.special import lambertw

    require_problem(N, d, eps, delta)
    scale = math.sqrt(d * math.log(1 / delta))
    # T = exp(W(C log 2)) for the right side C, W the Lambert function; it exceeds 1 for any C > 0
    log_exact = float(lambertw(eps * N**2 / scale * math.log(2)).real)
    exact = math.exp(log_exact)
    steps = max(1, round(exact))
    refused = "" if exact >= N else f"T = {exact:.3g} is less than one epoch of {N} records"
    alpha = eps * N / (exact * log_exact / math.log(2) * scale)
    return Prescription(steps, exact, alpha, 1 / math.sqrt(N * steps), 1.0, refused)


def theorem6_terms(
    N: int, d: int, eps: float, delta: float, steps: float, gap: float, G: float, L: float
) -> tuple[float, float, float, float, float, float]:
    """The printed terms: gap, L, noise (their common factor d^(1/4) / sqrt(eps N) applied), small L, sampling, start.

    `gap` is F(w_1) - inf F. The fourth divides by sqrt(eps N^(3/2)), as printed; its derivation gives
    sqrt(eps) N^(3/2). The first lacks the factor sqrt(log2 T) log(1 / delta)^(1/4) that 3 gap / (2 eta T) has, and the
    third is half of what the printed noise gives. Raises ValueError for steps < 2 and for an impossible problem.
    """
    require_problem(N, d, eps, delta)
    if steps < 2:
        raise ValueError(f"Theorem 6 takes the logarithm of T: it needs 2 steps, not {steps}")
    log_steps, log_delta = math.log2(steps), math.log(1 / delta)
    common = d**0.25 / math.sqrt(eps * N)
    return (
        1.5 * gap * common,
        6 * L * math.sqrt(log_steps * log_delta) * common,
        12 * G * math.sqrt(log_steps) * log_delta**0.25 * common,
        3 * L * (d * log_delta) ** 0.25 * math.sqrt(log_steps) / (4 * math.sqrt(eps * N**1.5)),
        6 * G / math.sqrt(N),
        6 * G * log_steps * math.sqrt(d * log_delta) / (eps * N),
    )


def theorem6_printed(N: int, d: int, eps: float, delta: float, steps: float, gap: float, G: float, L: float) -> float:
    """The printed upper bound on the mean over t of E |grad F(w_t)|: the sum of `theorem6_terms`."""
    return sum(theorem6_terms(N, d, eps, delta, steps, gap, G, L))


def theorem9_schedule(N: int, d: int, eps: float, delta: float) -> Prescription:
    """T = N^(7/3) eps^(4/3) d^(-2/3), alpha = N^(3/4) eps / (T^(3/4) sqrt d) = 1 / N, gamma = eta N = sqrt(N / T).

    T is rounded; delta plays no part. Refused when gamma > 1/2, that is T < 4 N or eps N < 2.83 sqrt d, which Lemma 7
    needs; the printed condition on eps is alpha <= 1. Raises ValueError for an impossible problem.
    """
    require_problem(N, d, eps, delta)
    exact = N ** (7 / 3) * eps ** (4 / 3) * d ** (-2 / 3)
    steps = max(1, round(exact))
    eta = 1 / math.sqrt(N * steps)
    # at gamma = 1/2 itself rounding must not refuse
    refused = "" if exact >= 4 * N * (1 - 1e-12) else f"gamma = {math.sqrt(N / exact):.3g} exceeds 1/2"
    return Prescription(steps, exact, N**0.75 * eps / (exact**0.75 * math.sqrt(d)), eta, eta * N, refused)


def theorem9_terms(
    N: int, d: int, eps: float, delta: float, steps: float, gap: float, G: float, L: float
) -> tuple[float, float, float, float]:
    """The printed terms: rate d^(1/3) / (eps N)^(2/3), sampling, first two epochs, residuals.

    `gap` is F(w_1) - inf F; K = 16 log2 T log(1 / delta). Raises ValueError for steps < 2 and an impossible problem.
    """
    require_problem(N, d, eps, delta)
    if steps < 2:
        raise ValueError(f"Theorem 9 takes the logarithm of T: it needs 2 steps, not {steps}")
    K = 16 * math.log2(steps) * math.log(1 / delta)
    root = math.sqrt(d) / (eps * N)
    return (
        (1.5 * gap + 24 * K * (G + 2 * L) + 12 * L) * d ** (1 / 3) / (eps * N) ** (2 / 3),
        6 * G / math.sqrt(N),
        36 * G * K * root,
        9 * K * L * root,
    )


def theorem9_printed(N: int, d: int, eps: float, delta: float, steps: float, gap: float, G: float, L: float) -> float:
    """The printed upper bound on the mean over t of E |grad F(w_t)|: the sum of `theorem9_terms`."""
    return sum(theorem9_terms(N, d, eps, delta, steps, gap, G, L))


def lemma5_printed(gap: float, error: float, eta: float, steps: int, L: float) -> float:
    """3 gap / (2 eta T) + 3 L eta / 4 + 3 error, as printed. Raises ValueError unless eta > 0 and steps >= 1."""
    return 1.5 * lemma5_sharp(gap, error, eta, steps, L)


def lemma5_sharp(gap: float, error: float, eta: float, steps: int, L: float) -> float:
    """gap / (eta T) + L eta / 2 + 2 error: the printed constants divided by 3/2.

    Raises ValueError unless eta > 0 and steps >= 1.
    """
    if eta <= 0 or steps < 1:
        raise ValueError(f"eta={eta}, steps={steps}: need eta > 0 and at least one step")
    # from F(w_{t+1}) <= F(w_t) - eta <grad, m> / |m| + L eta^2 / 2 and, for any two vectors, <grad, m> / |m|
    # = |m| - <m - grad, m> / |m| >= |m| - |m - grad| >= |grad| - 2 |m - grad|
    return gap / (eta * steps) + L * eta / 2 + 2 * error


def lemma7_terms(
    N: int, d: int, eps: float, delta: float, steps: float, alpha: float, eta: float, G: float, L: float
) -> tuple[float, float, float]:
    """The three terms of the printed bound on E |m_hat_t - m_t|, in units of a gradient.

    In order: the first two epochs, the later epochs with gamma = eta N, and the residuals within an epoch. Valid with
    node sensitivities 4 L eta N, not with the printed 2 eta N. Assumes alpha >= 1 / N and gamma <= 1/2. Raises
    ValueError for steps < 2 and for an impossible problem.
    """
    require_problem(N, d, eps, delta)
    if steps < 2:
        raise ValueError(f"Lemma 7 takes the logarithm of T: it needs 2 steps, not {steps}")
    log_steps, log_delta = math.log2(steps), math.log(1 / delta)
    first = 192 * G * alpha * log_steps * math.sqrt(d * log_delta) / eps
    later = 128 * (G + 2 * L) * alpha * math.sqrt(eta * d * steps * log_delta) * log_steps / eps
    within = 16 * eta * L * alpha * log_steps * math.sqrt(3 * d * steps * N * log_delta) / eps
    return first, later, within


def lemma7_printed(
    N: int, d: int, eps: float, delta: float, steps: float, alpha: float, eta: float, G: float, L: float
) -> float:
    """Upper bound on E |m_hat_t - m_t| for every t: the sum of `lemma7_terms`."""
    return sum(lemma7_terms(N, d, eps, delta, steps, alpha, eta, G, L))


def theorem4_rdp(sigma: float, order: float) -> float:
    """Renyi divergence of the given order: order / (2 sigma^2), that of 1 / sigma-GDP."""
    return order / (2 * sigma**2)


def theorem4_sigma(eps: float, delta: float) -> float:
    """The printed sigma = 2 sqrt(log(1 / delta)) / eps. Raises ValueError unless eps > 0 and 0 < delta < 1."""
    return 2 * math.sqrt(_log_inverse(eps, delta)) / eps


def theorem4_sigma_best_order(eps: float, delta: float) -> float:
    """The smallest sigma that eps = rdp(z) + log(1 / delta) / (z - 1) (Mironov, 2017) yields, over all orders z."""
    # the best order gives c / 2 + sqrt(2 c log(1 / delta)) for rdp(z) = c z / 2, hence
    # sqrt(c) = sqrt(2 log(1 / delta) + 2 eps) - sqrt(2 log(1 / delta)) and sigma = 1 / sqrt(c)
    log_inverse = _log_inverse(eps, delta)
    return (math.sqrt(2 * log_inverse + 2 * eps) + math.sqrt(2 * log_inverse)) / (2 * eps)


def _log_inverse(eps: float, delta: float) -> float:
    if not eps > 0 or not 0 < delta < 1:
        raise ValueError(f"eps={eps}, delta={delta}: need eps > 0 and 0 < delta < 1")
    return -math.log(delta)


def theorem8_rdp(sigma: float, order: float) -> float:
    """Renyi divergence of the given order: 3 order / (2 sigma^2), that of sqrt(3) / sigma-GDP."""
    return 3 * theorem4_rdp(sigma, order)


def theorem8_sigma(eps: float, delta: float) -> float:
    """The printed sigma = 4 sqrt(log(1 / delta)) / eps. Raises ValueError unless eps > 0 and 0 < delta < 1."""
    return 2 * theorem4_sigma(eps, delta)


def theorem8_sigma_best_order(eps: float, delta: float) -> float:
    """The smallest sigma that Mironov's conversion yields, over all orders: sqrt(3) times that of Theorem 4."""
    return math.sqrt(3) * theorem4_sigma_best_order(eps, delta)
