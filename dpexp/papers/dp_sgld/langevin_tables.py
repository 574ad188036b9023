"""Tables of `dp-sgld`: 1 and 2 in kind, 1 with every method tuned, 4 with its constants, and the counterexamples.

(a) Tables 1 and 2, pair by pair: held-out accuracy of the final iterates, and who is more accurate by how much.
(b) Table 1 tuned: settings chosen by validation records, accuracies on the test records. The grids (`dp_sgld_tuned_*`)
hold out a tenth of the training records and never look at a test record. For each method the setting with the best mean
validation accuracy is the choice; `dp_sgld_chosen` runs it with other seeds on all training records. Every accuracy has
two errors: over replicates, that is over batches, noise and start on the same records, and that of the test records
themselves, which are a sample.
(c) Table 4: its constants, printed and for our data, with both readings of d.
"""

from __future__ import annotations

import math
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.papers.dp_sgld.cases import CASES, EPS_AT, TESTED_ORDERS
from dpexp.papers.dp_sgld.printed import ACCURACIES, TABLE4, beside
from dpexp.problems.softmax import DataSource, Softmax
from dpexp.reporting.accuracies import Accuracy, difference
from dpexp.reporting.text_table import Column, Content, Table, by_column
from dpexp.store import at_last_step, load_summary
from dpexp.theory.dp_sgld.privacy_statements import best_order, slope_of_eps
from dpexp.theory.dp_sgld.softmax_constants import implied_order_times_d, smoothness_full, table4_ratio

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
        test_records = Softmax(data=DataSource(name=data)).held_out_records
        own = last[(last.data == data) & (last.regulariser == lam)]
        clipped, free = (_accuracy(own[own.algorithm == name], test_records) for name in ("dp-sgd", "sgd"))
        for accountant, sampling in WAYS.items():
            rows = own[(own.algorithm == "dp-sgld") & (own.accountant == accountant) & (own.sampling == sampling)]
            mine, (row,) = _accuracy(rows, test_records), rows.to_dict("records")
            # where composition is the accountant itself there is no second column
            sound = row.get(SOUND)
            records.append(
                {"table": table, "data": data, "regulariser": lam, "accountant": accountant,
                 "sound_eps": row[EPS] if sound is None or math.isnan(sound) else sound, "dp_sgld": 100 * mine.mean,
                 "dp_sgd": 100 * clipped.mean, "no_dp": 100 * free.mean, "test_records": test_records}
                | difference(mine, clipped)
            )  # fmt: skip
    return records


def _accuracy(rows: Any, test_records: int) -> Accuracy:
    """That of one cell."""
    (row,) = rows.to_dict("records")
    return Accuracy(row["mean"], row["se"], int(row["n"]), test_records)


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
TUNED, CHOSEN = ("dp_sgld_tuned_adult", "dp_sgld_tuned_fashion"), "dp_sgld_chosen"
METHODS = {
    "free": "no DP: logistic regression",
    "published": "DP-SGLD",
    "prescribed": "DP-SGLD",
    "zero": "DP-SGLD started at 0",
    "unclipped": "DP-SGD, clip 1.458: never clips",
    "plain": "DP-SGD",
    "average": "DP-SGD, averaged",
    "momentum": "DP-SGD, momentum 0.9",
    "full": "full batches, momentum 0.9",
}
"""key -> method; those with momentum release the last iterate or the average, whichever validation prefers"""
SETTING = ["data", "method", "estimator", "batch", "epochs", "eta"]
FULL = 0
"""what `batch` is where a batch is all of the training records, of which tuning has a tenth less"""


