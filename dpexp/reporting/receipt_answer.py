"""What holds for a training program that is not dpexp: its run card against the analyses and the attained losses here.

A card becomes one mechanism where it says how records meet the steps, and several, each under its condition, where it
does not. A stated number holds where an analysis reaches it under every condition, is refuted where a pair of
neighbours attains more under every condition, and is unsupported else. Nothing is called refuted under a relation or a
sampler whose neighbours the pair is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.config.card import Card, CardRead, Sampler, Stated
from dpexp.core.text import Printed, columns, counted, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.epoch_gaussian import SAMPLING
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.samplings import batches_of, epochs_of
from dpexp.reporting.guarantee_in_words import gaussian_of

HOLDS, REFUTED, UNSUPPORTED = "holds", "refuted", "unsupported"
EXITS = {HOLDS: 0, REFUTED: 1, UNSUPPORTED: 3}
RATES = (1e-2, 1e-3)
"""false positive rates at which an attacker's true positive rate is told"""
MU_LEVELS = tuple(10.0**-k for k in range(2, 11))
"""deltas at which a stated mu is held against what is attained"""
PRIVATE_N = "sampling probability, steps and divisor are not computed from the number of records, which is private"
OTHER_GROUPS = "the microbatches of all other records stay as they are"
TURNED = "; records of its microbatch pull the other way, and the number of microbatches is the same in every step"
ONE_CHANGE = ("full-batch", "fixed-size", "cyclic", "shuffled", "reshuffled")
"""samplers with which a replaced record changes one vector of a sum, be it its own or that of its microbatch"""
ALL_LAYERS = "the noise is over the norm of all layers together"
DRAWN = ("drawn", "drawn-visible")
"""divisors that are the size of the batch"""
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class Reading:
    """The program under one condition on what the card leaves open; without a mechanism, why nothing covers it."""

    condition: str
    mechanism: Mechanism | None
    lower: Sequence[Analysis] = ()
    """what pairs of neighbours attain, of all iterates or of the last one"""
    more: Sequence[str] = ()
    """assumptions beside those of the analyses"""
    word: str = ""
    """of `private-n`, `normaliser`, `unsupported`: what is wrong where there is no mechanism"""
    reason: str = ""
    group: int = 1
    """records that are protected together"""

    @cached_property
    def analyses(self) -> list[Analysis]:
        """Of all iterates, which covers the last one and every average."""
        analyses = every_analysis(self.mechanism) if self.mechanism else []
        return [a for a in analyses if a.valid and a.released == ALL]

    def best(self, delta: float) -> tuple[float, Analysis | None]:
        """The least epsilon that is proved, and by what."""
        candidates = [(self._eps(a, delta), k) for k, a in enumerate(self.analyses)]
        eps, k = min(candidates, default=(math.inf, -1))
        return (eps, self.analyses[k]) if math.isfinite(eps) else (math.inf, None)

    def _eps(self, analysis: Analysis, delta: float) -> float:
        return analysis.of_group(self.group).eps(delta) if self.group > 1 else analysis.eps(delta)

    def attained(self, delta: float, released: Sequence[str] = (ALL, LAST)) -> tuple[float, Analysis | None]:
        """The largest epsilon that a pair of neighbours attains of what is released; what the last shows, all show."""
        candidates = [(b.eps(delta), k) for k, b in enumerate(self.lower) if b.released in released]
        eps, k = max(candidates, default=(0.0, -1))
        return (eps, self.lower[k]) if eps > 0 else (0.0, None)

    def verdict(self, stated: Stated, released: Sequence[str]) -> str:
        """Whether the program under this condition keeps what is stated; a pair refutes by what is released."""
        if stated.mu is not None:
            # a stated mu promises a whole curve, so that any delta can refute it
            if any(self.attained(d, released)[0] > eps_of(stated.mu, d) * ROUNDED for d in MU_LEVELS):
                return REFUTED
            # an analysis without a mu says nothing of a whole curve
            reached = [a.mu for a in self.analyses if a.mu is not None and self.group * a.mu <= stated.mu * ROUNDED]
            return HOLDS if reached else UNSUPPORTED
        assert stated.eps is not None
        assert stated.delta is not None
        if self.attained(stated.delta, released)[0] > stated.eps * ROUNDED:
            return REFUTED
        return HOLDS if self.best(stated.delta)[0] <= stated.eps * ROUNDED else UNSUPPORTED


