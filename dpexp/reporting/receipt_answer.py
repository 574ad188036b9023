"""The answer to a run card: what it can mean, what holds of that, what is refuted and what no analysis supports.

A card that says how records meet the steps means one program, else several, each under its condition. A stated number
holds where an analysis reaches it under every condition, is refuted where a pair of neighbours attains more under every
condition, and is unsupported else. No card is refuted under a relation or a sampler of other pairs.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

from pydantic import ValidationError

from dpexp.core.text import Printed, columns, counted, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, with_last_iterate
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.epoch_gaussian import SAMPLING, EpochGaussian
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.samplings import batches_of, own_fields, visits
from dpexp.reporting.run_card import DRAWN, ONE_CHANGE, TRIPLE, Card, StatedGuarantee
from dpexp.reporting.statement import MechanismAnalyses, gaussian_of
from dpexp.reporting.templates import filled

HOLDS, REFUTED, UNSUPPORTED = "holds", "refuted", "unsupported"
EXITS = {REFUTED: 1, UNSUPPORTED: 3}
KINDS = {"k-of-t": "k-of-t", "truncated-poisson": "truncated-poisson"} | {str(s): "epoch-gaussian" for s in SAMPLING}
"""mechanism of a sampler, where it is not that of sampled sums"""
RATES = (1e-2, 1e-3)
"""false positive rates at which an attacker's true positive rate is printed"""
PRIVATE_N = "sampling probability, steps and divisor are not computed from the number of records, which is private"
OTHER_GROUPS = "the microbatches of all other records stay as they are"
TURNED = "; records of its microbatch pull the other way, and the number of microbatches is the same in every step"
ALL_LAYERS = "the noise is over the norm of all layers together"
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class Reading:
    """The program under one condition on what the card leaves open; without a mechanism, why nothing covers it."""

    condition: str
    mechanism: Mechanism | None = None
    analyses: Sequence[Analysis] = ()
    """valid ones of all iterates, which cover the last one and every average"""
    lower: Sequence[Analysis] = ()
    """lower bounds by pairs of neighbours, for all iterates or for the last one"""
    more: Sequence[str] = ()
    """assumptions more than those of the analyses"""
    group: int = 1
    """records that are protected together"""
    word: str = ""
    """`private-n`, `normaliser` or `unsupported` where there is no mechanism"""
    reason: str = ""

    def best(self, delta: float) -> tuple[float, Analysis | None]:
        """The least epsilon that is proved, and by what."""
        pairs = [(a.of_group(self.group).eps(delta), k) for k, a in enumerate(self.analyses)]
        eps, k = min(pairs, default=(math.inf, -1))
        return eps, self.analyses[k] if math.isfinite(eps) else None

    def attained(self, delta: float, released: Sequence[str] = (ALL, LAST)) -> tuple[float, Analysis | None]:
        """The largest lower bound for what is released; what the last iterate shows, all iterates show."""
        pairs = [(b.eps(delta), k) for k, b in enumerate(self.lower) if b.released in released]
        eps, k = max(pairs, default=(0.0, -1))
        return (eps, self.lower[k]) if eps > 0 else (0.0, None)

    def verdict(self, number: StatedGuarantee, released: Sequence[str]) -> str:
        """Whether the program under this condition keeps what is stated; a pair refutes by what is released.

        A stated mu promises a whole curve, so that any delta can refute it, and only an analysis with a mu reaches it.
        """
        if any(self.attained(delta, released)[0] > eps * ROUNDED for delta, eps in number.curve):
            return REFUTED
        if number.mu is None:
            reached = all(self.best(delta)[0] <= eps * ROUNDED for delta, eps in number.curve)
        else:
            reached = any(a.mu is not None and self.group * a.mu <= number.mu * ROUNDED for a in self.analyses)
        return HOLDS if reached else UNSUPPORTED


