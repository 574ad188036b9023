"""Table 1 of `dp-sgld` with every method tuned: chosen by validation records, with accuracies on the test records.

The grids (`dp_sgld_tuned_*`) hold out a tenth of the training records and never look at a test record; `dp_sgld_chosen`
runs the best setting of each method with other seeds on all training records.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.problems.softmax import DataSource, Softmax
from dpexp.reporting.text_table import Column, Content, Table, by_column
from dpexp.store.reading import at_last_step, load_summary
from dpexp.theory.dp_sgld.accuracies import Accuracy, difference

EPS = "eps_1e-05"
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
FULL = 0  # what `batch` is where a batch is all of the training records, a tenth fewer in tuning


def tuned_accuracy_rows(results: Path) -> list[dict[str, Any]]:
    """One record for each data set and method: the choice, how it was chosen, and its accuracy with both errors, in percent.

    `behind`: by how much the setting that was run is behind the best one in validation accuracy, in percentage points;
    0 where it is the choice. `edges`: the directions in which the choice is at the end of its grid. `settings`: how many
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
        accuracy = Accuracy(float(row["mean"]), float(row["se"]), int(row["n"]), of.parts[1])
        records.append(
            {
                "data": data,
                "method": method,
                "estimator": row["estimator"],
                "guarantee": bool(row["guarantee"]) or method == "free",
                **{name: int(row[name]) for name in ("batch", "epochs")},
                **{name: float(row[name]) for name in ("eta", "noise_multiplier")},
                "eps": float(row[EPS]),
                "settings": len(grid),
                "validation": 100 * validated[at],
                "behind": 100 * (float(grid["mean"].max()) - validated[at]),
                "edges": _edges(grid, row),
                "accuracy": 100 * accuracy.mean,
                **{name: 100 * getattr(accuracy, name) for name in ("seeds_reach", "test_reach", "se")},
                "seeds": accuracy.seeds,
                "test_records": accuracy.records,
            }
        )
    keys = list(METHODS)
    return sorted(records, key=lambda r: (r["data"] != "fashion", keys.index(r["method"])))


def against(records: list[dict[str, Any]], data: str, method: str, other: str) -> dict[str, Any]:
    """The accuracy of one method less that of another, in points: see `dpexp.theory.dp_sgld.accuracies.difference`."""
    rows = (next(r for r in records if (r["data"], r["method"]) == (data, key)) for key in (method, other))
    both = [Accuracy(r["accuracy"] / 100, r["se"] / 100, r["seeds"], r["test_records"]) for r in rows]
    return {"data": data, "method": method, "other": other, **difference(*both)}


def _settings(results: Path, experiment: str) -> Any:
    """One row for each setting of a method, with its mean held-out accuracy."""
    import pandas as pd

    needs = ["data", "batch_size", "epochs", "eta", "momentum", "clip", "start", "accountant", "guarantee", EPS]
    summary = load_summary(results, experiment, needs)
    last = at_last_step(summary)
    rows = last[last.metric == "test_accuracy"].copy()
    shares = rows.get("validation_fraction", pd.Series(index=rows.index, dtype=float)).fillna(0.0)
    records = [_trained(data, share) for data, share in zip(rows.data, shares, strict=True)]
    rows["full"] = rows.batch_size == records
    rows["batch"] = [FULL if full else int(size) for full, size in zip(rows.full, rows.batch_size, strict=True)]
    rows["method"] = [_method(row) for row in rows.itertuples()]
    return rows[rows.method != ""].reset_index(drop=True)


@lru_cache(maxsize=8)
def _trained(data: str, share: float) -> int:
    """Training records without the share for validation; many settings have the same."""
    return Softmax(data=DataSource(name=data), validation_fraction=share or None).n  # type: ignore[arg-type]


def _method(row: Any) -> str:
    """The key of METHODS that a setting belongs to; empty for settings that are not compared."""
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
    """Where the choice is at the end of what was tried: over batches, over epochs, or over steps for its batch."""
    records = []
    alike = grid[(grid.batch == row.batch) & (grid.epochs == row.epochs)]
    for name, rows in (("batch", grid), ("epochs", grid), ("eta", alike)):
        # a grid of one value was not tuned, but for the step, which always is
        ends = {rows[name].min(), rows[name].max()}
        if row[name] in ends and (len(ends) > 1 or name == "eta"):
            records.append(name)
    return records


COLUMNS: dict[str, Column] = {
    "data": "{data}",
    "method": lambda r: METHODS[r["method"]],
    "accounting": lambda r: _accounting(r),
    "released": lambda r: "average" if r["estimator"] == "average" else "last iterate",
    "batch": lambda r: "all" if r["batch"] == FULL else f"{r['batch']:,}",
    "epochs": "{epochs}",
    "eta": "{eta:g}",
    "z": lambda r: "-" if r["method"] == "free" else f"{r['noise_multiplier']:.3g}",
    "best of": "{settings}",
    "at an end": lambda r: ", ".join(r["edges"]) or "-",
    "validation (%)": "{validation:.2f}",
    "accuracy (%)": "{accuracy:.2f}",
    "± seeds": "{seeds_reach:.2f}",
    "± test records": "{test_reach:.2f}",
}


def build_tuned(results: Path) -> Content:
    """The rows as a table."""
    records = tuned_accuracy_rows(results)
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
    return by_column(COLUMNS, records, note)


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
