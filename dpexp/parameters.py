"""The common base of everything a config file can name: frozen, validated, no unknown keys."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field


class Parameters(BaseModel):
    """Frozen parameters of a problem, algorithm, schedule, budget or run; equal parameters are equal values."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, allow_inf_nan=True)


def _integral(value: Any) -> Any:
    """Accept 3e5 where an integer is wanted (YAML writes it as a float), and nothing else that is not an integer."""
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return value


Count = Annotated[int, BeforeValidator(_integral), Field(ge=1)]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Finite = Annotated[float, Field(allow_inf_nan=False)]
Seed = Annotated[int, BeforeValidator(_integral), Field(ge=0, lt=2**63)]
