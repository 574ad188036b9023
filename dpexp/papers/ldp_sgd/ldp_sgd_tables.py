"""Table 1 of `ldp-sgd` with fitted slopes, where the rates are reached."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
from typing import Any

from dpexp.core.text import fraction
from dpexp.reporting.checks import controlled
from dpexp.reporting.text_table import Column, Content, Table, by_column
from dpexp.store.evidence import Evidence
from dpexp.store.reading import load_cells
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, remark_exponent, table1_exponent
from dpexp.theory.slopes import RATE_TOLERANCE, SlopeError, rate

QUANTITIES = {STRONGLY: "param_distance_sq", NON_STRONGLY: "loss_gap"}
STRONG = ("rates_linear", "rates_controlled", "rates_logistic", "rates_quadratic", "long_linear")
REACHED = dict.fromkeys(STRONG, STRONGLY) | {"rates_flat": NON_STRONGLY}
FITTED = ("slope", "se", "ci_lo", "ci_hi")
COLUMNS: dict[str, Column] = {
    "experiment": "{experiment}",
    "alpha": lambda r: fraction(r["alpha"]),
    "estimator": lambda r: str(r["estimator"]).upper(),
    "Table 1": lambda r: "-" if r["table1"] is None else fraction(r["table1"]),
    "remarks": lambda r: "-" if r["remarks"] is None else fraction(r["remarks"]),
    "corrected": lambda r: "-" if r["corrected"] is None else fraction(r["corrected"]),
    "last decade": lambda r: "-" if r["slope"] is None else f"{r['slope']:.2f} [{r['ci_lo']:.2f}, {r['ci_hi']:.2f}]",
    "before": lambda r: "-" if r["before"] is None else f"{r['before']:.2f}",
    "decades agree": lambda r: {None: "-", True: "yes", False: "no"}[r["decades_agree"]],
}
NOTE = (
    "Slope of log mean on log step with 95% intervals (delta method), of the squared distance, for rates_flat of "
    "the loss gap. Decades agree: the slopes of the last two differ by at most 0.15, up to two standard errors; "
    "where they do not, the slope is a transient and no rate. The quadratic control has no bias: its average falls like 1 / n. "
    "rates_controlled has 16 replicates in place of 256, each less what the linearised recursion knows of it."
)


def build(results: Path) -> Content:
    """A row an experiment, alpha and estimator: exponents, last slope with its interval, the decade before, state."""
    records = []
    for experiment, convexity in REACHED.items():
        metric = QUANTITIES[convexity]
        load_cells(results, experiment, ["alpha"])  # refuses results of other settings
        for run, estimator in product(Evidence(results).runs(experiment), ("sgd", "asgd")):
            corrected = corrected_exponent(estimator, run.alpha) if convexity == STRONGLY else None
            # a quadratic has no third derivative, so that its average has no bias
            if experiment == "rates_quadratic" and estimator == "asgd":
                corrected = -1.0
            record: dict[str, Any] = {
                "experiment": experiment,
                "metric": metric,
                "alpha": run.alpha,
                "estimator": estimator,
                "table1": table1_exponent(estimator, convexity, run.alpha),
                "remarks": remark_exponent(estimator, convexity, run.alpha),
                "corrected": corrected,
                **dict.fromkeys((*FITTED, "before", "drift_se", "decades_agree")),
            }
            with suppress(SlopeError):
                two = rate(run.steps, controlled(run, estimator, metric))
                record |= {name: getattr(two.last, name) for name in FITTED}
                agree = two.agrees_within(RATE_TOLERANCE)
                record |= {"before": two.before.slope, "drift_se": two.drift_se, "decades_agree": agree}
            records.append(record)
    return by_column(COLUMNS, records, NOTE)


TABLE1 = Table("table1", "Table 1: printed exponents of n and fitted slopes", "ldp-sgd", tuple(REACHED), build)
