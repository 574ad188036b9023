"""Tables of `ldp-sgd`: Table 1 beside fitted slopes, as drawn and where the rates are reached."""

from __future__ import annotations

from contextlib import suppress
from itertools import groupby, product
from pathlib import Path
from typing import Any

from dpexp.core.text import exponent, fraction
from dpexp.reporting.evidence import Evidence, Run
from dpexp.reporting.slopes import RATE_TOLERANCE, SlopeError, loglog_slope, rate
from dpexp.reporting.text_table import Column, Content, Table, by_column
from dpexp.store import load_cells
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent

EXPERIMENTS = ("linear_d5", "logistic_d5")
QUANTITIES = {STRONGLY: "param_distance_sq", NON_STRONGLY: "loss_gap"}
SHOWN = {"param_distance_sq": "squared distance", "loss_gap": "loss gap"}


def build(results: Path) -> Content:
    """One row for each experiment, quantity, alpha and estimator; a column of slopes and intervals for each budget."""
    records = [record for experiment in EXPERIMENTS for record in _records(results, experiment)]
    budgets = list(dict.fromkeys(record["budget"] for record in records))
    head = ["problem", "quantity", "alpha", "estimator", "Table 1", "remarks"]
    head += [b if b == "non-private" else f"mu = {b}" for b in budgets]
    lines: dict[tuple[str, ...], dict[str, str]] = {}
    for r in records:
        printed = [exponent(r["table1"]), exponent(r["remarks"])]
        key = (r["experiment"], SHOWN[r["metric"]], fraction(r["alpha"]), r["estimator"].upper(), *printed)
        slope = "-" if r["slope"] is None else f"{r['slope']:.2f} [{r['ci_lo']:.2f}, {r['ci_hi']:.2f}]"
        # one row for all budgets of a setting, a column each
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
    load_cells(results, experiment, ["alpha"])  # refuses results of other settings
    runs = Evidence(results).runs(experiment)
    last = max(int(run.steps[-1]) for run in runs)
    # the longest run says which decade, so that all rows have the same
    window = (last / 10, last)
    return [
        _record(experiment, convexity, run, estimator, budget=run.budget)
        | _fitted(run, estimator, metric, window)
        | {"window": f"{window[0]:,.0f} to {window[1]:,.0f}"}
        for convexity, metric in QUANTITIES.items()
        for _, alike in groupby(runs, key=lambda run: run.alpha)
        for estimator, run in product(("sgd", "asgd"), alike)
    ]


def _record(experiment: str, convexity: str, run: Run, estimator: str, **setting: str) -> dict[str, Any]:
    return {
        "experiment": experiment,
        "metric": QUANTITIES[convexity],
        "alpha": run.alpha,
        **setting,
        "estimator": estimator,
        "table1": table1_exponent(estimator, convexity, run.alpha),
        "remarks": remark_exponent(estimator, convexity, run.alpha),
    }


FITTED = ("slope", "se", "ci_lo", "ci_hi")


def _fitted(run: Run, estimator: str, metric: str, window: tuple[float, float]) -> dict[str, Any]:
    """A slope with its error; nothing in place of one that cannot be fitted."""
    fitted: dict[str, Any] = dict.fromkeys(FITTED)
    with suppress(SlopeError):
        slope = loglog_slope(run.steps, run.values(estimator, metric), window)
        fitted |= {name: getattr(slope, name) for name in FITTED}
    return fitted


TABLE1 = Table("table1", "Table 1: printed exponents of n and fitted slopes", "ldp-sgd", EXPERIMENTS, build)
STRONG = ("rates_linear", "rates_controlled", "rates_logistic", "rates_quadratic", "long_linear")
REACHED = dict.fromkeys(STRONG, STRONGLY) | {"rates_flat": NON_STRONGLY}
COLUMNS: dict[str, Column] = {
    "experiment": "{experiment}",
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
        "where they do not, the slope is a transient and no rate. The quadratic control has no bias: its average falls like 1 / n. "
        "rates_controlled has 16 replicates in place of 256, each less what the linearised recursion knows of it."
    )
    return by_column(COLUMNS, records, note)


def _records_of_rates(results: Path, experiment: str) -> list[dict[str, Any]]:
    convexity = REACHED[experiment]
    metric = QUANTITIES[convexity]
    load_cells(results, experiment, ["alpha"])  # refuses results of other settings
    records = []
    for run, estimator in product(Evidence(results).runs(experiment), ("sgd", "asgd")):
        corrected = corrected_exponent(estimator, run.alpha) if convexity == STRONGLY else None
        # a quadratic has no third derivative, so that its average has no bias
        if experiment == "rates_quadratic" and estimator == "asgd":
            corrected = -1.0
        fitted: dict[str, Any] = dict.fromkeys((*FITTED, "before", "drift_se", "decades_agree"))
        with suppress(SlopeError):
            two = rate(run.steps, run.controlled(estimator, metric))
            fitted |= {name: getattr(two.last, name) for name in FITTED}
            agree = two.agrees_within(RATE_TOLERANCE)
            fitted |= {"before": two.before.slope, "drift_se": two.drift_se, "decades_agree": agree}
        records.append(_record(experiment, convexity, run, estimator) | {"corrected": corrected} | fitted)
    return records


RATES = Table(
    "rates",
    "Table 1 where it is reached: exponents, and slopes of the last decade",
    "ldp-sgd",
    tuple(REACHED),
    build_rates,
)
