"""What every mechanism is: a frozen value with a noise to calibrate and the analyses that apply to it.

The noise conventions of the papers, and how one is turned into another: all steps are w <- Proj(w - eta G + noise)
with an averaged gradient G and Gaussian noise on every coordinate. The noise is given as a standard deviation on the
gradient (`noisy-sgd`: w - eta (G + N(0, sigma^2))), on the parameter (`hidden-state`) or as the sigma of a Langevin
step (`dp-sgld`: sqrt(2 eta) sigma on the parameter).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, ClassVar, Protocol, Union, get_args, get_origin

from pydantic import BeforeValidator, Field

from dpexp.accounting.pairs import Relation
from dpexp.core.errors import NoSuchAnalysis
from dpexp.core.parameters import Parameters, integral
from dpexp.privacy.analyses.analysis import Analysis

Steps = Annotated[int, BeforeValidator(integral), Field(ge=0)]
Records = Annotated[int, BeforeValidator(integral), Field(ge=1)]
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
    drawn: ClassVar[str] = "every record once"
    """how records meet the steps, where there is no parameter `sampling`"""
    seen: ClassVar[str] = ""
    """what an attacker sees, where it is not all iterates"""
    neighboring_relation: Relation = "replace-one"

    @classmethod
    def solved(cls, values: Mapping[str, Any]) -> str:
        """The parameter that `dpexp calibrate` solves for, of one with these other parameters."""
        return cls.noise_field

    @classmethod
    def types(cls, name: str) -> set[object]:
        """What a parameter can be: int, float, tuple, None and so on; nothing where there is no such parameter."""
        field = cls.model_fields.get(name)
        return _types(field.annotation) if field else set()

    @property
    def scheme(self) -> str:
        """How records meet the steps."""
        return str(getattr(self, "sampling", self.drawn))

    def upper_bounds(self) -> list[Analysis]:
        """Every analysis of this mechanism, refused ones included with their reason: curves from above."""
        raise NotImplementedError

    def lower_bounds(self) -> list[Analysis]:
        """What pairs of neighbours attain, where that is known exactly: curves from below."""
        return []

    def description(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
        raise NotImplementedError


def _types(annotation: object) -> set[object]:
    """The types of an annotation: of a union each, of tuple[float, ...] the tuple."""
    if get_origin(annotation) in (Annotated, Union, UnionType):
        first = get_args(annotation)[: 1 if get_origin(annotation) is Annotated else None]
        return set().union(*map(_types, first))
    return {get_origin(annotation) or annotation}


def about_sums(relation: str, drawn: str, multiplier: float | str, steps: int, ends: str = "") -> list[tuple[str, str]]:
    """The description of noisy sums that are all released: how batches are drawn, and noise over one norm."""
    noise = multiplier if isinstance(multiplier, str) else f"{multiplier:g}"
    return [
        ("Protected", f"every record against who sees the releases; neighbours: {relation}"),
        ("Sampling", drawn),
        ("Noise", f"{noise} times one record's largest norm, on every coordinate"),
        ("Released", f"all {steps:,} noisy sums, and therefore every iterate and average{ends}"),
    ]


def langevin_gradient_noise(sigma: float, step_size: float) -> float:
    """Deviation on the gradient of a Langevin step's sigma: sqrt(2 eta) sigma / eta (`dp-sgld`, Algorithm 1)."""
    return math.sqrt(2 / step_size) * sigma


class Released(Protocol):
    """What an algorithm's run releases, as the store and a privacy statement need it."""

    @property
    def neighboring_relation(self) -> str: ...

    @property
    def sampling(self) -> str:
        """How records meet the steps."""

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns of cells.parquet: the noise, epsilon at each delta, and by which analysis."""

    def upper_bounds(self) -> Sequence[Analysis]: ...

    def lower_bounds(self) -> Sequence[Analysis]: ...

    def description(self) -> list[tuple[str, str]]: ...


@dataclass(frozen=True)
class Stated:
    """A mechanism, its name in MECHANISMS, and the analysis that a row of cells.parquet states.

    `accountant` is the name of one of the mechanism's analyses. `label` names it as the config does, `valid` whether it
    is a guarantee for this run: false for a reproduction of invalid accounting.
    """

    name: str
    mechanism: Mechanism
    accountant: str
    label: str = ""
    valid: bool = True

    @property
    def analysis(self) -> Analysis:
        """The analysis of the row. Raises NoSuchAnalysis where the mechanism has none of that name."""
        analyses = {a.name: a for a in self.mechanism.upper_bounds()}
        if self.accountant not in analyses:
            message = f"the mechanism {self.name} has no analysis '{self.accountant}' to state in its row"
            raise NoSuchAnalysis(message, f"its analyses here: {', '.join(analyses)}")
        return analyses[self.accountant]

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns for cells.parquet: the calibrated noise, epsilon at each delta, and by which accountant."""
        analysis, noise = self.analysis, self.mechanism.model_dump()[self.mechanism.noise_field]
        # not a budget, and of all releases
        plain = self.mechanism.more_noise_is_larger and not isinstance(noise, tuple)
        return {
            "noise_multiplier": float(noise) if plain else math.nan,
            "accountant": self.label or self.accountant,
            "guarantee": self.valid and analysis.valid,
            "gdp_mu": math.nan if analysis.mu is None else analysis.mu,
            **{f"eps_{delta:g}": eps for delta, eps in zip(deltas, analysis.at(deltas), strict=True)},
        }

    def upper_bounds(self) -> list[Analysis]:
        return self.mechanism.upper_bounds()

    def lower_bounds(self) -> list[Analysis]:
        return self.mechanism.lower_bounds()

    @property
    def neighboring_relation(self) -> str:
        return self.mechanism.neighboring_relation

    @property
    def sampling(self) -> str:
        return self.mechanism.scheme

    def description(self) -> list[tuple[str, str]]:
        return self.mechanism.description()
