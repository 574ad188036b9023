"""The coverage of every setting and method from stored results, with verdicts: rows, tables and figures."""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.reporting.text_table import Column, Content, Table, by_column
from dpexp.store.reading import at_last_step, load_summary

EXPERIMENTS = (
    "coverage_local", "coverage_caps", "coverage_central", "coverage_paths", "coverage_paths_logistic",
)  # fmt: skip
COORDINATES = ("intercept", "first_slope", "slopes", "last_slope", "last")
NAMES = "intercept, first slope, mean over slopes, last slope, scale"
PROMISED = 0.95
LEAST_TOLERANCE = 0.01
STANDARD_ERRORS = 2.6  # simultaneous over the seven coordinates of d = 5, where 2 would be for one


def rows_of(results: Path) -> list[dict[str, Any]]:
    """One record for each setting and method, of all experiments."""
    records = []
    for experiment in EXPERIMENTS:
        summary = at_last_step(load_summary(results, experiment, ["problem", "budget"]))
        for (cell, method), group in summary.groupby(["cell_id", "estimator"], sort=False):
            means = dict(zip(group["metric"], group["mean"].astype(float), strict=True))
            first = group.iloc[0]
            row: dict[str, Any] = {
                "experiment": experiment, "cell_id": cell, "method": method, "setting": _setting(first),
                "n": int(first["step"]), "budget": str(first["budget"]), "replicates": int(first["n"]),
            }  # fmt: skip
            row["single"] = COORDINATES if str(first["problem"]).startswith("huber") else COORDINATES[:-1]
            for name in row["single"]:
                row[f"covered_{name}"], row[f"unbounded_{name}"] = (
                    means[f"covered_{name}"],
                    1 - means[f"bounded_{name}"],
                )
            row["verdict"] = verdict(row, row["replicates"])
            row["worst"] = min(row[f"covered_{name}"] for name in row["single"])
            records.append(row)
    return records


def verdict(row: dict[str, Any], replicates: int) -> str:
    """`holds` if every coordinate covers within the tolerance, `fails` if one is below, else `conservative`."""
    # all coordinates together, so that the tolerance is that of the largest of several errors
    allowed = tolerance(replicates)
    gaps = [row[f"covered_{name}"] - PROMISED for name in row["single"]]
    if min(gaps) < -allowed:
        return "fails"
    return "conservative" if max(gaps) > allowed else "holds"


def tolerance(replicates: int) -> float:
    """How far the coverage of a coordinate may be from .95 in so many runs."""
    return max(LEAST_TOLERANCE, STANDARD_ERRORS * math.sqrt(PROMISED * (1 - PROMISED) / max(replicates, 1)))


def _setting(row: Any) -> str:
    """What distinguishes a setting from others but for its budget and n, in words."""
    present = {key: value for key, value in row.items() if value is not None and value == value}
    name = str(row["problem"])
    d = present["d"] if "d" in present else present["population.d"]
    words = [name.partition("-")[0 if name.startswith("huber") else 2], f"d = {d:g}"]
    words += [f"alpha = {present['alpha']:.3g}"] if "alpha" in present else []
    words += _population_words({key.removeprefix("population."): value for key, value in present.items()})
    words += ["persons"] if present.get("persons") else []
    words += ["budgets that rise with the outcome"] if present.get("weights") == "rising" else []
    words += ["equal weights"] if present.get("weights") == "equal" else []
    return ", ".join(words)


def _population_words(parameters: dict[str, Any]) -> list[str]:
    """How a population differs from that of the public guess."""
    words = [f"t errors, df = {parameters['errors.df']:g}"] if parameters.get("errors.law") == "t" else []
    words += ["heteroscedastic errors"] if "errors.heteroscedastic" in parameters else []
    correlation = {"exchangeable": "rho", "ar1": "AR(1)"}
    for law, symbol in correlation.items():
        rho = parameters.get(f"design.correlation.{law}", 0)
        words += [f"{symbol} = {rho:g}"] if rho else []
    # a list is stored as its text
    if "design.columns" in parameters:
        first, *_, last = ast.literal_eval(parameters["design.columns"])
        rare = last["law"] == "bernoulli"
        words += [f"a level of {last['p']:.0%}" if rare else f"a range {first['sd'] / last['sd']:.3g}x too wide"]
    if str(parameters.get("coefficients", "")).startswith("["):
        words += [f"slopes x {ast.literal_eval(parameters['coefficients'])[1]:g}"]
    return words


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of so many runs; at 0 and 1, too, it has a length."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


NOTE = (
    f"Coverage of nominal 95% intervals over all runs, by coordinate ({NAMES}; the last slope is that of a rare level or of "
    "a range that is stated too wide), and the share of runs in which an interval is unbounded, which covers. A setting "
    "holds if every coordinate covers within .95 +- max(.01, 2.6 standard errors)."
)


def build(results: Path) -> Content:
    columns: dict[str, Column] = {
        "setting": "{setting}",
        "mu": "{budget}",
        "n": "{n:,}",
        "method": "{method}",
        "coverage": _of_each("covered"),
        "unbounded": _of_each("unbounded"),
        "runs": "{replicates}",
        "verdict": "{verdict}",
    }
    rows = rows_of(results)
    every: dict[str, Any] = dict.fromkeys(key for row in rows for key in row)
    return by_column(columns, [{**every, **row} for row in rows], NOTE)


def _of_each(quantity: str) -> Callable[[dict[str, Any]], str]:
    """The shares of a row's coordinates, as three digits without the zero in front; one for all where they agree."""

    def text(row: dict[str, Any]) -> str:
        words = [f"{row[f'{quantity}_{name}']:.3f}".lstrip("0") for name in row["single"]]
        return words[0] if len(set(words)) == 1 else " ".join(words)

    return text


COVERAGE_TABLE = Table("coverage", "Which intervals hold", "inference", EXPERIMENTS, build)
BAND = (0.94, 0.96)
COLOURS = {"holds": "#2a9d6f", "conservative": "#2b6cb8", "fails": "#a50f4c"}
"""of a verdict, which is about all coordinates together"""


def draw(results: Path) -> Drawing:
    """A row for each method, a dot for each setting at its worst coordinate, below each other by the number of users."""
    import pandas as pd

    frame = pd.DataFrame(rows_of(results)).sort_values("n", kind="stable")
    methods = list(dict.fromkeys(frame["method"]))
    canvas, (axes,) = style.panels(7.2, 0.9 + 0.42 * len(methods), log=False)
    axes.axvspan(*BAND, color="0.88", zorder=0)
    words = []
    for row, method in enumerate(methods):
        part = frame[frame["method"] == method]
        words.append(f"{method}\n{int((part['verdict'] == 'fails').sum())} of {len(part)} fail")
        for y, record in zip(row + np.linspace(-0.35, 0.35, len(part)), part.to_dict("records"), strict=True):
            colour = COLOURS[record["verdict"]]
            axes.plot(wilson(record["worst"], record["replicates"]), (y, y), color=colour, lw=0.7)
            axes.plot(record["worst"], y, "o", ms=2.8, color=colour)
    axes.set_yticks(range(len(methods)), words, fontsize=7)
    axes.set(ylim=(len(methods) - 0.5, -0.5), xlabel="coverage of 95% intervals, worst coordinate of a setting")
    axes.grid(axis="y", visible=False)
    for verdict, colour in COLOURS.items():
        axes.plot([], [], "o", ms=4, color=colour, label=verdict)
    style.legend_below(canvas, len(COLOURS))
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "verdict", "worst"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES if name != "first_slope")]])


FIGURES = {"coverage": (draw, EXPERIMENTS)}
