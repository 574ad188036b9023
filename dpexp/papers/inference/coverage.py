"""The coverage of every setting and method from stored results, with verdicts: rows, tables and figures."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.table import Column, Content, Table, by_column
from dpexp.store import at_last_step, load_summary

EXPERIMENTS = (
    "coverage_linear", "coverage_sizes", "coverage_logistic", "coverage_dimension", "coverage_wrong", "coverage_paths",
    "coverage_paths_logistic",
)  # fmt: skip
COORDINATES = ("intercept", "slopes", "last")
PROMISED = 0.95
LEAST_TOLERANCE = 0.01
STANDARD_ERRORS = 2.6
"""simultaneous over the seven coordinates of d = 5, where 2 would be for one; with more of them it is larger"""
SEVEN = 7
REFUSED_BELOW = 0.5
"""share of accepted runs below which a setting counts as refused"""
REFUSED = "refused"


def rows_of(results: Path) -> list[dict[str, Any]]:
    """One record for each setting and method, of all experiments."""
    return [row for experiment in EXPERIMENTS for row in rows_of_one(results, experiment)]


def rows_of_one(results: Path, experiment: str) -> list[dict[str, Any]]:
    """Those of one experiment."""
    summary = at_last_step(load_summary(results, experiment, ["problem", "d", "budget"]))
    found = []
    for (cell, method), group in summary.groupby(["cell_id", "estimator"], sort=False):
        means = dict(zip(group["metric"], group["mean"].astype(float), strict=True))
        medians = dict(zip(group["metric"], group["median"].astype(float), strict=True))
        one, accepted = group.iloc[0], means["accepted"]
        row: dict[str, Any] = {
            "experiment": experiment, "cell_id": cell, "method": method, "setting": _setting(one),
            "n": int(one["step"]), "budget": str(one["budget"]), "replicates": int(one["n"]), "accepted": accepted,
        }  # fmt: skip
        for name in COORDINATES:
            row[f"mean_length_{name}"] = means[f"length_over_bound_{name}"]
            row[f"length_{name}"] = medians[f"length_over_bound_{name}"]
            row[f"bias_{name}"] = means[f"error_over_bound_{name}"]
        slopes = tuple(f"slope_{k}" for k in range(1, int(one["d"]) + 1))
        last = ("last",) if str(one["problem"]).startswith("huber") else ()  # elsewhere it is the last slope
        single = row["single"] = ("intercept", *slopes, *last)
        for name in (*COORDINATES, *slopes):
            both = means[f"covered_accepted_{name}"]
            row[f"covered_{name}"] = means[f"covered_{name}"]
            row[f"covered_accepted_{name}"] = both / accepted if accepted else math.nan
        count = row["replicates"]
        row["verdict"] = REFUSED if accepted < REFUSED_BELOW else verdict(row, "covered", count)
        row["verdict_accepted"] = verdict(row, "covered_accepted", round(accepted * count)) if accepted else REFUSED
        row["worst"] = min(row[f"covered_accepted_{name}"] for name in single) if accepted else math.nan
        found.append(row)
    return found


def verdict(row: dict[str, Any], what: str, replicates: int) -> str:
    """`holds` if every single coordinate covers within the tolerance, `fails` if one is below, else `conservative`."""
    allowed = tolerance(replicates, len(row["single"]))
    gaps = [row[f"{what}_{name}"] - PROMISED for name in row["single"]]
    if min(gaps) < -allowed:
        return "fails"
    return "conservative" if max(gaps) > allowed else "holds"


def tolerance(replicates: int, coordinates: int = SEVEN) -> float:
    """How far the coverage of one of so many coordinates may be from .95 in so many runs.

    2.6 standard errors for seven of them, and for others as many as give the same chance to all together.
    """
    from statistics import NormalDist

    normal = NormalDist()
    widest = -normal.inv_cdf(normal.cdf(-STANDARD_ERRORS) * SEVEN / max(coordinates, SEVEN))
    return max(LEAST_TOLERANCE, widest * math.sqrt(PROMISED * (1 - PROMISED) / max(replicates, 1)))


def _setting(one: Any) -> str:
    """What tells a setting from others but for its budget and n, in words."""
    words = [str(one["problem"]).partition("-")[0 if str(one["problem"]).startswith("huber") else 2], f"d = {one['d']}"]
    words += [f"alpha = {one['alpha']:.3g}"] if _is_there(one, "alpha") else []
    words += [f"{one['errors']} errors"] if _is_there(one, "errors") and one["errors"] != "normal" else []
    words += [f"{key} = {one[key]:g}" for key in ("rho", "bend") if _is_there(one, key) and one[key]]
    words += [f"guess x {one['guess']:g}"] if _is_there(one, "guess") and one["guess"] != 1 else []
    return ", ".join(words)


def _is_there(one: Any, key: str) -> bool:
    return key in one.index and one[key] is not None and one[key] == one[key]


def wilson(share: float, count: int) -> tuple[float, float]:
    """Wilson's 95% interval of a share of so many runs; at 0 and 1, too, it has a length."""
    z = 1.959963984540054
    middle = (share + z * z / (2 * count)) / (1 + z * z / count)
    half = z / (1 + z * z / count) * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return middle - half, middle + half


