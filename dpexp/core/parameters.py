"""What a name in a config or on the command line can mean, and the common base of these values."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, WithJsonSchema
from pydantic_core import PydanticCustomError
from pydantic_core.core_schema import no_info_after_validator_function

from dpexp.core.errors import UsageError

if TYPE_CHECKING:
    from pydantic import GetCoreSchemaHandler, GetJsonSchemaHandler
    from pydantic_core.core_schema import CoreSchema

T = TypeVar("T")
BUILT_IN = "dpexp itself"
"""where a name comes from that no plug-in adds"""


class Registry(dict[str, T]):
    """Names, which plug-ins may add to, and what they mean; `kind` says of what. No name is replaced silently."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.kind = kind
        self.sources: dict[str, str] = {}
        """`file:line` in a plug-in, for the names that are not built in"""

    def add(self, name: str, value: T, source: str) -> None:
        """Add a name; `source` is where a plug-in defines it, `file:line`. Raises UsageError for one that is there."""
        if name in self:
            message = f"{source}: {self.kind} '{name}' is already defined by {self.source(name)}"
            raise UsageError(message, "give it another name")
        self[name] = value
        if source != BUILT_IN:
            self.sources[name] = source

    def source(self, name: str) -> str:
        """Where a name comes from."""
        return self.sources.get(name, BUILT_IN)

    def words(self) -> list[str]:
        """The names as messages and lists show them: behind those of plug-ins, which file they come from."""
        return [f"{name} (from {self.sources[name]})" if name in self.sources else name for name in self]

    def remove(self, name: str) -> None:
        """Take out what a plug-in added."""
        del self.sources[name]
        del self[name]


class Parameters(BaseModel):
    """Frozen parameters of a problem, algorithm, schedule, budget or run; equal parameters are equal values."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=True, validate_default=True, defer_build=True
    )


def integral(value: Any) -> Any:
    """Accept 3e5 where an integer is wanted (YAML writes it as a float), and nothing else that is not an integer."""
    return int(value) if isinstance(value, float) and value.is_integer() else value


# Every number has a range in which products of a few of them neither overflow nor vanish in float64: a setting that is
# accepted is one that can be computed. Whether memory and time suffice is the question of `dpexp.config.resources`.
Count = Annotated[int, Field(ge=1, le=10**12), BeforeValidator(integral)]
RecordCount = Annotated[int, Field(ge=1, le=10**9), BeforeValidator(integral)]
Dimension = Annotated[int, Field(ge=1, le=10**6), BeforeValidator(integral)]
Replicates = Annotated[int, Field(ge=1, le=10**6), BeforeValidator(integral)]
Checkpoints = Annotated[int, Field(ge=1, le=10**5), BeforeValidator(integral)]
Positive = Annotated[float, Field(ge=1e-6, le=1e6, allow_inf_nan=False)]
StepSize = Annotated[float, Field(ge=1e-9, le=1e30, allow_inf_nan=False)]
Share = Annotated[float, Field(ge=1e-9, le=1)]
Finite = Annotated[float, Field(ge=-1e6, le=1e6, allow_inf_nan=False)]
Seed = Annotated[int, Field(ge=0, lt=2**63), BeforeValidator(integral)]
Words = Annotated[
    tuple[str, ...],
    BeforeValidator(lambda value: (value,) if isinstance(value, str) else value),
    WithJsonSchema({"anyOf": [{"type": "string"}, {"type": "array", "items": {"type": "string"}}]}),
]


class OrInfinite(NamedTuple):
    """Of a number that may be inf but, where it is finite, is at most `le`."""

    le: float

    def __get_pydantic_core_schema__(self, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        def check(value: float) -> float:
            if self.le < value < math.inf:
                raise PydanticCustomError("too_large", "must be at most {limit}, or inf", {"limit": f"{self.le:g}"})
            return value

        return no_info_after_validator_function(check, handler(source))

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        return {**handler(schema), "maximum": self.le, "or_infinite": True}


class Fault(NamedTuple):
    """A mistake in a value that has keys, where no single key is wrong by itself."""

    keys: tuple[str | int, ...]
    message: str
    """after the name of the place"""
    hint: str = ""


class Faults(ValueError):
    """All mistakes in a value, by a validator of its class."""

    def __init__(self, faults: list[Fault]) -> None:
        super().__init__("; ".join(f"{'.'.join(map(str, fault.keys))} {fault.message}" for fault in faults))
        self.faults = faults
