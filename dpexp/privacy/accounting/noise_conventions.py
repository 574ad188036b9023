"""The noise conventions of the papers, and how one is turned into another.

All steps are w <- Proj(w - eta G + noise) with an averaged gradient G and Gaussian noise on every coordinate. The noise
is given as a standard deviation on the gradient (`noisy-sgd`: w - eta (G + N(0, sigma^2))), on the parameter
(`hidden-state`) or as the sigma of a Langevin step (`dp-sgld`: sqrt(2 eta) sigma on the parameter).
"""

from __future__ import annotations

import math


def parameter_noise(gradient_noise: float, step_size: float) -> float:
    """Standard deviation on the parameter of noise on the gradient: eta sigma. `noisy-sgd`, footnote 4."""
    return _positive(step_size) * gradient_noise


def gradient_noise(parameter_noise: float, step_size: float) -> float:
    """Standard deviation on the gradient of noise on the parameter: the inverse of `parameter_noise`."""
    return parameter_noise / _positive(step_size)


def langevin_gradient_noise(sigma: float, step_size: float) -> float:
    """Deviation on the gradient of a Langevin step's sigma: sqrt(2 eta) sigma / eta (`dp-sgld`, Algorithm 1)."""
    return math.sqrt(2 / _positive(step_size)) * sigma


def _positive(step_size: float) -> float:
    """Raises ValueError where there is no step."""
    if not step_size > 0:
        raise ValueError(f"the step size is positive, not {step_size}")
    return step_size
