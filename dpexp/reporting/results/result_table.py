"""Any stored result as a table: final values with intervals, fitted slopes, privacy and what diverged, a row a line."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from dpexp.algorithms.near_the_optimum import local
from dpexp.config.cell_settings import varying
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import up
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.digits import from_to, within
from dpexp.reporting.results.choose import ESTIMATOR, needed
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered
from dpexp.reporting.results.labels import constants, value_label
from dpexp.reporting.results.lines import (
    STATISTICS,
    Line,
    Theory,
    column_of,
    curves_of,
    data_of,
    fitted,
    lines_of,
    of_replicates,
    replicates_of,
)
from dpexp.reporting.results.metrics import COEFFICIENTS, CONTROLLED, metric_of
from dpexp.reporting.slopes import Rate, decades
from dpexp.reporting.text_table import Column, Content, by_column, without_constants
from dpexp.store.reading import OnlySummaries
from dpexp.theory.ldp_sgd.linearised import averaged_covariance

PAYS = 3.0
"""how many replicates one with its control must be worth: it takes as long as two or three"""
BESIDE = {
    "param_distance_sq": ("param_distance_sq_controlled", "loss_gap"),
    "param_distance_sq_controlled": ("param_distance_sq",),
    "loss_gap": ("loss_gap_controlled",),
    "loss_gap_controlled": ("loss_gap",),
    "test_accuracy": ("train_loss",),
    "grad_norm": ("objective", "test_accuracy"),
    "mean_grad_norm": ("grad_norm", "objective", "param_norm_sq"),
    "train_loss": ("test_accuracy",),
}
"""further columns of a metric, where the results have them"""
NO_GUARANTEE = "*"
ERROR, Z = 0.03, 1.959964
"""relative error for which the number of replicates is given, and the 95% quantile of the normal law"""
OTHERS = {"cell_id", ESTIMATOR, "step", "slope", "slope_ci_lo", "slope_ci_hi", "slope_state", "state", "guarantee", "n",
          "n_diverged", "diverged", "saved", "replicates_saved"}  # fmt: skip
"""columns besides settings and metrics; a metric of such a name, or of that of a setting, is `metric.NAME`"""
Record = dict[str, Any]


def content_of(
    gathered: Gathered,
    metrics: Sequence[str] = (),
    estimators: Sequence[str] = (),
    statistic: str = "mean",
    theories: Sequence[Theory] = (),
    theory: bool = False,
) -> Content:
    """The table's text and numbers: these metrics, or the default one and those of `BESIDE`.

    What is the same in every row is in the note, and in no column.
    """
    if theory and statistic != "mean":
        raise UsageError(f"--statistic {statistic}: theory is of means", "leave out --theory")
    gathered, means = gathered.estimated(estimators), statistic == "mean"
    columns = list(dict.fromkeys(map(gathered.metric, metrics or (None,))))
    main = columns[0]
    if len(metrics) < 2:
        columns += [name for name in BESIDE.get(main, ()) if name in gathered.metrics]
    single = [name for name in columns if name != COEFFICIENTS] + gathered.coordinates * (COEFFICIENTS in columns)
    gathered = of_replicates(gathered, single, statistic)
    lines = {name: lines_of(gathered, name) for name in columns}
    # as few settings as it takes to distinguish rows, in the order of the config; the estimator is the last
    settings = [line.settings for line in lines[main]]
    names = needed(settings, [name for name in varying(settings) if name not in gathered.derived])
    names.sort(key=lambda name: name == ESTIMATOR)
    reserved = {*OTHERS, *map(column_of, names)}
    heads = {name: f"metric.{name}" if name in reserved else name for name in columns}
    keys = dict.fromkeys(key for run in gathered.runs for key in run.row if key.startswith("eps_"))
    deltas = [key.removeprefix("eps_") for key in keys]
    # slopes are those of means; that of the control variate is the same rate from fewer replicates
    none: list[Rate | str] = [""] * len(settings)
    slopes = {"slope": fitted(lines[main], main, theories) if means else none}
    if (control := main + CONTROLLED) in columns:
        slopes["slope_controlled"] = fitted(lines[control], control) if means else none
    records = []
    for k, line in enumerate(lines[main]):
        record: Record = {column_of(name): line.settings.get(name) for name in names}
        record |= _numbers(line, {heads[name]: lines[name][k] for name in columns}, deltas)
        for name, rates in slopes.items():
            record |= _slope(name, rates[k])
        record |= of_prediction(line, theories) if theory else {}
        record |= of_coefficient(line) if main == COEFFICIENTS and means else {}
        records.append(record)
    if theory and all(record["prediction"] is None for record in records):
        raise UsageError(f"no theory predicts {main} in these results", "leave out --theory")

    def value_of(name: str) -> Column:
        return lambda r: value_label(name, r[column_of(name)], gathered.words)

    def number_of(name: str) -> Column:
        return lambda r: "-" if r[name] is None else f"{r[name]:.3g}"

    texts: dict[str, Column] = {name: value_of(name) for name in names}
    texts |= {head: _interval(head) for head in heads.values()}
    if theory:
        texts |= {"prediction": number_of("prediction"), "deviation": deviation}
        texts |= {"replicates for 3 %": lambda r: str(r["replicates_for_3_percent"] or "-")}
    texts |= {name: number_of(name) for name in ("bias", "sd", "covered") if name in records[0]}
    if "replicates_saved" in records[0]:
        texts["saved"] = _saved
    for name, rates in slopes.items():
        if any(isinstance(rate, Rate) for rate in rates):
            texts |= {name: _interval(name), name.replace("slope", "state"): _state(name)}
    texts |= {f"eps at {delta}": _epsilon(delta) for delta in deltas}
    head, rows, *_ = by_column({**texts, "diverged": "{n_diverged} of {n}"}, records, "")
    head, rows, same = without_constants(head, rows, but=list(heads.values()))
    note = _note(gathered, columns, same, slopes["slope"], rows, lines[main])
    if theory:
        sources = dict.fromkeys(record["prediction_by"] for record in records if record["prediction_by"])
        note += (
            " Deviation: the mean over the prediction less 1, with the standard error of the mean; replicates for 3 %: "
            f"so many give a 95% interval of ±3 %. {'; '.join(sources)}."
        )
    if any(run.own_records for run in gathered.runs):
        note = f"{OWN_RECORDS} {note}"
    return Content(head, rows, note, records)


def _numbers(line: Line, lines: Mapping[str, Line], deltas: Sequence[str]) -> Record:
    """The numbers of a row, with all their digits; `lines` by their columns."""
    row = line.run.row
    record: Record = {"cell_id": row["cell_id"], ESTIMATOR: line.estimator, "step": int(line.rows.step[-1])}
    for name, own in lines.items():
        mean, se, low, high = own.last
        record |= {name: mean, f"{name}_se": se, f"{name}_ci_lo": low, f"{name}_ci_hi": high,
                   f"{name}_ci_half": (high - low) / 2}  # fmt: skip
    # a variance of the mean is inverse to the number of replicates: the ratio says how many one is worth
    plain = next(iter(lines)).removesuffix(CONTROLLED)
    if plain in lines and plain + CONTROLLED in lines:
        wide, narrow = record[f"{plain}_se"], record[f"{plain}{CONTROLLED}_se"]
        record["replicates_saved"] = (wide / narrow) ** 2 if narrow > 0 and math.isfinite(wide / narrow) else None
    record["guarantee"] = bool(row.get("guarantee", True)) or row["guarantee"] is None
    for delta in deltas:
        eps = row.get(f"eps_{delta}")
        record[f"eps_{delta}"] = None if eps is None or math.isnan(eps) else float(eps)
    return record | {"n": line.replicates, "n_diverged": line.diverged}


def _slope(name: str, slope: Rate | str) -> Record:
    """A slope with its interval and state; a reason is a state."""
    last, state = (slope.last, slope.state) if isinstance(slope, Rate) else (None, slope)
    ends = (last.slope, last.ci_lo, last.ci_hi) if last else (None, None, None)
    return {name: ends[0], f"{name}_ci_lo": ends[1], f"{name}_ci_hi": ends[2], f"{name}_state": state}


def _interval(name: str) -> Column:
    return lambda r: "-" if r[name] is None else within(r[name], r[f"{name}_ci_lo"], r[f"{name}_ci_hi"])


def _state(name: str) -> Column:
    return lambda r: "-" if r[name] is None else str(r[f"{name}_state"])


def _saved(record: Record) -> str:
    """In two digits, which is what a ratio of two variances has."""
    times = record["replicates_saved"]
    return "-" if times is None else f"{float(f'{times:.2g}'):g}" + ("" if times > PAYS else ", does not pay")


def _epsilon(delta: str) -> Column:
    def column(record: Record) -> str:
        eps = record[f"eps_{delta}"]
        if eps is None:
            return "-"
        return up(eps, 4) + ("" if record["guarantee"] or math.isinf(eps) else NO_GUARANTEE)

    return column


def of_prediction(line: Line, theories: Sequence[Theory]) -> Record:
    """The prediction of the last mean, the deviation of the mean from it, and how many replicates a 95% interval of the
    mean of +-3 % would take; None where nothing is predicted."""
    keys = ("prediction", "deviation", "deviation_se", "replicates_for_3_percent")
    last = line.rows.at(slice(-1, None))
    curves = curves_of(theories, line.run.known, line.estimator, line.metric, last.step, drawn=True)
    name = next((name for name in curves if name.startswith("prediction")), "")
    if not name or line.diverged:
        return {**dict.fromkeys(keys), "prediction_by": name}
    value, (mean, se, *_) = float(curves[name][-1]), line.last
    count = line.replicates * (Z * se / (ERROR * mean)) ** 2
    numbers = (value, mean / value - 1, se / value, math.ceil(count) if math.isfinite(count) else None)
    return dict(zip(keys, numbers, strict=True)) | {"prediction_by": name}


def deviation(record: Record) -> str:
    """In per cent, with its standard error."""
    if record["deviation"] is None:
        return "-"
    return f"{100 * record['deviation']:+.1f} % ± {100 * record['deviation_se']:.1f} %"


def of_coefficient(line: Line) -> Record:
    """Standard deviation over replicates, bias (mean less theta*), and the share of replicates of the average that are
    within 1.96 predicted standard deviations of theta*; None where that is not known."""
    mean, se, *_ = line.last
    record: Record = {"sd": se * math.sqrt(line.replicates), "bias": None, "covered": None}
    cell = line.run.known
    if cell is None or not isinstance(problem := cell.problem, LinearPredictorProblem):
        return record
    place = cell.coordinates[line.metric]
    optimum = float(problem.optimum()[place])
    record["bias"] = mean - optimum
    if cell.algorithm.name == "ldp-sgd" and line.estimator == "asgd" and problem.knows_curvature:
        near = local(problem, cell.privacy.mu)
        spread = math.sqrt(averaged_covariance(near.hessian, near.covariance)[place, place] / cell.run.n)
        try:
            values = replicates_of(data_of(line.run), line.estimator, line.metric)[-1]
        except OnlySummaries:
            return record
        record["covered"] = float(np.mean(np.abs(values - optimum) <= Z * spread))
    return record


def _note(
    gathered: Gathered, columns: Sequence[str], same: Sequence[tuple[str, str]], slopes: Sequence[Rate | str],
    rows: Sequence[Sequence[str]], lines: Sequence[Line],
) -> str:  # fmt: skip
    replicates = from_to(line.replicates for line in lines)
    last = from_to(int(line.rows.step[-1]) for line in lines)
    metrics = {name: metric_of(name, gathered.statistic) for name in columns}
    meanings = [f"{name}: {m.words}" + (f" [{m.unit}]" if m.unit else "") for name, m in metrics.items()]
    mean = (
        f"{'mean' if gathered.statistic == 'mean' else 'median'} over {replicates} replicates; digits in brackets: "
        f"half the {STATISTICS[gathered.statistic]}, in units of the last digits, or "
        "both its ends where one is much nearer than the other"
    )
    words = [f"At the last step ({last}), {'one replicate' if replicates == '1' else mean}. {'; '.join(meanings)}."]
    if any(name.endswith(CONTROLLED) for name in columns):
        words.append(
            "Saved: for one replicate, how many without the control variate give the same error; it pays beyond "
            f"{PAYS:g}, since it takes as long as two or three."
        )
    if any(isinstance(slope, Rate) for slope in slopes):
        words.append(
            f"Slope: of log mean on log step over {decades(slopes)}; asymptotic where theory confirms it, transient "
            "where the decade before disagrees, else not known."
        )
    reasons = sorted({slope for slope in slopes if isinstance(slope, str) and slope})
    words += [f"{reason[0].upper()}{reason[1:]}, in {slopes.count(reason)} rows." for reason in reasons]
    if any(cell.endswith(NO_GUARANTEE) for row in [*rows, [value for _, value in same]] for cell in row):
        words.append(f"{NO_GUARANTEE} claimed by an analysis that is no guarantee.")
    if "test_accuracy" in columns:
        words.append(largest_class(gathered))
    if same:
        words.append("In every row: " + ", ".join(f"{name} = {value}" for name, value in same) + ".")
    words.append(f"The same in all: {constants(gathered.runs, gathered.words)}.")
    return " ".join([*filter(None, words), *(f"{remark}." for remark in gathered.remarks)])


def largest_class(gathered: Gathered) -> str:
    """The share of the largest class among the held-out records of shipped data: the accuracy of no model at all.

    A user's own records are not read again.
    """
    shares: dict[str, None] = {}
    for run in gathered.runs:
        # a plug-in's that is not loaded has no problem here
        if (cell := run.known) is None or cell.problem.files():
            continue
        try:
            counts = cell.problem.held_out_classes()
        # a plug-in's records are no longer where they were
        except (DpexpError, ValueError, OSError):
            continue
        if any(counts.values()):
            name = max(counts, key=lambda kind: counts[kind])
            shares[f"{counts[name] / sum(counts.values()):.4g}, class {name}"] = None
    return f"Always naming the largest class has the accuracy {'; '.join(shares)}." if shares else ""
