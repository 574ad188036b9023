"""What a statement of a paper is, so that figures, claims and tests can treat all of them alike."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Theorem:
    """One statement as a pure function of plain numbers, with what it bounds and when it may be trusted."""

    paper: str
    place: str
    form: Literal["printed", "completed"]
    """`printed` follows the text to the letter; `completed` repairs what is undefined, cut off or does not follow"""
    kind: Literal["upper", "rate", "tight", "asymptote", "prediction", "guarantee", "prescription"]
    """`guarantee` bounds a privacy loss; `prescription` sets noise, steps or a schedule"""
    quantity: str
    """what the number is, by the name of the metric where it is one: loss_gap, gdp_mu, rdp, noise_multiplier, ..."""
    estimator: str
    """whose: an estimator of an algorithm (sgd, asgd, last), both of `ldp-sgd`, or the mean over all iterates"""
    assumes: tuple[str, ...]
    valid: str
    """range of alpha and of anything else"""
    function: Callable[..., Any]

    def __call__(self, constants: Mapping[str, Any]) -> Any:
        """The function at those of the constants that it asks for. Raises KeyError for one that is not there."""
        parameters = inspect.signature(self.function).parameters.values()
        # a parameter with a default is left at it: it chooses a form of the statement, which is none of the constants
        return self.function(**{p.name: constants[p.name] for p in parameters if p.default is p.empty})
