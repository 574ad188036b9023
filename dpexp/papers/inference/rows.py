"""The coverage of every setting and method from stored results, with verdicts."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

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
