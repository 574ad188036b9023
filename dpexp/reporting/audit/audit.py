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
from dpexp.privacy.audit.claim import Claim
from dpexp.privacy.audit.statistics import of_normal_releases
from dpexp.privacy.audit.tests_of_claims import (
    EProcess,
    Point,
    TradeOff,
    bets_of,
    e_process,
    thresholds_of,
    trade_off_test,
)
from dpexp.reporting.audit import AUDITS
from dpexp.reporting.audit.auditable import Auditable, Look, Seen


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


PILOT = 1000
"""runs by which thresholds and bets are chosen, and which no test counts"""
BATCH = 1000
"""runs between two words of progress"""
NEVER = (0.5,)
"""the threshold of a count of what never happens in a sound run"""
METHOD = "trade-off test"


@dataclass(frozen=True)
class Row:
    """What one look found."""

    audited: Auditable
    look: Look
    test: TradeOff
    process: EProcess
    level: float
    """probability with which this look, or any other of the audit, contradicts a true claim"""
    deltas: tuple[float, ...]

    @property
    def point(self) -> Point:
        """The threshold that the row reports: where the claim is most nearly, or most clearly, exceeded."""
        return self.test.nearest(self.look.claim)

    @property
    def claimed(self) -> float:
        """In terms of Gaussian DP: mu, or for other claims the mu that allows the same misses at this threshold."""
        return self.look.claim.separation(self.point.most_false_alarms)

    @property
    def lower_bound(self) -> float:
        """What is given away at least, in the same terms."""
        return self.point.separation

    @property
    def alarm(self) -> bool:
        """Whether the runs contradict the claim."""
        return self.lower_bound > self.claimed or self.process.alarm_at is not None

    def document(self) -> dict[str, Any]:
        """One entry of `dpexp audit --json`."""
        gaussian = self.look.claim.mu is not None
        return {
            "algorithm": self.audited.algorithm,
            "mechanism": self.audited.label,
            "claimed": self.claimed,
            "lower_bound": self.lower_bound,
            "unit": "mu" if gaussian else "mu at this false positive rate",
            "confidence": 1 - self.level,
            "method": METHOD,
            "releases": self.look.released,
            "protects": self.look.protects,
            "statistic": self.look.statistic,
            "analysis": self.look.stated.name,
            "audited": self.audited.size,
            "runs": sum(self.test.runs),
            "alarm": self.alarm,
            "false_positive_rate": self.point.most_false_alarms,
            "eps": [
                {"delta": delta, "claimed": self.look.stated.eps(delta), "lower_bound": self.test.eps(delta)}
                for delta in self.deltas
            ],
            "e_process": {"largest": self.process.largest, "alarm_at_run": self.process.alarm_at},
            "thresholds": [
                {
                    "threshold": point.threshold,
                    "false_alarms": point.false_alarms,
                    "misses": point.misses,
                    "most_false_alarms": point.most_false_alarms,
                    "most_misses": point.most_misses,
                }
                for point in self.test.points
            ],
        }


def audit(audited: Auditable, runs: int, level: float, share: float, seed: int, deltas: Sequence[float]) -> list[Row]:
    """All looks at so many runs, and a pilot before them.

    `level` is what is said of all audits of a command together; a look spends `share` of it, half on either test.
    """
    # other replicates than those of the tests, which thresholds and bets must not have seen
    pilot = gathered(audited, seed, range(PILOT))
    seen = gathered(audited, seed, range(PILOT, PILOT + runs))
    looks = zip(audited.looks, pilot, seen, strict=True)
    return [row_of(audited, look, first, found, level, share, tuple(deltas)) for look, first, found in looks]


def row_of(
    audited: Auditable, look: Look, pilot: Seen, seen: Seen, level: float, share: float, deltas: tuple[float, ...]
) -> Row:
    """The tests of one look."""
    # either test has half of what this look may spend
    test, process = outcomes(look.claim, pilot, seen, level * share / 2, counts=look.counts)
    return Row(audited, look, test, process, level, deltas)


def outcomes(claim: Claim, pilot: Seen, seen: Seen, level: float, *, counts: bool) -> tuple[TradeOff, EProcess]:
    """Both tests of a claim, each at `level`; thresholds and bets come from the pilot runs.

    Where several releases were seen together, so does what is computed from them.
    """
    if pilot.statistics.ndim == 2:
        runs = (pilot, seen)
        pilot, seen = (Seen(of_normal_releases(*pilot, one.statistics), one.canary) for one in runs)
    # what never happens in a sound run has one threshold, between none and one
    thresholds = NEVER if counts else thresholds_of(pilot.statistics)
    statistics, canary = seen
    test = trade_off_test(statistics[~canary], statistics[canary], thresholds, level)
    # what is staked may depend on the pilot alone
    bets = bets_of(claim, pilot.statistics, pilot.canary)
    return test, e_process(statistics, canary, bets, level)


def gathered(audited: Auditable, seed: int, replicates: range) -> list[Seen]:
    """What the looks see in these replicates, with a word of progress now and then."""
    parts = []
    for first in range(replicates.start, replicates.stop, BATCH):
        tell(f"{audited.label}: run {first - replicates.start:,} of {len(replicates):,}")
        # in batches, so that a word of progress comes between them
        parts.append(audited.observe(seed, range(first, min(first + BATCH, replicates.stop))))
    return [Seen(*(np.concatenate(column) for column in zip(*look, strict=True))) for look in zip(*parts, strict=True)]


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
            up(row.look.stated.eps(delta), 4), down(row.test.eps(delta), 4), f"{sum(row.test.runs):,}", _result(row),
        ]
        for row in rows
    ]  # fmt: skip
    lines = [first.audited.label, f"  Audited      {first.audited.size}"]
    said = dict.fromkeys(f"{row.look.stated.name} ({row.look.stated.source})" for row in rows)
    lines += [f"  Claimed by   {one}" for one in said]
    return "\n".join([*lines, "", *("  " + line for line in columns(table, head).splitlines())])


def _result(row: Row) -> str:
    if not row.alarm:
        return ""
    if row.process.alarm_at is None:
        return "ALARM"
    return f"ALARM (e-process: run {row.process.alarm_at:,})"


def _verdict(rows: Sequence[Row]) -> str:
    alarms = sum(row.alarm for row in rows)
    sure = f"{100 * (1 - rows[0].level):g}%"
    if not alarms:
        return f"No lower bound exceeds what is claimed. All of them hold together with {sure} confidence."
    return (
        f"{counted(alarms, 'ALARM')}: more is given away than is claimed. Were all claims true, an alarm anywhere in "
        f"this\ntable would have a probability of at most {rows[0].level:g}."
    )
