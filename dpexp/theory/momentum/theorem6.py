"""Theorem 6 of `momentum`: the schedule of Algorithm 1 and the gradient norm that it guarantees."""

from __future__ import annotations

import math

from dpexp.theory.momentum.prescription import Prescription, require_problem


def theorem6_schedule(N: int, d: int, eps: float, delta: float) -> Prescription:
    """T from T log2 T = eps N^2 / sqrt(d log(1 / delta)), alpha = eps N / (T log2 T sqrt(d log(1 / delta))).

    T = exp(W(C log 2)) for the right side C, W the Lambert function; it exceeds 1 for any C > 0 and is rounded.
    alpha is 1 / N identically, and the printed condition on eps is alpha <= 1. Refused when T < N: the count V of
    nodes that hold a record needs a whole epoch. Raises ValueError for an impossible problem.
    """
    from scipy.special import lambertw

    require_problem(N, d, eps, delta)
    scale = math.sqrt(d * math.log(1 / delta))
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
