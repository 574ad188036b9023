"""An audit of an experiment: each mechanism once, runs in two worlds, and brackets [lower bound, claimed]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dpexp.config.cells import Experiment
from dpexp.core.terminal import tell
from dpexp.core.text import columns, counted, down, up
from dpexp.privacy.audit.scores import Audit, audit_runs
from dpexp.reporting.audit.cells import audits_of
from dpexp.reporting.audit.worlds import Look, Seen, Worlds

PILOT = 1000
"""runs by which thresholds and bets are chosen, and which no test counts"""
PASS = 1000
"""runs between two words of progress"""


def plan_of(experiment: Experiment) -> tuple[list[Worlds], list[str]]:
    """What of an experiment is audited, and what is not and why. What audits cannot tell apart is audited once."""
    audited: dict[tuple[str, ...], Worlds] = {}
    skipped: dict[str, None] = {}
    for cell in experiment.cells:
        found = audits_of(cell)
        if isinstance(found, str):
            skipped.setdefault(found)
            continue
        for one in found:
            audited.setdefault((one.label, one.size, *(look.protects for look in one.looks)), one)
    return list(audited.values()), list(skipped)


@dataclass(frozen=True)
class Row:
    """What one look found."""

    audited: Worlds
    look: Look
    found: Audit
    level: float
    """probability with which this look, or any other of the audit, contradicts a true claim"""
    deltas: tuple[float, ...]
    runs: int

    @property
    def claimed(self) -> float:
        """In terms of Gaussian DP: mu, or the mu that allows the same misses at the reported threshold."""
        return self.found.nearest[1]

    @property
    def lower_bound(self) -> float:
        """Of the privacy loss, in the same terms."""
        return self.found.nearest[0].separation

    @property
    def alarm(self) -> bool:
        """Whether the runs contradict the claim."""
        return self.found.contradicts

    def document(self) -> dict[str, Any]:
        """One entry of `dpexp audit --json`."""
        claim, process = self.look.claim, self.found.process
        assert process is not None
        return {
            "algorithm": self.audited.algorithm,
            "mechanism": self.audited.label,
            "claimed": self.claimed,
            "lower_bound": self.lower_bound,
            "unit": "mu at this false positive rate" if claim.mu is None else "mu",
            "confidence": 1 - self.level,
            "method": "trade-off test",
            "releases": self.look.released,
            "protects": self.look.protects,
            "statistic": self.look.statistic,
            "analysis": claim.name,
            "audited": self.audited.size,
            "runs": self.runs,
            "alarm": self.alarm,
            "false_positive_rate": self.found.nearest[0].most_false_alarms,
            "eps": [{"delta": d, "claimed": claim.eps(d), "lower_bound": self.found.eps(d)} for d in self.deltas],
            "e_process": {"largest": process.largest, "alarm_at_run": process.alarm_at},
            "thresholds": [vars(point) for point in self.found.points],
        }


def audit(
    audited: Worlds, runs: int, level: float, share: float, seed: int, deltas: Sequence[float], pilot: int | None = None
) -> list[Row]:
    """All looks at so many runs, and a pilot before them.

    `level` is what is said of all audits of a command together; a look spends `share` of it.
    """
    pilot = PILOT if pilot is None else pilot
    parts, total = [], pilot + runs
    # other replicates than those of the tests, which thresholds and bets must not have seen
    for first in range(0, total, PASS):
        tell(f"{audited.label}: run {first:,} of {total:,}")
        parts.append(audited.observe(seed, range(first, min(first + PASS, total))))
    rows = []
    for look, seen in zip(audited.looks, zip(*parts, strict=True), strict=True):
        every = Seen(*(np.concatenate(column) for column in zip(*seen, strict=True)))
        # a run may show nothing of a look
        own = round(pilot * len(every.canary) / total)
        found = audit_runs(*every, own, look.claim, level * share)
        rows.append(Row(audited, look, found, level, tuple(deltas), len(every.canary) - own))
    return rows


MEANING = """\
claimed and at least: in terms of Gaussian DP. mu is how many standard deviations apart the two worlds look: telling
N(0, 1) from N(mu, 1) is as hard. Where a claim is no such mu, it is the mu that allows the same misses at the false
alarms of the threshold that comes closest to the claim."""


def text(rows: Sequence[Row], skipped: Sequence[str]) -> str:
    """A page to read."""
    audits = groupby(rows, key=lambda row: (row.audited.label, row.audited.size))
    blocks = [_block(label, size, list(own)) for (label, size), own in audits]
    if alarms := sum(row.alarm for row in rows):
        blocks.append(
            f"{counted(alarms, 'ALARM')}: more is given away than is claimed. Were all claims true, an alarm anywhere "
            f"in this\ntable would have a probability of at most {rows[0].level:g}.\n\n{MEANING}"
        )
    elif rows:
        sure = f"{100 * (1 - rows[0].level):g}%"
        blocks.append(
            f"No lower bound exceeds what is claimed. All of them hold together with {sure} confidence.\n\n{MEANING}"
        )
    if skipped:
        blocks.append("\n".join(f"Not audited: {reason}." for reason in skipped))
    return "\n\n".join(blocks)


def _block(label: str, size: str, rows: Sequence[Row]) -> str:
    """One mechanism."""
    delta = rows[0].deltas[0]
    head = ["who", "released", "statistic", "claimed", "at least", f"eps at {delta:g}", "at least", "runs", ""]
    table = [
        [
            row.look.protects, row.look.released, row.look.statistic, up(row.claimed, 4), down(row.lower_bound, 4),
            up(row.look.claim.eps(delta), 4), down(row.found.eps(delta), 4), f"{row.runs:,}",
            "ALARM" if row.alarm else "",
        ]
        for row in rows
    ]  # fmt: skip
    claims = dict.fromkeys(f"  Claimed by   {row.look.claim.name} ({row.look.claim.source})" for row in rows)
    shown = ("  " + line for line in columns(table, head).splitlines())
    return "\n".join([label, f"  Audited      {size}", *claims, "", *shown])