def tuned_accuracy_rows(results: Path) -> list[dict[str, Any]]:
    """One record for each data set and method: the choice, how it was chosen, and its accuracy with both errors, in percent.

    `behind`: by how much the setting that was run is behind the best one in validation accuracy, in percentage points;
    0 where it is the choice. `edges`: in which directions the choice lies at the end of its grid. `settings`: how many
    were tried. `seeds_reach` and `test_reach` are halves of 95% intervals: Student t over replicates, and binomial.
    """
    import pandas as pd

    tried = pd.concat([_settings(results, name) for name in TUNED], ignore_index=True)
    run = _settings(results, CHOSEN)
    best = tried.groupby(SETTING)["mean"].max()
    records = []
    for (data, method), grid in tried.groupby(["data", "method"]):
        candidates = run[(run["data"] == data) & (run["method"] == method)]
        places = [tuple(row) for row in candidates[SETTING].to_numpy()]
        # a setting that was run and never tuned cannot be the choice
        validated = [float(best.get(place, -1.0)) for place in places]
        if not validated or max(validated) < 0:
            raise ValueError(f"{CHOSEN} runs no setting of {METHODS[method]} on {data} that was tuned")
        at = max(range(len(validated)), key=validated.__getitem__)
        row = candidates.iloc[at]
        of = Softmax(data=DataSource(name=data))
        accuracy = Accuracy(float(row["mean"]), float(row["se"]), int(row["n"]), of.held_out_records)
        records.append(
            {
                "data": data,
                "method": method,
                "estimator": row["estimator"],
                "guarantee": bool(row["guarantee"]) or method == "free",
                "batch": int(row["batch"]),
                "epochs": int(row["epochs"]),
                "eta": float(row["eta"]),
                "eps": float(row[EPS]),
                "noise_multiplier": float(row["noise_multiplier"]),
                "settings": len(grid),
                "validation": 100 * validated[at],
                "behind": 100 * (float(grid["mean"].max()) - validated[at]),
                "edges": _edges(grid, row),
                "accuracy": 100 * accuracy.mean,
                "seeds_reach": 100 * accuracy.seeds_reach,
                "test_reach": 100 * accuracy.test_reach,
                "se": 100 * accuracy.se,
                "seeds": accuracy.seeds,
                "test_records": accuracy.records,
            }
        )
    keys = list(METHODS)
    return sorted(records, key=lambda r: (r["data"] != "fashion", keys.index(r["method"])))


def against(records: list[dict[str, Any]], data: str, method: str, other: str) -> dict[str, Any]:
    """The accuracy of one method less that of another, in points: see `dpexp.reporting.accuracies.difference`."""
    first, second = (next(r for r in records if (r["data"], r["method"]) == (data, key)) for key in (method, other))
    return {"data": data, "method": method, "other": other} | difference(
        _accuracy_of_best(first), _accuracy_of_best(second)
    )


def _accuracy_of_best(record: dict[str, Any]) -> Accuracy:
    return Accuracy(record["accuracy"] / 100, record["se"] / 100, record["seeds"], record["test_records"])


def _settings(results: Path, experiment: str) -> Any:
    """One row for each setting that stands for a method, with its mean held-out accuracy."""
    needs = ["data", "batch_size", "epochs", "eta", "momentum", "clip", "start", "accountant", "guarantee", EPS]
    summary = load_summary(results, experiment, needs)
    last = at_last_step(summary)
    rows = last[last.metric == "test_accuracy"].copy()
    rows["full"] = [row.batch_size == _records(row) for row in rows.itertuples()]
    rows["batch"] = [FULL if full else int(size) for full, size in zip(rows.full, rows.batch_size, strict=True)]
    rows["method"] = [_method(row) for row in rows.itertuples()]
    return rows[rows.method != ""].reset_index(drop=True)


def _records(row: Any) -> int:
    share = getattr(row, "validation_fraction", None)
    return _trained(row.data, share if share is not None and share == share else None)


@lru_cache(maxsize=8)
def _trained(data: str, share: float | None) -> int:
    """Training records; remembered, since many settings share a data set."""
    return Softmax(data=DataSource(name=data), validation_fraction=share).n  # type: ignore[arg-type]


def _method(row: Any) -> str:
    """The key of METHODS that a setting belongs to; empty for what is measured beside it and not compared."""
    if row.algorithm == "sgd":
        return "free"
    if row.algorithm == "dp-sgld":
        return "published" if row.accountant == "published" else str(row.start)
    if row.full:
        return "full"
    if row.momentum > 0:
        return "momentum"
    if row.clip > 1:
        return "unclipped" if row.estimator == "last" else ""
    return "plain" if row.estimator == "last" else "average"