def reading_of(card: Card, condition: str = "") -> Reading:
    """What is guaranteed of a card whose sampler is known, and what pairs of neighbours attain."""
    word, reason = _uncovered(card)
    if word:
        return Reading(condition, word=word, reason=reason)
    try:
        # the guarantee covers the tuning runs; the lower bound is of the run that is released
        every = _mechanism(card, card.tuning_runs + 1)
        # of a microbatch that a replaced record turns around, the other record leaves it as its mates do
        added = card.model_copy(update={"relation": "add-remove"})
        run = _mechanism(added if card.turns else card, 1)
    except ValueError as error:
        first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else str(error)
        reason = f"{card.sampler} batches of these numbers: {first.removeprefix('Value error, ')}"
        return Reading(condition, word=UNSUPPORTED, reason=reason)
    # under replace-one the number of records is public
    more = [PRIVATE_N] * (card.relation != "replace-one" and card.records_public is not True)
    more += [OTHER_GROUPS] * (card.clipping == "microbatch") + [ALL_LAYERS] * (card.clipping == "per-layer")
    pairs = run.lower_bounds() if _has_pairs(card) else []
    # the last iterate adds up means, and the pairs' adds up sums
    pairs = [b for b in pairs if b.released == ALL or card.normaliser not in DRAWN]
    lower = [replace(b, eps=cache(b.eps), source=b.source + TURNED * card.turns) for b in pairs]
    # a plug-in's analysis that a pair refutes is none
    upper = MechanismAnalyses(every, card.delta, card.sampler, every_analysis(every), with_last_iterate(lower)).analyses
    analyses = [a for a in upper if a.valid and a.released == ALL]
    reading = Reading(condition, every, analyses, lower, more, card.group)
    reason = f"no analysis here covers {card.sampler} batches, {card.relation}"
    return reading if reading.best(card.delta[0])[1] else Reading(condition, word=UNSUPPORTED, reason=reason)


def _has_pairs(card: Card) -> bool:
    """Whether the pairs of the mechanism are those of the program.

    Not where a drawn divisor hides the sizes that distinguish neighbours, nor where records choose among parts of an
    epoch that may be cut in several ways, nor where a record may be alone in its microbatch.
    """
    size = card.records if card.sampler == "full-batch" else card.batch_size
    alone = card.turns and not (card.sampler in ONE_CHANGE and size and size % card.microbatch_size == 0)
    hidden = card.normaliser == "drawn" and not card.batch_sizes_logged
    return not (alone or hidden or (card.sampler == "k-of-t" and card.all_steps % (card.steps_per_epoch or 1)))


def _uncovered(card: Card) -> tuple[str, str]:
    """The word and the reason why no analysis here covers the card; empty where one may."""
    sampler, kinds = card.sampler, len({(p.noise_multiplier, p.sampling_probability) for p in card.phases})
    in_phases = sampler in ("poisson", "full-batch", "fixed-size") and not card.shows_sizes
    with_sizes = sampler == "poisson" and card.relation != "zero-out" and card.records is not None
    scale = ""
    if card.dimension and card.records:
        # the noise of d coordinates and T steps has the scale n / (n + 1) of that of the neighbour
        mu = math.sqrt(2 * card.all_steps * card.dimension) / card.records
        scale = f"; the scale of the noise alone is about mu = {mu:.3g} (sqrt(2 T d) / n)"
    reasons = (
        (card.clipping == "none", UNSUPPORTED,
         "nothing bounds the gradients: without clipping there is no guarantee"),
        (card.normaliser == "expected" and card.relation == "add-remove" and not card.records_public, "private-n",
         "the divisor q n moves with a record that is added or removed, and nothing here bounds what that reveals"
         f"{scale}; make n public"),
        (kinds > 1 and not in_phases, UNSUPPORTED,
         "several phases are composed for Poisson, fixed-size and full batches, without their sizes"),
        (card.shows_sizes and not with_sizes, "normaliser",
         "batch sizes that are shown or divided by are covered for Poisson batches of a stated number of records, "
         "with add-remove or replace-one"),
        (card.group > 1 and sampler == "truncated-poisson", UNSUPPORTED,
         "groups of records are not covered where batches are cut"),
        (card.relation == "zero-out" and sampler in ("truncated-poisson", "fixed-size"), UNSUPPORTED,
         f"{sampler} batches are not covered for a record that is set to zero"),
    )  # fmt: skip
    return next(((word, reason) for applies, word, reason in reasons if applies), ("", ""))


def _mechanism(card: Card, runs: int) -> Mechanism:
    """The mechanism of so many runs in a row. Raises ValueError where its numbers make none."""
    sampler, per_epoch = str(card.sampler), card.steps_per_epoch or 1
    kind = MECHANISMS["shown-sizes" if card.shows_sizes else KINDS.get(sampler, "sampled-gaussian")]
    phases = [(p.noise_multiplier / (1 + card.turns), p.sampling_probability, p.steps) for p in card.phases]
    noise, rate, _ = phases[0]
    # a record that is set to zero adds nothing to a sum, as one that is not there
    relation = "add-remove" if card.relation == "zero-out" else card.relation
    # a group is covered one record after the other, and sizes reveal more among fewer records
    fewest = (card.records or 0) - (0 if relation == "replace-one" else card.group - 1)
    values: dict[str, Any] = {
        "neighboring_relation": relation, "noise_multiplier": noise, "sampling_probability": rate, "sampling": sampler,
        "steps": card.all_steps * runs, "n": fewest if card.shows_sizes else card.records, "cap": card.cap,
        "selected": card.selected, "steps_per_epoch": per_epoch, "epochs": math.ceil(card.all_steps / per_epoch) * runs,
    }  # fmt: skip
    values = {name: value for name, value in values.items() if name in kind.model_fields}
    if kind is EpochGaussian:
        in_turn = {"batches": card.groups or 1} if sampler == "cyclic-poisson" else {}
        of_steps = {"epochs": None, "sampling_probability": rate, "steps": card.all_steps, "batch_size": None}
        values = own_fields(kind.model_fields, values | of_steps | in_turn)
        # of several runs an epoch that ends early counts as a whole one
        if runs > 1:
            values |= {"epochs": (values["epochs"] + (values["unfinished"] is not None)) * runs, "unfinished": None}
    elif sampler == "cyclic" and runs > 1:  # an epoch of a run that ends early has visited some records
        values["steps"] = batches_of(rate) * visits(card.all_steps, rate) * runs
    elif len({phase[:2] for phase in phases}) > 1:
        values |= zip(TRIPLE, zip(*phases * runs, strict=True), strict=True)
    return kind.model_validate(values)


