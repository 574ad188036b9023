"""Gaussian noise on a sampled sum: the mechanism of DP-SGD, all steps released, in one phase or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, WrapValidator, model_validator

from dpexp.privacy.accounting.conversions import eps_of_few_orders
from dpexp.privacy.accounting.loss_distributions import eps_of_steps, step_loss
from dpexp.privacy.accounting.sampled_gaussian import mixture_from_base
from dpexp.privacy.analyses.analysis import ALL, Analysis, Relation, gaussian_analysis
from dpexp.privacy.analyses.composition import (
    DIVIDED,
    NOISE,
    ONCE_AN_EPOCH,
    PLD,
    POISSON,
    SAMPLING,
    Sampling,
    composition,
    distance,
    epoch_text,
    linear_lower,
    partition_complaint,
    random_step,
)
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Steps


def _each(value: Any, valid: Callable[[Any], Any]) -> Any:
    """A list of values, one a phase, as a tuple; a list of one is that value."""
    if not isinstance(value, list | tuple):
        return valid(value)
    if not value:
        raise ValueError("an empty list has no phase")
    return tuple(valid(v) for v in value) if len(value) > 1 else valid(value[0])


MOST_PHASES = 64
"""phases that are composed by their loss distributions; more are composed by Renyi divergences alone"""
PHASES = WrapValidator(_each), PlainSerializer(lambda value: value, return_type=Any)


class SampledGaussian(Mechanism):
    """`steps` releases of a sampled sum of vectors of norm at most C, with noise of noise_multiplier C.

    Several phases are lists of one length; a single value holds for all of them.
    """

    noise_field: ClassVar[str] = "noise_multiplier"
    noise_multiplier: Annotated[Noise, *PHASES]
    """noise standard deviation over one record's largest norm"""
    sampling_probability: Annotated[float, Field(ge=0, le=1), *PHASES]
    steps: Annotated[Steps, *PHASES]
    sampling: Sampling = "poisson"
    neighboring_relation: Relation = "add-remove"

    @model_validator(mode="after")
    def _fits(self) -> SampledGaussian:
        lengths = {len(v) for v in self._given if isinstance(v, tuple)}
        if len(lengths) > 1:
            raise ValueError(f"phases are lists of one length, not of {' and '.join(map(str, sorted(lengths)))}")
        if lengths and self.sampling not in ("poisson", "full-batch"):
            raise ValueError(f"several phases need Poisson sampling or full batches, not {self.sampling}")
        for _, q, _ in self.phases:
            complaint = partition_complaint(q, self.sampling)
            if complaint:
                raise ValueError(complaint)
        return self

    @property
    def _given(self) -> tuple[Any, Any, Any]:
        return self.noise_multiplier, self.sampling_probability, self.steps

    @property
    def phases(self) -> list[tuple[float, float, int]]:
        """(noise multiplier, sampling probability, steps) of every phase."""
        count = max(len(v) if isinstance(v, tuple) else 1 for v in self._given)
        return list(zip(*(v if isinstance(v, tuple) else (v,) * count for v in self._given), strict=True))

    def analyses(self) -> list[Analysis]:
        # phases that meet no record, or have no steps, release nothing of it
        used = [phase for phase in self.phases if phase[1] > 0 and phase[2] > 0]
        if len(used) > 1:
            return self._phased(used)
        multiplier, q, steps = used[0] if used else (self.phases[0][0], 0.0, 0)
        return composition(q, multiplier, steps, self.sampling, self.neighboring_relation)

    def _phased(self, used: Sequence[tuple[float, float, int]]) -> list[Analysis]:
        """Distinct phases: Gaussian for full batches, else their loss distributions, and Renyi curves that add up."""
        multiplier, q, steps = (tuple(column) for column in zip(*used, strict=True))
        if self.sampling == "full-batch" or all(share == 1 for share in q):
            # Gaussian steps add up as squares of mu
            if min(multiplier) == 0:
                mu = math.inf
            else:
                squares = [n / m**2 for m, n in zip(multiplier, steps, strict=True)]
                mu = math.sqrt(math.fsum(squares)) * distance(self.neighboring_relation)
            source = "Gaussian composition (Dong, Roth and Su, 2022), exact"
            return [gaussian_analysis("gaussian-composition", source, ALL, mu, (NOISE,))]
        refused = ""
        if self.neighboring_relation != "add-remove":
            refused = "several phases are composed by Renyi divergences, which are those of add-remove neighbours"
        source = "Mironov, Talwar and Zhang (2019) for every phase, real orders by quadrature"

        @cache
        def rdp(order: float) -> float:
            if refused or min(multiplier) == 0:
                return math.inf
            return math.fsum(n * mixture_from_base(order, q, m) for m, q, n in used)

        assumptions, eps = (NOISE, POISSON, DIVIDED), cache(partial(eps_of_few_orders, rdp))
        found = [Analysis("renyi-composition", source, ALL, eps, assumptions, rdp, refused=refused)]
        if min(multiplier) > 0 and len(used) <= MOST_PHASES:
            # a phase of infinite noise adds nothing, and has no loss distribution
            noisy = [(m, q, n) for m, q, n in used if math.isfinite(m)]
            kinds = [random_step(q, m, self.sampling, self.neighboring_relation) for m, q, _ in noisy]
            parts = tuple((step_loss(*kind), n) for kind, (_, _, n) in zip(kinds, noisy, strict=True))
            eps_of_all = cache(partial(eps_of_steps, parts))
            found.append(Analysis("pld-composition", PLD, ALL, eps_of_all, assumptions, steps=parts))
        return found

    def lower_bounds(self) -> list[LowerBound]:
        used = [phase for phase in self.phases if phase[1] > 0 and phase[2] > 0]
        if len(used) != 1:
            return []
        multiplier, q, steps = used[0]
        return linear_lower(q, multiplier, steps, self.sampling, self.neighboring_relation)

    def describe(self) -> list[tuple[str, str]]:
        def listed(column: int, form: str) -> str:
            return ", then ".join(dict.fromkeys(format(phase[column], form) for phase in self.phases))

        total = sum(steps for _, _, steps in self.phases)
        once = self.sampling in ONCE_AN_EPOCH
        share = epoch_text(self.phases[0][1]) if once else f"probability {listed(1, 'g')}"
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}, {share}"),
            ("Noise", f"{listed(0, 'g')} times one record's largest norm, on every coordinate"),
            ("Released", f"all {total:,} noisy sums, and therefore every iterate and average"),
        ]
