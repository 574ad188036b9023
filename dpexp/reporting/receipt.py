"""What holds for a training program that is not dpexp: its run card against the analyses and the attained losses here.

A card becomes one mechanism where it says how records meet the steps, and several, each under its condition, where it
does not. A stated number holds where an analysis reaches it under every condition, is refuted where a pair of
neighbours attains more under every condition, and is unsupported else. Nothing is called refuted under a relation or a
sampler whose neighbours the pair is not.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from dpexp.config.card import Card, CardRead, Sampler, Stated
from dpexp.core.text import Printed, columns, down, up
from dpexp.privacy.accounting.gdp import eps_of
from dpexp.privacy.accounting.gdp_summary import mu_up_to, regret
from dpexp.privacy.accounting.tradeoff import Profile
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.reporting.tradeoff import profile_of

HOLDS, REFUTED, UNSUPPORTED = "holds", "refuted", "unsupported"
EXITS = {HOLDS: 0, REFUTED: 1, UNSUPPORTED: 3}
RATES = (1e-2, 1e-3)
"""false positive rates at which an attacker's true positive rate is told"""
MU_LEVELS = tuple(10.0**-k for k in range(2, 11))
"""deltas at which a stated mu is held against what is attained"""
PRIVATE_N = "sampling probability, steps and divisor are not computed from the number of records, which is private"
EPOCHWISE = ("balls-in-bins", "shuffled", "reshuffled", "cyclic-poisson")
ROUNDED = 1 + 1e-9


@dataclass(frozen=True)
class Reading:
    """The program under one condition on what the card leaves open; without a mechanism, why nothing covers it."""

    condition: str
    mechanism_name: str
    mechanism: Mechanism | None
    word: str = ""
    """of `private-n`, `normaliser`, `sampler`, `unsupported`: what is wrong where there is no mechanism"""
    reason: str = ""

    @cached_property
    def analyses(self) -> list[Analysis]:
        """Of all iterates, which covers the last one and every average."""
        found = every_analysis(self.mechanism) if self.mechanism else []
        return [a for a in found if a.valid and a.released == ALL]

    @cached_property
    def lower(self) -> list[LowerBound]:
        return self.mechanism.lower_bounds() if self.mechanism else []

    def best(self, delta: float) -> tuple[float, Analysis | None]:
        """The least epsilon that is proved, and by what."""
        found = [(a.eps(delta), k) for k, a in enumerate(self.analyses)]
        eps, k = min(found, default=(math.inf, -1))
        return (eps, self.analyses[k]) if math.isfinite(eps) else (math.inf, None)

    def attained(self, delta: float) -> tuple[float, LowerBound | None]:
        """The largest epsilon that a pair of neighbours attains, of everything that is released."""
        found = [(b.eps(delta), k) for k, b in enumerate(self.lower)]
        eps, k = max(found, default=(0.0, -1))
        return (eps, self.lower[k]) if eps > 0 else (0.0, None)

    def verdict(self, stated: Stated) -> str:
        """Whether the program under this condition keeps what is stated."""
        if stated.mu is not None:
            if any(b.eps(d) > eps_of(stated.mu, d) * ROUNDED for b in self.lower for d in MU_LEVELS):
                return REFUTED
            reached = [a.mu for a in self.analyses if a.mu is not None and a.mu <= stated.mu * ROUNDED]
            return HOLDS if reached else UNSUPPORTED
        assert stated.eps is not None
        assert stated.delta is not None
        if self.attained(stated.delta)[0] > stated.eps * ROUNDED:
            return REFUTED
        return HOLDS if self.best(stated.delta)[0] <= stated.eps * ROUNDED else UNSUPPORTED


def readings(card: Card) -> list[Reading]:
    """The mechanisms that a card can mean, each with its condition."""
    if card.sampler != "unknown":
        return [_reading(card, card.sampler, "")]
    told = card.accounted_as if card.accounted_as not in (None, "unknown") else "poisson"
    assert told is not None
    found = [_reading(card, told, f"if the code samples as it was accounted ({told})")]
    if told not in EPOCHWISE and max(phase.sampling_probability for phase in card.phases) < 1:
        found.append(_reading(card, "reshuffled", "if it shuffles the records in every epoch"))
    return found


