"""The suite: which checks are for which kind, and what there is to be checked, built in or of a plug-in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from dpexp.conformance import (
    algorithms,
    mechanisms,
    papers,
    problems,
    schedules_and_budgets,
    theorems,
)
from dpexp.conformance.check import Check, Result, Subject, ToyExperiments, carry_out
from dpexp.core.terminal import tell
from dpexp.plugins import Plugin
from dpexp.plugins.loading import registries
from dpexp.plugins.shape import ONE_OF, SHOWN

SUITE: dict[str, tuple[Check[Any], ...]] = {
    "problem": problems.CHECKS,
    "algorithm": algorithms.CHECKS,
    "schedule": schedules_and_budgets.SCHEDULE_CHECKS,
    "budget": schedules_and_budgets.BUDGET_CHECKS,
    "mechanism": mechanisms.CHECKS,
    "analysis": mechanisms.CHECKS,
    "theorem": theorems.CHECKS,
    "paper": papers.PAPER_CHECKS,
    "figure": papers.FIGURE_CHECKS,
    "table": papers.TABLE_CHECKS,
    "claim": papers.CLAIM_CHECKS,
}
"""kind -> its checks, in the order in which they are made"""


def subjects_of(plugin: Plugin) -> Iterator[Subject[Any]]:
    """Everything that a plug-in adds, what its papers list included."""
    for field, one in ONE_OF.items():
        if field not in SHOWN:
            yield from (Subject(one, name, value) for name, value in getattr(plugin, field).items())
    yield from (Subject("paper", paper.id, paper) for paper in plugin.papers)
    lists = [(plugin.figures, plugin.tables, plugin.claims), *((p.figures, p.tables, p.claims) for p in plugin.papers)]
    for figures, tables, some in lists:
        yield from (Subject("figure", figure.name, figure) for figure in figures)
        yield from (Subject("table", table.name, table) for table in tables)
        yield from (Subject("claim", claim.id, claim) for claim in some)
    for paper in plugin.papers:
        yield from (Subject("figure", overlay.name, overlay) for overlay in paper.overlays.values())


def built_in() -> Iterator[Subject[Any]]:
    """Everything in the registries."""
    from dpexp.papers import our_papers

    ours: dict[str, Any] = dict(registries())
    return subjects_of(Plugin(**ours, papers=tuple(our_papers().values())))


def hold(subjects: Iterable[Subject[Any]], toys: ToyExperiments) -> Iterator[Result]:
    """The result of every check of every subject, as they come."""
    everything = list(subjects)
    for number, subject in enumerate(everything, 1):
        for check in SUITE[subject.kind]:
            tell(f"{number} of {len(everything)}, {subject.kind} {subject.name}: {check.name}")
            yield carry_out(check, subject, toys)
