"""A claim: a sentence of a paper, a check that reads stored results, and the verdict that we expect."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, Literal, get_args

from dpexp.core.text import standard
from dpexp.store.evidence import Evidence
from dpexp.theory.slopes import SlopeError

Verdict = Literal[
    "reproduced", "holds as a bound", "not at this sample size", "misleading", "misprint", "false", "not testable"
]  # fmt: skip
"""misleading: true in a sense that readers will not take; misprint: false as printed, and plainly not what is meant"""
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
WRONG: tuple[Verdict, ...] = ("false", "misprint", "misleading")
"""of a statement that does not hold as printed"""
Source = Literal["paper", "ours"]


@dataclass(frozen=True)
class Outcome:
    """What a check gives: the verdict, with its words, and the numbers behind it for programs."""

    verdict: Verdict
    predicted: str
    measured: str
    uncertainty: str
    numbers: dict[str, Any] = field(default_factory=dict)


Printing = Callable[[float, float], float]
"""(printed, computed) -> the number that the paper prints: the first of them, unless another paper is tried"""
Rule = Callable[[Printing], Outcome]


@dataclass(frozen=True)
class Check:
    """What decides a claim, from the stored results of some experiments, or from theory alone.

    `rule` is the same without evidence, of a paper that prints other numbers; None where runs decide. The words of our
    papers' claims are in `paper.yaml`: `dpexp.reporting.paper.declared_paper`.
    """

    check: Callable[[Evidence], Outcome]
    experiments: tuple[str, ...] = ()
    rule: Rule | None = None

    def claim(self, id: str, **words: Any) -> Claim:
        """The claim that it decides; ours where it has no quotation. ValueError: a word too few or too many."""
        source: Source = "paper" if words.get("quote") else "ours"
        try:
            return Claim(id=id, source=source, **words, **vars(self))
        except TypeError as error:
            raise ValueError(f"{id}: {error}") from None


@dataclass(frozen=True, kw_only=True)
class Claim(Check):
    """A statement, in our own words, with what decides it."""

    id: str
    """paper/place/topic"""
    place: str
    """where the quotation is printed"""
    source: Source = "paper"
    """ours: the statement completes, corrects or sharpens the paper"""
    quote: str = ""
    """the paper's own words, verbatim, at most 25 of them; empty where the claim is ours"""
    statement: str
    kind: Literal["guarantee", "upper", "rate", "prediction", "ordering", "value"]
    false_if: str = ""
    """what would make the claim false, in one sentence"""
    tolerance: str
    """what counts as agreement, and why"""
    expected: Verdict
    why: str = ""
    """why we expect that verdict"""
    version: str = ""
    """the text that was judged, of a claim that is expected to be false, misprinted or misleading"""
    authors_answer: str = ""

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]

    def judged(self, evidence: Evidence) -> Outcome:
        """The outcome of the check, as it is stored and printed. Raises ResultsMissing and UsageError."""
        try:
            outcome = self.check(evidence)
        # a curve without a slope is no fault of the claim
        except SlopeError as error:
            return Outcome("not at this sample size", "", f"no slope can be fitted: {error}", "none")
        if not isinstance(outcome, Outcome):  # plug-ins are written by hand
            raise TypeError(f"the check of {self.id} gives a value of type {type(outcome).__name__}, not an Outcome")
        # standard JSON in 12 digits: those after depend on the processor, and no verdict does
        text = json.dumps(standard(outcome.numbers))
        return replace(outcome, numbers=json.loads(text, parse_float=lambda digits: float(f"{float(digits):.12g}")))
