"""Final errors of every setting: mean distance and mean loss gap of both estimators after the last user."""

from __future__ import annotations

from functools import partial
from pathlib import Path

from dpexp.core.text import fraction
from dpexp.reporting.table import Content, Table
from dpexp.store import at_last_step, load_summary

METRICS = {"param_distance": "distance", "loss_gap": "gap"}


def build(experiments: tuple[str, ...], results: Path) -> Content:
    """One row for each (d, alpha, mu); columns: mean and standard error of distance and gap, LDP-SGD beside LDP-ASGD."""
    records, rows = [], []
    for experiment in experiments:
        summary = load_summary(results, experiment, ["alpha", "d"])
        last = at_last_step(summary)
        final = last[last.metric.isin(METRICS)]
        for key, group in final.groupby(["d", "alpha", "gdp_mu", "budget"]):
            d, alpha, _, budget = key
            cells = []
            for metric in METRICS:
                for estimator in ("sgd", "asgd"):
                    row = group[(group.metric == metric) & (group.estimator == estimator)].iloc[0]
                    cells.append(f"{row['mean']:.4g} ({row['se']:.1g})")
                    fields = {k: row[k] for k in ("mean", "se", "ci_lo", "ci_hi", "median", "n", "n_diverged")}
                    records.append(
                        {"d": d, "alpha": alpha, "budget": budget, "estimator": estimator, "metric": metric, **fields}
                    )
            rows.append([str(d), fraction(float(str(alpha))), str(budget), *cells])
    head = ["d", "alpha", "mu", "SGD distance", "ASGD distance", "SGD gap", "ASGD gap"]
    note = f"Means over {records[0]['n']} replicates at the last user, standard errors in brackets."
    return Content(head, rows, note, records)


def _table(kind: str, title: str) -> Table:
    needs = tuple(f"{kind}_d{d}" for d in (5, 10, 20))
    return Table(f"final_{kind}", f"{title}: final mean distance and loss gap", "ldp-sgd", needs, partial(build, needs))


FINAL_LINEAR = _table("linear", "Linear regression")
FINAL_LOGISTIC = _table("logistic", "Logistic regression")
