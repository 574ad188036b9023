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


def logistic(a: Value) -> Value:
    """1 / (1 + exp(-a)), elementwise, without overflow."""
    return 1.0 / (1.0 + np.exp(-np.clip(a, -700.0, 700.0)))
