"""Stored runs of `momentum` as rows: what its figures, tables and claims share, and where in its grid a best setting lies.

Every row has the mean of a metric over replicates at the last step, its standard error and its 95% interval; `also`
adds the means of what must be read beside a gradient norm: F (`objective`) and the rms of |w| (`param_norm`).

The best setting of a grid is inside it, or at an end, beyond which a better one may be. A setting is looked at along
one axis at a time, among those that share its values of the other axes. A comparison of tuned methods is fair to the
loser only if the loser's best setting is inside: more settings can only help the winner. Of every tuned grid the best
setting is kept, and the next one on either side along both axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.config.reader import parameters_of
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum
from dpexp.problems.robust_means import RippledMean
from dpexp.store import at_last_step, load_summary

if TYPE_CHECKING:
    import pandas as pd

PRESCRIBED, EPOCHS = "momentum_prescribed", "momentum_epochs"
TUNED = ("momentum_tuned", "momentum_tuned_eps", "momentum_tuned_d")
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
END_WORDS = {
    "epochs": {"least": "fewest epochs", "largest": "most epochs", "only": "only epochs"},
    "tuned": {"least": "least step", "largest": "largest step", "only": "only step"},
}
STATISTICS = ["mean", "se", "ci_lo", "ci_hi", "n", "n_diverged"]
G: float = RippledMean(N=2, d=1).lipschitz
"""bound on the gradients of the problem of the prescribed and tuned experiments, for any N and d"""


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


def prescribed_rows(results: Path, metric: str = "mean_grad_norm") -> pd.DataFrame:
    """Last values of a metric of the prescribed runs, by method, variant and N."""
    return _sorted(_last(results, PRESCRIBED, metric), "method", "variant", "N")


def epoch_rows(results: Path) -> pd.DataFrame:
    """Last gradient norms of both algorithms at one path length, by method and epochs."""
    return _sorted(_last(results, EPOCHS, "grad_norm"), "method", "epochs")


def tuned_rows(results: Path) -> pd.DataFrame:
    """For every method, N, d and eps (inf without noise) the setting with the least mean of the final gradient norm.

    Reading off the best setting is not private. The column `settings` counts those of each method's grid, `tuned` is
    the length of the path, or eta of descent, and `ends` tells in words at which ends of its grid the setting lies.
    """
    import pandas as pd

    place = ["method", "N", "d", "eps"]
    rows = pd.concat([_last(results, experiment, "grad_norm") for experiment in TUNED], ignore_index=True)
    # descent has a step size, the others a length of the path
    rows["tuned"] = rows["length"].where(rows["length"].notna(), rows["eta"])
    rows["settings"] = rows.groupby(place)["mean"].transform("size")
    grids = rows.groupby(place)
    # the best mean is read off the replicates that it is compared by, so it is a little too good for every method
    best = rows.loc[grids["mean"].idxmin()].copy()
    reached = (ends(grids.get_group(tuple(row[place])), row, ("epochs", "tuned")) for _, row in best.iterrows())
    best["ends"] = [", ".join(END_WORDS[axis][end] for axis, end in at.items()) for at in reached]
    return _sorted(best, "d", "eps", "N", "method")


def _sorted(rows: pd.DataFrame, *columns: str) -> pd.DataFrame:
    """Rows by these columns; methods and variants in the order of METHODS and VARIANTS."""
    ranks = {name: rank for rank, name in enumerate([*METHODS, *VARIANTS])}

    def key(column: Any) -> Any:
        return column.map(ranks) if column.name in ("method", "variant") else column

    return rows.sort_values(list(columns), key=key, ignore_index=True)


def _last(results: Path, experiment: str, metric: str) -> pd.DataFrame:
    """Rows at the last step of every cell, with F and |w| beside the metric."""
    rows = _beside(results, experiment, metric, ["N", "eps", "noise"])
    rows["variant"] = [variant(row) for row in rows.itertuples()]
    settings = ["problem", "method", "variant", "N", "d", "eps", "epochs", "length", "eta", "step"]
    return rows[[name for name in settings if name in rows] + STATISTICS + [*BESIDE, "param_norm"]]


BESIDE = ("objective", "grad_norm", "mean_grad_norm")


def _beside(results: Path, experiment: str, metric: str, needs: Sequence[str]) -> pd.DataFrame:
    """Rows of a metric at the last step of every cell, with the method and the means of other metrics."""
    summary = at_last_step(load_summary(results, experiment, needs))
    rows = summary[summary.metric == metric].copy()
    rows["method"] = [method(row) for row in rows.itertuples()]
    means = summary.pivot_table(index="cell_id", columns="metric", values="mean")
    for name in BESIDE:
        rows[name] = rows.cell_id.map(means[name])
    rows["param_norm"] = np.sqrt(rows.cell_id.map(means["param_norm_sq"]))
    return rows


def ends(grid: pd.DataFrame, best: pd.Series, axes: Sequence[str]) -> dict[str, str]:
    """The axes on which the best row of a grid is at an end, and which one: `least`, `largest`, or `only`."""
    reached: dict[str, str] = {}
    for axis in axes:
        others = [name for name in axes if name != axis]
        # the settings that share all other axes with the best one
        line = grid[np.logical_and.reduce([np.isclose(grid[name], best[name]) for name in others], axis=0)][axis]
        # it is inside if this line goes on beyond it on both sides
        at = (bool(np.isclose(best[axis], line.min())), bool(np.isclose(best[axis], line.max())))
        # an axis of which the grid has one value is none: it was not tuned
        if any(at) and not np.isclose(grid[axis].min(), grid[axis].max()):
            reached[axis] = "only" if all(at) else "least" if at[0] else "largest"
    return reached


GRIDS = ("momentum_grid", "momentum_large")
AXES = ("epochs", "step", "alpha_n")
PLACE = ["problem", "N", "eps"]


def grid_rows(results: Path) -> list[dict[str, Any]]:
    """One record for each problem, N, eps and method: the setting with the least mean of the final |grad F|, over G.

    Settings that end with a larger F than they began with are no candidates.
    `step` is the path's length in G / L, or eta L for descent; `alpha_n` is alpha N, 1 where a method has no momentum.
    `edges`: in which directions of the grid the best setting is an end one, of those in which the grid has more than
    one value. `iterates`: whether the noise of the best setting is set by what its iterates give away, certified for
    every position of a record.
    """
    import pandas as pd

    rows = pd.concat([_last_of_grid(results, experiment) for experiment in GRIDS], ignore_index=True)
    records = []
    for place, tried in rows.groupby([*PLACE, "method"]):
        # a loss is flat far away too, where a small gradient is no success
        grid = tried[tried.objective <= tried.start]
        if grid.empty:  # as in runs of a few steps
            continue
        best = grid.loc[grid["mean"].idxmin()]
        records.append(
            dict(zip([*PLACE, "method"], place, strict=True))
            | {
                **{name: float(best[name]) for name in (*AXES, *STATISTICS[:4], "objective", "param_norm")},
                "settings": len(tried),
                "edges": list(ends(tried, best, AXES)),
                "iterates": str(best["accountant"]).startswith("certified-iterates"),
                "seeds": int(best["n"]),
                "diverged": int(best["n_diverged"]),
            }
        )
    ranks = list(METHODS)
    return sorted(records, key=lambda r: (r["N"], str(r["problem"]), r["eps"], ranks.index(r["method"])))


def _last_of_grid(results: Path, experiment: str) -> Any:
    """Rows of the last gradient norm over G, with F and |w| beside it."""
    needs = ["problem", "N", "eps", "alpha", "length", "eta", "accountant"]
    rows: Any = _beside(results, experiment, "grad_norm", needs)
    places = zip(rows.problem, rows.N.astype(int), rows.d.astype(int), strict=True)
    problems = [_problem_of_grid(name, int(n), int(d)) for name, n, d in places]
    bound, curved = (np.array([getattr(p, name) for p in problems]) for name in ("lipschitz", "smoothness"))
    for name in ("mean", "se", "ci_lo", "ci_hi"):
        rows[name] /= bound
    starts = {p: p.objective(p.start())[0] for p in set(problems)}
    rows["start"] = [starts[p] for p in problems]
    rows["step"] = np.where(rows.length.isna(), rows.eta * curved, rows.length * curved / bound)
    rows["alpha_n"] = np.where(rows.alpha.isna(), 1.0, rows.alpha * rows.N)
    return rows


@lru_cache(maxsize=64)
def _problem_of_grid(name: str, n: int, d: int) -> FiniteSum:
    problem = parameters_of(PROBLEMS[name]).model_validate({"N": n, "d": d})
    assert isinstance(problem, FiniteSum)
    return problem
