"""What a claim is: a sentence of a paper, a check that reads stored results, and the verdict that we expect."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Literal, get_args

from dpexp.reporting.evidence import Evidence

Verdict = Literal["reproduced", "holds as a bound", "not at this sample size", "contradicted", "not testable"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)


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

    @property
    def paper(self) -> str:
        return self.id.split("/")[0]
