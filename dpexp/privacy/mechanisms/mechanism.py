"""What every mechanism is: a frozen value with a noise to calibrate and the analyses that apply to it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, ClassVar

from pydantic import BeforeValidator, Field

from dpexp.core.parameters import Parameters
from dpexp.privacy.analyses.analysis import Analysis, Relation

if TYPE_CHECKING:
    from dpexp.privacy.attained.lower_bounds import LowerBound


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Steps = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Records = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
Noise = Annotated[float, Field(ge=0)]
Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Length = Annotated[float, Field(gt=0)]
Curvature = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class Mechanism(Parameters):
    """A mechanism with explicit adjacency, sampling and noise convention."""

    noise_field: ClassVar[str]
    """the parameter that `dpexp calibrate` solves for"""
    more_noise_is_larger: ClassVar[bool] = True
    noise_for_all_steps: ClassVar[bool] = False
    """whether the noise is that of a whole run, split among its steps: more steps then cost nothing more"""
    neighboring_relation: Relation = "replace-one"

    @property
    def scheme(self) -> str:
        """How records meet the steps; a mechanism with a parameter `sampling` says that."""
        return "every record once"

    def analyses(self) -> list[Analysis]:
        """Every analysis of this mechanism, refused ones included with their reason."""
        raise NotImplementedError

    def lower_bounds(self) -> list[LowerBound]:
        """What pairs of neighbours attain, where that is known exactly."""
        return []

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
        raise NotImplementedError
