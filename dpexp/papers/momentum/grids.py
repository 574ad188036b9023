"""Both algorithms of `momentum` and full-batch descent, tuned over step, epochs and momentum on several problems.

Each method has a grid of its own, the two algorithms the same one, on common random numbers. The best mean is read off
the same replicates, so it is a little too good for every method; a grid of equal size is so by about as much.
"""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.config.reader import parameters_of
from dpexp.papers.momentum.rows import METHODS, ends, method
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum
from dpexp.reporting.table import Content, Table
from dpexp.store import at_last_step, load_summary

GRIDS = ("momentum_grid", "momentum_large")
AXES = ("epochs", "step", "alpha_n")
PLACE = ["problem", "N", "eps"]


def grid_rows(results: Path) -> list[dict[str, Any]]:
    """One record for each problem, N, eps and method: the setting with the least mean of the final |grad F|, over G.

    Settings that end with a larger F than they began with are no candidates: where a loss is flat far away, gradients
    are small there too.
    `step` is the path's length in G / L, or eta L for descent; `alpha_n` is alpha N, 1 where a method has no momentum.
    `edges`: in which directions of the grid the best setting is an end one, of those in which the grid has more than
    one value. `iterates`: whether the noise of the best setting is set by what its iterates give away, certified for
    every position of a record.
    """
    import pandas as pd

    rows = pd.concat([_last(results, experiment) for experiment in GRIDS], ignore_index=True)
    records = []
    for place, tried in rows.groupby([*PLACE, "method"]):
        grid = tried[tried.objective <= tried.start]
        if grid.empty:  # as in runs of a few steps
            continue
        best = grid.loc[grid["mean"].idxmin()]
        records.append(
            dict(zip([*PLACE, "method"], place, strict=True))
            | {
                **{
                    name: float(best[name])
                    for name in (*AXES, "mean", "se", "ci_lo", "ci_hi", "objective", "param_norm")
                },
                "settings": len(tried),
                "edges": list(ends(tried, best, AXES)),
                "iterates": str(best["accountant"]).startswith("certified-iterates"),
                "seeds": int(best["n"]),
                "diverged": int(best["n_diverged"]),
            }
        )
    ranks = list(METHODS)
    return sorted(records, key=lambda r: (r["N"], str(r["problem"]), r["eps"], ranks.index(r["method"])))


def _last(results: Path, experiment: str) -> Any:
    """Rows of the last gradient norm over G, with F and |w| beside it."""
    summary = load_summary(results, experiment, ["problem", "N", "eps", "alpha", "length", "eta", "accountant"])
    summary = at_last_step(summary)
    rows = summary[summary.metric == "grad_norm"].copy()
    means = summary.pivot_table(index="cell_id", columns="metric", values="mean")
    rows["objective"] = rows.cell_id.map(means["objective"])
    rows["param_norm"] = np.sqrt(rows.cell_id.map(means["param_norm_sq"]))
    rows["method"] = [method(row) for row in rows.itertuples()]
    places = zip(rows.problem, rows.N.astype(int), rows.d.astype(int), strict=True)
    problems = [_problem(name, int(n), int(d)) for name, n, d in places]
    bound, curved = (np.array([getattr(p, name) for p in problems]) for name in ("lipschitz", "smoothness"))
    for name in ("mean", "se", "ci_lo", "ci_hi"):
        rows[name] /= bound
    starts = {p: p.objective(p.start())[0] for p in set(problems)}
    rows["start"] = [starts[p] for p in problems]
    rows["step"] = np.where(rows.length.isna(), rows.eta * curved, rows.length * curved / bound)
    rows["alpha_n"] = np.where(rows.alpha.isna(), 1.0, rows.alpha * rows.N)
    return rows


@lru_cache(maxsize=64)
def _problem(name: str, n: int, d: int) -> FiniteSum:
    problem = parameters_of(PROBLEMS[name]).model_validate({"N": n, "d": d})
    assert isinstance(problem, FiniteSum)
    return problem


def build(results: Path) -> Content:
    """The rows as a table."""
    records = grid_rows(results)
    head = ["problem", "N", "eps", "method", "grad norm / G", "F", "norm of w", "epochs", "step", "alpha N", "best of"]
    head += ["at an end", "diverged"]
    rows = [
        [
            r["problem"], f"{r['N']:,}", f"{r['eps']:g}", METHODS[r["method"]] + ("" if r["iterates"] or r["method"] != "reduced" else ", by nodes"),
            f"{r['mean']:#.3g} [{r['ci_lo']:#.3g}, {r['ci_hi']:#.3g}]", f"{r['objective']:.4f}", f"{r['param_norm']:.3f}",
            f"{r['epochs']:g}", f"{r['step']:.3g}", "-" if r["method"] == "descent" else f"{r['alpha_n']:.3g}",
            f"{r['settings']}", ", ".join(r["edges"]).replace("alpha_n", "alpha") or "-", f"{r['diverged']} of {r['seeds']}",
        ]
        for r in records
    ]  # fmt: skip
    note = (
        "d = 10, delta = 1e-5, replaced records, all noise calibrated exactly: Algorithm 2 by its iterates, certified for "
        "every position of a record, or, where it says so, by the release of all nodes. Step: length of the path in G / "
        "L, for descent eta L. At an end: where the best setting is the last one of its grid. The best setting is read "
        "off the same runs, which is not private, and a little too good for every method. Last iterates; 95% intervals "
        "over replicates. At N = 100,000 only the first few epochs are tried."
    )
    return Content(head, rows, note, records)


MOMENTUM_GRID = Table("momentum_grid", "Tuned methods on three problems, and at N = 100,000", "momentum", GRIDS, build)
