"""An audit of an experiment: each mechanism once, runs in two worlds, and brackets [lower bound, claimed]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dpexp.config.cells import Experiment
from dpexp.core.terminal import tell
from dpexp.core.text import Printed, columns, counted, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.audit.scores import Audit, audit_runs
from dpexp.reporting.audit.audit_cells import audits_of
from dpexp.reporting.audit.worlds import TwoWorlds

PILOT, PASS = 1000, 1000
"""runs by which thresholds and bets are chosen, and which no test counts; runs between two words of progress"""


def plan_of(experiment: Experiment) -> tuple[list[TwoWorlds], list[str]]:
    """The audits of an experiment, each mechanism once, and why others are skipped."""
    plans, skipped = dict[tuple[str, str, str], TwoWorlds](), dict[str, None]()
    for audits in map(audits_of, experiment.cells):
        if isinstance(audits, str):
            skipped[audits] = None
            continue
        for worlds in audits:
            plans.setdefault((worlds.label, worlds.size, worlds.protects), worlds)
    return list(plans.values()), list(skipped)


@dataclass(frozen=True)
class Row:
    """The result of one audit."""

    audited: TwoWorlds
    claim: Analysis
    result: Audit
    level: float
    """probability with which this audit, or any other of the command, contradicts a true claim"""
    deltas: Sequence[float]
    runs: int
    lower_bound: float
    """of mu of Gaussian DP"""
    claimed: float
    """mu, or the mu that allows the same misses at the reported threshold"""
    alarm: bool
    """whether the runs contradict the claim"""

    def document(self) -> dict[str, Any]:
        """One entry of `dpexp audit --json`."""
        audited, claim, process = self.audited, self.claim, self.result.process
        assert process is not None
        return {
            "algorithm": audited.setting.name, "mechanism": audited.label,
            "claimed": self.claimed, "lower_bound": self.lower_bound,
            "unit": "mu at this false positive rate" if claim.mu is None else "mu",
            "confidence": 1 - self.level, "method": "trade-off test",
            "releases": audited.released, "protects": audited.protects, "statistic": audited.statistic,
            "analysis": claim.name, "audited": audited.size, "runs": self.runs, "alarm": self.alarm,
            "false_positive_rate": self.result.nearest[0].most_false_alarms,
            "eps": [{"delta": d, "claimed": claim.eps(d), "lower_bound": self.result.eps(d)} for d in self.deltas],
            "e_process": {"largest": process.largest, "alarm_at_run": process.alarm_at},
            "thresholds": [vars(point) for point in self.result.points],
        }  # fmt: skip


def audit(
    audited: TwoWorlds, runs: int, level: float, share: float, seed: int, deltas: Sequence[float],
    pilot: int | None = None,
) -> Row:  # fmt: skip
    """So many runs, and a pilot before them.

    `level` is that of all audits of a command together, and this one spends `share` of it.
    """
    assert audited.claim is not None
    pilot = PILOT if pilot is None else pilot
    parts, total = [], pilot + runs
    for first in range(0, total, PASS):
        tell(f"{audited.label}: run {first:,} of {total:,}")
        parts.append(audited.observe(seed, range(first, min(first + PASS, total))))
    releases, canary = (np.concatenate(column) for column in zip(*parts, strict=True))
    # thresholds and bets must not have seen the replicates of the tests
    result = audit_runs(releases, canary, pilot, audited.claim, level * share)
    point, claimed = result.nearest
    return Row(audited, audited.claim, result, level, deltas, runs, point.separation, claimed, result.contradicts)


@dataclass(frozen=True)
class Audited(Printed):
    """The rows of an audit, and what was not audited."""

    rows: Sequence[Row]
    skipped: Sequence[str]

    @property
    def exit_code(self) -> int:
        """1 where a lower bound exceeds what is claimed."""
        return int(any(row.alarm for row in self.rows))

    def document(self) -> list[dict[str, Any]]:
        """With the keys of `dpexp audit --json`."""
        return [row.document() for row in self.rows]

    def text(self) -> str:
        """A page to read, with epsilons at the first delta."""
        blocks, level, delta = [], self.rows[0].level, self.rows[0].deltas[0]
        eps = f"eps at {delta:g}"
        head = ["who", "released", "statistic", "claimed", "at least", eps, "at least", "runs", ""]
        for (label, size), group in groupby(self.rows, key=lambda row: (row.audited.label, row.audited.size)):
            rows = list(group)
            claims = dict.fromkeys(f"  Claimed by   {row.claim.name} ({row.claim.source})" for row in rows)
            cells = [
                [row.audited.protects, row.audited.released, row.audited.statistic,
                 up(row.claimed, 4), down(row.lower_bound, 4), up(row.claim.eps(delta), 4),
                 down(row.result.eps(delta), 4), f"{row.runs:,}", "ALARM" * row.alarm]
                for row in rows
            ]  # fmt: skip
            table = ("  " + line for line in columns(cells, head).splitlines())
            blocks.append("\n".join([label, f"  Audited      {size}", *claims, "", *table]))
        alarms, percent = counted(sum(row.alarm for row in self.rows), "ALARM"), f"{100 * (1 - level):g}%"
        verdict = f"No lower bound exceeds what is claimed. All of them hold together with {percent} confidence."
        if self.exit_code:
            verdict = (
                f"{alarms}: a lower bound exceeds what is claimed. Were all claims true, an alarm anywhere in this\n"
                f"table would have a probability of at most {level:g}."
            )
        skipped = "\n".join(f"Not audited: {reason}." for reason in self.skipped)
        return "\n\n".join([*blocks, verdict, *([skipped] if skipped else [])])