def _edges(grid: Any, row: Any) -> list[str]:
    """Where the choice lies at the end of what was tried: over batches, over epochs, or over steps for its batch."""
    records = []
    alike = grid[(grid.batch == row.batch) & (grid.epochs == row.epochs)]
    for name, rows in (("batch", grid), ("epochs", grid), ("eta", alike)):
        # a grid of one value was not tuned, but for the step, which always is
        ends = {rows[name].min(), rows[name].max()}
        if row[name] in ends and (len(ends) > 1 or name == "eta"):
            records.append(name)
    return records


def build_tuned(results: Path) -> Content:
    """The rows as a table."""
    records = tuned_accuracy_rows(results)
    head = ["data", "method", "accounting", "released", "batch", "epochs", "eta", "z", "best of", "at an end"]
    head += ["validation (%)", "accuracy (%)", "± seeds", "± test records"]
    rows = [
        [
            r["data"], METHODS[r["method"]], _accounting(r), "average" if r["estimator"] == "average" else "last iterate",
            "all" if r["batch"] == FULL else f"{r['batch']:,}", f"{r['epochs']}", f"{r['eta']:g}",
            "-" if r["method"] == "free" else f"{r['noise_multiplier']:.3g}", f"{r['settings']}",
            ", ".join(r["edges"]) or "-", f"{r['validation']:.2f}",
            f"{r['accuracy']:.2f}", f"{r['seeds_reach']:.2f}", f"{r['test_reach']:.2f}",
        ]
        for r in records
    ]  # fmt: skip
    seeds, test_records = records[0]["seeds"], {r["data"]: r["test_records"] for r in records}
    behind = [r for r in records if r["behind"] > 0]
    note = (
        f"lambda = 1e-5, delta = 1e-5, eps = 1; noise for neighbours with one record more or less, but for replaced "
        f"records in the published accounting, which is no guarantee. 'Best of' counts the settings tried: their accuracy "
        f"was measured on a tenth of the training records. Accuracy: of the choice, trained with other seeds on all "
        f"training records, on the test records ({', '.join(f'{d} {n:,}' for d, n in sorted(test_records.items()))}). ± halves of "
        f"95% intervals: over {seeds} seeds, and of the test records as a sample. Reading off the best setting is not "
        "private."
    )
    if behind:
        note += " Not the best in validation: " + ", ".join(
            f"{METHODS[r['method']]} on {r['data']}, by {r['behind']:.2f} points" for r in behind
        )
    return Content(head, rows, note, records)


def _accounting(record: dict[str, Any]) -> str:
    if record["method"] == "free":
        return "-"
    return "bound with K = epochs: INVALID" if record["method"] == "published" else "sound"


SGLD_TUNED = Table(
    "sgld_tuned",
    "dp-sgld, table 1 with every method tuned on validation records",
    "dp-sgld",
    (*TUNED, CHOSEN),
    build_tuned,
)
OURS = (("fashion", 1e-5), ("fashion", 1e-3), ("adult", 1e-5), ("adult", 1e-2), ("digits", 1e-3))


