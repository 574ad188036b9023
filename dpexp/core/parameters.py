"""The common base of everything a config file can name: frozen, validated, no unknown keys."""

from __future__ import annotations

import math
from typing import Annotated, Any, Protocol

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field
from pydantic_core import PydanticCustomError


class Parameters(BaseModel):
    """Frozen parameters of a problem, algorithm, schedule, budget or run; equal parameters are equal values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=True, validate_default=True)


class Named(Protocol):
    """A value that a config names. It is frozen and inherits from `Parameters`."""

    @property
    def name(self) -> str:
        """What the config calls it."""

    def model_dump(self, *, exclude_defaults: bool = False) -> dict[str, Any]:
        """Its parameters by name, or those alone that differ from their defaults. `Parameters` has it."""


def integral(value: Any) -> Any:
    """Accept 3e5 where an integer is wanted (YAML writes it as a float), and nothing else that is not an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


# Every number has a range in which squares, fourth powers and products of a few of them neither overflow nor vanish in
# float64 (1e-308 to 1e308): a setting that is accepted is one that can be computed. Whether memory and time suffice is
# the question of `dpexp.config.resources`; these ends only keep absurd sizes away from it.
Count = Annotated[int, BeforeValidator(integral), Field(ge=1, le=10**12)]
"""steps, users or epochs: 10^12 steps of the fastest algorithm take an hour of every replicate"""
RecordCount = Annotated[int, BeforeValidator(integral), Field(ge=1, le=10**9)]
Dimension = Annotated[int, BeforeValidator(integral), Field(ge=1, le=10**6)]
Replicates = Annotated[int, BeforeValidator(integral), Field(ge=1, le=10**6)]
Checkpoints = Annotated[int, BeforeValidator(integral), Field(ge=1, le=10**5)]
Positive = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]
"""a scale, a width, a constant of a loss: twelve orders of magnitude around 1"""
StepSize = Annotated[float, Field(ge=1e-9, le=1e30, allow_inf_nan=False)]
"""far beyond where a run diverges, which is a result"""
Share = Annotated[float, Field(ge=1e-9, le=1)]
"""a weight or a rate: a part of 1"""
Finite = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Seed = Annotated[int, BeforeValidator(integral), Field(ge=0, lt=2**63)]


class OrInfinite:
    """A check for a number that may be inf but, where it is finite, is at most `le`."""

    def __init__(self, le: float) -> None:
        self.le_or_inf = le

    def __call__(self, value: float) -> float:
        if self.le_or_inf < value < math.inf:
            raise PydanticCustomError("too_large", "must be at most {most}, or inf", {"most": f"{self.le_or_inf:g}"})
        return value
