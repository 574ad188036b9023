"""Tables of `momentum`: tuned methods, with alpha as prescribed and with alpha tuned too."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dpexp.papers.momentum.rows import GRIDS, METHODS, TUNED, G, grid_rows, tuned_rows
from dpexp.reporting.table import Column, Content, Table, by_column


def tuned(results: Path) -> Content:
    """Final |grad F| / G of the best setting of every method, with F and the parameter's norm beside it."""
    # the best setting of each method alone: the grids have hundreds
    best: Any = tuned_rows(results)
    records = [{str(k): v for k, v in r.items()} for r in best.to_dict("records")]
    columns: dict[str, Column] = {
        "d": "{d}",
        "eps": lambda r: "no noise" if math.isinf(r["eps"]) else f"{r['eps']:g}",
        "N": "{N:,}",
        "method": lambda r: METHODS[r["method"]],
        "grad norm / G": lambda r: f"{r['mean'] / G:#.3g} [{r['ci_lo'] / G:#.3g}, {r['ci_hi'] / G:#.3g}]",
        "F": "{objective:.4f}",
        "norm of w": "{param_norm:.3f}",
        "best of": "{settings}",
        "epochs": "{epochs:g}",
        "step": "{tuned:g}",
        "at an end": lambda r: r["ends"] or "-",
        "diverged": lambda r: f"{r['n_diverged']} of {r['n']}",
    }
    note = (
        "Rippled mean; all methods calibrated exactly to (eps, 1e-5) for replaced records, each with what is kept of a wider "
        "grid ('best of' counts the settings): the best one and the next on either side. Algorithm 2 is accounted for by its iterates, "
        "certified for every position of a record. The best setting is read off the results, which is not private. Step: "
        "length of the path, for descent eta. At an end: where the grid does not go on beyond the best setting, so that a "
        "better one may lie there. Last iterates; 95% intervals over replicates."
    )
    return by_column(columns, records, note)


def build_grid(results: Path) -> Content:
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


MOMENTUM_TABLES = (
    Table("momentum_tuned", "Tuned methods", "momentum", TUNED, tuned),
    Table("momentum_grid", "Tuned methods on three problems, and at N = 100,000", "momentum", GRIDS, build_grid),
)
