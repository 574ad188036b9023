"""Tables 1 and 2 of `dp-sgld` in kind, pair by pair: held-out accuracy of the final iterates, and who is more accurate by how much."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dpexp.papers.dp_sgld.printed import ACCURACIES, beside
from dpexp.problems.softmax import DataSource, Softmax
from dpexp.reporting.accuracies import Accuracy, difference
from dpexp.reporting.table import Column, Content, Table, by_column
from dpexp.store import at_last_step, load_summary

WAYS = {"published": "fixed-size", "theorem-3-1": "fixed-size", "pld": "poisson"}
"""accountant of DP-SGLD -> its batches; DP-SGD is accounted for by `pld`, Poisson batches, in all"""
EPS, SOUND = "eps_1e-05", "sound_eps_1e-05"
SIGNS = {-1: "lower", 0: "undecided", 1: "higher"}
COLUMNS: dict[str, Column] = {
    "table": "{table}",
    "data": "{data}",
    "lambda": "{regulariser:g}",
    "DP-SGLD by": "{accountant}",
    "eps by composition": "{sound_eps:.3g}",
    "DP-SGLD": "{dp_sgld:.2f}",
    "DP-SGD": "{dp_sgd:.2f}",
    "no DP": "{no_dp:.2f}",
    "difference": "{difference:+.2f}",
    "± seeds": "{seeds_reach:.2f}",
    "± with records": "{reach:.2f}",
    "over seeds": lambda r: SIGNS[r["seeds"]],
    "on new records": lambda r: SIGNS[r["records"]],
}


def order_rows(results: Path, table: int) -> list[dict[str, Any]]:
    """One record for each data set, lambda and accounting: accuracies in percent, and DP-SGLD less DP-SGD with both errors.

    See `dpexp.reporting.accuracies.difference` for the columns. `sound_eps` is what composition gives for the same noise.
    """
    needs = ["data", "regulariser", "accountant", "sampling", EPS]
    last = at_last_step(load_summary(results, f"dp_sgld_table{table}", needs))
    last = last[(last.metric == "test_accuracy") & (last.estimator == "last")]
    records = []
    for data, lam in sorted(set(zip(last.data, last.regulariser, strict=True)), key=lambda p: (p[0] != "fashion", p)):
        held = Softmax(data=DataSource(name=data)).held_out_records
        own = last[(last.data == data) & (last.regulariser == lam)]
        clipped, free = (_accuracy(own[own.algorithm == name], held) for name in ("dp-sgd", "sgd"))
        for accountant, sampling in WAYS.items():
            rows = own[(own.algorithm == "dp-sgld") & (own.accountant == accountant) & (own.sampling == sampling)]
            mine, (row,) = _accuracy(rows, held), rows.to_dict("records")
            # where composition is the accountant itself there is no second column
            sound = row.get(SOUND)
            records.append(
                {"table": table, "data": data, "regulariser": lam, "accountant": accountant,
                 "sound_eps": row[EPS] if sound is None or math.isnan(sound) else sound, "dp_sgld": 100 * mine.mean,
                 "dp_sgd": 100 * clipped.mean, "no_dp": 100 * free.mean, "test_records": held}
                | difference(mine, clipped)
            )  # fmt: skip
    return records


def _accuracy(rows: Any, held: int) -> Accuracy:
    """That of one cell."""
    (row,) = rows.to_dict("records")
    return Accuracy(row["mean"], row["se"], int(row["n"]), held)


def build_order(results: Path) -> Content:
    """Both tables as one."""
    records = [record for table in (1, 2) for record in order_rows(results, table)]
    printed = "; ".join(f"table {table}, {beside(table)}" for table in ACCURACIES)
    note = (
        "Accuracies in percent on the same test records; difference: DP-SGLD less DP-SGD, with halves of 95% intervals "
        "over the seeds, and over seeds and test records together (independent errors are assumed, which is cautious). "
        f"DP-SGLD by the published accounting or by Theorem 3.1 is not private as stated. The paper has one run each: {printed}."
    )
    return by_column(COLUMNS, records, note)


SGLD_ORDER = Table(
    "sgld_order", "dp-sgld, tables 1 and 2: DP-SGLD against DP-SGD, pair by pair", "dp-sgld",
    ("dp_sgld_table1", "dp_sgld_table2"), build_order,
)  # fmt: skip