def _reading(card: Card, sampler: Sampler, condition: str) -> Reading:
    def refused(word: str, reason: str) -> Reading:
        return Reading(condition, "", None, word, reason)

    if card.clipping == "none":
        return refused(UNSUPPORTED, "nothing bounds the gradients: without clipping there is no guarantee")
    relation = "add-remove" if card.relation == "zero-out" else card.relation
    private_n = relation == "add-remove" and card.relation != "zero-out" and card.records_public is False
    if card.normaliser == "expected" and private_n:
        return refused("private-n", _scale(card))
    shows = card.batch_sizes_logged or card.normaliser in ("drawn", "drawn-visible")
    # microbatches: a group of records is clipped as one, so that a record that comes or goes turns its vector around
    wider = card.clipping == "microbatch" and relation == "add-remove"
    runs = card.tuning_runs + 1
    noise = tuple(phase.noise_multiplier / (2 if wider else 1) for phase in card.phases for _ in range(runs))
    shares = tuple(phase.sampling_probability for phase in card.phases for _ in range(runs))
    steps = tuple(phase.steps for phase in card.phases for _ in range(runs))
    alike = len({*zip(noise, shares, strict=True)}) == 1
    name, values = "sampled-gaussian", dict[str, Any](neighboring_relation=relation, noise_multiplier=noise[0])
    if sampler == "poisson" and not shows and not alike:
        values |= {"noise_multiplier": noise, "sampling_probability": shares, "steps": steps}
    elif not alike:
        return refused(UNSUPPORTED, f"several phases are composed for Poisson batches alone, not for {sampler}")
    elif sampler == "poisson" and shows:
        if card.records is None:
            return refused("normaliser", "batch sizes that are shown or divided by need the number of records")
        name = "shown-sizes"
        values |= {"n": card.records, "sampling_probability": shares[0], "steps": sum(steps)}
    elif shows:
        return refused("normaliser", f"batch sizes of {sampler} batches that are shown or divided by are not covered")
    elif sampler == "truncated-poisson":
        name = sampler
        values |= {"n": card.records, "cap": card.cap, "sampling_probability": shares[0], "steps": sum(steps)}
    elif sampler == "k-of-t":
        assert card.steps_per_epoch is not None
        epochs = math.ceil(phase_steps(card) / card.steps_per_epoch) * runs
        name = sampler
        values |= {"steps_per_epoch": card.steps_per_epoch, "selected": card.selected, "epochs": epochs}
    elif sampler in EPOCHWISE:
        batches = (
            card.groups if sampler == "cyclic-poisson" and card.groups else max(1, math.floor(1 / shares[0] + 1e-6))
        )
        epochs, rest = divmod(phase_steps(card), batches)
        name = "epoch-gaussian"
        values |= {"batches": batches, "epochs": epochs * runs, "sampling": sampler}
        if rest:  # of several runs each ends early, which is counted as a whole epoch
            values |= {"unfinished": rest} if runs == 1 else {"epochs": (epochs + 1) * runs}
        if sampler == "cyclic-poisson":
            values["sampling_probability"] = min(1.0, shares[0] * batches)
    else:
        share = 1.0 if sampler == "full-batch" else shares[0]
        values |= {"sampling_probability": share, "steps": sum(steps), "sampling": sampler}
    try:
        mechanism = MECHANISMS[name](**values)
    except ValueError as error:
        return refused(UNSUPPORTED, f"{sampler} batches of these numbers: {error}")
    found = Reading(condition, name, mechanism)
    if not found.analyses or not math.isfinite(found.best(card.delta[0])[0]):
        return refused(UNSUPPORTED, f"no analysis here covers {sampler} batches under {card.relation}")
    return found


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
    said = "the divisor q n moves with a record that is added or removed, and nothing here bounds what that gives away"
    if card.dimension is None or card.records is None:
        return f"{said}; make n public"
    # the noise of d coordinates and T steps has the scale n / (n + 1) of that of the neighbour: its squares tell
    mu = math.sqrt(2 * phase_steps(card) * card.dimension) / card.records
    return f"{said}; the scale of the noise alone is about mu = {mu:.3g} (sqrt(2 T d) / n); make n public"


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
    def exit_code(self) -> int:
        found = {verdict for _, verdict, _, _ in self.verdicts}
        return next((EXITS[one] for one in (REFUTED, UNSUPPORTED) if one in found), 0)

    def _judged(self, stated: Stated) -> tuple[str, str, str]:
        each = [reading.verdict(stated) for reading in self.readings]
        if self.card.releases == "best-of-k" and HOLDS in each:
            said = "the best of several was chosen by a score that nothing is charged for; a public score costs nothing"
            return UNSUPPORTED, "selection-not-charged", said
        if len({*each}) > 1:
            parts = [f"{reading.condition}: {verdict}" for reading, verdict in zip(self.readings, each, strict=True)]
            return UNSUPPORTED, "sampler", "; ".join(parts)
        verdict = each[0]
        if verdict == HOLDS:
            condition = "; ".join(reading.condition for reading in self.readings if reading.condition)
            return HOLDS, "", condition
        words = [(reading.word, reading.reason) for reading in self.readings if reading.word]
        if words:
            return (verdict, *words[0])
        return (verdict, *self._why(stated, verdict))

    def _why(self, stated: Stated, verdict: str) -> tuple[str, str]:
        """The word and the sentence for a number that does not hold: which change of the card would make it hold."""
        card = self.card
        changes: list[tuple[str, dict[str, Any], str]] = []
        if card.accounted_as not in (None, "unknown", card.sampler):
            said = f"it is the number of {card.accounted_as} batches, and the code's are {card.sampler}"
            changes.append(("sampler", {"sampler": card.accounted_as}, said))
        if card.batch_sizes_logged or card.normaliser in ("drawn", "drawn-visible"):
            said = "it is the number of sizes that nobody sees; shown or divided by, they double the sensitivity"
            changes.append(("normaliser", {"batch_sizes_logged": False, "normaliser": "public"}, said))
        if card.relation != "add-remove":
            said = f"it is an add-remove number, and the neighbours are {card.relation}"
            changes.append(("wrong-relation", {"relation": "add-remove"}, said))
        if card.tuning_runs:
            said = f"{card.tuning_runs} tuning runs on the private data are not charged in it"
            changes.append(("selection-not-charged", {"tuning_runs": 0}, said))
        told: dict[str, Any] = {}
        attains = self._attains(stated) if verdict == REFUTED else ""
        for k, (word, change, _) in enumerate(changes):  # the first that is enough, with those before it
            told |= change
            if all(r.verdict(stated) == HOLDS for r in readings(card.model_copy(update=told))):
                said = "; ".join(["; ".join(text for _, _, text in changes[: k + 1]), *([attains] if attains else [])])
                return (verdict if verdict == REFUTED else word), said
        if verdict == REFUTED:
            return REFUTED, attains
        return UNSUPPORTED, "no analysis here reaches it, and no pair that is known attains more"

    def _attains(self, stated: Stated) -> str:
        delta = stated.delta or min(self.card.delta)
        least = min(reading.attained(delta)[0] for reading in self.readings)
        return f"a pair of neighbours attains eps {down(least)} at delta {delta:g}"

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp receipt --json`."""
        return {
            "card": self.card.model_dump(),
            "neighboring_relation": self.card.relation,
            "records_public": True if self.card.relation == "replace-one" else self.card.records_public,
            "readings": [self._reading(reading) for reading in self.readings],
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
            shown, pair = reading.attained(delta)
            rows.append(
                {"delta": delta, "eps": eps, "analysis": by and by.name, "source": by and by.source,
                 "attained": shown, "pair": pair and pair.pair}
            )  # fmt: skip
        found: dict[str, Any] = {
            "condition": reading.condition,
            "mechanism": reading.mechanism_name,
            "parameters": reading.mechanism.model_dump() if reading.mechanism else None,
            "reason": reading.reason,
            "eps": rows,
            "assumptions": self._assumptions(reading),
        }
        return found | self._attacker(reading)

    def _assumptions(self, reading: Reading) -> list[str]:
        """Of the analyses; where n is nobody's business, that nothing else is computed from it."""
        public = self.card.relation == "replace-one" or self.card.records_public is True
        said = () if public else (PRIVATE_N,)
        return list(dict.fromkeys([*(text for a in reading.analyses for text in a.assumptions), *said]))

    def _attacker(self, reading: Reading) -> dict[str, Any]:
        """mu with its floor and regret, advantage and rates of the best analysis, and of what is attained."""
        floor = min(self.card.delta)
        _, by = reading.best(floor)
        _, pair = reading.attained(floor)
        if by is None:
            return {}
        promised = profile_of(by)
        shown = Profile(pair.eps, attained=True) if pair else None
        mu = by.mu if by.mu is not None else mu_up_to(promised, floor)
        gap = regret(mu, shown) if shown and math.isfinite(mu) else None
        return {
            "gdp": {"mu": mu, "floor": 0.0 if by.mu is not None else floor, "regret": gap},
            "advantage": [promised.advantage, shown.advantage if shown else None],
            "tpr": [[rate, promised.tpr(rate), shown.tpr(rate) if shown else None] for rate in RATES],
        }

    def text(self) -> str:
        """One screen: what holds, what does not, what an attacker attains, what is not known."""
        return "\n".join(self._lines())

    def _lines(self) -> Iterator[str]:
        card = self.card
        n = "n not given" if card.records is None else f"n = {card.records:,}"
        yield f"Neighbours {card.relation}, {n} ({_public(card)}); {phase_steps(card):,} steps, batches {card.sampler}"
        for stated, verdict, word, reason in self.verdicts:
            told = f"mu = {stated.mu:g}" if stated.mu is not None else f"eps {stated.eps:g} at delta {stated.delta:g}"
            label = "holds if" if verdict == HOLDS and reason else verdict
            yield f"Stated {told}: {label}" + "".join(
                f" - {text}" for text in (word, reason) if text and text != verdict
            )
        for reading in self.readings:
            yield ""
            yield from self._block(reading)
        taken = [f"taken, since the card does not say: {'; '.join(card.assumed)}"] if card.assumed else []
        if self.notes or taken:
            yield "\nNot known"
            yield from (f"  {one}" for one in (*self.notes, *taken))

    def _block(self, reading: Reading) -> Iterator[str]:
        yield (reading.condition[:1].upper() + reading.condition[1:]) or "What is guaranteed, and what is attained"
        if reading.reason:
            yield f"  nothing is guaranteed here: {reading.reason}"
            return
        found = self._reading(reading)
        rows = [[f"{r['delta']:g}", up(r["eps"]), down(r["attained"]), r["analysis"]] for r in found["eps"]]
        yield from ("  " + line for line in columns(rows, ["delta", "eps", "attained", "by"]).splitlines())
        gdp, (advantage, shown) = found["gdp"], found["advantage"]
        floor = f" up to delta {gdp['floor']:g}" if gdp["floor"] else ""
        gap = "" if gdp["regret"] is None else f", regret {up(gdp['regret'], 3)}"
        yield f"  Gaussian DP: mu {up(gdp['mu'])}{floor}{gap}"
        yield f"  An attacker's advantage: at most {up(advantage)}" + _attains(shown)
        for rate, most, least in found["tpr"]:
            yield f"  True positives at {rate:g} false positives: at most {up(most)}" + _attains(least)
        pair = found["eps"][0]["pair"]
        if pair:
            yield f"  Attained by {pair}"
        yield f"  Holds if {'; '.join(found['assumptions'])}"

    def appendix(self, form: str) -> str:
        """A paragraph and a table for a paper's appendix, in Markdown or LaTeX."""
        found = [(reading, delta, reading.best(delta), reading.attained(delta)) for reading in self.readings
                 for delta in self.card.delta]  # fmt: skip
        rows = [
            [r.condition or self.card.sampler, f"{d:g}", up(best[0]), down(shown[0])] for r, d, best, shown in found
        ]
        head = ["batches", "delta", "epsilon", "attained"]
        return _paragraph(self.card) + "\n\n" + (_tex(head, rows) if form == "tex" else _markdown(head, rows))


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


def _markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def _tex(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    body = " \\\\\n".join(" & ".join(line) for line in [head, *rows])
    return f"\\begin{{tabular}}{{lrrr}}\n{body} \\\\\n\\end{{tabular}}"


def _attains(value: float | None) -> str:
    return "" if value is None else f", attained {down(value)}"