def build4(results: Path) -> Content:
    """Printed rows with the order that they imply, then our data at the best order for (1, 1e-5)."""
    records: list[dict[str, Any]] = []
    for name, (n, classes, width, beta, condition, printed) in TABLE4.items():
        # the order is not printed: it is read off the ratio
        order = implied_order_times_d(1.0, n, condition, printed) / classes
        records.append(_record(name, n, classes, width, beta, condition, order) | {"printed": printed})
    order = best_order(slope_of_eps(1.0, 1e-5), 1e-5)
    for name, lam in OURS:
        problem = Softmax(data=DataSource(name=name), regulariser=lam)  # type: ignore[arg-type]
        shape, beta = problem.shape, problem.smoothness
        record = _record(
            f"{name}, lambda = {lam:g}", shape.records, shape.classes, shape.width, beta, beta / lam, order
        )
        records.append(record | {"beta_full": _full(name) + lam})
    columns: dict[str, Column] = {
        "data": "{data}",
        "n": "{n:,}",
        "beta": "{beta:.3g}",
        "beta, full loss": lambda r: "-" if r["beta_full"] is None else f"{r['beta_full']:.3g}",
        "beta / lambda": "{condition:.2g}",
        "printed ratio": lambda r: "-" if r["printed"] is None else f"{r['printed']:.2g}",
        "alpha": "{order:.1f}",
        "ratio, d = classes": "{ratio_classes:.2g}",
        "ratio, d = parameters": "{ratio_parameters:.2g}",
    }
    note = (
        "Ratio: {eps n^2 / (alpha d)} / (beta / lambda)^2 at eps = 1; below 1, K of Theorem 4.2 grows as n^2. Those "
        "printed follow with d = classes and alpha near 25, where d of the theorem is the number of parameters. "
        "Our beta is that of every record's loss, from the normalisation; that of the full loss comes from private "
        "data and is used nowhere."
    )
    return by_column(columns, [{"printed": None, "beta_full": None} | r for r in records], note)


def _record(name: str, n: int, classes: int, p: int, beta: float, condition: float, order: float) -> dict[str, Any]:
    return {
        "data": name,
        "n": n,
        "classes": classes,
        "parameters": classes * p,
        "beta": beta,
        "condition": condition,
        "order": order,
        "ratio_classes": table4_ratio(1.0, n, order, classes, condition),
        "ratio_parameters": table4_ratio(1.0, n, order, classes * p, condition),
    }


@lru_cache(maxsize=8)
def _full(name: str) -> float:
    """Smoothness of the full data loss, without lambda."""
    return smoothness_full(Softmax(data=DataSource(name=name)).train.features, 0.0)  # type: ignore[arg-type]


SHOWN = ("eta", "steps", "batch_size", "n", "strong_convexity", "size", "radius", "shift", "leaving")


def build_counterexamples(results: Path) -> Content:
    """One row for each setting: exact and claimed divergences, and the claimed epsilon with its exact delta."""
    records: list[dict[str, Any]] = []
    for case in CASES:
        claimed = case.claimed_eps(EPS_AT)
        records.append(
            {
                "setting": case.name,
                **{name: getattr(case, name) for name in SHOWN},
                **{f"exact_{a:g}": case.law.renyi(a) for a in TESTED_ORDERS},
                **{f"certain_{a:g}": case.certain(a) for a in TESTED_ORDERS},
                **{f"claimed_{a:g}": a * case.slope for a in TESTED_ORDERS},
                "claimed_eps": claimed,
                "exact_delta": case.delta(claimed),
                "exact_eps": case.law.eps(EPS_AT),
            }
        )
    rows = [
        [
            r["setting"], f"{r['eta']:g}", f"{r['steps']}", f"{r['batch_size']} of {r['n']}", f"{r['shift']:.3g}",
            *(f"{r[f'exact_{a}']:.3g} / {r[f'claimed_{a}']:.3g}" for a in (2, 8, 32)),
            f"{r['claimed_eps']:.3g}", f"{r['exact_delta']:.2g}", f"{r['exact_eps']:.3g}",
        ]
        for r in records
    ]  # fmt: skip
    head = ["setting", "eta", "K", "batch", "shift", "order 2: exact / claimed", "order 8", "order 32"]
    head += ["claimed eps", "exact delta", "exact eps"]
    note = (
        "Quadratics on [-R, R] that meet every hypothesis of Theorem 3.1 (sigma = 1); claimed eps and exact eps at "
        "delta = 1e-5, exact delta at the claimed eps, less the probability of ever leaving [-R, R]. A delta of 0 is "
        "below the smallest number."
    )
    return Content(head, rows, note, records)


SGLD_CONSTANTS = (
    Table("sgld_table4", "dp-sgld, table 4: constants, with both readings of d", "dp-sgld", (), build4),
    Table("sgld_counterexamples", "dp-sgld, Theorem 3.1 against exact laws", "dp-sgld", (), build_counterexamples),
)
