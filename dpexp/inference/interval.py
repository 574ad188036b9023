"""What every method of the ledger returns."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np


class Interval(NamedTuple):
    """Estimates and intervals of eight replicates."""

    estimate: np.ndarray
    """[8, p]"""
    low: np.ndarray
    """[8, p]"""
    high: np.ndarray
    """[8, p]"""


def symmetric_interval(estimate: np.ndarray, half: np.ndarray) -> Interval:
    """estimate +- half, [8, p] both."""
    return Interval(estimate, estimate - half, estimate + half)
