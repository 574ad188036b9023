"""Table 1 of `ldp-sgd` where the rates are reached: printed and corrected exponents beside slopes of the last decade."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from dpexp.core.text import exponent, fraction
from dpexp.reporting.slopes import RATE_TOLERANCE, SlopeError, rate
from dpexp.reporting.table import Content, Table, by_column
from dpexp.store import load_cells, load_trajectories
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent

EXPERIMENTS = {
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


def build(results: Path) -> Content:
    """A row an experiment, alpha and estimator: exponents, last slope with its interval, the decade before, state."""
    records = [record for experiment in EXPERIMENTS for record in _records(results, experiment)]
    note = (
        "Slope of log mean on log step with 95% intervals (delta method), of the squared distance, for rates_flat of "
        "the loss gap. Decades agree: the slopes of the last two differ by at most 0.15, up to two standard errors; "
        "where they do not, the slope is a transient and no rate. The quadratic control has no bias: its average falls like 1 / n."
    )
    return by_column(COLUMNS, records, note)


def _records(results: Path, experiment: str) -> list[dict[str, Any]]:
    convexity, metric = EXPERIMENTS[experiment]
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
                    **_fit(values),
                }
            )
    return records


def _fit(values: Any) -> dict[str, Any]:
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
    tuple(EXPERIMENTS),
    build,
)
