"""Weights of rows: what a user multiplies its gradient by, as a function of |x|^2 alone; also those of plug-ins."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.core.parameters import Parameters, Registry
from dpexp.engine.lanes.elementwise import Value, minimum

WEIGHT_CAP = 2.0
"""c of w(x) = min(1, c / |x|^2) where a population says nothing else"""


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


class MallowsWeight(Weight):
    """w(x) = min(1, cap / |x|^2), which de-weights outlying rows; the cap is at least that of the intercept alone."""

    name: Literal["mallows"] = Field("mallows", exclude=True)
    cap: Annotated[float, Field(ge=1, le=1e6)] = WEIGHT_CAP

    def numbers(self) -> tuple[float, ...]:
        return (self.cap,)

    def reach(self) -> float:
        return math.sqrt(self.cap)

    def across(self) -> float:
        # for c <= 2 {w x} fills a disc of diameter c; else (1, z) and (1, -z) are farthest apart
        return self.cap if self.cap < 2 else 2 * math.sqrt(self.cap - 1)

    @staticmethod
    def weight(norm_sq: Value, k: np.ndarray) -> Value:
        return minimum(1.0, k[0] / norm_sq)


class NoWeight(Weight):
    """w(x) = 1 of rows with bounds of |x|, and of |x - x'| and |x + x'| for different ones; inf where there is none."""

    name: Literal["none"] = "none"
    row: float = math.inf
    apart: float = math.inf
    together: float = math.inf

    def numbers(self) -> tuple[float, ...]:
        return (math.inf,)

    def reach(self) -> float:
        return self.row

    def across(self) -> float:
        return self.apart

    @staticmethod
    def weight(norm_sq: Value, k: np.ndarray) -> Value:
        return 1.0


WEIGHTS: Registry[type[Weight]] = Registry("weight", {})
OURS = ("mallows", "none")


def named_weight(value: object) -> Weight:
    """The weight that a word, `{name: NAME, ...}` or `{NAME: {...}}` names. Raises ValueError."""
    if isinstance(value, Weight):
        return value
    name, fields = value, {}
    if isinstance(value, Mapping) and "name" in value:
        name, fields = value["name"], dict(value)
    elif isinstance(value, Mapping) and len(value) == 1:
        name, fields = next(iter(value.items()))
    if not isinstance(name, str) or name not in WEIGHTS:
        raise ValueError(f"unknown weight {name!r}; weights: {', '.join([*OURS, *WEIGHTS])}")
    return WEIGHTS[name].model_validate(fields, strict=True)
