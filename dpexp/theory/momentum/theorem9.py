"""Theorem 9 of `momentum`: the schedule of Algorithm 2 and the gradient norm that it guarantees."""

from __future__ import annotations

import math

from dpexp.theory.momentum.prescription import Prescription, require_problem


def theorem9_schedule(N: int, d: int, eps: float, delta: float) -> Prescription:
    """T = N^(7/3) eps^(4/3) d^(-2/3), alpha = N^(3/4) eps / (T^(3/4) sqrt d) = 1 / N, gamma = eta N = sqrt(N / T).

    T is rounded; delta plays no part. Refused when gamma > 1/2, that is T < 4 N or eps N < 2.83 sqrt d, which Lemma 7
    needs; the printed condition on eps is alpha <= 1. Raises ValueError for an impossible problem.
    """
    require_problem(N, d, eps, delta)
    exact = N ** (7 / 3) * eps ** (4 / 3) * d ** (-2 / 3)
    steps = max(1, round(exact))
    eta = 1 / math.sqrt(N * steps)
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
