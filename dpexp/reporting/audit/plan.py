"""What of an experiment is audited: each mechanism once; and what is not, with the reason."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

from dpexp.config.cells import Cell, Experiment
from dpexp.reporting.audit import AUDITS
from dpexp.reporting.audit.auditable import Auditable


class Plan(NamedTuple):
    """What is audited, and what is not and why."""

    audited: list[Auditable]
    skipped: list[str]


def plan_of(experiment: Experiment) -> Plan:
    """The audits of an experiment. Cells that differ in nothing that an audit sees are audited once."""
    audited: dict[str, Auditable] = {}
    skipped: dict[str, None] = {}
    for cell in experiment.cells:
        found = auditable(cell)
        if isinstance(found, str):
            skipped.setdefault(found)
            continue
        for one in found:
            audited.setdefault(f"{one.label} {one.size}", one)
    return Plan(list(audited.values()), list(skipped))


def auditable(cell: Cell) -> Sequence[Auditable] | str:
    """The audits of one cell, or why there is none."""
    if math.isinf(cell.privacy.mu.smallest):
        return f"{cell.algorithm.name}, {cell.privacy.mu.label}: no privacy is claimed"
    known = (audits(cell) for audits in AUDITS)
    return next((found for found in known if found is not None), f"{cell.algorithm.name}: no canary is known for it")
