"""What the theorems of `momentum` assume of a setting, as code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from operator import itemgetter
from typing import Any

from dpexp.papers.momentum.rows import DELTA, prescribed_rows
from dpexp.reporting.claim import Hypothesis, assumed, of_rows
from dpexp.reporting.evidence import Evidence
from dpexp.theory.momentum.formulas import Prescription

ROUNDED = 1 - 1e-9
"""alpha N of the schedules is 1 up to rounding"""
NORMALISED = ("tree", "reduced")
"""methods whose every step has length eta"""


memory = assumed("alpha >= 1 / N", lambda p: p[1] * p[0] >= ROUNDED, (100, 0.001))
"""pairs of N and alpha"""
mixing = assumed("gamma <= 1/2", lambda gamma: gamma <= 0.5, 0.9)
intended = assumed("delta <= exp(-eps)", lambda b: b[1] <= math.exp(-b[0]), (40.0, DELTA))
"""the condition that is meant; pairs of eps and delta"""
as_printed = assumed("delta >= exp(-eps)", lambda b: b[1] >= math.exp(-b[0]), (1.0, DELTA))
multiplier = assumed(
    "sigma >= 4 sqrt(log 1/delta) / eps",
    lambda pair: pair[1] >= 4 * math.sqrt(math.log(1 / DELTA)) / pair[0] * ROUNDED,
    (1.0, 1.0),
)
"""of Theorem 8; pairs of eps and sigma"""


def scheduled(method: str, schedule: Callable[[int, int, float, float], Prescription], words: str) -> Hypothesis:
    """Stored runs with printed noise follow a theorem's schedule, whose own conditions hold."""

    def steps(evidence: Evidence) -> list[dict[str, Any]]:
        rows: Any = prescribed_rows(evidence.results)
        rows = rows[(rows.method == method) & (rows.variant == "paper")]
        # the schedule is made again from N, d and epsilon, and held beside the steps that were run
        made = {int(r.N): (schedule(int(r.N), int(r.d), float(r.eps), DELTA), int(r.step)) for r in rows.itertuples()}
        return [
            {"N": n, "off": s.steps - run, "stands": not s.refused and s.alpha <= 1} for n, (s, run) in made.items()
        ]

    return of_rows(words, steps, lambda r: r["stands"] and abs(r["off"]) <= 1, lambda r: f"N = {r['N']}", off=10)


def normalised() -> Hypothesis:
    """Every step of the stored runs has length eta."""

    def methods(evidence: Evidence) -> list[dict[str, Any]]:
        return [{"method": name} for name in prescribed_rows(evidence.results, "lemma5_slack").method]

    name: Callable[[Mapping[str, Any]], str] = itemgetter("method")
    return of_rows("every step has length eta", methods, lambda r: r["method"] in NORMALISED, name, method="plain")