NOTE = (
    "Coverage of nominal 95% intervals by coordinate (intercept, mean over slopes, last: the scale where there is one), "
    "over all runs and over accepted ones, and median lengths over the efficient bound. A setting holds if every coordinate "
    "covers within .95 +- max(.01, 2.6 standard errors), single slopes too, and is refused if fewer than half of its runs "
    "are accepted. Worst: the single coordinate of least coverage in accepted runs; table coverage_slopes shows them all."
)


def build(results: Path) -> Content:
    columns: dict[str, Column] = {
        "setting": "{setting}",
        "mu": "{budget}",
        "n": "{n:,}",
        "method": "{method}",
        "coverage": lambda r: " ".join(_share(r[f"covered_{name}"]) for name in COORDINATES),
        "accepted": "{accepted:.2f}",
        "if accepted": lambda r: " ".join(_share(r[f"covered_accepted_{name}"]) for name in COORDINATES),
        "worst": lambda r: _share(r["worst"]),
        "length / bound": lambda r: " ".join(f"{r[f'length_{name}']:.2f}" for name in COORDINATES),
        "runs": "{replicates}",
        "verdict": "{verdict}",
        "if accepted ": "{verdict_accepted}",
    }
    return by_column(columns, _alike(rows_of(results)), NOTE)


def _alike(records: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """With the columns of all of them: settings of more dimensions have more slopes."""
    every: dict[str, Any] = dict.fromkeys(key for row in records for key in row)
    return [{**every, **row} for row in records]


def _share(value: float) -> str:
    """Three digits, without the zero in front; a dash where no run was accepted."""
    return "-" if math.isnan(value) else f"{value:.3f}".lstrip("0")


SLOPES_NOTE = (
    "Coverage of nominal 95% intervals by `staged-newton` in accepted runs, of every single coordinate: intercept, slopes "
    "in their order, scale. In parentheses what is allowed: .95 +- max(.01, 2.6 standard errors), for more than seven "
    "coordinates as many standard errors as give the same chance of a false alarm."
)


def build_slopes(results: Path) -> Content:
    records = [row for row in rows_of(results) if row["method"] == "staged-newton" and row["accepted"] > 0]
    head = ["setting", "mu", "n", "accepted", "runs", "intercept", "slopes", "scale", "allowed", "verdict"]
    rows = []
    for row in records:
        count = round(row["accepted"] * row["replicates"])
        shown = {name: _share(row[f"covered_accepted_{name}"]) for name in row["single"]}
        slopes = " ".join(value for name, value in shown.items() if name.startswith("slope"))
        allowed = tolerance(count, len(shown))
        rows.append([
            row["setting"], row["budget"], f"{row['n']:,}", f"{row['accepted']:.2f}", str(count), shown["intercept"],
            slopes, shown.get("last", "-"), f"({_share(0.95 - allowed)} to {_share(min(1.0, 0.95 + allowed))})",
            row["verdict_accepted"],
        ])  # fmt: skip
    return Content(head, rows, SLOPES_NOTE, _alike(records))


COVERAGE_TABLE = Table("coverage", "Which intervals hold", "inference", EXPERIMENTS, build)
SLOPES_TABLE = Table("coverage_slopes", "Every single coordinate", "inference", EXPERIMENTS, build_slopes)


BAND = (0.94, 0.96)
TITLES = {"intercept": "intercept", "slopes": "slopes (mean)", "last": "scale, or last slope"}
LADDER, STAGED = "coverage_sizes", {"staged-newton": ("-", "o"), "one-step": ("--", "s")}
"""methods -> line and marker; the colour is that of the budget"""
NOT_PRIVATE = "non-private"
COLOURS = {"holds": "#2a9d6f", "conservative": "#2b6cb8", "fails": "#a50f4c", REFUSED: "#777777"}
"""of a verdict, which is about all coordinates together"""
SHARES = (0, 0.5, 0.8, 0.9, 0.95, 1)
NEAR = 0.03
GAP = 3
"""rows between two methods"""


def draw(results: Path) -> Drawing:
    """A block of rows for each method, as high as it has settings, so that no dot hides another one."""
    import pandas as pd

    rows = rows_of(results)
    frame = pd.DataFrame(rows).sort_values("n", kind="stable")
    blocks = [(method, frame[frame["method"] == method]) for method in dict.fromkeys(row["method"] for row in rows)]
    canvas, panels = style.panels(10, 8.2, len(COORDINATES), log=False, sharey=True)
    ticks, words, top = [], [], 0
    for k, (method, part) in enumerate(blocks):
        ticks.append(top + (len(part) - 1) / 2)
        words.append(f"{method}\n{int((part['verdict'] == 'fails').sum())} of {len(part)} fail")
        for axes, name in zip(panels, COORDINATES, strict=True):
            if k % 2:
                axes.axhspan(top - GAP / 2, top + len(part) + GAP / 2, color="0.96", zorder=0)
            for y, row in enumerate(part.to_dict("records"), top):
                colour, covered = COLOURS[row["verdict"]], row[f"covered_{name}"]
                axes.plot(wilson(covered, row["replicates"]), (y, y), color=colour, lw=0.7)
                face = "white" if row["verdict"] == REFUSED else colour
                axes.plot(covered, y, "o", ms=2.8, color=colour, mfc=face, mew=0.8)
        top += len(part) + GAP
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axvspan(*BAND, color="0.82", zorder=0)
        axes.set_xscale("function", functions=(_stretched, _unstretched))
        axes.set(xlabel="coverage of 95% intervals", title=TITLES[name], xlim=(-0.04, 1.001))
        axes.set_xticks(SHARES, [f"{share:g}" for share in SHARES])
        axes.grid(axis="y", visible=False)
    panels[0].set_yticks(ticks, words)
    panels[0].set_ylim(top, -GAP)
    for verdict, colour in COLOURS.items():
        face = "white" if verdict == REFUSED else colour
        panels[0].plot([], [], "o", ms=4, color=colour, mfc=face, label=verdict)
    style.legend_below(canvas, len(COLOURS))
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "verdict"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]])


