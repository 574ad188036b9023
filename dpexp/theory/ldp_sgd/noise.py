"""Second moments of a user's noisy gradient g + (Delta / mu) omega, omega ~ N(0, I_p)."""

from __future__ import annotations


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
    return gradient_bound**4 + gradient_bound**2 * (2 * p + 4) * noise_variance + p * (p + 2) * noise_variance**2
