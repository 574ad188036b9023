"""What the theorems of `momentum` assume of a setting, as code."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from typing import Any

from dpexp.papers.momentum.rows import DELTA, prescribed_rows
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.hypothesis import Hypothesis, of_settings
from dpexp.theory.momentum.formulas import Prescription

ROUNDED = 1 - 1e-9
"""alpha N of the schedules is 1 up to rounding"""
NORMALISED = ("tree", "reduced")
"""methods whose every step has length eta"""


def memory(pairs: Mapping[str, tuple[int, float]]) -> Hypothesis:
    """alpha >= 1 / N; pairs of N and alpha."""
    return of_settings("alpha >= 1 / N", pairs, lambda p: p[1] * p[0] >= ROUNDED, (100, 0.001))


def mixing(gammas: Mapping[str, float]) -> Hypothesis:
    """gamma <= 1/2."""
    return of_settings("gamma <= 1/2", gammas, lambda gamma: gamma <= 0.5, 0.9)


def intended(budgets: Mapping[str, tuple[float, float]]) -> Hypothesis:
    """delta <= exp(-eps), the condition that is meant; pairs of eps and delta."""
    return of_settings("delta <= exp(-eps)", budgets, lambda b: b[1] <= math.exp(-b[0]), (40.0, DELTA))


def as_printed(budgets: Mapping[str, tuple[float, float]]) -> Hypothesis:
    """delta >= exp(-eps), as printed; pairs of eps and delta."""
    return of_settings("delta >= exp(-eps)", budgets, lambda b: b[1] >= math.exp(-b[0]), (1.0, DELTA))


def multiplier(sigmas: Mapping[str, tuple[float, float]]) -> Hypothesis:
    """sigma >= 4 sqrt(log 1/delta) / eps, of Theorem 8; pairs of eps and sigma."""

    def holds(pair: tuple[float, float]) -> bool:
        return pair[1] >= 4 * math.sqrt(math.log(1 / DELTA)) / pair[0] * ROUNDED

    return of_settings("sigma >= 4 sqrt(log 1/delta) / eps", sigmas, holds, (1.0, 1.0))


def scheduled(method: str, schedule: Callable[[int, int, float, float], Prescription], words: str) -> Hypothesis:
    """Stored runs with printed noise follow a theorem's schedule, whose own conditions hold."""

    def steps(evidence: Evidence, more: int) -> list[str]:
        rows: Any = prescribed_rows(evidence.results)
        rows = rows[(rows.method == method) & (rows.variant == "paper")]
        made = {
            int(row.N): (schedule(int(row.N), int(row.d), float(row.eps), DELTA), int(row.step))
            for row in rows.itertuples()
        }
        return [f"N = {n}" for n, (s, run) in made.items() if s.refused or s.alpha > 1 or abs(s.steps - run - more) > 1]

    return Hypothesis(words, lambda evidence: steps(evidence, 0), lambda evidence: steps(evidence, 10))


def normalised() -> Hypothesis:
    """Every step of the stored runs has length eta."""

    def methods(evidence: Evidence, also: tuple[str, ...] = ()) -> list[str]:
        rows: Any = prescribed_rows(evidence.results, "lemma5_slack")
        return [name for name in (*dict.fromkeys(rows.method), *also) if name not in NORMALISED]

    return Hypothesis("every step has length eta", methods, lambda evidence: methods(evidence, ("plain",)))
