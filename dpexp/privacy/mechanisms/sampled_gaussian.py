"""Gaussian noise on a sampled sum: the mechanism of DP-SGD, all steps released, in one phase or several."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import cache, partial
from typing import Annotated, Any, ClassVar

from pydantic import Field, PlainSerializer, WrapValidator, model_validator

from dpexp.accounting.conversions import eps_of_curve
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.sampling import ONCE_AN_EPOCH, Relation, Sampling, Scheme, distance, random_step
from dpexp.accounting.steps import Steps as ComposedSteps
from dpexp.accounting.steps import step_loss
from dpexp.privacy.analyses.analysis import ALL, Analysis, attained, composed_analysis, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import (
    DIVIDED,
    FIXED,
    NOISE,
    PLD,
    POISSON,
    SAMPLING,
    composition,
    epoch_text,
    partition_complaint,
)
from dpexp.privacy.lower_bounds import CONSTANT, linear_last, linear_lower
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Steps, about_sums


def _each(value: Any, valid: Callable[[Any], Any]) -> Any:
    """A list of values, one a phase, as a tuple; a list of one is that value."""
    if not isinstance(value, list | tuple):
        return valid(value)
    if not value:
        raise ValueError("an empty list has no phase")
    return tuple(valid(v) for v in value) if len(value) > 1 else valid(value[0])


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
        if lengths and self.sampling in ONCE_AN_EPOCH:
            raise ValueError(f"several phases need fresh random batches or full ones, not {self.sampling}")
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

    @property
    def _kinds(self) -> dict[tuple[float, float], int]:
        """(noise multiplier, sampling probability) of every kind of step that uses a record, with its number."""
        # phases that meet no record, or have no steps, release nothing of it
        kinds: dict[tuple[float, float], int] = {}
        for multiplier, q, steps in self.phases:
            if q > 0 and steps > 0:
                kinds[multiplier, q] = kinds.get((multiplier, q), 0) + steps
        return kinds

    def upper_bounds(self) -> list[Analysis]:
        kinds = self._kinds
        undefined = self.sampling == "fixed-size" and self.neighboring_relation == "add-remove"
        if len(kinds) > 1 and not undefined:
            return self._phased(kinds)
        ((multiplier, q), steps) = next(iter(kinds.items()), ((self.phases[0][0], 0.0), 0))
        return composition(q, multiplier, steps, self.sampling, self.neighboring_relation)

    def _phased(self, kinds: Mapping[tuple[float, float], int]) -> list[Analysis]:
        """Distinct phases: Gaussian for full batches, else their loss distributions, and Renyi curves that add up."""
        mu = self._gaussian_mu(kinds)
        if mu is not None:
            source = "Gaussian composition (Dong, Roth and Su, 2022), exact"
            return [gaussian_analysis("gaussian-composition", source, ALL, mu, (NOISE,))]
        refused, fixed = "", self.sampling == "fixed-size"
        if self.neighboring_relation != "add-remove" and not fixed:
            refused = "several phases are composed by Renyi divergences, which are those of add-remove neighbours"
        author = "Dong, Roth and Su (2022)" if fixed else "Mironov, Talwar and Zhang (2019)"
        source = f"{author} for every phase, real orders by quadrature"
        noiseless = min(multiplier for multiplier, _ in kinds) == 0
        parts = ComposedSteps() if noiseless else self._steps(kinds).few("above")

        @cache
        def rdp(order: float) -> float:
            return math.inf if refused or noiseless else parts.rdp(order)

        assumptions = (NOISE, FIXED) if fixed else (NOISE, POISSON, DIVIDED)
        eps = cache(lambda delta: eps_of_curve(rdp, delta)[0])
        found = [guarantee("renyi-composition", source, ALL, eps, assumptions, rdp, refused)]
        if not noiseless:
            found.append(composed_analysis("pld-composition", PLD, ALL, parts, assumptions))
        return found

    def _gaussian_mu(self, kinds: Mapping[tuple[float, float], int]) -> float | None:
        """mu of steps on all records, which add up as squares; None where there are others."""
        if self.sampling != "full-batch" and any(q < 1 for _, q in kinds):
            return None
        if min(multiplier for multiplier, _ in kinds) == 0:
            return math.inf
        squares = math.fsum(steps / multiplier**2 for (multiplier, _), steps in kinds.items())
        return math.sqrt(squares) * distance(self.neighboring_relation)

    def _steps(self, kinds: Mapping[tuple[float, float], int]) -> ComposedSteps:
        """Their loss distributions; a phase of infinite noise adds nothing, and has none."""
        return ComposedSteps(
            (step_loss(*random_step(q, multiplier, self.sampling, self.neighboring_relation)), steps)
            for (multiplier, q), steps in kinds.items()
            if math.isfinite(multiplier)
        )

    def lower_bounds(self) -> list[Analysis]:
        kinds = self._kinds
        if len(kinds) == 1:
            (((multiplier, q), steps),) = kinds.items()
            return linear_lower(q, multiplier, steps, self.sampling, self.neighboring_relation)
        if not kinds or min(multiplier for multiplier, _ in kinds) == 0:
            return []
        mu, parts = self._gaussian_mu(kinds), self._steps(kinds)
        scheme: Scheme = self.neighboring_relation
        if self.sampling == "fixed-size":
            if self.neighboring_relation == "add-remove":
                return []
            # a record that is turned round among others of one gradient is there or not, at half of the noise
            parts, scheme = ComposedSteps((step_loss(s.q, 1 / s.mu, "add-remove"), n) for s, n in parts), "fixed-size"
        eps = parts.attained if mu is None else partial(eps_of, mu)
        found = [attained("exact-composition", ALL, CONSTANT[self.neighboring_relation], cache(eps))]
        # The last iterate of linear losses has the noise of all steps, and the record at least as often as with the
        # least q in each: of the one data set the sum is then larger, and of the other it is not.
        total, least = sum(kinds.values()), 1.0 if self.sampling == "full-batch" else min(q for _, q in kinds)
        noise = math.sqrt(math.fsum(n * multiplier**2 for (multiplier, _), n in kinds.items()) / total)
        return [*found, *linear_last(least, noise, total, scheme)] if noise < math.inf else found

    def description(self) -> list[tuple[str, str]]:
        def listed(column: int, form: str) -> str:
            return ", then ".join(dict.fromkeys(format(phase[column], form) for phase in self.phases))

        total = sum(steps for _, _, steps in self.phases)
        once = self.sampling in ONCE_AN_EPOCH
        share = epoch_text(self.phases[0][1]) if once else f"probability {listed(1, 'g')}"
        return about_sums(self.neighboring_relation, f"{SAMPLING[self.sampling]}, {share}", listed(0, "g"), total)