def _stretched(share: np.ndarray) -> np.ndarray:
    """A scale on which shares near 1 have room: the logarithm of one less the share, moved so that 1 has a place."""
    return -np.log(1 + NEAR - np.asarray(share))


def _unstretched(place: np.ndarray) -> np.ndarray:
    return 1 + NEAR - np.exp(-np.asarray(place))


def draw_sizes(results: Path) -> Drawing:
    """Coverage of `staged-newton` and `one-step` against n, for the settings that were run with several n."""
    import pandas as pd

    rows = [row for row in rows_of_one(results, LADDER) if row["method"] in STAGED]
    frame = pd.DataFrame(rows).sort_values("n", kind="stable")
    canvas, panels = style.panels(10, 3.8, len(COORDINATES), log=False, sharey=True)
    for axes, name in zip(panels, COORDINATES, strict=True):
        axes.axhspan(*BAND, color="0.85", zorder=0, label="0.94 to 0.96")
        for number, (names, part) in enumerate(frame.groupby(["budget", "method"], sort=True)):
            budget, method = map(str, names)
            (line, marker), shift = STAGED[method], 1.06 ** (number - 1.5)
            colour = style.colour_of(budget, sorted(set(frame["budget"])))
            what = f"{method}, {budget if budget == NOT_PRIVATE else f'mu = {budget}'}"
            x, y = part["n"] * shift, part[f"covered_{name}"]
            axes.plot(x, y, line, label=what, color=colour, lw=0.9, marker=marker, ms=4)
            for row in part.to_dict("records"):
                ends = wilson(row[f"covered_{name}"], row["replicates"])
                axes.plot((row["n"] * shift,) * 2, ends, color=colour, lw=0.7)
                if row["verdict"] == REFUSED:
                    axes.plot(row["n"] * shift, row[f"covered_{name}"], marker, ms=4, color=colour, mfc="white")
        axes.set(xscale="log", xlabel="users n", title=TITLES[name])
    panels[0].set_ylabel("coverage of 95% intervals")
    style.legend_below(canvas, 5, fontsize=8)
    columns = ["experiment", "setting", "budget", "n", "method", "replicates", "accepted", "verdict"]
    return Drawing(canvas, frame[[*columns, *(f"covered_{name}" for name in COORDINATES)]])


COVERAGE_FIGURE = Figure(
    "coverage",
    "Coverage of nominal 95% intervals by method, one dot for each setting, with the fewest users above; the scale is "
    "stretched towards 1. Colour: whether every single coordinate of the setting covers as promised; grey: .94 to .96; "
    "lines: Wilson's 95% intervals; hollow: more than half of the runs are refused by the method's own rules.",
    "inference",
    "Coverage",
    EXPERIMENTS,
    draw,
)
SIZES_FIGURE = Figure(
    "coverage_sizes",
    "Coverage of nominal 95% intervals against the number of users, linear regression; grey: .94 to .96; lines: Wilson's "
    "95% intervals; hollow: more than half of the runs are refused by the method's own rules.",
    "inference",
    "Coverage",
    (LADDER,),
    draw_sizes,
)
