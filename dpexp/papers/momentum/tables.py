"""Tables of `momentum`: schedules and their feasibility, calibration, bounds beside runs, tuned methods."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from dpexp.algorithms.finite_sum_run import MOST_STEPS
from dpexp.papers.momentum.rows import (
    DELTA,
    GRIDS,
    METHODS,
    TUNED,
    G,
    grid_rows,
    tuned_rows,
)
from dpexp.privacy.momentum.tree_calibration import multipliers
from dpexp.privacy.momentum.trees import fixed_order, printed_count, reshuffled_bound, squared_sensitivities
from dpexp.reporting.table import Column, Content, Table, by_column
from dpexp.theory.momentum.formulas import theorem6_printed, theorem6_schedule, theorem9_printed, theorem9_schedule

GRID = [(n, d, eps) for n in (100, 1000, 10_000, 100_000) for d in (10, 100) for eps in (0.5, 1.0, 4.0)]


def schedules(results: Path) -> Content:
    """T, epochs, gamma and the printed bound of Theorems 6 and 9, and whether they can be run."""
    records: list[dict[str, Any]] = []
    for n, d, eps in GRID:
        for theorem, make, bound in (
            (6, theorem6_schedule, theorem6_printed),
            (9, theorem9_schedule, theorem9_printed),
        ):
            s = make(n, d, eps, DELTA)
            state = s.refused or ("beyond reach" if s.steps > MOST_STEPS else "runs")
            value = bound(n, d, eps, DELTA, s.steps, 1.0, 1.0, 1.0)
            records.append(
                {"N": n, "d": d, "eps": eps, "theorem": theorem, "steps": s.steps, "epochs": s.steps / n,
                 "alpha_n": s.alpha * n, "gamma": s.gamma, "path": s.path_length, "bound": value, "state": state}
            )  # fmt: skip
    head = ["N", "d", "eps", "theorem", "T", "epochs", "gamma", "path eta T", "bound / G", "state"]
    rows = [
        [f"{r['N']:,}", str(r["d"]), f"{r['eps']:g}", str(r["theorem"]), f"{r['steps']:.3g}", f"{r['epochs']:.3g}",
         f"{r['gamma']:.3g}" if r["theorem"] == 9 else "-", f"{r['path']:.3g}", f"{r['bound']:.3g}", r["state"]]
        for r in records
    ]  # fmt: skip
    note = (
        "delta = 1e-5, initial gap, G and L all 1; alpha = 1 / N in every row. A bound above 1 says nothing: no "
        "gradient is longer than G. Path: no iterate is farther than this from the first one."
    )
    return Content(head, rows, note, records)


def calibration(results: Path) -> Content:
    """Printed and exact multipliers, and printed and exact sensitivities: how much noise exact accounting saves."""
    records: list[dict[str, Any]] = []
    for theorem in (4, 8):
        for eps in (0.1, 0.5, 1.0, 4.0, 8.0):
            m = multipliers(eps, DELTA, theorem)
            records.append(
                {"what": f"sigma, Theorem {theorem}", "case": f"eps = {eps:g}", "printed": m.printed,
                 "order_free": m.best_order, "exact": m.exact, "saving": m.saving}
            )  # fmt: skip
    for n, steps in ((100, 1000), (1000, 7266), (1000, 30_000), (8000, 325_704)):
        printed = 2 * math.sqrt(printed_count(n, steps))
        fixed = math.sqrt(squared_sensitivities(fixed_order(n, steps), 1 / n).max())
        any_order = math.sqrt(reshuffled_bound(n, steps, 1 / n))
        records.append(
            {"what": "sensitivity, Algorithm 1", "case": f"N = {n:,}, T = {steps:,}", "printed": printed,
             "order_free": any_order, "exact": fixed, "saving": printed / fixed}
        )  # fmt: skip
    head = ["what", "case", "printed", "in between", "exact", "saving"]
    rows = [
        [r["what"], r["case"], *(f"{r[k]:.4g}" for k in ("printed", "order_free", "exact")), f"{r['saving']:.2f}"]
        for r in records
    ]
    note = (
        "delta = 1e-5. In between: for sigma, Mironov's conversion at its best order; for the sensitivity (of "
        "the whole tree, in 2 alpha G), a bound over all orders of all epochs. Exact: Gaussian DP; one order that "
        "repeats, left nodes. The savings of the two parts multiply."
    )
    return Content(head, rows, note, records)


def tuned(results: Path) -> Content:
    """Final |grad F| / G of the best setting of every method, with F and the parameter's norm beside it."""
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
    Table("momentum_schedules", "Prescribed schedules and their feasibility", "momentum", (), schedules),
    Table("momentum_calibration", "Noise as printed and exact", "momentum", (), calibration),
    Table("momentum_tuned", "Tuned methods", "momentum", TUNED, tuned),
    Table("momentum_grid", "Tuned methods on three problems, and at N = 100,000", "momentum", GRIDS, build_grid),
)
