"""What a statement of a paper is, so that figures, claims and tests can treat all of them alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np


@dataclass(frozen=True)
class Theorem:
    """One statement as a pure function of plain numbers, with what it bounds and when it may be trusted."""

    paper: str
    place: str
    form: Literal["printed", "completed"]
    """`printed` follows the text to the letter; `completed` repairs what is undefined, cut off or does not follow"""
    kind: Literal["upper", "rate", "tight", "asymptote", "prediction", "guarantee"]
    quantity: str
    """the metric it speaks of: param_distance_sq, loss_gap, gdp_mu or exponent"""
    estimator: str
    """sgd, asgd or both"""
    assumes: tuple[str, ...]
    valid: str
    """range of alpha and of anything else"""
    function: Callable[..., Any]

    def __call__(self, constants: Mapping[str, Any]) -> np.ndarray:
        """The function at those of the constants that it asks for. Raises KeyError for one that is not there."""
        return self.function(**{name: constants[name] for name in inspect.signature(self.function).parameters})
