"""Any stored result as a table: final values with intervals, fitted slopes, privacy and what diverged, a row a line."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any

import numpy as np

from dpexp.algorithms.near_the_optimum import local
from dpexp.config.cell_settings import varying
from dpexp.core.errors import UsageError
from dpexp.core.text import up
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.digits import curve_names, from_to, within
from dpexp.reporting.results.choose import ESTIMATOR, needed
from dpexp.reporting.results.gather import OWN_RECORDS, Gathered, Line, Theory, column_of, lines_of
from dpexp.reporting.results.labels import COEFFICIENTS, STATISTICS, metric_of, value_label
from dpexp.reporting.templates import filled
from dpexp.reporting.text_table import Content, without_constants
from dpexp.store.reading import OnlySummaries
from dpexp.theory.ldp_sgd.linearised import averaged_covariance
from dpexp.theory.slopes import Rate, SlopeError, is_asymptotic, rate

NO_GUARANTEE = "*"
Z = 1.959964
"""within it is a standard normal value with 95%"""
OTHERS = {"cell_id", ESTIMATOR, "step", "slope", "slope_ci_lo", "slope_ci_hi", "slope_state", "state", "guarantee", "n",
          "n_diverged", "diverged"}  # fmt: skip
"""columns besides settings and metrics; a metric of such a name, or of that of a setting, is `metric.NAME`"""
PREDICTION = "prediction", "deviation", "deviation_se", "replicates_for_3_percent"
Record = dict[str, Any]


def content_of(
    gathered: Gathered, metrics: Sequence[str] = (), estimators: Sequence[str] = (), statistic: str = "mean",
    theories: Sequence[Theory] = (), theory: bool = False,
) -> Content:  # fmt: skip
    """The table's text and numbers: these metrics, or the default one, with slope and `theory` of the first.

    What is the same in every row is in the note, and in no column.
    """
    if theory and statistic != "mean":
        raise UsageError(f"--statistic {statistic}: theory is of means", "leave out --theory")
    gathered, means = gathered.of(estimators, statistic), statistic == "mean"
    columns = list(dict.fromkeys(map(gathered.metric, metrics or (None,))))
    lines = {name: lines_of(gathered, name) for name in columns}
    main = lines[columns[0]]
    # as few settings as it takes to distinguish rows, in the order of the config; the estimator is the last
    settings = [line.settings for line in main]
    names = sorted(needed(settings, varying(settings)), key=ESTIMATOR.__eq__)
    reserved = {*OTHERS, *map(column_of, names)}
    heads = {name: f"metric.{name}" if name in reserved else name for name in columns}
    deltas = list(dict.fromkeys(key for run in gathered.runs for key in run.row if key.startswith("eps_")))
    # slopes are those of means
    slopes = [fitted(line, theories) for line in main] if means else []
    sloped = ["slope", "state"] * any(isinstance(slope, Rate) for slope in slopes)
    extra = [*["bias", "sd", "covered"] * (means and columns[0] == COEFFICIENTS), *PREDICTION * theory]
    rows, records, predictions = [], [], list[str]()
    for k, line in enumerate(main):
        row = line.run.row
        record: Record = {column_of(name): line.settings.get(name) for name in names}
        record |= {"cell_id": row["cell_id"], ESTIMATOR: line.estimator, "step": int(line.rows["step"].iloc[-1])}
        for metric, name in heads.items():
            own = (name, f"{name}_se", f"{name}_ci_lo", f"{name}_ci_hi")
            record |= dict(zip(own, lines[metric][k].last, strict=True))
        record["guarantee"] = bool(row.get("guarantee", True)) or row["guarantee"] is None
        epsilons = {name: row.get(name) for name in deltas}
        record |= {name: None if e is None or math.isnan(e) else float(e) for name, e in epsilons.items()}
        record |= {"n": line.replicates, "n_diverged": line.diverged}
        if slopes:
            slope, ends = slopes[k], ("slope", "slope_ci_lo", "slope_ci_hi")
            fit = slope.last if isinstance(slope, Rate) else None
            record |= dict(zip(ends, (fit.slope, fit.ci_lo, fit.ci_hi), strict=True)) if fit else dict.fromkeys(ends)
            record["slope_state"] = slope.state if isinstance(slope, Rate) else slope
        record |= of_coefficient(line) if "bias" in extra else {}
        record |= of_prediction(line, theories, predictions) if theory else {}
        cells = [value_label(name, record[column_of(name)], gathered.words) for name in names]
        cells += [_interval(record, name) for name in heads.values()]
        cells += ["-" if (v := record[n]) is None else f"{v:,}" if isinstance(v, int) else f"{v:.3g}" for n in extra]
        cells += [_interval(record, "slope"), record["slope_state"]] if sloped else []
        for eps in (record[name] for name in deltas):
            star = NO_GUARANTEE * (not record["guarantee"] and eps is not None and not math.isinf(eps))
            cells.append("-" if eps is None else up(eps, 4) + star)
        rows.append([*cells, f"{line.diverged} of {line.replicates}"])
        records.append(record)
    head = [*names, *heads.values(), *extra, *sloped, *(key.replace("eps_", "eps at ") for key in deltas), "diverged"]
    starred = any(cell.endswith(NO_GUARANTEE) for row in rows for cell in row)
    head, rows, same = without_constants(head, rows, but=list(heads.values()))
    note = filled(
        "dpexp.reporting.results", "note.txt",
        gathered=gathered, own_records=OWN_RECORDS,
        steps=from_to(int(line.rows["step"].iloc[-1]) for line in main),
        replicates=from_to(line.replicates for line in main),
        statistic=STATISTICS[statistic],
        meanings="; ".join(f"{name}: {metric_of(name, statistic).words}" for name in columns),
        windows=list({slope.last.window for slope in slopes if isinstance(slope, Rate)}),
        reasons=Counter(sorted(slope for slope in slopes if isinstance(slope, str))), coefficients="covered" in extra,
        starred=starred, same=same, theory=theory, predictions=curve_names(predictions),
    )  # fmt: skip
    return Content(head, rows, " ".join(note.splitlines()), records)


def _interval(record: Record, name: str) -> str:
    return "-" if record[name] is None else within(record[name], record[f"{name}_ci_lo"], record[f"{name}_ci_hi"])


def of_prediction(line: Line, theories: Sequence[Theory], names: list[str]) -> Record:
    """The prediction of the last mean, whose name is added, the deviation from it with its Monte Carlo error, and the
    replicates with which a 95% interval of the mean is +-3%; None where nothing is predicted."""
    curves = line.curves(theories, line.rows["step"].to_numpy(), drawn=True)
    name = next((name for name, values in curves.items() if name.startswith("prediction") and values[-1] > 0), "")
    if not name or line.diverged:
        return dict.fromkeys(PREDICTION)
    names.append(name)
    value, (mean, se, *_) = float(curves[name][-1]), line.last
    count = math.ceil(line.replicates * (Z * se / (0.03 * mean)) ** 2)
    return dict(zip(PREDICTION, (value, mean / value - 1, se / value, count), strict=True))


def fitted(line: Line, theories: Sequence[Theory] = ()) -> Rate | str:
    """The slope of a line over its last decade, and whether theory confirms it; or why there is none.

    Errors come from the replicates. Raises ResultsMissing where the trajectories are not those of the summaries.
    """
    if not metric_of(line.metric).error:
        return "no slope: the metric is no error"
    if line.diverged:
        return "no slope: replicates diverged"

    def predict(steps: np.ndarray) -> np.ndarray | None:
        curves = line.curves(theories, steps)
        return next((values for name, values in curves.items() if name.startswith("prediction")), None)

    try:
        steps, mean = line.rows["step"].to_numpy(), line.rows["mean"].to_numpy(float)
        slope = rate(steps, line.replicate_values())
        return replace(slope, asymptotic=is_asymptotic(slope, steps, mean, predict))
    except OnlySummaries:
        return "no slope: the trajectories are not there"
    except SlopeError as error:
        return f"no slope: {error}"


def of_coefficient(line: Line) -> Record:
    """Standard deviation over replicates, bias (mean less theta*), and the share of replicates of the average that are
    within 1.96 predicted standard deviations of theta*; None where that is not known."""
    mean, se, *_ = line.last
    record: Record = {"sd": se * math.sqrt(line.replicates), "bias": None, "covered": None}
    cell = line.run.cell
    if cell is None or not isinstance(problem := cell.problem, LinearPredictorProblem):
        return record
    place = cell.coordinates[line.metric]
    record["bias"] = mean - (optimum := float(problem.optimum()[place]))
    if cell.algorithm.name == "ldp-sgd" and line.estimator == "asgd" and problem.unknown_curvature() is None:
        near = local(problem, cell.privacy.mu)
        spread = math.sqrt(averaged_covariance(near.hessian, near.covariance)[place, place] / cell.run.n)
        with suppress(OnlySummaries):
            record["covered"] = float(np.mean(np.abs(line.replicate_values()[-1] - optimum) <= Z * spread))
    return record
