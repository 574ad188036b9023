"""What every mechanism is: a frozen value with a noise to calibrate and the analyses that apply to it."""

from __future__ import annotations

import math
from functools import cache
from typing import Annotated, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from dpexp.parameters import Parameters
from dpexp.privacy.analysis import (
    ALL,
    LAST,
    Analysis,
    gaussian_analysis,
    hockey_stick_analysis,
    pld_eps,
    renyi_analysis,
)
from dpexp.privacy.hidden_state import last_iterate_delta
from dpexp.privacy.sampled_gaussian import mixture_from_base, symmetrised


def _whole(value: object) -> object:
    return int(value) if isinstance(value, float) and value.is_integer() else value


Steps = Annotated[int, BeforeValidator(_whole), Field(ge=0)]
Records = Annotated[int, BeforeValidator(_whole), Field(ge=1)]
Noise = Annotated[float, Field(ge=0)]
Size = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Length = Annotated[float, Field(gt=0)]
Curvature = Annotated[float, Field(ge=0, allow_inf_nan=False)]
Relation = Literal["replace-one", "add-remove"]
Sampling = Literal["fixed-size", "poisson", "full-batch"]
SAMPLING = {
    "fixed-size": "a fresh uniform subset of fixed size in every step",
    "poisson": "every record independently in every step",
    "full-batch": "all records in every step",
}


class Mechanism(Parameters):
    """A mechanism with explicit adjacency, sampling and noise convention."""

    noise_field: ClassVar[str]
    """the parameter that `dpexp calibrate` solves for"""
    more_noise_is_larger: ClassVar[bool] = True
    neighboring_relation: Relation = "replace-one"

    def analyses(self) -> list[Analysis]:
        """Every analysis of this mechanism, refused ones included with their reason."""
        raise NotImplementedError

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
        raise NotImplementedError


class BatchedMechanism(Mechanism):
    """T steps of size eta on batches of b of n records."""

    n: Records
    batch_size: Records
    step_size: Size
    steps: Steps
    sampling: Sampling = "fixed-size"

    @property
    def q(self) -> float:
        """Probability that a record is in a batch."""
        return 1.0 if self.sampling == "full-batch" else self.batch_size / self.n

    @model_validator(mode="after")
    def _fits(self) -> BatchedMechanism:
        if self.batch_size > self.n:
            raise ValueError(f"batch_size = {self.batch_size} is larger than n = {self.n}")
        return self

    def described(self, noise: str) -> list[tuple[str, str]]:
        """The lines of `describe`, with what the noise is on."""
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}; a record is in a batch with probability {self.q:g}"),
            ("Noise", noise),
            ("Released", "see each line: all iterates, or the last one alone"),
        ]

    def contraction_bound(self, reach: float, gradients: str) -> Analysis:
        """The bound of `hidden-state`; `reach` is the largest distance of two means in noise standard deviations."""
        return hockey_stick_analysis(
            "contraction",
            "hidden-state, main result",
            LAST,
            lambda eps: last_iterate_delta(eps, reach, self.q, self.steps),
            (
                "projection on a bounded convex set",
                gradients,
                "no convexity of the losses",
                "only the last iterate is released",
            ),
            "" if math.isfinite(reach) else "needs a bounded set: give diameter",
        )


def composition(q: float, multiplier: float, steps: int, sampling: Sampling, relation: Relation) -> list[Analysis]:
    """Analyses of all iterates; `multiplier` is noise over one record's norm, and replacing it moves twice as far."""
    noise = "noise is Gaussian and fresh in every step"
    if steps == 0:
        return [gaussian_analysis("nothing-released", "no step is taken", ALL, 0.0, ())]
    if multiplier == 0:
        return [gaussian_analysis("no-noise", "without noise there is no guarantee", ALL, math.inf, ())]
    if math.isinf(multiplier):
        return [gaussian_analysis("infinite-noise", "nothing of the data is released", ALL, 0.0, ())]
    distance = 2.0 if relation == "replace-one" else 1.0
    if sampling == "full-batch" or q == 1:
        mu = math.sqrt(steps) * distance / multiplier
        source = "Gaussian composition (Dong, Roth and Su, 2022), exact"
        return [gaussian_analysis("gaussian-composition", source, ALL, mu, (noise,))]
    if sampling == "fixed-size":
        if relation == "add-remove":
            reason = "batches of fixed size are defined for replace-one neighbours"
            return [gaussian_analysis("none", "", ALL, math.inf, (), reason)]
        per_step = multiplier / distance
        return [
            renyi_analysis(
                "renyi-composition",
                "subsampling theorem of Dong, Roth and Su (2022) with Renyi composition",
                ALL,
                lambda order: steps * symmetrised(order, q, per_step),
                (noise, "batches of fixed size without replacement, fresh in every step"),
            )
        ]
    sampled = "every record is in a batch independently with probability q, fresh in every step"
    divided = "the sum is divided by a fixed number, not by the realised batch size"
    found = [
        Analysis(
            "pld-composition",
            "privacy loss distribution of the dominating pair (dp_accounting)",
            ALL,
            cache(lambda delta: pld_eps(q, multiplier, steps, delta, relation)),
            (noise, sampled, divided),
            slow=True,
        )
    ]
    if relation == "add-remove":
        found.insert(
            0,
            renyi_analysis(
                "renyi-composition",
                "Mironov, Talwar and Zhang (2019), real orders by quadrature",
                ALL,
                lambda order: steps * mixture_from_base(order, q, multiplier),
                (noise, sampled, divided),
            ),
        )
    return found
