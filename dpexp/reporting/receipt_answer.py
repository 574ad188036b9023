"""The answer to a run card: what holds, what is refuted and what no analysis supports.

A stated number holds where an analysis reaches it under every condition, is refuted where a pair of neighbours attains
more under every condition, and is unsupported else. No card is refuted under a relation or a sampler of other pairs.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

from dpexp.accounting.gaussian import eps_of
from dpexp.core.text import Printed, columns, counted, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.reporting.receipt_readings import (
    DRAWN,
    HOLDS,
    MU_LEVELS,
    REFUTED,
    UNSUPPORTED,
    Reading,
    phase_steps,
    readings,
)
from dpexp.reporting.run_card import Card, StatedGuarantee
from dpexp.reporting.statement import gaussian_of

EXITS = {HOLDS: 0, REFUTED: 1, UNSUPPORTED: 3}
RATES = (1e-2, 1e-3)
"""false positive rates at which an attacker's true positive rate is printed"""


class Receipt(Printed):
    """The answer to a card; `exit_code` is 0 where everything stated holds, 1 where a number is refuted, 3 else."""

    def __init__(self, card: Card) -> None:
        self.card, self.readings = card, readings(card)

    @cached_property
    def verdicts(self) -> list[tuple[StatedGuarantee, str, str, str]]:
        """(what is stated, verdict, the word for the reason, the reason)."""
        return [(number, *self._judged(number)) for number in self.card.stated]

    @property
    def released(self) -> tuple[str, ...]:
        """Releases by which a pair refutes: an average hides the iterates, and no pair is known for it."""
        return {"all": (ALL, LAST), "average": ()}.get(self.card.releases, (LAST,))

    @property
    def exit_code(self) -> int:
        verdicts = {verdict for _, verdict, _, _ in self.verdicts}
        return next((EXITS[verdict] for verdict in (REFUTED, UNSUPPORTED) if verdict in verdicts), 0)

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
        return (verdicts[0], *(next(reasons, None) or self._why(number, verdicts[0])))

    def _why(self, number: StatedGuarantee, verdict: str) -> tuple[str, str]:
        """The word and the sentence for a number that does not hold: which change of the card would make it hold."""
        card = self.card
        accounted, runs = card.accounted_as, counted(card.tuning_runs, "tuning run")
        mismatch = accounted not in (None, "unknown", card.sampler)
        changes: list[tuple[bool, str, dict[str, Any], str]] = [
            (mismatch, "sampler", card.as_accounted() if mismatch else {},
             f"the stated number is for {accounted} batches, but the code's batches are {card.sampler}"),
            (card.batch_sizes_logged or card.normaliser in DRAWN, "normaliser",
             {"batch_sizes_logged": False, "normaliser": "public"},
             "the stated number assumes secret batch sizes; logging or dividing by them doubles the sensitivity"),
            (card.relation != "add-remove", "wrong-relation", {"relation": "add-remove"},
             f"the stated number is for add-remove neighbours, but the card's are {card.relation}"),
            (card.tuning_runs > 0, "selection-not-charged", {"tuning_runs": 0},
             f"the stated number does not cover {runs} on the private data"),
        ]  # fmt: skip
        attains = self._attains(number) if verdict == REFUTED else ""
        # each change is tried with those before it: one alone may not be enough
        update, reasons = dict[str, Any](), list[str]()
        for _, word, change, reason in (change for change in changes if change[0]):
            update |= change
            reasons.append(reason)
            if all(r.verdict(number, self.released) == HOLDS for r in readings(card.model_copy(update=update))):
                return (REFUTED if attains else word), "; ".join(filter(None, [*reasons, attains]))
        return (REFUTED, attains) if attains else (UNSUPPORTED, self._known(number))

    def _known(self, number: StatedGuarantee) -> str:
        """Why a number is neither reached nor refuted: the bounds of the table, at its delta."""
        if number.delta is None:
            return "no analysis here gives this mu, and no known pair of neighbours refutes it"
        upper = max(reading.best(number.delta)[0] for reading in self.readings)
        lower, every = (self._least_attained(number.delta, of) for of in (self.released, (ALL, LAST)))
        of_all = "" if self.card.releases == "all" else f" for what is released, and {down(every)} for all iterates"
        return f"the best upper bound is eps {up(upper)}, the best lower bound {down(lower)}{of_all}"

    def _attains(self, number: StatedGuarantee) -> str:
        """What refutes a number, and where."""
        allowed, delta, mu = "", number.delta, number.mu
        if delta is None:
            assert mu is not None
            excess = {d: self._least_attained(d, self.released) - eps_of(mu, d) for d in MU_LEVELS}
            delta = max(excess, key=excess.__getitem__)
            allowed = f", where mu allows {up(eps_of(mu, delta))}"
        release = "" if self.card.releases == "all" else " by the last iterate alone"
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
            "readings": [self._reading(reading, True) for reading in self.readings],
            "stated": [
                {**number.model_dump(exclude_none=True), "verdict": verdict, "word": word, "reason": reason}
                for number, verdict, word, reason in self.verdicts
            ],
            "assumed": self.card.assumed,
            "notes": self.card.notes,
        }

    def _reading(self, reading: Reading, gaussian: bool = False) -> dict[str, Any]:
        """Epsilons, then advantage and rates of the best analysis at the smallest delta and of a pair; `gaussian`: also
        mu of that analysis with its floor, a search over the whole curve."""
        rows = []
        for delta in self.card.delta:
            (eps, by), (attained, pair) = reading.best(delta), reading.attained(delta)
            rows.append({"delta": delta, "eps": eps, "analysis": by and by.name, "source": by and by.source,
                         "attained": attained, "attained_last": reading.attained(delta, (LAST,))[0],
                         "pair": pair and pair.source})  # fmt: skip
        kind = next((name for name, kind in MECHANISMS.items() if type(reading.mechanism) is kind), None)
        floor = min(self.card.delta)
        (_, by), (_, pair) = reading.best(floor), reading.attained(floor, self.released)
        block: dict[str, Any] = {
            "condition": reading.condition,
            "mechanism": kind,
            "parameters": reading.mechanism.model_dump() if reading.mechanism else None,
            "reason": reading.reason,
            "eps": rows,
            "assumptions": [*dict.fromkeys(text for a in reading.analyses for text in a.assumptions), *reading.more],
        }
        if by is not None:
            upper = by.of_group(self.card.group)
            block["advantage"] = [upper.advantage, pair and pair.advantage]
            block["tpr"] = [[rate, upper.tpr(rate), pair and pair.tpr(rate)] for rate in RATES]
        if gaussian:
            block["gdp"] = gaussian_of(by, floor) if by and self.card.group == 1 else None
        return block

    def text(self) -> str:
        """One screen: what holds, what does not, what an attacker attains, what is not known."""
        card = self.card
        n = "n not given" if card.records is None else f"n = {card.records:,}"
        public = {None: "public or private: not said", True: "public", False: "private"}[card.records_public]
        public = "public" if card.relation == "replace-one" else public
        lines = [f"Neighbours {card.relation}, {n} ({public}); {phase_steps(card):,} steps, batches {card.sampler}"]
        for number, verdict, word, reason in self.verdicts:
            words = f"mu = {number.mu:g}" if number.mu is not None else f"eps {number.eps:g} at delta {number.delta:g}"
            label = "holds if" if verdict == HOLDS and reason else verdict
            lines.append(" - ".join([f"Stated {words}: {label}", *(t for t in (word, reason) if t and t != verdict)]))
        for reading in self.readings:
            head = (reading.condition[:1].upper() + reading.condition[1:]) or "What is guaranteed, and what is attained"
            body = [f"no guarantee here: {reading.reason}"] if reading.reason else self._block(self._reading(reading))
            lines += ["", head, *("  " + line for line in body)]
        assumed = [f"taken, since the card does not say: {'; '.join(card.assumed)}"] if card.assumed else []
        if unknown := [*self.card.notes, *assumed]:
            lines += ["", "Not known", *("  " + line for line in unknown)]
        return "\n".join(lines)

    def _block(self, block: dict[str, Any]) -> list[str]:
        every = self.card.releases == "all"
        # where the last iterate alone is released, what all of them would show is beside the point
        heads = {"attained": "attained by all iterates"} if every else {}
        heads |= {"attained_last": "by the last" if every else "attained by the last iterate"}
        rows = [
            [f"{r['delta']:g}", up(r["eps"]), *(down(r[k]) if r[k] else "-" for k in heads), r["analysis"]]
            for r in block["eps"]
        ]
        lines = columns(rows, ["delta", "eps", *heads.values(), "analysis"]).splitlines()
        bounds = [("An attacker's advantage", *block["advantage"])]
        bounds += [(f"True positives at {rate:g} false positives", *both) for rate, *both in block["tpr"]]
        for words, upper, lower in bounds:
            lines.append(f"{words}: at most {up(upper)}" + ("" if lower is None else f", attained {down(lower)}"))
        pair = block["eps"][0]["pair"]
        lines += [f"Attained by {pair}"] if every and pair else []
        return [*lines, f"Holds if {'; '.join(block['assumptions'])}"]
