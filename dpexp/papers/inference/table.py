"""The coverage ledger as a table: rows are settings and methods, columns the coordinates."""

from __future__ import annotations

import math
from pathlib import Path

from dpexp.papers.inference.rows import COORDINATES, EXPERIMENTS, rows_of
from dpexp.reporting.table import Content, Table

NOTE = (
    "Coverage of nominal 95% intervals by coordinate (intercept, mean over slopes, last: the scale where there is one), "
    "over all runs and over accepted ones, and median lengths over the efficient bound. A setting holds if every coordinate "
    "covers within .95 +- max(.01, 2.6 standard errors), and is refused if fewer than half of its runs are accepted."
)


def build(results: Path) -> Content:
    records = rows_of(results)
    head = [
        "setting",
        "mu",
        "n",
        "method",
        "coverage",
        "accepted",
        "if accepted",
        "length / bound",
        "runs",
        "verdict",
        "if accepted ",
    ]
    rows = []
    for row in records:
        shown = {
            what: " ".join(_share(row[f"{what}_{name}"]) for name in COORDINATES)
            for what in ("covered", "covered_accepted")
        }
        length = " ".join(f"{row[f'length_{name}']:.2f}" for name in COORDINATES)
        rows.append([
            row["setting"], row["budget"], f"{row['n']:,}", row["method"], shown["covered"], f"{row['accepted']:.2f}",
            shown["covered_accepted"], length, str(row["replicates"]), row["verdict"], row["verdict_accepted"],
        ])  # fmt: skip
    return Content(head, rows, NOTE, records)


def _share(value: float) -> str:
    """Three digits, without the zero in front; a dash where no run was accepted."""
    return "-" if math.isnan(value) else f"{value:.3f}".lstrip("0")


COVERAGE_TABLE = Table("coverage", "Which intervals hold", "inference", EXPERIMENTS, build)
