"""What of an experiment is audited, each mechanism once, and one audit of it.

An audit is runs in two worlds, the tests of each look, and brackets [given away at least, claimed].
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np

from dpexp.config.cells import Cell, Experiment
from dpexp.core.terminal import tell
from dpexp.core.text import columns, counted, down, up
from dpexp.privacy.audit.scores import Audit, audit_runs
from dpexp.reporting.audit.releases import AUDITS
from dpexp.reporting.audit.users import audits_of_users
from dpexp.reporting.audit.worlds import Look, Seen, Worlds

PILOT = 1000
"""runs by which thresholds and bets are chosen, and which no test counts"""
PASS = 1000
"""runs between two words of progress"""


class Plan(NamedTuple):
    """What is audited, and what is not and why."""

    audited: list[Worlds]
    skipped: list[str]


def plan_of(experiment: Experiment) -> Plan:
    """The audits of an experiment. Cells that differ in nothing that an audit sees are audited once."""
    audited: dict[str, Worlds] = {}
    skipped: dict[str, None] = {}
    for cell in experiment.cells:
        found = audits_of(cell)
        if isinstance(found, str):
            skipped.setdefault(found)
            continue
        for one in found:
            audited.setdefault(f"{one.label} {one.size}", one)
    return Plan(list(audited.values()), list(skipped))


def audits_of(cell: Cell) -> Sequence[Worlds] | str:
    """The audits of one cell, or why there is none."""
    if math.isinf(cell.privacy.mu.smallest):
        return f"{cell.algorithm.name}, {cell.privacy.mu.label}: no privacy is claimed"
    known = (audits(cell) for audits in (audits_of_users, *AUDITS))
    return next((found for found in known if found is not None), f"{cell.algorithm.name}: no canary is known for it")


@dataclass(frozen=True)
class Row:
    """What one look found."""

    audited: Worlds
    look: Look
    found: Audit
    level: float
    """probability with which this look, or any other of the audit, contradicts a true claim"""
    deltas: tuple[float, ...]

    @property
    def claimed(self) -> float:
        """In terms of Gaussian DP: mu, or the mu that allows the same misses at the reported threshold."""
        return self.found.nearest[1]

    @property
    def lower_bound(self) -> float:
        """What is given away at least, in the same terms."""
        return self.found.nearest[0].separation

    @property
    def alarm(self) -> bool:
        """Whether the runs contradict the claim."""
        return self.found.contradicts

    @property
    def runs(self) -> int:
        return sum(self.found.test.runs)

    def document(self) -> dict[str, Any]:
        """One entry of `dpexp audit --json`."""
        point, process = self.found.nearest[0], self.found.process
        assert process is not None
        return {
            "algorithm": self.audited.algorithm,
            "mechanism": self.audited.label,
            "claimed": self.claimed,
            "lower_bound": self.lower_bound,
            "unit": "mu at this false positive rate" if self.look.claim.mu is None else "mu",
            "confidence": 1 - self.level,
            "method": "trade-off test",
            "releases": self.look.released,
            "protects": self.look.protects,
            "statistic": self.look.statistic,
            "analysis": self.look.claim.name,
            "audited": self.audited.size,
            "runs": self.runs,
            "alarm": self.alarm,
            "false_positive_rate": point.most_false_alarms,
            "eps": [
                {"delta": delta, "claimed": self.look.claim.eps(delta), "lower_bound": self.found.eps(delta)}
                for delta in self.deltas
            ],
            "e_process": {"largest": process.largest, "alarm_at_run": process.alarm_at},
            "thresholds": [vars(point) for point in self.found.test.points],
        }


def audit(audited: Worlds, runs: int, level: float, share: float, seed: int, deltas: Sequence[float]) -> list[Row]:
    """All looks at so many runs, and a pilot before them.

    `level` is what is said of all audits of a command together; a look spends `share` of it.
    """
    parts = []
    # other replicates than those of the tests, which thresholds and bets must not have seen
    for first in range(0, PILOT + runs, PASS):
        tell(f"{audited.label}: run {first:,} of {PILOT + runs:,}")
        parts.append(audited.observe(seed, range(first, min(first + PASS, PILOT + runs))))
    rows = []
    for look, seen in zip(audited.looks, zip(*parts, strict=True), strict=True):
        every = Seen(*(np.concatenate(column) for column in zip(*seen, strict=True)))
        # a run may show nothing of a look
        pilot = round(PILOT * len(every.canary) / (PILOT + runs))
        rows.append(Row(audited, look, audit_runs(*every, pilot, look.claim, level * share), level, tuple(deltas)))
    return rows


MEANING = """\
claimed and at least: in terms of Gaussian DP. mu is how many standard deviations apart the two worlds look: telling
N(0, 1) from N(mu, 1) is as hard. Where a claim is no such mu, it is the mu that allows the same misses at the false
alarms of the threshold that comes closest to the claim."""


def text(rows: Sequence[Row], skipped: Sequence[str]) -> str:
    """A page to read."""
    blocks = [_block(list(own)) for _, own in groupby(rows, key=lambda row: row.audited)]
    if rows:
        blocks.append(f"{_verdict(rows)}\n\n{MEANING}")
    if skipped:
        blocks.append("\n".join(f"Not audited: {reason}." for reason in skipped))
    return "\n\n".join(blocks)


def _block(rows: Sequence[Row]) -> str:
    """One mechanism."""
    first, delta = rows[0], rows[0].deltas[0]
    head = ["who", "released", "statistic", "claimed", "at least", f"eps at {delta:g}", "at least", "runs", ""]
    table = [
        [
            row.look.protects, row.look.released, row.look.statistic, up(row.claimed, 4), down(row.lower_bound, 4),
            up(row.look.claim.eps(delta), 4), down(row.found.eps(delta), 4), f"{row.runs:,}",
            "ALARM" if row.alarm else "",
        ]
        for row in rows
    ]  # fmt: skip
    lines = [first.audited.label, f"  Audited      {first.audited.size}"]
    said = dict.fromkeys(f"{row.look.claim.name} ({row.look.claim.source})" for row in rows)
    lines += [f"  Claimed by   {one}" for one in said]
    return "\n".join([*lines, "", *("  " + line for line in columns(table, head).splitlines())])


def _verdict(rows: Sequence[Row]) -> str:
    alarms, level = sum(row.alarm for row in rows), rows[0].level
    if not alarms:
        sure = f"{100 * (1 - level):g}%"
        return f"No lower bound exceeds what is claimed. All of them hold together with {sure} confidence."
    return (
        f"{counted(alarms, 'ALARM')}: more is given away than is claimed. Were all claims true, an alarm anywhere in "
        f"this\ntable would have a probability of at most {level:g}."
    )
