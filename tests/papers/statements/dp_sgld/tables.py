"""Tables 1 and 2 of `dp-sgld` in kind: who is more accurate at (1, 1e-5), by accounting, from stored runs, pair by pair.

A pair is a data set with a regulariser lambda; claims are judged on all pairs that were run.
"""

from __future__ import annotations

from dpexp.papers.dp_sgld.printed import ACCURACIES, beside
from dpexp.reporting.row import above

CHECKS = {
    "dp-sgld/table-1/printed": above(
        lambda: {f"table {table}, {name}": (mine - theirs) / 0.1
                 for table, lines in ACCURACIES.items() for name, mine, theirs, _ in lines},
        "DP-SGLD is above DP-SGD in every row", "", "printed to 0.1, without an error", "difference / 0.1",
        lambda least: "; ".join(map(beside, ACCURACIES)), "reproduced",
    ),
}  # fmt: skip