def readings(card: Card) -> list[Reading]:
    """The programs that a card can mean, each with its condition."""
    if card.sampler != "unknown":
        return [reading_of(card)]
    # an accountant that is not named is taken for one of Poisson batches, as nearly all are
    accounted = "poisson" if card.accounted_as in (None, "unknown") else card.accounted_as
    conditions = {accounted: f"if the code samples as it was accounted ({accounted})"}
    if accounted not in SAMPLING and max(phase.sampling_probability for phase in card.phases) < 1:
        # what the usual loader does, whatever the accountant took it for
        conditions["reshuffled"] = "if it shuffles the records in every epoch"
    return [reading_of(card.model_copy(update={"sampler": name}), words) for name, words in conditions.items()]


class ReceiptAnswer(Printed):
    """The answer to a card; `exit_code` is 0 where everything stated holds, 1 where a number is refuted, 3 else."""

    def __init__(self, card: Card) -> None:
        self.card, self.readings = card, readings(card)
        self.records_public = True if card.relation == "replace-one" else card.records_public
        # releases by which a pair refutes: none is known of an average, nor of one iterate that may not be the last
        self.released: tuple[str, ...] = {"all": (ALL, LAST), "last": (LAST,)}.get(card.releases, ())
        # what is stated, verdict, the word for the reason, the reason
        self.verdicts = [(number, *self._judged(number)) for number in card.stated]

    @property
    def exit_code(self) -> int:
        verdicts = {verdict for _, verdict, _, _ in self.verdicts}
        return next((code for verdict, code in EXITS.items() if verdict in verdicts), 0)

    def _judged(self, number: StatedGuarantee) -> tuple[str, str, str]:
        verdicts = [reading.verdict(number, self.released) for reading in self.readings]
        if self.card.releases == "best-of-k" and HOLDS in verdicts:
            reason = "the best iterate is chosen by a score whose privacy cost is not stated"
            return UNSUPPORTED, "selection-not-charged", f"{reason}; a public score costs nothing"
        # where conditions disagree the card does not say enough
        if len({*verdicts}) > 1:
            parts = [f"{reading.condition}: {word}" for reading, word in zip(self.readings, verdicts, strict=True)]
            return UNSUPPORTED, "sampler", "; ".join(parts)
        if verdicts[0] == HOLDS:
            return HOLDS, "", "; ".join(reading.condition for reading in self.readings if reading.condition)
        # a program that nothing covers needs no search for what would make it hold
        reasons = ((reading.word, reading.reason) for reading in self.readings if reading.word)
        return (verdicts[0], *(next(reasons, None) or self._why(number, verdicts[0] == REFUTED)))

    def _why(self, number: StatedGuarantee, refuted: bool) -> tuple[str, str]:
        """The word and the sentence for a number that does not hold: which change of the card would make it hold."""
        card, runs = self.card, counted(self.card.tuning_runs, "tuning run")
        mismatch = card.accounted_as not in (None, "unknown", card.sampler)
        changes: list[tuple[bool, str, dict[str, Any], str]] = [
            (mismatch, "sampler", card.as_accounted() if mismatch else {},
             f"the stated number is for {card.accounted_as} batches, but the code's batches are {card.sampler}"),
            (card.shows_sizes, "normaliser", {"batch_sizes_logged": False, "normaliser": "public"},
             "the stated number assumes secret batch sizes; logging or dividing by them doubles the sensitivity"),
            (card.relation != "add-remove", "wrong-relation", {"relation": "add-remove"},
             f"the stated number is for add-remove neighbours, but the card's are {card.relation}"),
            (card.tuning_runs > 0, "selection-not-charged", {"tuning_runs": 0},
             f"the stated number does not cover {runs} on the private data"),
        ]  # fmt: skip
        attains = self._attains(number) if refuted else ""
        # each change is tried with those before it: one alone may not be enough
        update, reasons = dict[str, Any](), list[str]()
        for _, word, change, reason in (change for change in changes if change[0]):
            update |= change
            reasons.append(reason)
            if all(r.verdict(number, self.released) == HOLDS for r in readings(card.model_copy(update=update))):
                return (REFUTED if refuted else word), "; ".join(filter(None, [*reasons, attains]))
        return (REFUTED, attains) if refuted else (UNSUPPORTED, self._known(number))

    def _known(self, number: StatedGuarantee) -> str:
        """Why a number is neither reached nor refuted: the bounds of the table, at its delta."""
        if number.delta is None:
            return "no analysis here gives this mu, and no known pair of neighbours refutes it"
        upper = max(reading.best(number.delta)[0] for reading in self.readings)
        lower, every = (self._attained(number.delta, of) for of in (self.released, (ALL, LAST)))
        of_all = "" if self.card.releases == "all" else f" for what is released, and {down(every)} for all iterates"
        return f"the best upper bound is eps {up(upper)}, the best lower bound {down(lower)}{of_all}"

    def _attains(self, number: StatedGuarantee) -> str:
        """What refutes a number, and where."""
        delta, eps = max(number.curve, key=lambda point: self._attained(point[0], self.released) - point[1])
        release = "" if self.card.releases == "all" else " by the last iterate alone"
        allowed = "" if number.mu is None else f", where mu allows {up(eps)}"
        attained = down(self._attained(delta, self.released))
        return f"a pair of neighbours attains eps {attained} at delta {delta:g}{release}{allowed}"

    def _attained(self, delta: float, released: Sequence[str]) -> float:
        """What is attained under every condition."""
        return min(reading.attained(delta, released)[0] for reading in self.readings)

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp receipt --json`."""
        card = self.card
        return {
            "card": card.model_dump(),
            "neighboring_relation": card.relation,
            "records_public": self.records_public,
            "readings": [self._block(reading, with_mu=True) for reading in self.readings],
            "stated": [
                {**number.model_dump(exclude_none=True), "verdict": verdict, "word": word, "reason": reason}
                for number, verdict, word, reason in self.verdicts
            ],
            "assumed": card.assumed,
            "notes": card.notes,
        }

    def _block(self, reading: Reading, with_mu: bool = False) -> dict[str, Any]:
        """Epsilons, then advantage and rates of the best analysis at the smallest delta and of a pair.

        The mu of that analysis, up to that delta, is a search over the whole curve, and only of single records.
        """
        rows = []
        for delta in self.card.delta:
            (eps, by), (attained, pair) = reading.best(delta), reading.attained(delta)
            rows.append({"delta": delta, "eps": eps, "analysis": by and by.name, "source": by and by.source,
                         "attained": attained, "attained_last": reading.attained(delta, (LAST,))[0],
                         "pair": pair and pair.source})  # fmt: skip
        mechanism, floor = reading.mechanism, min(self.card.delta)
        (_, by), (_, pair) = reading.best(floor), reading.attained(floor, self.released)
        block: dict[str, Any] = {
            "condition": reading.condition,
            "mechanism": next((name for name, kind in MECHANISMS.items() if type(mechanism) is kind), None),
            "parameters": mechanism and mechanism.model_dump(),
            "reason": reading.reason,
            "eps": rows,
            "assumptions": [*dict.fromkeys(text for a in reading.analyses for text in a.assumptions), *reading.more],
        }
        if by is not None:
            upper = by.of_group(self.card.group)
            block["advantage"] = [upper.advantage, pair and pair.advantage]
            block["tpr"] = [[rate, upper.tpr(rate), pair and pair.tpr(rate)] for rate in RATES]
        if with_mu:
            block["gdp"] = gaussian_of(by, floor) if by and self.card.group == 1 else None
        return block

    def text(self) -> str:
        """One screen: what holds, what does not, what an attacker attains, what is not known."""
        blocks = [self._block(reading) for reading in self.readings]
        return filled("dpexp.reporting", "receipt.txt", card=self.card, public=self.records_public,
                      verdicts=self.verdicts, blocks=blocks, table=self._table, up=up, down=down)  # fmt: skip

    def _table(self, block: dict[str, Any]) -> str:
        """Epsilons, proved and attained; where the last iterate alone is released, without those of all iterates."""
        every = self.card.releases == "all"
        heads = {"attained": "attained by all iterates"} if every else {}
        heads |= {"attained_last": "by the last" if every else "attained by the last iterate"}
        rows = [
            [f"{r['delta']:g}", up(r["eps"]), *(down(r[k]) if r[k] else "-" for k in heads), r["analysis"]]
            for r in block["eps"]
        ]
        return columns(rows, ["delta", "eps", *heads.values(), "analysis"])
