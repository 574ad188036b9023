"""Table 1 of `dp-sgld` with every method tuned on validation records, and judged for new test records.

An accuracy is certain *over seeds* by its 95% interval over replicates, and *on new records* if it is so with the test
records' own error, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

from dpexp.papers.dp_sgld.langevin_tables import CHOSEN, METHODS, TUNED, against, tuned_accuracy_rows
from dpexp.papers.dp_sgld.printed import ACCURACIES
from dpexp.reporting.claim import Check, Outcome, Verdict

Row = dict[str, Any]
RIVALS = ("plain", "average", "momentum", "full")
"""the forms of DP-SGD, among which validation picks the best; without a clip that never clips, which is DP-SGLD at 0"""
CONSIDERABLE = 0.5
"""share of the gap that one would call a considerable reduction; the two printed gaps on CIFAR-10 fall by 85%"""
EACH = "95% intervals: Student t over seeds; on new records with the binomial error of the test records as well"


def direction(differences: Sequence[Row], sign: int = 1) -> Verdict:
    """Whether a difference has this sign: over seeds on all data sets, and on new records on one of them at least.

    False where it has the other sign on new records. On one set of test records alone a method is not called worse.
    """
    # on new records: one set of test records alone calls no method worse
    if any(sign * f["records"] < 0 for f in differences):
        return "false"
    # over seeds everywhere, and on new records once at least
    certain = all(sign * f["seeds"] > 0 for f in differences) and any(sign * f["records"] > 0 for f in differences)
    return "reproduced" if certain else "not at this sample size"


def compared(rows: list[Row], method: str, other: str | None) -> list[Row]:
    """On each data set one method less another; less the best form of DP-SGD where none is named."""
    differences = []
    for data in dict.fromkeys(r["data"] for r in rows):
        tried = [r for r in rows if r["data"] == data and r["method"] in RIVALS]
        rival = other or str(max(tried, key=lambda r: r["validation"])["method"])
        name = f"{data}, {METHODS[method]} less {METHODS[rival]}"
        differences.append({**against(rows, data, method, rival), "name": name})
    return differences


def ordered(method: str, other: str | None, sign: int, predicted: str, rows: list[Row]) -> Outcome:
    """One method less another, or less the best form of DP-SGD, on every data set."""
    differences = compared(rows, method, other)
    words = [
        f"{f['name']}: {f['difference']:+.2f} points (± {f['seeds_reach']:.2f} over seeds, ± {f['reach']:.2f} on new records)"
        for f in differences
    ]
    # a longer grid might improve a choice at an end of its grid
    ends = [f"{METHODS[r['method']]} on {r['data']} ({', '.join(r['edges'])})" for r in rows if r["edges"]]
    words.append(
        f"choices at an end of their grid: {', '.join(ends)}" if ends else "no choice is at an end of its grid"
    )
    numbers = {f["data"]: {k: f[k] for k in ("other", "difference", "seeds_reach", "reach")} for f in differences}
    return Outcome(direction(differences, sign), predicted, "; ".join(words), EACH, numbers)


def reduces_gap(rows: list[Row]) -> Outcome:
    """Of the best DP-SGD's distance to no DP: what share DP-SGLD takes away, by published and by sound accounting."""
    nominal, sound = (compared(rows, method, None) for method in ("published", "prescribed"))
    reached = {(r["data"], r["method"]): r["accuracy"] for r in rows}

    def gap(data: str, method: str) -> float:
        return reached[data, "free"] - reached[data, method]

    def considerable(row: Row) -> bool:
        # DP-SGD's distance to no DP less DP-SGLD's own is DP-SGLD's accuracy less DP-SGD's, so that the ceiling adds no
        # error to the order
        rival = gap(row["data"], row["other"])
        return bool(row["seeds"] > 0 and row["difference"] >= CONSIDERABLE * rival)

    verdict: Verdict = "not at this sample size"
    if all(considerable(f) for f in sound):
        verdict = "reproduced"
    elif any(considerable(f) for f in nominal) and any(f["records"] < 0 for f in sound):
        verdict = "misleading"
    elif any(f["records"] < 0 for f in sound):
        verdict = "false"
    gaps = {
        f["data"]: {"dp_sgd": gap(f["data"], f["other"]), "published": gap(f["data"], "published"),
                    "sound": gap(f["data"], "prescribed")}
        for f in nominal
    }  # fmt: skip
    words = "; ".join(
        f"{data}: {g['dp_sgd']:.2f} for the best DP-SGD, {g['published']:.2f} for DP-SGLD by the published accounting, "
        f"{g['sound']:.2f} by a sound one"
        for data, g in gaps.items()
    )
    printed = ", ".join(
        f"{free - theirs:.1f} to {free - mine:.1f} ({name})" for name, mine, theirs, free in ACCURACIES[1]
    )
    return Outcome(
        verdict,
        f"at least {CONSIDERABLE:.0%} of DP-SGD's gap to no DP is gone",
        f"points below no DP, all tuned: {words}; printed, other data: {printed}",
        EACH,
        gaps,
    )


ORDERS = {
    "tuned": ("published", None, 1, "DP-SGLD by the published accounting is above the best DP-SGD"),
    "tuned-sound": ("prescribed", None, -1, "DP-SGLD as prescribed, soundly accounted for, is below the best DP-SGD"),
    "start": ("zero", "prescribed", 1, "DP-SGLD started at 0 is above DP-SGLD with its prescribed start"),
}
"""row -> a method, the other one or None for the best DP-SGD, and the sign of the difference, also in words"""
DECIDES: dict[str, Callable[[list[Row]], Outcome]] = {
    **{row: partial(ordered, *arguments) for row, arguments in ORDERS.items()},
    "reduces-gap": reduces_gap,
}


def _of_rows(check: Callable[[list[Row]], Outcome]) -> Check:
    return Check(lambda evidence: check(tuned_accuracy_rows(evidence.results)), (*TUNED, CHOSEN))


CHECKS = {f"dp-sgld/table-1/{row}": _of_rows(check) for row, check in DECIDES.items()}
