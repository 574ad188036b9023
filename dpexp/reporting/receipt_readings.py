"""The mechanisms that a run card can mean: one where it states how records meet the steps, else several, each under its
condition, with what is guaranteed of them and what pairs of neighbours attain."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import ValidationError

from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.epoch_gaussian import SAMPLING
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.samplings import batches_of, epochs_of, visits
from dpexp.reporting.run_card import Card, Sampler, StatedGuarantee
from dpexp.reporting.statement import MechanismAnalyses

HOLDS, REFUTED, UNSUPPORTED = "holds", "refuted", "unsupported"
MU_LEVELS = tuple(10.0**-k for k in range(2, 11))
"""deltas at which a stated mu is compared with lower bounds"""
PRIVATE_N = "sampling probability, steps and divisor are not computed from the number of records, which is private"
OTHER_GROUPS = "the microbatches of all other records stay as they are"
TURNED = "; records of its microbatch pull the other way, and the number of microbatches is the same in every step"
ONE_CHANGE = ("full-batch", "fixed-size", "cyclic", "shuffled", "reshuffled")
"""samplers with which a replaced record changes one vector of a sum, its own or that of its microbatch"""
ALL_LAYERS = "the noise is over the norm of all layers together"
DRAWN = ("drawn", "drawn-visible")
"""divisors that are the size of the batch"""
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class Reading:
    """The program under one condition on what the card leaves open; without a mechanism, why nothing covers it."""

    condition: str
    mechanism: Mechanism | None
    analyses: Sequence[Analysis] = ()
    """valid ones of all iterates, which cover the last one and every average"""
    lower: Sequence[Analysis] = ()
    """lower bounds by pairs of neighbours, for all iterates or for the last one"""
    more: Sequence[str] = ()
    """assumptions more than those of the analyses"""
    word: str = ""
    """`private-n`, `normaliser` or `unsupported` where there is no mechanism"""
    reason: str = ""
    group: int = 1
    """records that are protected together"""

    def best(self, delta: float) -> tuple[float, Analysis | None]:
        """The least epsilon that is proved, and by what."""
        pairs = [(a.of_group(self.group).eps(delta), k) for k, a in enumerate(self.analyses)]
        eps, k = min(pairs, default=(math.inf, -1))
        return (eps, self.analyses[k]) if math.isfinite(eps) else (math.inf, None)

    def attained(self, delta: float, released: Sequence[str] = (ALL, LAST)) -> tuple[float, Analysis | None]:
        """The largest lower bound for what is released; what the last iterate shows, all iterates show."""
        pairs = [(b.eps(delta), k) for k, b in enumerate(self.lower) if b.released in released]
        eps, k = max(pairs, default=(0.0, -1))
        return (eps, self.lower[k]) if eps > 0 else (0.0, None)

    def verdict(self, number: StatedGuarantee, released: Sequence[str]) -> str:
        """Whether the program under this condition keeps what is stated; a pair refutes by what is released.

        A stated mu promises a whole curve, so that any delta can refute it, and only an analysis with a mu reaches it.
        """
        at_deltas = [(d, eps_of(number.mu, d)) for d in MU_LEVELS] if number.mu is not None else []
        at_deltas += [(number.delta, number.eps)] if number.delta is not None and number.eps is not None else []
        if any(self.attained(delta, released)[0] > eps * ROUNDED for delta, eps in at_deltas):
            return REFUTED
        if number.mu is not None:
            reached = any(a.mu is not None and self.group * a.mu <= number.mu * ROUNDED for a in self.analyses)
        else:
            ((delta, eps),) = at_deltas
            reached = self.best(delta)[0] <= eps * ROUNDED
        return HOLDS if reached else UNSUPPORTED


def readings(card: Card) -> list[Reading]:
    """The programs that a card can mean, each with its condition."""
    if card.sampler != "unknown":
        return [_reading(card, card.sampler, "")]
    # an accountant that is not named is taken for one of Poisson batches, as nearly all are
    accounted = card.accounted_as if card.accounted_as not in (None, "unknown") else "poisson"
    assert accounted is not None
    programs = [_reading(card, accounted, f"if the code samples as it was accounted ({accounted})")]
    if accounted not in SAMPLING and max(phase.sampling_probability for phase in card.phases) < 1:
        # what the usual loader does, whatever the accountant took it for
        programs.append(_reading(card, "reshuffled", "if it shuffles the records in every epoch"))
    return programs


def _reading(card: Card, sampler: Sampler, condition: str) -> Reading:
    word, reason = _not_covered(card, sampler)
    if word:
        return Reading(condition, None, word=word, reason=reason)
    turns = _turns(card, sampler)
    try:
        # the guarantee covers the tuning runs; the lower bound is of the run that is released
        every = _mechanism(card, sampler, card.tuning_runs + 1)
        # of a microbatch that a replaced record turns around, the other record leaves it as its mates do
        run = _mechanism(card.model_copy(update={"relation": "add-remove"}) if turns else card, sampler, 1)
    except ValueError as error:
        why = error.errors()[0]["msg"].removeprefix("Value error, ") if isinstance(error, ValidationError) else error
        return Reading(condition, None, word=UNSUPPORTED, reason=f"{sampler} batches of these numbers: {why}")
    # under replace-one the number of records is public
    more = [PRIVATE_N] * (card.relation != "replace-one" and card.records_public is not True)
    more += [OTHER_GROUPS] * (card.clipping == "microbatch") + [ALL_LAYERS] * (card.clipping == "per-layer")
    lower = run.lower_bounds() if _pairs_are_the_programs(card, sampler) else []
    # the last iterate adds up means, and the pairs' adds up sums
    lower = [b for b in lower if b.released == ALL or card.normaliser not in DRAWN]
    lower = [replace(b, eps=cache(b.eps), source=b.source + TURNED * turns) for b in lower]
    # a plug-in's analysis that a pair refutes is none
    upper = MechanismAnalyses(every, card.delta, sampler, every_analysis(every), lower).analyses
    analyses = [a for a in upper if a.valid and a.released == ALL]
    reading = Reading(condition, every, analyses, lower, more, group=card.group)
    if math.isfinite(reading.best(card.delta[0])[0]):
        return reading
    reason = f"no analysis here covers {sampler} batches, {card.relation}"
    return Reading(condition, None, word=UNSUPPORTED, reason=reason)


def _pairs_are_the_programs(card: Card, sampler: Sampler) -> bool:
    """Whether the pairs of the mechanism are those of the program.

    Not where a drawn divisor hides the sizes that distinguish neighbours, nor where records choose among parts of an
    epoch that may be cut in several ways, nor where a record may be alone in its microbatch.
    """
    size = card.records if sampler == "full-batch" else card.batch_size
    if _turns(card, sampler) and not (sampler in ONE_CHANGE and size and size % card.microbatch_size == 0):
        return False
    hidden = card.normaliser == "drawn" and not card.batch_sizes_logged
    return not hidden and not (sampler == "k-of-t" and phase_steps(card) % (card.steps_per_epoch or 1))


def _turns(card: Card, sampler: Sampler) -> bool:
    """Whether a record can turn the vector of its microbatch around, and so move a sum by two norms in place of one.

    Not where the sum moves by two norms anyway: a record is replaced, or the sizes are known.
    """
    return card.clipping == "microbatch" and not _shows(card) and not (
        card.relation == "replace-one" and sampler in ONE_CHANGE
    )  # fmt: skip


def _shows(card: Card) -> bool:
    return card.batch_sizes_logged or card.normaliser in DRAWN


def _not_covered(card: Card, sampler: Sampler) -> tuple[str, str]:
    """The word and the reason why no analysis here covers the card; empty where one may."""
    kinds = len({(p.noise_multiplier, p.sampling_probability) for p in card.phases})
    private = card.normaliser == "expected" and card.relation == "add-remove" and card.records_public is not True
    in_phases = sampler in ("poisson", "full-batch", "fixed-size") and not _shows(card)
    with_sizes = sampler == "poisson" and card.relation != "zero-out" and card.records is not None
    zero_out = card.relation == "zero-out" and sampler in ("truncated-poisson", "fixed-size")
    reasons = (
        (card.clipping == "none", UNSUPPORTED,
         "nothing bounds the gradients: without clipping there is no guarantee"),
        (private, "private-n", _scale(card)),
        (kinds > 1 and not in_phases, UNSUPPORTED,
         "several phases are composed for Poisson, fixed-size and full batches, without their sizes"),
        (_shows(card) and not with_sizes, "normaliser",
         "batch sizes that are shown or divided by are covered for Poisson batches of a stated number of records, with "
         "add-remove or replace-one"),
        (card.group > 1 and sampler == "truncated-poisson", UNSUPPORTED,
         "groups of records are not covered where batches are cut"),
        (zero_out, UNSUPPORTED, f"{sampler} batches are not covered for a record that is set to zero"),
    )  # fmt: skip
    return next(((word, reason) for applies, word, reason in reasons if applies), ("", ""))


def _mechanism(card: Card, sampler: Sampler, runs: int) -> Mechanism:
    """The mechanism of so many runs in a row. Raises ValueError where its numbers make none."""
    noise = [p.noise_multiplier / (2 if _turns(card, sampler) else 1) for p in card.phases] * runs
    rates = [p.sampling_probability for p in card.phases] * runs
    steps = [p.steps for p in card.phases] * runs
    # a record that is set to zero adds nothing to a sum, as one that is not there
    relation = "add-remove" if card.relation == "zero-out" else card.relation
    values: dict[str, Any] = {"neighboring_relation": relation, "noise_multiplier": noise[0]}
    rate = {"sampling_probability": rates[0]}
    if sampler == "k-of-t":
        assert card.steps_per_epoch is not None
        epochs = math.ceil(phase_steps(card) / card.steps_per_epoch) * runs
        values |= {"steps_per_epoch": card.steps_per_epoch, "selected": card.selected, "epochs": epochs}
        return MECHANISMS[sampler].model_validate(values)
    if sampler in SAMPLING:
        if sampler == "cyclic-poisson":
            batches = card.groups or 1
            epochs, rest = divmod(phase_steps(card), batches)
            values |= rate | {"batches": batches, "epochs": epochs, "unfinished": rest or None}
        else:
            values |= epochs_of(phase_steps(card), rates[0], sampler in ("shuffled", "reshuffled"))
        # of several runs an epoch that ends early counts as a whole one
        if runs > 1:
            values |= {"epochs": (values["epochs"] + (values["unfinished"] is not None)) * runs, "unfinished": None}
        return MECHANISMS["epoch-gaussian"].model_validate(values | {"sampling": sampler})
    values |= rate | {"steps": sum(steps)}
    if sampler == "poisson" and _shows(card):
        # a group is covered one record after the other, and sizes tell more among fewer records
        fewest = (card.records or 0) - (0 if relation == "replace-one" else card.group - 1)
        return MECHANISMS["shown-sizes"].model_validate(values | {"n": fewest})
    if sampler == "cyclic" and runs > 1:  # an epoch of a run that ends early has visited some records
        values["steps"] = batches_of(rates[0]) * visits(phase_steps(card), rates[0]) * runs
    if sampler == "truncated-poisson":
        return MECHANISMS[sampler].model_validate(values | {"n": card.records, "cap": card.cap})
    if len({*zip(noise, rates, strict=True)}) > 1:
        values |= {"noise_multiplier": tuple(noise), "sampling_probability": tuple(rates), "steps": tuple(steps)}
    return MECHANISMS["sampled-gaussian"].model_validate(values | {"sampling": sampler})


def phase_steps(card: Card) -> int:
    """Steps of one run."""
    return sum(phase.steps for phase in card.phases)


def _scale(card: Card) -> str:
    """What a divisor that is computed from a private number of records reveals."""
    problem = "the divisor q n moves with a record that is added or removed, and nothing here bounds what that reveals"
    if card.dimension is None or card.records is None:
        return f"{problem}; make n public"
    # the noise of d coordinates and T steps has the scale n / (n + 1) of that of the neighbour: its squares tell
    mu = math.sqrt(2 * phase_steps(card) * card.dimension) / card.records
    return f"{problem}; the scale of the noise alone is about mu = {mu:.3g} (sqrt(2 T d) / n); make n public"
