"""Table 1 of `ldp-sgd`: the printed exponents beside slopes fitted to the last decade of the full-size runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.text import exponent, fraction
from dpexp.reporting.slopes import SlopeError, loglog_slope
from dpexp.reporting.table import Content, Table
from dpexp.store import load_cells, load_trajectories
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, remark_exponent, table1_exponent

EXPERIMENTS = ("linear_d5", "logistic_d5")
QUANTITIES = {STRONGLY: "param_distance_sq", NON_STRONGLY: "loss_gap"}
SHOWN = {"param_distance_sq": "squared distance", "loss_gap": "loss gap"}


def build(results: Path) -> Content:
    """One row for each experiment, quantity, alpha and estimator; a column of slopes and intervals for each budget."""
    records = [record for experiment in EXPERIMENTS for record in _records(results, experiment)]
    budgets = list(dict.fromkeys(record["budget"] for record in records))
    head = [
        "problem",
        "quantity",
        "alpha",
        "estimator",
        "Table 1",
        "remarks",
        *(b if b == "non-private" else f"mu = {b}" for b in budgets),
    ]
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for r in records:
        printed = [exponent(r["table1"]), exponent(r["remarks"])]
        key = (r["experiment"], SHOWN[r["metric"]], fraction(r["alpha"]), r["estimator"].upper(), *printed)
        slope = "-" if r["slope"] is None else f"{r['slope']:.2f} [{r['ci_lo']:.2f}, {r['ci_hi']:.2f}]"
        lines.setdefault(key, {})[r["budget"]] = slope
    rows = [[*key, *(slopes[b] for b in budgets)] for key, slopes in lines.items()]
    window = records[0]["window"]
    note = (
        f"Slope of log mean on log step over the last decade, {window}, with a 95% bootstrap interval over replicates. "
        "Table 1 prints no exponent for alpha = 1/3 (non-strongly), 1/2, 2/3 and 1; the remarks cover some of these. "
        "The last decade is not the asymptotic regime: at alpha = 2/3 and 1 the start is not forgotten."
    )
    return Content(head, rows, note, records)


def _records(results: Path, experiment: str) -> list[dict[str, Any]]:
    cells = load_cells(results, experiment, ["alpha"]).sort_values(["alpha", "gdp_mu"])
    last = int(cells.n.max())
    window = (last / 10, last)
    columns = ["cell_id", "replicate", "step", "estimator", *QUANTITIES.values()]
    frame = load_trajectories(results, experiment, columns=columns, filters=[("step", ">=", window[0])])
    groups = dict(iter(frame.groupby(["cell_id", "estimator"], observed=True)))
    records = []
    for convexity, metric in QUANTITIES.items():
        for alpha in cells.alpha.unique():
            for estimator in ("sgd", "asgd"):
                for cell in cells[cells.alpha == alpha].to_dict("records"):
                    values = groups[cell["cell_id"], estimator].pivot(index="step", columns="replicate", values=metric)
                    records.append(
                        {
                            "experiment": experiment,
                            "metric": metric,
                            "alpha": float(alpha),
                            "budget": cell["budget"],
                            "estimator": estimator,
                            "table1": table1_exponent(estimator, convexity, float(alpha)),
                            "remarks": remark_exponent(estimator, convexity, float(alpha)),
                            **_fit(values.index.to_numpy(), values.to_numpy(), window),
                            "window": f"{window[0]:,.0f} to {window[1]:,.0f}",
                        }
                    )
    return records


def _fit(steps: np.ndarray, values: np.ndarray, window: tuple[float, float]) -> dict[str, float | None]:
    try:
        fit = loglog_slope(steps, values, window)
    except SlopeError:
        return dict.fromkeys(("slope", "se", "ci_lo", "ci_hi"))
    return {"slope": fit.slope, "se": fit.se, "ci_lo": fit.ci_lo, "ci_hi": fit.ci_hi}


TABLE1 = Table("table1", "Table 1: printed exponents of n and fitted slopes", "ldp-sgd", EXPERIMENTS, build)
