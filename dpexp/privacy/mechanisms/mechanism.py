"""What every mechanism is: a frozen value with a noise to calibrate and the analyses that apply to it."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from typing import Annotated, ClassVar

from pydantic import BeforeValidator, Field, model_validator

from dpexp.parameters import Parameters
from dpexp.privacy.analysis import LAST, Analysis, hockey_stick_analysis
from dpexp.privacy.hidden_state import last_iterate_delta
from dpexp.privacy.hybrid import hybrid_eps, log_contraction
from dpexp.privacy.loss_distributions import step_loss
from dpexp.privacy.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.composition import (
    ONCE_AN_EPOCH,
    PARTITIONS,
    SAMPLING,
    Relation,
    Sampling,
    batches_of,
    random_step,
)


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
    neighboring_relation: Relation = "replace-one"

    def analyses(self) -> list[Analysis]:
        """Every analysis of this mechanism, refused ones included with their reason."""
        raise NotImplementedError

    def lower_bounds(self) -> list[LowerBound]:
        """What pairs of neighbours attain, where that is known exactly."""
        return []

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
        """Probability that a record is in a batch, or the share of a batch."""
        return 1.0 if self.sampling == "full-batch" else self.batch_size / self.n

    @model_validator(mode="after")
    def _fits(self) -> BatchedMechanism:
        if self.batch_size > self.n:
            raise ValueError(f"batch_size = {self.batch_size} is larger than n = {self.n}")
        if self.sampling in PARTITIONS and self.n % self.batch_size:
            raise ValueError(f"a partition needs n = {self.n} to be a multiple of batch_size = {self.batch_size}")
        return self

    def described(self, noise: str) -> list[tuple[str, str]]:
        """The lines of `describe`, with what the noise is on."""
        once = self.sampling in ONCE_AN_EPOCH
        share = f"{batches_of(self.q)} batches an epoch" if once else f"probability {self.q:g} for a record"
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}; {share}"),
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
            _bounded(gradients, "no convexity of the losses"),
            self._not_fresh() or ("" if math.isfinite(reach) else "needs a bounded set: give diameter"),
        )

    def hybrid_bound(
        self,
        multiplier: float,
        reach: float,
        gradients: str,
        convex: Callable[[float], Callable[[int], float]] | None = None,
    ) -> Analysis:
        """Ours: the last steps composed, the ones before contracted; `convex` is the contraction of convex losses.

        `multiplier` is noise over one record's norm.
        """
        refused = self._not_fresh()
        if self.sampling == "fixed-size" and self.neighboring_relation == "add-remove":
            refused = "batches of fixed size are defined for replace-one neighbours"
        if not math.isfinite(reach) and convex is None:
            refused = refused or "needs a bounded set: give diameter"
        step = random_step(self.q, multiplier, self.sampling, self.neighboring_relation)

        @cache
        def eps(delta: float) -> float:
            if refused:
                return math.inf
            contracted = convex or (lambda e1: log_contraction(e1, reach))
            return hybrid_eps(step_loss(*step).eps, contracted, self.steps, delta).eps

        losses = "no convexity of the losses" if convex is None else "every loss is convex and smooth"
        source = "ours: composition of the last steps, contraction before (docs/privacy.md)"
        return Analysis("hybrid", source, LAST, eps, _bounded(gradients, losses), refused=refused)

    def _not_fresh(self) -> str:
        return "needs a fresh random batch in every step" if self.sampling in ONCE_AN_EPOCH else ""


def _bounded(gradients: str, losses: str) -> Sequence[str]:
    return ("projection on a bounded convex set", gradients, losses, "only the last iterate is released")
