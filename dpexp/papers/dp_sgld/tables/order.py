"""Tables 1 and 2 of `dp-sgld`: is DP-SGLD more accurate than DP-SGD, for each data set and lambda, and by how much?"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpexp.papers.dp_sgld.printed import ACCURACIES, beside
from dpexp.papers.dp_sgld.tables.accuracy import rows_of
from dpexp.problems.softmax import DataSource, Softmax
from dpexp.reporting.accuracies import Accuracy, difference
from dpexp.reporting.table import Content, Table, by_column

WAYS = {
    "published": ("published", "replace-one"),
    "theorem": ("theorem-3-1", "replace-one"),
    "sound": ("pld", "add/remove"),
}
"""how DP-SGLD is accounted for -> accountant and neighbours; DP-SGD is `pld`, add/remove, in all"""


def order_rows(results: Path, table: int) -> list[dict[str, Any]]:
    """One record for each data set, lambda and accounting: accuracies in percent, and DP-SGLD less DP-SGD with both errors.

    See `dpexp.reporting.accuracies.difference` for the columns. `closed`: which share of DP-SGD's distance to no DP
    DP-SGLD takes away; None where DP-SGD is not certainly below no DP over the seeds.
    """
    found = rows_of(results, f"dp_sgld_table{table}")
    records = []
    for data, lam in dict.fromkeys((r["data"], r["regulariser"]) for r in found):
        held = Softmax(data=DataSource(name=data)).held_out_records
        own = [r for r in found if (r["data"], r["regulariser"]) == (data, lam)]
        clipped, free = (next(r for r in own if r["method"] == m) for m in ("DP-SGD", "no DP"))
        for way, key in WAYS.items():
            mine = next(r for r in own if r["method"] == "DP-SGLD" and (r["accountant"], r["neighbours"]) == key)
            a, b, c = (Accuracy(r["accuracy"] / 100, r["se"] / 100, r["seeds"], held) for r in (mine, clipped, free))
            gap = difference(c, b)
            records.append(
                {"table": table, "data": data, "regulariser": lam, "accounting": way, "dp_sgld": mine["accuracy"],
                 "dp_sgd": clipped["accuracy"], "no_dp": free["accuracy"], "test_records": held,
                 "closed": (a.mean - b.mean) / (c.mean - b.mean) if gap["seeds"] > 0 else None} | difference(a, b)
            )  # fmt: skip
    return records


def build(results: Path) -> Content:
    """Both tables as one."""
    records = [record for table in (1, 2) for record in order_rows(results, table)]
    words = {-1: "lower", 0: "undecided", 1: "higher"}
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "table": lambda r: str(r["table"]),
        "data": lambda r: str(r["data"]),
        "lambda": lambda r: f"{r['regulariser']:g}",
        "DP-SGLD by": lambda r: str(r["accounting"]),
        "DP-SGLD": lambda r: f"{r['dp_sgld']:.2f}",
        "DP-SGD": lambda r: f"{r['dp_sgd']:.2f}",
        "no DP": lambda r: f"{r['no_dp']:.2f}",
        "difference": lambda r: f"{r['difference']:+.2f}",
        "± seeds": lambda r: f"{r['seeds_reach']:.2f}",
        "± with records": lambda r: f"{r['reach']:.2f}",
        "over seeds": lambda r: words[r["seeds"]],
        "on new records": lambda r: words[r["records"]],
    }
    printed = "; ".join(f"table {table}, {beside(table)}" for table in ACCURACIES)
    note = (
        "Accuracies in percent on the same test records; difference: DP-SGLD less DP-SGD, with halves of 95% intervals "
        "over the seeds, and over seeds and test records together (independent errors are assumed, which is cautious). "
        f"DP-SGLD by the published accounting or by Theorem 3.1 is not private as stated. The paper has one run each: {printed}."
    )
    return by_column(columns, records, note)


SGLD_ORDER = Table(
    "sgld_order", "dp-sgld, tables 1 and 2: DP-SGLD against DP-SGD, pair by pair", "dp-sgld",
    ("dp_sgld_table1", "dp_sgld_table2"), build,
)  # fmt: skip