def readings(card: Card) -> list[Reading]:
    """The programs that a card can mean, each with its condition."""
    if card.sampler != "unknown":
        return [_reading(card, card.sampler, "")]
    # what nobody says is taken for Poisson batches, as nearly all accountants take it
    accounted = card.accounted_as if card.accounted_as not in (None, "unknown") else "poisson"
    assert accounted is not None
    programs = [_reading(card, accounted, f"if the code samples as it was accounted ({accounted})")]
    if accounted not in SAMPLING and max(phase.sampling_probability for phase in card.phases) < 1:
        # what the usual loader does, whatever the accountant took it for
        programs.append(_reading(card, "reshuffled", "if it shuffles the records in every epoch"))
    return programs


def _reading(card: Card, sampler: Sampler, condition: str) -> Reading:
    """One mechanism for what is guaranteed, and one run of it for what is attained: tuning runs are not released."""
    word, reason = _not_covered(card, sampler)
    if word:
        return Reading(condition, None, word=word, reason=reason)
    try:
        # what is guaranteed covers the tuning runs; what is attained is of the one that is released
        every = _mechanism(card, sampler, card.tuning_runs + 1)
        # of a microbatch that a replaced record turns around, the other record leaves it as its mates do
        alone = card.model_copy(update={"relation": "add-remove"}) if _turns(card, sampler) else card
        run = _mechanism(alone, sampler, 1)
    except ValueError as error:
        return Reading(condition, None, word=UNSUPPORTED, reason=f"{sampler} batches of these numbers: {error}")
    # under replace-one the number of records is public
    more = [PRIVATE_N] if card.relation != "replace-one" and card.records_public is not True else []
    more += [OTHER_GROUPS] if card.clipping == "microbatch" else []
    more += [ALL_LAYERS] if card.clipping == "per-layer" else []
    lower = run.lower_bounds() if _pairs_are_the_programs(card, sampler) else []
    if _turns(card, sampler):
        lower = [replace(b, source=b.source + TURNED) for b in lower]
    # the last iterate adds up means, and the pairs' adds up sums
    if card.normaliser in DRAWN:
        lower = [b for b in lower if b.released == ALL]
    result = Reading(condition, every, lower, more, group=card.group)
    if not math.isfinite(result.best(card.delta[0])[0]):
        return Reading(
            condition, None, word=UNSUPPORTED, reason=f"no analysis here covers {sampler} batches, {card.relation}"
        )
    return result


def _pairs_are_the_programs(card: Card, sampler: Sampler) -> bool:
    """Whether the pairs of the mechanism are those of the program.

    Not where a drawn divisor hides the sizes that tell, and where records choose among parts of an epoch that may be
    cut in several ways.
    """
    # the pair is told apart by the sizes, which nobody sees here
    hidden = card.normaliser == "drawn" and not card.batch_sizes_logged
    uneven = sampler == "k-of-t" and phase_steps(card) % (card.steps_per_epoch or 1) > 0
    return not (hidden or uneven)


def _turns(card: Card, sampler: Sampler) -> bool:
    """Whether a record can turn the vector of its microbatch around, and so move a sum by two norms where it is one.

    Not where the sum moves by two norms anyway: a record stands in another one's place, or the sizes are known.
    """
    if card.clipping != "microbatch" or _shows(card):
        return False
    return card.relation != "replace-one" or sampler not in ONE_CHANGE


def _shows(card: Card) -> bool:
    return card.batch_sizes_logged or card.normaliser in DRAWN


