"""What a claim is: a sentence of a paper, a check that reads stored results, and the verdict that we expect.

What a theorem assumes is a hypothesis, as code: the ledger asks it of every setting before it judges a claim.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field, replace
from typing import Any, Literal, TypeVar

from dpexp.core.errors import DpexpError
from dpexp.core.standard_json import standard
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.slopes import SlopeError
from dpexp.reporting.verdict import VERDICTS as VERDICTS
from dpexp.reporting.verdict import Verdict as Verdict

T = TypeVar("T")


class OutsideHypotheses(DpexpError):
    """A claim that would be judged on a setting of which its theorem does not speak."""


@dataclass(frozen=True)
class Hypothesis:
    """One assumption of a claim."""

    words: str
    broken: Callable[[Evidence], list[str]]
    """the settings of the evidence, in words, that violate it; the claim is judged only where there is none"""
    refused: Callable[[Evidence], list[str]] | None = None
    """the same question about settings changed on purpose, which must find at least one; tried by `dpexp check`"""


def of_runs(
    words: str,
    used: Callable[[Evidence], Sequence[Run]],
    holds: Callable[[Run], bool],
    outside: Callable[[Run], Run],
) -> Hypothesis:
    """A hypothesis about the runs that a check uses. `outside` changes a run so that it violates the hypothesis."""
    return Hypothesis(
        words,
        lambda evidence: [run.name for run in used(evidence) if not holds(run)],
        lambda evidence: [run.name for run in used(evidence)[:1] if not holds(outside(run))],
    )


def of_settings(words: str, settings: Mapping[str, T], holds: Callable[[T], bool], outside: T) -> Hypothesis:
    """A hypothesis about settings that a check writes down itself, by name. `outside` is one that violates it."""
    return Hypothesis(
        words,
        lambda evidence: [name for name, setting in settings.items() if not holds(setting)],
        lambda evidence: ["a setting outside"] if not holds(outside) else [],
    )


def of_rows(
    words: str,
    load: Callable[[Evidence], Sequence[Mapping[str, Any]]],
    holds: Callable[[Mapping[str, Any]], bool],
    name: Callable[[Mapping[str, Any]], str],
    **outside: Any,
) -> Hypothesis:
    """A hypothesis about rows of stored results. `outside` is what a row that violates it says."""

    def broken(rows: Sequence[Mapping[str, Any]]) -> list[str]:
        return list(dict.fromkeys(name(row) for row in rows if not holds(row)))

    return Hypothesis(
        words,
        lambda evidence: broken(load(evidence)),
        lambda evidence: broken([{**row, **outside} for row in load(evidence)]),
    )


def assumed(words: str, holds: Callable[[T], bool], outside: T) -> Callable[[Mapping[str, T]], Hypothesis]:
    """An assumption as a row, which several claims make: asked of settings, by name, it is a hypothesis about these."""
    return lambda settings: of_settings(words, settings, holds, outside)


def assumed_of_runs(
    words: str, holds: Callable[[Run], bool], outside: Callable[[Run], Run]
) -> Callable[[Callable[[Evidence], Sequence[Run]]], Hypothesis]:
    """The same of the runs that a check uses."""
    return lambda used: of_runs(words, used, holds, outside)


def require(claim_id: str, hypotheses: Sequence[Hypothesis], evidence: Evidence) -> None:
    """Raise OutsideHypotheses, which names claim, hypothesis and settings, where one is violated."""
    for hypothesis in hypotheses:
        broken = hypothesis.broken(evidence)
        if broken:
            more = f" and {len(broken) - 3} more" if len(broken) > 3 else ""
            raise OutsideHypotheses(
                f"{claim_id} cannot be judged: it assumes that {hypothesis.words}, which is not so for "
                f"{'; '.join(broken[:3])}{more}"
            )


Source = Literal["paper", "ours"]
LONGEST = 25
"""words of a quotation"""
DIGITS = 12
"""of the numbers behind a verdict: the digits after these depend on the processor, and no verdict does"""


@dataclass(frozen=True)
class Outcome:
    """What a check found: the verdict, and the words and numbers that support it."""

    verdict: Verdict
    predicted: str
    measured: str
    uncertainty: str
    numbers: dict[str, Any] = field(default_factory=dict)
    """the same for programs: looseness, slopes, ratios"""


@dataclass(frozen=True)
class Claim:
    """One statement, in our own words, with what settles it."""

    id: str
    """paper/place/topic"""
    place: str
    """where the quotation stands"""
    statement: str
    kind: Literal["guarantee", "upper", "rate", "prediction", "ordering", "value"]
    experiments: tuple[str, ...]
    """experiments whose stored results feed the check; empty where theory alone settles it"""
    check: Callable[[Evidence], Outcome]
    tolerance: str
    """what counts as agreement, and why"""
    expected: Verdict
    why: str
    """why we expect that verdict"""
    sabotage: Callable[[Evidence], Evidence] | None = None
    """evidence made wrong on purpose, of which the check must not say the same; tried by `dpexp check`"""
    _: KW_ONLY
    quote: str = ""
    """the paper's own words, verbatim, at most 25 of them; empty where the claim is ours"""
    source: Source = "paper"
    """ours: the statement says what of the paper we completed, corrected or sharpened"""
    false_if: str = ""
    """what would make the claim false, in one sentence"""
    hypotheses: tuple[Hypothesis, ...] = ()
    """what the claim assumes of the settings that its check uses"""

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]

    def settled(self, evidence: Evidence) -> Outcome:
        """What the check finds, as it is stored and shown.

        Raises OutsideHypotheses where a setting that it uses violates a hypothesis, ResultsMissing, and Undeclared.
        """
        require(self.id, self.hypotheses, evidence)
        try:
            outcome = self.check(evidence)
        # a curve that allows no slope is no fault of the claim
        except SlopeError as error:
            return Outcome("not at this sample size", "", f"no slope can be fitted: {error}", "none")
        if not isinstance(outcome, Outcome):  # plug-ins are written by hand
            raise TypeError(f"the check of {self.id} gives a value of type {type(outcome).__name__}, not an Outcome")
        return replace(outcome, numbers=kept(outcome.numbers))


