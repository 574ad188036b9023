"""Lemmas 5 and 7 of `momentum`: what a normalised step gains, and the noise of Algorithm 2's estimate."""

from __future__ import annotations

import math

from dpexp.theory.momentum.schedules import require_problem


def lemma5_printed(gap: float, error: float, eta: float, steps: int, L: float) -> float:
    """3 gap / (2 eta T) + 3 L eta / 4 + 3 error, as printed. Raises ValueError unless eta > 0 and steps >= 1."""
    return 1.5 * lemma5_sharp(gap, error, eta, steps, L)


def lemma5_sharp(gap: float, error: float, eta: float, steps: int, L: float) -> float:
    """gap / (eta T) + L eta / 2 + 2 error: the printed constants divided by 3/2.

    From F(w_{t+1}) <= F(w_t) - eta <grad, m> / |m| + L eta^2 / 2 and, for any two vectors, <grad, m> / |m|
    = |m| - <m - grad, m> / |m| >= |m| - |m - grad| >= |grad| - 2 |m - grad|. Raises ValueError unless eta > 0 and
    steps >= 1.
    """
    if eta <= 0 or steps < 1:
        raise ValueError(f"eta={eta}, steps={steps}: need eta > 0 and at least one step")
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
