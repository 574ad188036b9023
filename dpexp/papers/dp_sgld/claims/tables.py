"""Tables 1 to 3 of `dp-sgld` in kind: who is more accurate at (1, 1e-5), by accounting, from stored runs, pair by pair.

A pair is a data set with a regulariser lambda; claims are judged on all pairs that were run. What the tables print
stands beside our numbers: other data, so that only orders can agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from dpexp.papers.dp_sgld.claims.assumed import stated
from dpexp.papers.dp_sgld.printed import ACCURACIES, FINE_TUNED, beside
from dpexp.problems.softmax import Softmax
from dpexp.reporting.checks import Pair, in_order
from dpexp.reporting.claim import Check, Outcome, Verdict
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.row import above

CONDITION = 1e4
"""the paper's beta / lambda are 5.5e4 to 2.6e5 (table 4): pairs above this are near it, the others far below"""


class Errors(NamedTuple):
    """Held-out errors of the final iterates of a pair by replicate: DP-SGLD by an accountant, DP-SGD, no DP."""

    mine: np.ndarray
    theirs: np.ndarray
    free: np.ndarray


def _final(runs: list[Run], data: str, regulariser: float) -> np.ndarray:
    (run,) = [run for run in runs if run.row["data"] == data and float(run.row["regulariser"]) == regulariser]
    return 1 - run.values("last", "test_accuracy")[-1]


def pairs_of(evidence: Evidence, table: int, accountant: str, sampling: str) -> dict[str, Errors]:
    """The errors of every pair that was run, by its name."""
    experiment = f"dp_sgld_table{table}"
    mine = evidence.runs(experiment, algorithm="dp-sgld", accountant=accountant, sampling=sampling)
    theirs, free = (evidence.runs(experiment, algorithm=name) for name in ("dp-sgd", "sgd"))
    places = sorted(
        {(str(run.row["data"]), float(run.row["regulariser"])) for run in mine}, key=lambda p: (p[0] != "fashion", p)
    )
    return {
        f"{data}, lambda = {lam:g}": Errors(*(_final(runs, data, lam) for runs in (mine, theirs, free)))
        for data, lam in places
    }


def near(evidence: Evidence, table: int) -> list[str]:
    """Pairs whose beta / lambda is near the paper's."""
    found = []
    for run in evidence.runs(f"dp_sgld_table{table}", algorithm="sgd"):
        problem = run.cell.problem
        assert isinstance(problem, Softmax)
        if problem.smoothness / problem.regulariser > CONDITION:
            found.append(f"{run.row['data']}, lambda = {float(run.row['regulariser']):g}")
    return found


def _words(pairs: Mapping[str, Errors]) -> str:
    rows = (
        f"{100 * (1 - e.mine.mean()):.2f} / {100 * (1 - e.theirs.mean()):.2f} / {100 * (1 - e.free.mean()):.2f} ({name})"
        for name, e in pairs.items()
    )
    return "accuracies in percent, DP-SGLD / DP-SGD / no DP: " + ", ".join(rows)


def _numbers(pairs: Mapping[str, Errors]) -> dict[str, list[float]]:
    return {name: [float(1 - errors.mean()) for errors in e] for name, e in pairs.items()}


def _ordered(table: int, accountant: str, sampling: str, if_worse: Verdict, evidence: Evidence) -> Outcome:
    """DP-SGLD against DP-SGD on every pair: reproduced if certainly better on all, `if_worse` if certainly worse on one.

    By Theorem 3.1 with K in iterations it is the other way round, near the paper's condition.
    """
    pairs, turned, predicted = pairs_of(evidence, table, accountant, sampling), accountant == "theorem-3-1", BETTER
    if turned:
        close, predicted = near(evidence, table), "a larger held-out error than DP-SGD at beta / lambda above 10^4"
        pairs = {name: e for name, e in pairs.items() if name in close}
    ordered = [Pair(name, *((e.theirs, e.mine) if turned else (e.mine, e.theirs))) for name, e in pairs.items()]
    found = in_order(ordered, predicted)
    verdict = if_worse if found.verdict == "false" else found.verdict
    measured = f"{_words(pairs)}; ratios of errors{', DP-SGD / DP-SGLD' if turned else ''}: {found.measured}"
    measured += "" if turned else f"; {beside(table)}"
    return replace(found, verdict=verdict, measured=measured, numbers=found.numbers | _numbers(pairs))


SMALL_GAP = 1.0
"""points that one would call almost closed: twice the largest printed gap of 0.5"""


