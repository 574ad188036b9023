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
    audited: dict[tuple[str, str, str], TwoWorlds] = {}
    skipped: dict[str, None] = {}
    for audits in map(audits_of, experiment.cells):
        if isinstance(audits, str):
            skipped.setdefault(audits)
            continue
        for worlds in audits:
            audited.setdefault((worlds.label, worlds.size, worlds.protects), worlds)
    return list(audited.values()), list(skipped)


@dataclass(frozen=True)
class Row:
    """The result of one audit."""

    audited: TwoWorlds
    claim: Analysis
    result: Audit
    level: float
    """probability with which this audit, or any other of the command, contradicts a true claim"""
    deltas: tuple[float, ...]
    runs: int

    @property
    def lower_bound(self) -> float:
        """In terms of Gaussian DP: of mu."""
        return self.result.nearest[0].separation

    @property
    def claimed(self) -> float:
        """In the same terms: mu, or the mu that allows the same misses at the reported threshold."""
        return self.result.nearest[1]

    @property
    def alarm(self) -> bool:
        """Whether the runs contradict the claim."""
        return self.result.contradicts

    def document(self) -> dict[str, Any]:
        """One entry of `dpexp audit --json`."""
        audited, claim, process = self.audited, self.claim, self.result.process
        assert process is not None
        return {
            "algorithm": audited.algorithm, "mechanism": audited.label,
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

    def cells(self) -> list[str]:
        """A line of the table, with epsilon at the first delta."""
        delta, about = self.deltas[0], [self.audited.protects, self.audited.released, self.audited.statistic]
        bounds = [up(self.claimed, 4), down(self.lower_bound, 4)]
        bounds += [up(self.claim.eps(delta), 4), down(self.result.eps(delta), 4)]
        return [*about, *bounds, f"{self.runs:,}", "ALARM" if self.alarm else ""]


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
    own = round(pilot * len(canary) / total)
    result = audit_runs(releases, canary, own, audited.claim, level * share)
    return Row(audited, audited.claim, result, level, tuple(deltas), len(canary) - own)


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
        """A page to read."""
        blocks, level = [], self.rows[0].level
        head = ["who", "released", "statistic", "claimed", "at least", f"eps at {self.rows[0].deltas[0]:g}", "at least",
                "runs", ""]  # fmt: skip
        for (label, size), rows in groupby(self.rows, key=lambda row: (row.audited.label, row.audited.size)):
            own = list(rows)
            claims = dict.fromkeys(f"  Claimed by   {row.claim.name} ({row.claim.source})" for row in own)
            table = ("  " + line for line in columns([row.cells() for row in own], head).splitlines())
            blocks.append("\n".join([label, f"  Audited      {size}", *claims, "", *table]))
        verdict = (
            f"No lower bound exceeds what is claimed. All of them hold together with {100 * (1 - level):g}% confidence."
        )
        if self.exit_code:
            verdict = (
                f"{counted(sum(row.alarm for row in self.rows), 'ALARM')}: a lower bound exceeds what is claimed. Were "
                f"all claims true, an alarm anywhere in this\ntable would have a probability of at most {level:g}."
            )
        skipped = "\n".join(f"Not audited: {reason}." for reason in self.skipped)
        return "\n\n".join([*blocks, verdict, *([skipped] if skipped else [])])
