"""What a table says beside a mean: the deviation from a prediction, and bias and coverage of single coefficients."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dpexp.algorithms.near_the_optimum import local
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.reporting.results.lines import Line, Theory, drawn_of, replicates_of
from dpexp.store.reading import OnlySummaries, cell_of
from dpexp.theory.ldp_sgd.linearised import averaged_covariance

WANTED = 0.03
"""relative error for which the number of replicates is stated"""
Z = 1.959964


def of_prediction(line: Line, theories: Sequence[Theory]) -> dict[str, Any]:
    """The prediction of the last mean, how far the mean is from it with its Monte Carlo error, and how many replicates
    a 95% interval of the mean of +-3 % would take; None where nothing is predicted."""
    empty: dict[str, Any] = dict.fromkeys(("prediction", "deviation", "deviation_se", "replicates_for_3_percent"))
    cell = line.run.known
    last = line.rows.at(slice(-1, None))
    curves = drawn_of(theories, cell, line.estimator, line.metric, last.step) if cell is not None else {}
    name = next((name for name in curves if name.startswith("prediction")), "")
    if not name or line.diverged:
        return empty | {"prediction_by": name}
    value, mean, se = float(curves[name][-1]), float(last.mean[0]), float(last.se[0])
    needed = line.replicates * (Z * se / (WANTED * mean)) ** 2
    numbers = (value, mean / value - 1, se / value, math.ceil(needed) if math.isfinite(needed) else None)
    return dict(zip(empty, numbers, strict=True)) | {"prediction_by": name}


def of_coefficient(line: Line) -> dict[str, Any]:
    """Standard deviation over replicates, bias (mean less theta*), and the share of replicates of the average that are
    within 1.96 predicted standard deviations of theta*; None where that is not known."""
    found: dict[str, Any] = {"sd": float(line.rows.se[-1]) * math.sqrt(line.replicates), "bias": None, "covered": None}
    cell = line.run.known
    if cell is None or not isinstance(problem := cell.problem, LinearPredictorProblem):
        return found
    place = cell.coordinates[line.metric]
    optimum = float(problem.optimum()[place])
    found["bias"] = float(line.rows.mean[-1]) - optimum
    if cell.algorithm.name == "ldp-sgd" and line.estimator == "asgd" and problem.knows_curvature:
        near = local(problem, cell.privacy.mu)
        spread = math.sqrt(averaged_covariance(near.hessian, near.covariance)[place, place] / cell.run.n)
        try:
            data = cell_of(line.run.generation, str(line.run.row["cell_id"]))
        except OnlySummaries:
            return found
        values = replicates_of(data, line.estimator, line.metric)[-1]
        found["covered"] = float(np.mean(np.abs(values - optimum) <= Z * spread))
    return found


def deviation(record: dict[str, Any]) -> str:
    """In per cent, with its standard error."""
    if record["deviation"] is None:
        return "-"
    return f"{100 * record['deviation']:+.1f} % ± {100 * record['deviation_se']:.1f} %"
