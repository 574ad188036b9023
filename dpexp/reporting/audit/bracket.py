"""An audit of an experiment: each mechanism once, runs in two worlds, and brackets [lower bound, claimed]."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any

import numpy as np

from dpexp.config.cells import Experiment
from dpexp.core.terminal import tell
from dpexp.core.text import Printed, columns, down, up
from dpexp.privacy.audit.scores import audit_runs
from dpexp.reporting.audit.audit_cells import audits_of
from dpexp.reporting.audit.worlds import TwoWorlds
from dpexp.reporting.templates import filled

PILOT, PASS = 1000, 1000
"""runs by which thresholds and bets are chosen, and which no test counts; runs between two words of progress"""
Row = dict[str, Any]
"""The result of one audit, with the keys of `dpexp audit --json`: `lower_bound` of mu of Gaussian DP, `claimed` mu, or
the mu that allows the same misses at the reported threshold, and `alarm` whether the runs contradict the claim"""


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


def audit(
    audited: TwoWorlds, runs: int, level: float, seed: int, deltas: Sequence[float] = (), pilot: int | None = None
) -> Row:
    """So many runs, and a pilot before them; a true claim is contradicted with probability `level` at most."""
    claim, pilot = audited.claim, PILOT if pilot is None else pilot
    assert claim is not None
    parts, total = [], pilot + runs
    for first in range(0, total, PASS):
        tell(f"{audited.label}: run {first:,} of {total:,}")
        parts.append(audited.observe(seed, range(first, min(first + PASS, total))))
    releases, canary = (np.concatenate(column) for column in zip(*parts, strict=True))
    # thresholds and bets must not have seen the replicates of the tests
    result = audit_runs(releases, canary, pilot, claim, level)
    (point, claimed), process = result.nearest, result.process
    assert process is not None
    return {
        "algorithm": audited.setting.name, "mechanism": audited.label, "claimed": claimed,
        "lower_bound": point.separation, "unit": "mu at this false positive rate" if claim.mu is None else "mu",
        "confidence": 1 - level, "method": "trade-off test", "releases": audited.released,
        "protects": audited.protects, "statistic": audited.statistic, "analysis": claim.name, "source": claim.source,
        "audited": audited.size, "runs": runs, "alarm": result.contradicts,
        "false_positive_rate": point.most_false_alarms,
        "eps": [{"delta": d, "claimed": claim.eps(d), "lower_bound": result.eps(d)} for d in deltas],
        "e_process": {"largest": process.largest, "alarm_at_run": process.alarm_at},
        "thresholds": [vars(point) for point in result.points],
    }  # fmt: skip


@dataclass(frozen=True)
class Audited(Printed):
    """The rows of an audit, which hold together with one confidence, and why others were skipped."""

    rows: Sequence[Row]
    skipped: Sequence[str]

    @property
    def exit_code(self) -> int:
        """1 where a lower bound exceeds what is claimed."""
        return int(any(row["alarm"] for row in self.rows))

    def document(self) -> list[Row]:
        """With the keys of `dpexp audit --json`."""
        return list(self.rows)

    def text(self) -> str:
        """A page to read, with epsilons at the first delta."""
        groups = groupby(self.rows, key=lambda row: (row["mechanism"], row["audited"]))
        return filled(
            "dpexp.reporting.audit", "audit.txt", groups=[list(rows) for _, rows in groups], table=_table,
            alarms=sum(row["alarm"] for row in self.rows), confidence=self.rows[0]["confidence"], skipped=self.skipped,
        )  # fmt: skip


def _table(rows: Sequence[Row]) -> str:
    eps = f"eps at {rows[0]['eps'][0]['delta']:g}"
    head = ["who", "released", "statistic", "claimed", "at least", eps, "at least", "runs", ""]
    return columns([
        [row["protects"], row["releases"], row["statistic"], up(row["claimed"], 4), down(row["lower_bound"], 4),
         up(row["eps"][0]["claimed"], 4), down(row["eps"][0]["lower_bound"], 4), f"{row['runs']:,}",
         "ALARM" * row["alarm"]]
        for row in rows
    ], head)  # fmt: skip
