"""Elementary functions in which scores and updates are written.

Called from Python they act on numbers and numpy arrays; `engine.lanes` gives the same names a meaning for lanes of
replicates inside compiled code, so that one source serves the kernel and the check on it.
"""

from __future__ import annotations

from typing import Any

import numpy as np

Value = Any
"""A number, a numpy array, or, inside compiled code, lanes of replicates."""


def minimum(a: Value, b: Value) -> Value:
    """Smaller of a and b, elementwise."""
    return np.minimum(a, b)


def maximum(a: Value, b: Value) -> Value:
    """Larger of a and b, elementwise."""
    return np.maximum(a, b)


def where(condition: Value, a: Value, b: Value) -> Value:
    """A where the condition holds, else b, elementwise."""
    return np.where(condition, a, b)


def sqrt(a: Value) -> Value:
    """Square root, elementwise."""
    return np.sqrt(a)


def exp(a: Value) -> Value:
    """Exponential, elementwise, of arguments clipped to [-708, 708]."""
    return np.exp(np.clip(a, -708.0, 708.0))


def log(a: Value) -> Value:
    """Natural logarithm, elementwise; -inf of 0, NaN of what is negative."""
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(a)


def expm1(a: Value) -> Value:
    """exp(a) - 1, elementwise, without cancellation, of arguments clipped to [-708, 708]."""
    return np.expm1(np.clip(a, -708.0, 708.0))


def absolute(a: Value) -> Value:
    """Absolute value, elementwise."""
    return np.abs(a)


def logistic(a: Value) -> Value:
    """1 / (1 + exp(-a)), elementwise, without overflow."""
    return 1.0 / (1.0 + exp(-a))


def softplus(a: Value) -> Value:
    """log(1 + exp(a)), elementwise, without overflow."""
    return np.maximum(a, 0.0) + np.log1p(exp(-np.abs(a)))


def normal_density(a: Value) -> Value:
    """Density of the standard normal law, elementwise."""
    return 0.3989422804014327 * exp(-0.5 * a * a)


def normal_cdf(a: Value) -> Value:
    """Distribution function of the standard normal law, elementwise."""
    from scipy.special import ndtr

    return ndtr(a)


def normal_square_below(a: Value) -> Value:
    """E[(a - Z)^2; Z < a] = (a^2 + 1) Phi(a) + a phi(a) for a standard normal Z, elementwise."""
    return (a * a + 1.0) * normal_cdf(a) + a * normal_density(a)
