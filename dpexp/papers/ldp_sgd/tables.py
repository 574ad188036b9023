"""Tables of `ldp-sgd`: Table 1 beside fitted slopes, as drawn and where the rates are reached, and final errors."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.text import exponent, fraction
from dpexp.reporting.slopes import RATE_TOLERANCE, SlopeError, loglog_slope, rate
from dpexp.reporting.table import Content, Table, by_column
from dpexp.store import at_last_step, load_cells, load_summary, load_trajectories
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent

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


REACHED = {
    "rates_linear": (STRONGLY, "param_distance_sq"),
    "rates_logistic": (STRONGLY, "param_distance_sq"),
    "rates_quadratic": (STRONGLY, "param_distance_sq"),
    "long_linear": (STRONGLY, "param_distance_sq"),
    "rates_flat": (NON_STRONGLY, "loss_gap"),
}

COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "experiment": lambda r: str(r["experiment"]),
    "alpha": lambda r: fraction(r["alpha"]),
    "estimator": lambda r: str(r["estimator"]).upper(),
    "Table 1": lambda r: exponent(r["table1"]),
    "remarks": lambda r: exponent(r["remarks"]),
    "corrected": lambda r: exponent(r["corrected"]),
    "last decade": lambda r: "-" if r["slope"] is None else f"{r['slope']:.2f} [{r['ci_lo']:.2f}, {r['ci_hi']:.2f}]",
    "before": lambda r: "-" if r["before"] is None else f"{r['before']:.2f}",
    "decades agree": lambda r: {None: "-", True: "yes", False: "no"}[r["decades_agree"]],
}


def build_rates(results: Path) -> Content:
    """A row an experiment, alpha and estimator: exponents, last slope with its interval, the decade before, state."""
    records = [record for experiment in REACHED for record in _records_of_rates(results, experiment)]
    note = (
        "Slope of log mean on log step with 95% intervals (delta method), of the squared distance, for rates_flat of "
        "the loss gap. Decades agree: the slopes of the last two differ by at most 0.15, up to two standard errors; "
        "where they do not, the slope is a transient and no rate. The quadratic control has no bias: its average falls like 1 / n."
    )
    return by_column(COLUMNS, records, note)


def _records_of_rates(results: Path, experiment: str) -> list[dict[str, Any]]:
    convexity, metric = REACHED[experiment]
    cells = load_cells(results, experiment, ["alpha"]).sort_values("alpha")
    columns = ["cell_id", "replicate", "step", "estimator", metric]
    frame = load_trajectories(results, experiment, columns=columns)
    groups = dict(iter(frame.groupby(["cell_id", "estimator"], observed=True)))
    records = []
    for cell in cells.to_dict("records"):
        alpha = float(cell["alpha"])
        for estimator in ("sgd", "asgd"):
            values = groups[cell["cell_id"], estimator].pivot(index="step", columns="replicate", values=metric)
            corrected = corrected_exponent(estimator, alpha) if convexity == STRONGLY else None
            if experiment == "rates_quadratic" and estimator == "asgd":
                corrected = -1.0
            records.append(
                {
                    "experiment": experiment,
                    "metric": metric,
                    "alpha": alpha,
                    "estimator": estimator,
                    "table1": table1_exponent(estimator, convexity, alpha),
                    "remarks": remark_exponent(estimator, convexity, alpha),
                    "corrected": corrected,
                    **_rate_of(values),
                }
            )
    return records


def _rate_of(values: Any) -> dict[str, Any]:
    try:
        found = rate(values.index.to_numpy(), values.to_numpy())
    except SlopeError:
        return dict.fromkeys(("slope", "se", "ci_lo", "ci_hi", "before", "drift_se", "decades_agree"))
    last = found.last
    return {
        "slope": last.slope,
        "se": last.se,
        "ci_lo": last.ci_lo,
        "ci_hi": last.ci_hi,
        "before": found.before.slope,
        "drift_se": found.drift_se,
        "decades_agree": found.agrees_within(RATE_TOLERANCE),
    }


RATES = Table(
    "rates",
    "Table 1 where it is reached: exponents, and slopes of the last decade",
    "ldp-sgd",
    tuple(REACHED),
    build_rates,
)


METRICS = {"param_distance": "distance", "loss_gap": "gap"}


def build_final(experiments: tuple[str, ...], results: Path) -> Content:
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
    return Table(
        f"final_{kind}", f"{title}: final mean distance and loss gap", "ldp-sgd", needs, partial(build_final, needs)
    )


FINAL_LINEAR = _table("linear", "Linear regression")
FINAL_LOGISTIC = _table("logistic", "Logistic regression")