@dataclass(frozen=True)
class Check:
    """What settles a claim of our papers. Its words stand in `claims.yaml`: see `dpexp.reporting.paper.in_rows`."""

    check: Callable[[Evidence], Outcome]
    experiments: tuple[str, ...] = ()
    hypotheses: tuple[Hypothesis, ...] = ()
    sabotage: Callable[[Evidence], Evidence] | None = None

    def assuming(self, *hypotheses: Hypothesis) -> Check:
        """The same check, of which the claim assumes these of the settings that it uses."""
        return replace(self, hypotheses=hypotheses)

    def claim(self, id: str, **words: Any) -> Claim:
        """The claim that it settles. Without a quotation it is ours. ValueError: a word too few or too many."""
        # what quotes nothing cannot be the paper's
        source: Source = "paper" if words.get("quote") else "ours"
        try:
            return Claim(id=id, source=source, **{"why": "", **words}, **vars(self))
        except TypeError as error:
            raise ValueError(f"{id}: {error}") from None


def kept(numbers: dict[str, Any]) -> dict[str, Any]:
    """Numbers as standard JSON, with the digits that two processors agree on."""
    text = json.dumps(standard(numbers))
    # read back with fewer digits: those that two processors agree on
    as_read: dict[str, Any] = json.loads(text, parse_float=lambda digits: float(f"{float(digits):.{DIGITS}g}"))
    return as_read


def quotation_fault(claim: Claim) -> str:
    """What is wrong with a claim's quotation, in words; empty where nothing is."""
    if claim.source == "ours":
        return "is ours and yet quotes the paper" if claim.quote else ""
    if not claim.quote.strip():
        return "quotes nothing, and does not say that it is ours"
    words = len(claim.quote.split())
    return f"quotes {words} words, more than {LONGEST}" if words > LONGEST else ""
