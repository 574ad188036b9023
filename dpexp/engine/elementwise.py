"""Elementary functions in which scores and updates are written.

Called from Python they act on numbers and numpy arrays; `engine.lanes` gives the same names a meaning for lanes of
replicates inside compiled code, so that one source serves the kernel and the check on it.
"""

from __future__ import annotations

import numpy as np


def minimum(a, b):  # type: ignore[no-untyped-def]
    """Smaller of a and b, elementwise."""
    return np.minimum(a, b)


def maximum(a, b):  # type: ignore[no-untyped-def]
    """Larger of a and b, elementwise."""
    return np.maximum(a, b)


def where(condition, a, b):  # type: ignore[no-untyped-def]
    """A where the condition holds, else b, elementwise."""
    return np.where(condition, a, b)


def sqrt(a):  # type: ignore[no-untyped-def]
    """Square root, elementwise."""
    return np.sqrt(a)


def logistic(a):  # type: ignore[no-untyped-def]
    """1 / (1 + exp(-a)), elementwise, without overflow."""
    return 1.0 / (1.0 + np.exp(-np.clip(a, -700.0, 700.0)))