def _not_covered(card: Card, sampler: Sampler) -> tuple[str, str]:
    """The word and the reason why no analysis here covers the card; empty where one may."""
    if card.clipping == "none":
        return UNSUPPORTED, "nothing bounds the gradients: without clipping there is no guarantee"
    if card.normaliser == "expected" and card.relation == "add-remove" and card.records_public is not True:
        return "private-n", _scale(card)
    if len({(p.noise_multiplier, p.sampling_probability) for p in card.phases}) > 1 and (
        sampler not in ("poisson", "full-batch", "fixed-size") or _shows(card)
    ):
        return UNSUPPORTED, "several phases are composed for Poisson, fixed-size and full batches, without their sizes"
    if _shows(card) and (sampler != "poisson" or card.relation == "zero-out" or card.records is None):
        covered = "Poisson batches of a stated number of records, with add-remove or replace-one"
        return "normaliser", f"batch sizes that are shown or divided by are covered for {covered}"
    if card.relation == "zero-out" and sampler in ("truncated-poisson", "fixed-size"):
        return UNSUPPORTED, f"{sampler} batches are not covered for a record that is set to zero"
    return "", ""


def _mechanism(card: Card, sampler: Sampler, runs: int) -> Mechanism:
    """The mechanism of so many runs in a row. Raises ValueError where its numbers make none."""
    noise = [p.noise_multiplier / (2 if _turns(card, sampler) else 1) for p in card.phases] * runs
    shares = [p.sampling_probability for p in card.phases] * runs
    steps = [p.steps for p in card.phases] * runs
    # a record that is set to zero adds nothing to a sum, as one that is not there
    relation = "add-remove" if card.relation == "zero-out" else card.relation
    values: dict[str, Any] = {"neighboring_relation": relation, "noise_multiplier": noise[0]}
    sampled = {"sampling_probability": shares[0], "steps": sum(steps)}
    if sampler == "poisson" and _shows(card):
        return MECHANISMS["shown-sizes"].model_validate(values | sampled | {"n": card.records})
    if sampler == "truncated-poisson":
        return MECHANISMS[sampler].model_validate(values | sampled | {"n": card.records, "cap": card.cap})
    if sampler == "k-of-t":
        assert card.steps_per_epoch is not None
        epochs = math.ceil(phase_steps(card) / card.steps_per_epoch) * runs
        drawn = {"steps_per_epoch": card.steps_per_epoch, "selected": card.selected, "epochs": epochs}
        return MECHANISMS[sampler].model_validate(values | drawn)
    if sampler in SAMPLING:
        if sampler == "cyclic-poisson":
            batches = card.groups or batches_of(shares[0])
            epochs, rest = divmod(phase_steps(card), batches)
            values |= {
                "sampling_probability": shares[0],
                "batches": batches,
                "epochs": epochs,
                "unfinished": rest or None,
            }
        else:
            values |= epochs_of(phase_steps(card), shares[0], sampler in ("shuffled", "reshuffled"))
        # of several runs an epoch that ends early counts as a whole one
        if runs > 1:
            values |= {"epochs": (values["epochs"] + (values["unfinished"] is not None)) * runs, "unfinished": None}
        values["sampling"] = sampler
        return MECHANISMS["epoch-gaussian"].model_validate(values)
    values |= sampled | {"sampling": sampler}
    if len({*zip(noise, shares, strict=True)}) > 1:
        values |= {"noise_multiplier": tuple(noise), "sampling_probability": tuple(shares), "steps": tuple(steps)}
    return MECHANISMS["sampled-gaussian"].model_validate(values)


def _public(card: Card) -> str:
    """Whether everybody may know n."""
    if card.relation == "replace-one" or card.records_public:
        return "public"
    return "public or private: not said" if card.records_public is None else "private"


def phase_steps(card: Card) -> int:
    """Steps of one run."""
    return sum(phase.steps for phase in card.phases)


