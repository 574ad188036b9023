"""The suite: which checks are for which kind, and what there is to be checked, built in or of a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dpexp.conformance import algorithms, law_checks, problems
from dpexp.conformance.check_result import CheckResult, Promise, Subject, carry_out
from dpexp.core.terminal import tell
from dpexp.plugins import Plugin
from dpexp.plugins.loading import registries

SUITE: dict[str, tuple[Promise[Any], ...]] = {
    "problem": problems.CHECKS,
    "algorithm": algorithms.CHECKS,
    "weight": law_checks.CHECKS,
    "column": law_checks.COLUMN_CHECKS,
    "error": law_checks.ERROR_CHECKS,
    "metric": (Promise("company", "Replicates have the same numbers together and alone.", algorithms.metric_alone),),
    "mechanism": (Promise("bounds", "No upper bound is below what a pair of neighbours attains.", algorithms.bounds),),
}
"""kind -> its checks, in the order in which they are made"""


def subjects_of(plugin: Plugin) -> Iterator[Subject[Any]]:
    """What of a plug-in is checked."""
    for kind in SUITE:
        yield from (Subject(kind, name, value) for name, value in getattr(plugin, f"{kind}s").items())


def built_in() -> Iterator[Subject[Any]]:
    """Everything in the registries."""
    ours: dict[str, Any] = dict(registries())
    return subjects_of(Plugin(**ours))


def hold(subjects: Iterable[Subject[Any]]) -> Iterator[CheckResult]:
    """The result of every check of every subject, as they come."""
    everything = list(subjects)
    for number, subject in enumerate(everything, 1):
        for check in SUITE[subject.kind]:
            tell(f"{number} of {len(everything)}, {subject.kind} {subject.name}: {check.name}")
            yield carry_out(check, subject)
