"""Weights of rows that plug-ins bring: what a user multiplies its gradient by, as a function of |x|^2 alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from dpexp.core.parameters import Parameters, Registry


class Weight(Parameters):
    """A weight between 0 and 1; its other fields are what `weights: {NAME: {...}}` of a population can set."""

    name: str
    weight: ClassVar[Callable[..., Any]]
    """weight(norm_sq, k) -> w(x), static, in the rule language: |x|^2 counts the leading 1, k are the numbers"""

    def numbers(self) -> tuple[float, ...]:
        """The numbers k."""
        return ()

    def reach(self) -> float:
        """sup |w(x) x|, from which sensitivities follow; inf: not known, so that no finite budget is taken."""
        return math.inf

    def across(self) -> float:
        """sup |w(x) x - w(x') x'|, x and x' with a leading 1."""
        return 2 * self.reach()

    def of(self, norm_sq: np.ndarray) -> np.ndarray:
        """w of rows of these squared lengths, same shape."""
        return np.asarray(type(self).weight(norm_sq, np.array(self.numbers())))


WEIGHTS: Registry[type[Weight]] = Registry("weight", {})
OURS = ("mallows", "none")


def named_weight(value: object) -> Weight:
    """The weight that a word, `{name: NAME, ...}` or `{NAME: {...}}` names. Raises ValueError."""
    if isinstance(value, Weight):
        return value
    name, given = value, {}
    if isinstance(value, Mapping) and "name" in value:
        name, given = value["name"], dict(value)
    elif isinstance(value, Mapping) and len(value) == 1:
        name, given = next(iter(value.items()))
    if not isinstance(name, str) or name not in WEIGHTS:
        raise ValueError(f"unknown weight {name!r}; weights: {', '.join([*OURS, *WEIGHTS])}")
    return WEIGHTS[name].model_validate(given, strict=True)
