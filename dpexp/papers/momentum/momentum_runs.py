"""Stored runs of `momentum` as rows: what its figure, tables and claims share, and where in its grid a best setting is.

A best setting is inside its grid, or at an end, beyond which a better one may be: a comparison of tuned methods is fair
to the loser only if the loser's is inside. It is looked at along one axis at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum
from dpexp.store.reading import at_last_step, load_summary

if TYPE_CHECKING:
    import pandas as pd

PRESCRIBED, EPOCHS = "momentum_prescribed", "momentum_epochs"
TUNED = ("momentum_tuned", "momentum_tuned_eps", "momentum_tuned_d")
GRIDS = ("momentum_grid", "momentum_large")
DELTA = 1e-5
METHODS = {
    "tree": "Algorithm 1: tree",
    "reduced": "Algorithm 2: reduced sensitivity",
    "square-root": "square-root noise",
    "independent": "independent noise",
    "plain": "tree, not normalised",
    "recursion": "full-batch recursion",
    "descent": "full-batch descent",
    "poisson": "DP-SGD, Poisson",
}
VARIANTS = {"paper": "printed noise", "exact": "exact noise", "none": "no noise"}
AXES = {
    "epochs": {"least": "fewest epochs", "largest": "most epochs", "only": "only epochs"},
    "tuned": {"least": "least step", "largest": "largest step", "only": "only step"},
    "alpha_n": {"least": "least alpha", "largest": "largest alpha", "only": "only alpha"},
}
"""axes of grids, and the words for their ends"""


def method(row: Any) -> str:
    """Key of METHODS for a row of cells."""
    if row.algorithm == "tree-momentum":
        return str(row.design) if row.design != "tree" else "tree" if row.normalised else "plain"
    if row.algorithm == "batch-descent":
        return "descent" if row.sampling_rate == 1 else "poisson"
    return {"reduced-momentum": "reduced", "gradient-recursion": "recursion"}[row.algorithm]


def variant(row: Any) -> str:
    """Key of VARIANTS: how the noise was set."""
    if not row.noise or np.isinf(row.eps):
        return "none"
    return "paper" if row.calibration == "paper" else "exact"


def last_rows(results: Path, experiment: str, metric: str) -> pd.DataFrame:
    """A metric at the last step of every cell, by method, variant, N and epochs; with means of other metrics."""
    summary = at_last_step(load_summary(results, experiment, ["N", "eps", "noise"]))
    rows = summary[summary.metric == metric].copy()
    rows["method"] = [method(row) for row in rows.itertuples()]
    rows["variant"] = [variant(row) for row in rows.itertuples()]
    means = summary.pivot_table(index="cell_id", columns="metric", values="mean")
    rows["objective"] = rows.cell_id.map(means["objective"])
    rows["param_norm"] = np.sqrt(rows.cell_id.map(means["param_norm_sq"]))
    return by_setting(rows, ["method", "variant", "N", "epochs"])


def by_setting(rows: pd.DataFrame, columns: Sequence[str]) -> pd.DataFrame:
    """Rows by those of these columns that they have, methods and variants in the order of METHODS and VARIANTS."""
    ranks = {name: rank for rank, name in enumerate([*METHODS, *VARIANTS])}

    def key(column: Any) -> Any:
        return column.map(ranks) if column.name in ("method", "variant") else column

    return rows.sort_values([name for name in columns if name in rows], key=key, ignore_index=True)


def best_rows(results: Path, experiments: Sequence[str]) -> pd.DataFrame:
    """For every problem, d, eps (inf without noise), N and method the setting with the least mean of |grad F| over G.

    `tuned` is the length of the path, or eta of descent; `alpha_n` is alpha N, 1 where a method has no momentum of its
    own; `settings` counts the method's grid; `ends` names the ends of its grid that the setting is at. The best mean is
    read off the replicates that it is compared by: that is not private, and a little too good for every method.
    """
    import pandas as pd

    rows: Any = pd.concat([last_rows(results, name, "grad_norm") for name in experiments], ignore_index=True)
    places = zip(rows.problem, rows.N.astype(int), rows.d.astype(int), strict=True)
    problems = [finite_sum(name, n, d) for name, n, d in places]
    for name in ("mean", "se", "ci_lo", "ci_hi"):
        rows[name] /= [problem.lipschitz for problem in problems]
    # descent has a step size, the others a length of the path
    rows["tuned"] = rows["length"].where(rows["length"].notna(), rows["eta"])
    alpha = rows["alpha"].astype(float)
    rows["alpha_n"] = np.where(alpha.isna(), 1.0, alpha * rows.N)
    # a loss is flat far away too, where a small gradient is no success
    starts = {problem: problem.objective(problem.start())[0] for problem in set(problems)}
    rows["candidate"] = rows.objective <= [starts[problem] for problem in problems]
    best = []
    for _, grid in rows.groupby(["problem", "d", "eps", "N", "method"]):
        candidates = grid[grid.candidate]
        # there may be none in runs of a few steps
        if not candidates.empty:
            row = candidates.loc[candidates["mean"].idxmin()].copy()
            row["settings"], row["ends"] = len(grid), ", ".join(ends(grid, row))
            best.append(row)
    return by_setting(pd.DataFrame(best), ["problem", "d", "eps", "N", "method"])


def ends(grid: pd.DataFrame, best: pd.Series) -> list[str]:
    """In words, the ends of its grid that the best row is at; an axis with one value in the whole grid has none."""
    words = []
    axes = [axis for axis in AXES if axis in grid]
    for axis in axes:
        others = [name for name in axes if name != axis]
        # the settings that share all other axes with the best one
        line = grid[np.logical_and.reduce([np.isclose(grid[name], best[name]) for name in others], axis=0)][axis]
        # it is inside if this line goes on beyond it on both sides
        at = (bool(np.isclose(best[axis], line.min())), bool(np.isclose(best[axis], line.max())))
        if any(at) and not np.isclose(grid[axis].min(), grid[axis].max()):
            words.append(AXES[axis]["only" if all(at) else "least" if at[0] else "largest"])
    return words


@lru_cache(maxsize=64)
def finite_sum(name: str, n: int, d: int) -> FiniteSum:
    """A problem of these experiments, by its name, N and d."""
    problem = PROBLEMS[name].model_validate({"N": n, "d": d})
    assert isinstance(problem, FiniteSum)
    return problem
