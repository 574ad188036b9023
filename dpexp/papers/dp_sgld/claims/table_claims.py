"""Tables 1 and 2 of `dp-sgld` in kind: who is more accurate at (1, 1e-5), for every data set and regulariser."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dpexp.papers.dp_sgld.printed import beside
from dpexp.problems.softmax import Softmax
from dpexp.reporting.checks import Pair, in_order
from dpexp.reporting.claim import Check, Outcome
from dpexp.store.evidence import Evidence, Run

CONDITION = 1e4
"""the paper's beta / lambda are 5.5e4 to 2.6e5 (table 4): pairs above this are near it, the others far below"""


class Errors(NamedTuple):
    """Held-out errors of the final iterates of a pair by replicate: DP-SGLD by an accountant, DP-SGD, no DP."""

    mine: np.ndarray
    theirs: np.ndarray
    free: np.ndarray


def _name(run: Run) -> str:
    return f"{run.row['data']}, lambda = {float(run.row['regulariser']):g}"


def pairs_of(evidence: Evidence, table: int, accountant: str, sampling: str) -> dict[str, Errors]:
    """The errors of every pair that was run, by its name."""
    experiment = f"dp_sgld_table{table}"
    mine = evidence.runs(experiment, algorithm="dp-sgld", accountant=accountant, sampling=sampling)
    others = (evidence.runs(experiment, algorithm=name) for name in ("dp-sgd", "sgd"))
    finals = [{_name(run): 1 - run.values("last", "test_accuracy")[-1] for run in runs} for runs in (mine, *others)]
    order = sorted(mine, key=lambda run: (run.row["data"] != "fashion", str(run.row["data"]), run.row["regulariser"]))
    return {name: Errors(*(final[name] for final in finals)) for name in map(_name, order)}


def _ordered(table: int, accountant: str, sampling: str, evidence: Evidence) -> Outcome:
    """DP-SGLD against DP-SGD: reproduced if certainly better on all pairs, false if certainly worse on one."""
    pairs, turned, predicted = pairs_of(evidence, table, accountant, sampling), accountant == "theorem-3-1", BETTER
    if turned:
        # by Theorem 3.1 with K in iterations it is the other way round, near the paper's condition
        predicted = "a larger held-out error than DP-SGD at beta / lambda above 10^4"
        runs = evidence.runs(f"dp_sgld_table{table}", algorithm="sgd")
        problems = {_name(run): run.cell.problem for run in runs}
        close = [k for k, p in problems.items() if isinstance(p, Softmax) and p.smoothness / p.regulariser > CONDITION]
        pairs = {name: e for name, e in pairs.items() if name in close}
    ordered = [Pair(name, *((e.theirs, e.mine) if turned else (e.mine, e.theirs))) for name, e in pairs.items()]
    outcome = in_order(ordered, predicted)
    accuracies = {name: [float(1 - errors.mean()) for errors in e] for name, e in pairs.items()}
    words = ", ".join(
        f"{' / '.join(f'{100 * value:.2f}' for value in own)} ({name})" for name, own in accuracies.items()
    )
    measured = f"accuracies in percent, DP-SGLD / DP-SGD / no DP: {words}; ratios of errors"
    measured += f"{', DP-SGD / DP-SGLD' if turned else ''}: {outcome.measured}"
    # what the tables print stands beside our numbers: other data, so that only orders can agree
    measured += "" if turned else f"; {beside(table)}"
    return replace(outcome, measured=measured, numbers=outcome.numbers | accuracies)


BETTER = "a smaller held-out error than DP-SGD on every pair"
ORDERED: dict[str, tuple[int, str, str]] = {
    "table-1/ordering": (1, "published", "fixed-size"),
    "table-1/sound": (1, "pld", "poisson"),
    "table-1/theorem": (1, "theorem-3-1", "fixed-size"),
    "table-2/ordering": (2, "published", "fixed-size"),
    "table-2/sound": (2, "pld", "poisson"),
}
"""row -> table, accountant and batches of DP-SGLD"""
CHECKS = {
    f"dp-sgld/{row}": Check(partial(_ordered, *arguments), (f"dp_sgld_table{arguments[0]}",))
    for row, arguments in ORDERED.items()
}
