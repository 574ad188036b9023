"""What a theorem assumes, as code: the ledger asks it of every setting before it judges a claim."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from dpexp.core.errors import DpexpError
from dpexp.reporting.evidence import Evidence, Run

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