def gap(evidence: Evidence) -> Outcome:
    """No DP less DP-SGLD in points: by the published accounting, and with noise that is accounted for."""
    gaps: dict[str, dict[str, float]] = {}
    for words, accountant, sampling in (("published", "published", "fixed-size"), ("sound", "pld", "poisson")):
        pairs = pairs_of(evidence, 1, accountant, sampling)
        gaps[words] = {name: 100 * float(e.mine.mean() - e.free.mean()) for name, e in pairs.items()}
    nominal, sound = (max(gaps[words].values()) for words in ("published", "sound"))
    verdict: Verdict = "false" if nominal > SMALL_GAP else "misleading" if sound > SMALL_GAP else "reproduced"
    printed = ", ".join(f"{free - mine:.1f} ({name})" for name, mine, _, free in ACCURACIES[1])
    return Outcome(
        verdict,
        f"no DP is less than {SMALL_GAP:g} point above DP-SGLD",
        "points below no DP: "
        + "; ".join(
            f"{words} accounting: " + ", ".join(f"{v:.2f} ({k})" for k, v in some.items())
            for words, some in gaps.items()
        )
        + f"; printed: {printed}",
        "means over 10 seeds: standard errors below 0.1 point",
        gaps,
    )


def table_3(evidence: Evidence) -> Outcome:
    """More trained parameters: a smaller error without privacy, a larger one with DP-SGD."""
    errors = {}
    for algorithm in ("sgd", "dp-sgd"):
        runs = evidence.runs("dp_sgld_table3", algorithm=algorithm)
        for run in runs:
            assert isinstance(run.cell.problem, Softmax)
            wide = run.cell.problem.random_features is not None
            errors[algorithm, wide] = 1 - run.values("last", "test_accuracy")[-1]
    pairs = [
        Pair("no DP, more / fewer parameters", errors["sgd", True], errors["sgd", False]),
        Pair("DP-SGD, fewer / more parameters", errors["dp-sgd", False], errors["dp-sgd", True]),
    ]
    outcome = in_order(pairs, "no DP gains from more parameters, DP-SGD loses")
    words = ", ".join(
        f"{name} {100 * (1 - errors[key, False].mean()):.2f}% to {100 * (1 - errors[key, True].mean()):.2f}%"
        for name, key in (("no DP", "sgd"), ("DP-SGD", "dp-sgd"))
    )
    printed = ", ".join(f"{name} {before:.1f} to {after:.1f}" for name, (before, after) in FINE_TUNED.items())
    return replace(outcome, measured=f"{words}; {outcome.measured}; printed, other data: {printed}")


BETTER = "a smaller held-out error than DP-SGD on every pair"


CHECKS = {
    "dp-sgld/table-1/printed": above(
        lambda: {f"table {table}, {name}": (mine - theirs) / 0.1
                 for table, lines in ACCURACIES.items() for name, mine, theirs, _ in lines},
        "DP-SGLD is above DP-SGD in every row", "", "printed to 0.1, without an error", "difference / 0.1",
        lambda least: "; ".join(map(beside, ACCURACIES)), "reproduced",
    ),
    "dp-sgld/table-1/ordering": Check(
        partial(_ordered, 1, "published", "fixed-size", "false"), ("dp_sgld_table1",),
    ).assuming(stated("dp_sgld_table1")),
    "dp-sgld/table-1/sound": Check(
        partial(_ordered, 1, "pld", "poisson", "misleading"), ("dp_sgld_table1",),
    ).assuming(stated("dp_sgld_table1")),
    "dp-sgld/table-1/theorem": Check(
        partial(_ordered, 1, "theorem-3-1", "fixed-size", "false"), ("dp_sgld_table1",),
    ).assuming(stated("dp_sgld_table1")),
    "dp-sgld/table-1/gap": Check(gap, ("dp_sgld_table1",)).assuming(stated("dp_sgld_table1")),
    "dp-sgld/table-2/ordering": Check(
        partial(_ordered, 2, "published", "fixed-size", "false"), ("dp_sgld_table2",),
    ).assuming(stated("dp_sgld_table2")),
    "dp-sgld/table-2/sound": Check(
        partial(_ordered, 2, "pld", "poisson", "misleading"), ("dp_sgld_table2",),
    ).assuming(stated("dp_sgld_table2")),
    "dp-sgld/table-3": Check(table_3, ("dp_sgld_table3",)).assuming(stated("dp_sgld_table3")),
}  # fmt: skip
