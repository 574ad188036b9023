"""Any stored result as a table: final values with intervals, fitted slopes, privacy and what diverged, a row a line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import groupby
from typing import Any

import numpy as np

from dpexp.algorithms.near_the_optimum import local
from dpexp.config.cell_settings import varying
from dpexp.core.text import up
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.digits import from_to, within
from dpexp.reporting.results.choose import ESTIMATOR, needed
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered
from dpexp.reporting.results.labels import constants, value_label
from dpexp.reporting.results.lines import Line, Theory, column_of, curves_of, data_of, lines_of, replicates_of
from dpexp.reporting.results.metrics import COEFFICIENTS, CONTROLLED, STATISTICS, metric_of
from dpexp.reporting.slopes import Rate, SlopeError, is_asymptotic, rate
from dpexp.reporting.text_table import Column, Content, by_column, without_constants
from dpexp.store.reading import OnlySummaries
from dpexp.theory.ldp_sgd.linearised import averaged_covariance

FURTHER = {
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
Z = 1.959964
"""the 95% quantile of the normal law"""
OTHERS = {"cell_id", ESTIMATOR, "step", "slope", "slope_ci_lo", "slope_ci_hi", "slope_state", "state", "guarantee", "n",
          "n_diverged", "diverged"}  # fmt: skip
"""columns besides settings and metrics; a metric of such a name, or of that of a setting, is `metric.NAME`"""
Record = dict[str, Any]


def content_of(
    gathered: Gathered, metrics: Sequence[str] = (), estimators: Sequence[str] = (), statistic: str = "mean",
    theories: Sequence[Theory] = (),
) -> Content:  # fmt: skip
    """The table's text and numbers: these metrics, or the default one with its further columns.

    What is the same in every row is in the note, and in no column.
    """
    gathered, means = gathered.of(estimators, statistic), statistic == "mean"
    columns = list(dict.fromkeys(map(gathered.metric, metrics or (None,))))
    main = columns[0]
    if len(metrics) < 2:
        columns += [name for name in FURTHER.get(main, ()) if name in gathered.metrics]
    lines = {name: lines_of(gathered, name) for name in columns}
    # as few settings as it takes to distinguish rows, in the order of the config; the estimator is the last
    settings = [line.settings for line in lines[main]]
    names = sorted(needed(settings, varying(settings)), key=lambda name: name == ESTIMATOR)
    reserved = {*OTHERS, *map(column_of, names)}
    heads = {name: f"metric.{name}" if name in reserved else name for name in columns}
    keys = dict.fromkeys(key for run in gathered.runs for key in run.row if key.startswith("eps_"))
    deltas = [key.removeprefix("eps_") for key in keys]
    # slopes are those of means; that of the control variate is the same rate from fewer replicates
    sloped = {"slope": main, "slope_controlled": main + CONTROLLED} if means else {}
    slopes = {name: fitted(lines[own], own, theories) for name, own in sloped.items() if own in columns}
    records = []
    for k, line in enumerate(lines[main]):
        record: Record = {column_of(name): line.settings.get(name) for name in names}
        record |= {"cell_id": line.run.row["cell_id"], ESTIMATOR: line.estimator, "step": int(line.rows.step[-1])}
        for metric, name in heads.items():
            mean, se, low, high = lines[metric][k].last
            record |= {name: mean, f"{name}_se": se, f"{name}_ci_lo": low, f"{name}_ci_hi": high,
                       f"{name}_ci_half": (high - low) / 2}  # fmt: skip
        record |= _privacy(line, deltas) | {"n": line.replicates, "n_diverged": line.diverged}
        for name, rates in slopes.items():
            record |= _slope(name, rates[k])
        record |= of_coefficient(line) if main == COEFFICIENTS and means else {}
        records.append(record)
    texts: dict[str, Column] = {name: _value(name, gathered) for name in names}
    texts |= {head: _interval(head) for head in heads.values()}
    texts |= {name: "{" + name + ":.3g}" for name in ("bias", "sd", "covered") if name in records[0]}
    for name, rates in slopes.items():
        if any(isinstance(rate, Rate) for rate in rates):
            texts |= {name: _interval(name), name.replace("slope", "state"): "{" + name + "_state}"}
    texts |= {f"eps at {delta}": _epsilon(delta) for delta in deltas}
    content = by_column({**texts, "diverged": "{n_diverged} of {n}"}, records, "")
    head, rows, same = without_constants(content.head, content.rows, but=list(heads.values()))
    note = _note(statistic, columns, lines[main], slopes.get("slope", []))
    if any(cell.endswith(NO_GUARANTEE) for row in [*rows, [value for _, value in same]] for cell in row):
        note += f" {NO_GUARANTEE} claimed by an analysis that is no guarantee."
    if same:
        note += " In every row: " + ", ".join(f"{name} = {value}" for name, value in same) + "."
    note += f" The same in all: {constants(gathered.runs, gathered.words)}."
    note += "".join(f" {remark}." for remark in gathered.remarks)
    private = any(run.own_records for run in gathered.runs)
    return Content(head, rows, f"{OWN_RECORDS} {note}" if private else note, records)


def _privacy(line: Line, deltas: Sequence[str]) -> Record:
    """Epsilon at each delta, None where none is known, and whether it is guaranteed."""
    row = line.run.row
    record: Record = {"guarantee": bool(row.get("guarantee", True)) or row["guarantee"] is None}
    for delta in deltas:
        eps = row.get(f"eps_{delta}")
        record[f"eps_{delta}"] = None if eps is None or math.isnan(eps) else float(eps)
    return record


def _slope(name: str, slope: Rate | str) -> Record:
    """A slope with its interval and state; a reason is a state."""
    if isinstance(slope, str):
        return {name: None, f"{name}_ci_lo": None, f"{name}_ci_hi": None, f"{name}_state": slope}
    last = slope.last
    return {name: last.slope, f"{name}_ci_lo": last.ci_lo, f"{name}_ci_hi": last.ci_hi, f"{name}_state": slope.state}


def _value(name: str, gathered: Gathered) -> Column:
    return lambda record: value_label(name, record[column_of(name)], gathered.words)


def _interval(name: str) -> Column:
    return lambda r: "-" if r[name] is None else within(r[name], r[f"{name}_ci_lo"], r[f"{name}_ci_hi"])


def _epsilon(delta: str) -> Column:
    def column(record: Record) -> str:
        eps = record[f"eps_{delta}"]
        if eps is None:
            return "-"
        return up(eps, 4) + ("" if record["guarantee"] or math.isinf(eps) else NO_GUARANTEE)

    return column


def fitted(lines: Sequence[Line], metric: str, theories: Sequence[Theory] = ()) -> list[Rate | str]:
    """The slope of every line over its last decade, and whether theory confirms it; or why there is none.

    Errors come from the replicates. Raises ResultsMissing where the trajectories are not those of the summaries.
    """
    if not metric_of(metric).error:
        return ["no slope: the metric is no error"] * len(lines)
    slopes: list[Rate | str] = []
    # a file is read once for the estimators of its cell, which follow each other
    for run, own in groupby(lines, lambda line: line.run):
        data = None
        for line in own:
            if line.diverged:
                slopes.append("no slope: replicates diverged")
                continue

            def predict(steps: np.ndarray, line: Line = line) -> np.ndarray | None:
                curves = curves_of(theories, line.run.known, line.estimator, metric, steps)
                return next((values for name, values in curves.items() if name.startswith("prediction")), None)

            try:
                data = data or data_of(run)
                slope = rate(data.steps, replicates_of(data, line.estimator, metric))
                asymptotic = is_asymptotic(slope, line.rows.step, line.rows.mean, predict)
                slopes.append(replace(slope, asymptotic=asymptotic))
            except OnlySummaries:
                slopes.append("no slope: the trajectories are not there")
            except SlopeError as error:
                slopes.append(f"no slope: {error}")
    return slopes


def of_coefficient(line: Line) -> Record:
    """Standard deviation over replicates, bias (mean less theta*), and the share of replicates of the average that are
    within 1.96 predicted standard deviations of theta*; nan where that is not known."""
    mean, se, *_ = line.last
    record: Record = {"sd": se * math.sqrt(line.replicates), "bias": math.nan, "covered": math.nan}
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


def _note(statistic: str, columns: Sequence[str], lines: Sequence[Line], slopes: Sequence[Rate | str]) -> str:
    """What the columns are."""
    replicates = from_to(line.replicates for line in lines)
    last = from_to(int(line.rows.step[-1]) for line in lines)
    metrics = {name: metric_of(name, statistic) for name in columns}
    meanings = [f"{name}: {m.words}" + (f" [{m.unit}]" if m.unit else "") for name, m in metrics.items()]
    mean = (
        f"{STATISTICS[statistic].columns[0]} over {replicates} replicates; digits in brackets: half the "
        f"{STATISTICS[statistic].band}, in units of the last digits, or both its ends where one is much nearer than "
        "the other"
    )
    words = [f"At the last step ({last}), {'one replicate' if replicates == '1' else mean}. {'; '.join(meanings)}."]
    windows = {slope.last.window for slope in slopes if isinstance(slope, Rate)}
    if windows:
        decade = "steps {:,.0f} to {:,.0f}".format(*windows.pop()) if len(windows) == 1 else "the last decade"
        words.append(
            f"Slope: of log mean on log step over {decade}; asymptotic where theory confirms it, transient where the "
            "decade before disagrees, else not known."
        )
    reasons = sorted({slope for slope in slopes if isinstance(slope, str)})
    words += [f"{reason[0].upper()}{reason[1:]}, in {slopes.count(reason)} rows." for reason in reasons]
    return " ".join(words)
