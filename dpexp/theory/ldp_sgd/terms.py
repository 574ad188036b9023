"""What the bounds of `ldp-sgd` are written with: psi, sums of powers, moments of noisy gradients; Theorems 1 and 2."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import ArrayLike


def theorem1(mus: Sequence[float]) -> float:
    """GDP parameter of the iterate theta_i after users with budgets `mus`: the largest of them.

    User k alone has mu_k-GDP: its message is mu_k-GDP given the past and all that follows is post-processing, so this
    holds for the whole transcript. Raises ValueError without a user.
    """
    # parallel composition: each user sends one message
    return max(mus)


def theorem2(mus: Sequence[float]) -> float:
    """GDP parameter of the average of theta_1, ..., theta_n: that of the transcript it is computed from."""
    return theorem1(mus)


def printed_noise(gradient_bound: float, p: int, min_mu: float) -> float:
    """sigma~_mu^2 = C0^2 (1 + 64 d / min mu^2), d = p parameters; inf adds nothing (`ldp-sgd`, Theorem 4)."""
    return gradient_bound**2 * (1 + 64 * p / min_mu**2)


def second_moment(gradient_bound: float, p: int, sensitivity: float, mean_inverse_square: float) -> float:
    """C0^2 + p Delta^2 E[1 / mu^2], which bounds E|g + noise|^2 because the noise is independent of the gradient.

    With Delta = 2 C0 this is C0^2 (1 + 4 p / mu^2): the printed 64 is 16 times what is needed.
    """
    return gradient_bound**2 + p * sensitivity**2 * mean_inverse_square


def fourth_moment(gradient_bound: float, p: int, noise_variance: float) -> float:
    """C0^4 + C0^2 (2 p + 4) s^2 + p (p + 2) s^4 bounds E|g + s omega|^4, s^2 = `noise_variance` = (Delta / mu)^2."""
    # odd powers of the noise vanish; E (g'omega)^2 = |g|^2 has the factor 4, and E|omega|^2 = p the factor 2
    return gradient_bound**4 + gradient_bound**2 * (2 * p + 4) * noise_variance + p * (p + 2) * noise_variance**2


def psi(beta: float, t: ArrayLike) -> np.ndarray:
    """psi_beta(t) = (t^beta - 1) / beta for t > 0, continuous in beta: log t at beta = 0 (`ldp-sgd`, section 4.1).

    The printed definition leaves beta = 0 out. Shape of t; raises ValueError for t <= 0.
    """
    t = np.asarray(t, dtype=np.float64)
    if not np.all(t > 0):
        raise ValueError(f"t must be positive, not {t.min()}")
    # expm1 keeps the digits of a small beta
    log_t = np.log(t)
    return log_t if abs(beta) < 1e-12 else np.expm1(beta * log_t) / beta


def power_sum(exponent: float, steps: np.ndarray) -> np.ndarray:
    """A_s(n) = 1 + 2^-s + ... + n^-s at every n of `steps` [K] (whole numbers >= 0, in any order), s = `exponent`."""
    steps = np.asarray(steps, dtype=np.int64)
    sums, total, low = np.empty(len(steps)), 0.0, 0
    # one pass over all terms, of which a million are in memory at a time
    for position in np.argsort(steps):
        for first in range(low + 1, int(steps[position]) + 1, 1 << 20):
            last = min(first + (1 << 20) - 1, int(steps[position]))
            total += float(np.sum(np.arange(first, last + 1, dtype=np.float64) ** -exponent))
        low = int(steps[position])
        sums[position] = total
    return sums
