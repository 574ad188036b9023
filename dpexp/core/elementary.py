"""Exponentials and logarithms of arrays, with the same bits on every machine.

numpy has several versions of these functions and takes the one that suits the processor; they differ in the last bit.
Those of `math` are those of the system's library, which has one for every processor of the last ten years. They take
50 ns for a number, so they are for thousands of numbers, not for the steps of a run.
"""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike


def _of_each(function: Callable[[float], float], values: ArrayLike) -> np.ndarray:
    array = np.asarray(values, dtype=np.float64)
    return np.array([function(v) for v in array.ravel().tolist()]).reshape(array.shape)


def exp(values: ArrayLike) -> np.ndarray:
    """Exponential of every value; inf beyond 709."""
    return _of_each(lambda v: math.exp(v) if not v > _LARGEST else math.inf, values)


_LARGEST = 709.78271289338397
"""the logarithm of the largest float"""


def log(values: ArrayLike) -> np.ndarray:
    """Natural logarithm of every value; -inf at 0, and NaN below."""
    return _of_each(lambda v: math.log(v) if v > 0 else _at_the_edge(v, 0.0), values)


def log1p(values: ArrayLike) -> np.ndarray:
    """Logarithm of 1 plus every value; -inf at -1, and NaN below."""
    return _of_each(lambda v: math.log1p(v) if v > -1 else _at_the_edge(v, -1.0), values)


def _at_the_edge(value: float, edge: float) -> float:
    return -math.inf if value == edge else math.nan