def _scale(card: Card) -> str:
    """What a divisor that is computed from a private number of records gives away."""
    problem = (
        "the divisor q n moves with a record that is added or removed, and nothing here bounds what that gives away"
    )
    if card.dimension is None or card.records is None:
        return f"{problem}; make n public"
    # the noise of d coordinates and T steps has the scale n / (n + 1) of that of the neighbour: its squares tell
    mu = math.sqrt(2 * phase_steps(card) * card.dimension) / card.records
    return f"{problem}; the scale of the noise alone is about mu = {mu:.3g} (sqrt(2 T d) / n); make n public"


class Receipt(Printed):
    """The answer to a card; `exit_code` is 0 where all that is stated holds, 1 where it is refuted, 3 else."""

    def __init__(self, read: CardRead) -> None:
        self.card, self.notes = read.card, read.notes
        self.readings = readings(read.card)

    @cached_property
    def verdicts(self) -> list[tuple[Stated, str, str, str]]:
        """(what is stated, verdict, the word for the reason, the reason)."""
        return [(stated, *self._judged(stated)) for stated in self.card.stated]

    @property
    def released(self) -> tuple[str, ...]:
        """Of which releases a pair refutes: an average, of which none is known here, hides the iterates."""
        return {"all": (ALL, LAST), "average": ()}.get(self.card.releases, (LAST,))

    @property
    def exit_code(self) -> int:
        verdicts = {verdict for _, verdict, _, _ in self.verdicts}
        return next((EXITS[verdict] for verdict in (REFUTED, UNSUPPORTED) if verdict in verdicts), 0)

    def _judged(self, stated: Stated) -> tuple[str, str, str]:
        each = [reading.verdict(stated, self.released) for reading in self.readings]
        if self.card.releases == "best-of-k" and HOLDS in each:
            problem = (
                "the best iterate is chosen by a score whose privacy cost is not stated; a public score costs nothing"
            )
            return UNSUPPORTED, "selection-not-charged", problem
        # one condition keeps it and another does not: then the card does not say enough
        if len({*each}) > 1:
            parts = [f"{reading.condition}: {verdict}" for reading, verdict in zip(self.readings, each, strict=True)]
            return UNSUPPORTED, "sampler", "; ".join(parts)
        verdict = each[0]
        if verdict == HOLDS:
            condition = "; ".join(reading.condition for reading in self.readings if reading.condition)
            return HOLDS, "", condition
        words = [(reading.word, reading.reason) for reading in self.readings if reading.word]
        # a program that nothing covers needs no search for what would make it hold
        if words:
            return (verdict, *words[0])
        return (verdict, *self._why(stated, verdict))

    def _why(self, stated: Stated, verdict: str) -> tuple[str, str]:
        """The word and the sentence for a number that does not hold: which change of the card would make it hold."""
        card = self.card
        changes: list[tuple[str, dict[str, Any], str]] = []
        if card.accounted_as not in (None, "unknown", card.sampler):
            reason = f"the stated number is for {card.accounted_as} batches, but the code's batches are {card.sampler}"
            changes.append(("sampler", {"sampler": card.accounted_as}, reason))
        if _shows(card):
            reason = "the stated number assumes secret batch sizes; logging or dividing by them doubles the sensitivity"
            changes.append(("normaliser", {"batch_sizes_logged": False, "normaliser": "public"}, reason))
        if card.relation != "add-remove":
            reason = f"the stated number is for add-remove neighbours, but the card's are {card.relation}"
            changes.append(("wrong-relation", {"relation": "add-remove"}, reason))
        if card.tuning_runs:
            reason = f"the stated number does not cover {counted(card.tuning_runs, 'tuning run')} on the private data"
            changes.append(("selection-not-charged", {"tuning_runs": 0}, reason))
        update: dict[str, Any] = {}
        attains = self._attains(stated) if verdict == REFUTED else ""
        # the first that is enough, with those before it
        for k, (word, change, _) in enumerate(changes):
            update |= change
            # each change is tried with those before it: one alone may not be enough
            if all(r.verdict(stated, self.released) == HOLDS for r in readings(card.model_copy(update=update))):
                reason = "; ".join(
                    ["; ".join(text for _, _, text in changes[: k + 1]), *([attains] if attains else [])]
                )
                return (verdict if verdict == REFUTED else word), reason
        return (verdict, attains) if verdict == REFUTED else (UNSUPPORTED, self._known(stated))

    def _known(self, stated: Stated) -> str:
        """Why a number is neither reached nor refuted: the bounds of the table, at its delta."""
        if stated.mu is not None:
            return "no analysis here gives this mu, and no known pair of neighbours refutes it"
        assert stated.delta is not None
        upper = max(reading.best(stated.delta)[0] for reading in self.readings)
        lower = {
            kind: self._least_attained(stated.delta, of) for kind, of in (("", self.released), ("all", (ALL, LAST)))
        }
        of_all = (
            "" if self.card.releases == "all" else f" for what is released, and {down(lower['all'])} for all iterates"
        )
        return f"the best upper bound is eps {up(upper)}, the best lower bound {down(lower[''])}{of_all}"

    def _attains(self, stated: Stated) -> str:
        release, allowed, delta = "", "", stated.delta
        if stated.mu is not None:
            mu = stated.mu
            delta = max(MU_LEVELS, key=lambda level: self._least_attained(level, self.released) - eps_of(mu, level))
            allowed = f", where mu allows {up(eps_of(mu, delta))}"
        assert delta is not None
        if self.card.releases != "all":
            release = " by the last iterate alone"
        attained = down(self._least_attained(delta, self.released))
        return f"a pair of neighbours attains eps {attained} at delta {delta:g}{release}{allowed}"

    def _least_attained(self, delta: float, released: Sequence[str]) -> float:
        """What is attained under every condition."""
        return min(reading.attained(delta, released)[0] for reading in self.readings)

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp receipt --json`."""
        return {
            "card": self.card.model_dump(),
            "neighboring_relation": self.card.relation,
            "records_public": True if self.card.relation == "replace-one" else self.card.records_public,
            "readings": [self._reading(reading) | self._gaussian(reading) for reading in self.readings],
            "stated": [
                {**stated.model_dump(exclude_none=True), "verdict": verdict, "word": word, "reason": reason}
                for stated, verdict, word, reason in self.verdicts
            ],
            "assumed": self.card.assumed,
            "notes": list(self.notes),
        }

    def _reading(self, reading: Reading) -> dict[str, Any]:
        rows = []
        for delta in self.card.delta:
            eps, by = reading.best(delta)
            attained, pair = reading.attained(delta)
            rows.append(
                {"delta": delta, "eps": eps, "analysis": by and by.name, "source": by and by.source,
                 "attained": attained, "attained_last": reading.attained(delta, (LAST,))[0],
                 "pair": pair and pair.source}
            )  # fmt: skip
        result: dict[str, Any] = {
            "condition": reading.condition,
            "mechanism": next((name for name, kind in MECHANISMS.items() if type(reading.mechanism) is kind), None),
            "parameters": reading.mechanism.model_dump() if reading.mechanism else None,
            "reason": reading.reason,
            "eps": rows,
            "assumptions": [*dict.fromkeys(text for a in reading.analyses for text in a.assumptions), *reading.more],
        }
        return result | self._attacker(reading)

    def _attacker(self, reading: Reading) -> dict[str, Any]:
        """Advantage and rates of the best analysis, and of a pair by what is released."""
        floor = min(self.card.delta)
        # one analysis for all that follows: the best at the smallest delta
        _, by = reading.best(floor)
        _, pair = reading.attained(floor, self.released)
        if by is None:
            return {}
        promised = by.of_group(self.card.group)
        attained = pair
        return {
            "advantage": [promised.advantage, attained.advantage if attained else None],
            "tpr": [[rate, promised.tpr(rate), attained.tpr(rate) if attained else None] for rate in RATES],
        }

    def _gaussian(self, reading: Reading) -> dict[str, Any]:
        """mu with its floor, of the best analysis: a search over the whole curve, for the document alone."""
        floor = min(self.card.delta)
        _, by = reading.best(floor)
        return {"gdp": gaussian_of(by, floor) if by and self.card.group == 1 else None}

    def text(self) -> str:
        """One screen: what holds, what does not, what an attacker attains, what is not known."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        card = self.card
        n = "n not given" if card.records is None else f"n = {card.records:,}"
        yield f"Neighbours {card.relation}, {n} ({_public(card)}); {phase_steps(card):,} steps, batches {card.sampler}"
        for stated, verdict, word, reason in self.verdicts:
            number = f"mu = {stated.mu:g}" if stated.mu is not None else f"eps {stated.eps:g} at delta {stated.delta:g}"
            label = "holds if" if verdict == HOLDS and reason else verdict
            yield f"Stated {number}: {label}" + "".join(
                f" - {text}" for text in (word, reason) if text and text != verdict
            )
        for reading in self.readings:
            yield ""
            yield from self._block(reading)
        assumed = [f"taken, since the card does not say: {'; '.join(card.assumed)}"] if card.assumed else []
        if self.notes or assumed:
            yield "\nNot known"
            yield from (f"  {line}" for line in (*self.notes, *assumed))

    def _block(self, reading: Reading) -> Iterator[str]:
        yield (reading.condition[:1].upper() + reading.condition[1:]) or "What is guaranteed, and what is attained"
        if reading.reason:
            yield f"  nothing is guaranteed here: {reading.reason}"
            return
        block, every = self._reading(reading), self.card.releases == "all"
        # where the last iterate alone is released, what all of them would show is beside the point
        shown = {"attained": "attained by all iterates"} if every else {}
        shown |= {"attained_last": "by the last" if every else "attained by the last iterate"}
        rows = [
            [f"{r['delta']:g}", up(r["eps"]), *(down(r[k]) if r[k] else "-" for k in shown), r["analysis"]]
            for r in block["eps"]
        ]
        head = ["delta", "eps", *shown.values(), "analysis"]
        yield from ("  " + line for line in columns(rows, head).splitlines())
        advantage, attained = block["advantage"]
        yield f"  An attacker's advantage: at most {up(advantage)}" + _and_attained(attained)
        for rate, most, least in block["tpr"]:
            yield f"  True positives at {rate:g} false positives: at most {up(most)}" + _and_attained(least)
        pair = block["eps"][0]["pair"]
        if pair and every:
            yield f"  Attained by {pair}"
        yield f"  Holds if {'; '.join(block['assumptions'])}"

    def appendix(self, form: str) -> str:
        """A paragraph and a table for a paper's appendix, in Markdown or LaTeX."""
        from dpexp.reporting import latex
        from dpexp.reporting.text_table import markdown_table

        answers = [(reading, delta, reading.best(delta), reading.attained(delta)) for reading in self.readings
                 for delta in self.card.delta]  # fmt: skip
        rows = [
            [r.condition or self.card.sampler, f"{d:g}", up(best[0]), down(attained[0])]
            for r, d, best, attained in answers
        ]
        head = ["batches", "delta", "epsilon", "attained"]
        return _paragraph(self.card) + "\n\n" + (latex.tabular if form == "tex" else markdown_table)(head, rows)


def _paragraph(card: Card) -> str:
    n = "" if card.records is None else f" on {card.records:,} records"
    phases = "; ".join(
        f"{p.steps:,} steps, noise multiplier {p.noise_multiplier:g}, sampling probability {p.sampling_probability:.6g}"
        for p in card.phases
    )
    return (
        f"Training took {phases}{n}. Neighbouring data sets are those of {card.relation}, the batches {card.sampler}, "
        "and the guarantee covers all iterates. `attained` is the privacy loss of one pair of neighbours: "
        "no guarantee can be less."
    )


def _and_attained(value: float | None) -> str:
    return "" if value is None else f", attained {down(value)}"
