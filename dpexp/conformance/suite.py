"""The suite: which checks are for which kind, and what there is to be checked, built in or of a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dpexp.conformance import algorithms, problems, weight_checks
from dpexp.conformance.check_result import CheckResult, Promise, Subject, carry_out
from dpexp.core.terminal import tell
from dpexp.plugins import Plugin
from dpexp.plugins.loading import registries

SUITE: dict[str, tuple[Promise[Any], ...]] = {
    "problem": problems.CHECKS,
    "algorithm": algorithms.CHECKS,
    "weight": weight_checks.CHECKS,
    "mechanism": (Promise("bounds", "No upper bound is below what a pair of neighbours attains.", algorithms.bounds),),
}
"""kind -> its checks, in the order in which they are made"""


def subjects_of(plugin: Plugin) -> Iterator[Subject[Any]]:
    """The problems, algorithms, weights and mechanisms that a plug-in adds."""
    yield from (Subject("problem", name, value) for name, value in plugin.problems.items())
    yield from (Subject("algorithm", name, value) for name, value in plugin.algorithms.items())
    yield from (Subject("weight", name, value) for name, value in plugin.weights.items())
    yield from (Subject("mechanism", name, value) for name, value in plugin.mechanisms.items())


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
