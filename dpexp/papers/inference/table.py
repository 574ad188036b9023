"""The coverage ledger as a table: rows are settings and methods, columns the coordinates."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpexp.papers.inference.rows import COORDINATES, EXPERIMENTS, rows_of, tolerance
from dpexp.reporting.table import Content, Table, by_column

NOTE = (
    "Coverage of nominal 95% intervals by coordinate (intercept, mean over slopes, last: the scale where there is one), "
    "over all runs and over accepted ones, and median lengths over the efficient bound. A setting holds if every coordinate "
    "covers within .95 +- max(.01, 2.6 standard errors), single slopes too, and is refused if fewer than half of its runs "
    "are accepted. Worst: the single coordinate of least coverage in accepted runs; table coverage_slopes shows them all."
)


def build(results: Path) -> Content:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "setting": lambda r: str(r["setting"]),
        "mu": lambda r: str(r["budget"]),
        "n": lambda r: f"{r['n']:,}",
        "method": lambda r: str(r["method"]),
        "coverage": lambda r: " ".join(_share(r[f"covered_{name}"]) for name in COORDINATES),
        "accepted": lambda r: f"{r['accepted']:.2f}",
        "if accepted": lambda r: " ".join(_share(r[f"covered_accepted_{name}"]) for name in COORDINATES),
        "worst": lambda r: _share(r["worst"]),
        "length / bound": lambda r: " ".join(f"{r[f'length_{name}']:.2f}" for name in COORDINATES),
        "runs": lambda r: str(r["replicates"]),
        "verdict": lambda r: str(r["verdict"]),
        "if accepted ": lambda r: str(r["verdict_accepted"]),
    }
    return by_column(columns, _alike(rows_of(results)), NOTE)


def _alike(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the columns of all of them: settings of more dimensions have more slopes."""
    every: dict[str, Any] = dict.fromkeys(key for row in records for key in row)
    return [{**every, **row} for row in records]


def _share(value: float) -> str:
    """Three digits, without the zero in front; a dash where no run was accepted."""
    return "-" if math.isnan(value) else f"{value:.3f}".lstrip("0")


SLOPES_NOTE = (
    "Coverage of nominal 95% intervals by `staged-newton` in accepted runs, of every single coordinate: intercept, slopes "
    "in their order, scale. In parentheses what is allowed: .95 +- max(.01, 2.6 standard errors), for more than seven "
    "coordinates as many standard errors as give the same chance of a false alarm."
)


def build_slopes(results: Path) -> Content:
    records = [row for row in rows_of(results) if row["method"] == "staged-newton" and row["accepted"] > 0]
    head = ["setting", "mu", "n", "accepted", "runs", "intercept", "slopes", "scale", "allowed", "verdict"]
    rows = []
    for row in records:
        count = round(row["accepted"] * row["replicates"])
        shown = {name: _share(row[f"covered_accepted_{name}"]) for name in row["single"]}
        slopes = " ".join(value for name, value in shown.items() if name.startswith("slope"))
        allowed = tolerance(count, len(shown))
        rows.append([
            row["setting"], row["budget"], f"{row['n']:,}", f"{row['accepted']:.2f}", str(count), shown["intercept"],
            slopes, shown.get("last", "-"), f"({_share(0.95 - allowed)} to {_share(min(1.0, 0.95 + allowed))})",
            row["verdict_accepted"],
        ])  # fmt: skip
    return Content(head, rows, SLOPES_NOTE, _alike(records))


COVERAGE_TABLE = Table("coverage", "Which intervals hold", "inference", EXPERIMENTS, build)
SLOPES_TABLE = Table("coverage_slopes", "Every single coordinate", "inference", EXPERIMENTS, build_slopes)
