"""What is shown of `momentum`: the noise of both algorithms against epochs, and tables of the tuned methods."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.accounting.gaussian import mu_of
from dpexp.algorithms.finite_sum_run import RunPlan
from dpexp.algorithms.reduced_momentum import covering, unit_deviations
from dpexp.algorithms.tree_momentum import fixed_tree
from dpexp.papers.momentum.momentum_runs import EPOCHS, GRIDS, METHODS, TUNED, best_rows, finite_sum, last_rows
from dpexp.privacy.momentum.trees import exact_node_std
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing
from dpexp.reporting.text_table import Column, Content, Table, by_column, without_constants


class Levels(NamedTuple):
    """Rms of one coordinate of the noise |m_hat_t - m_t| over a run, in closed form and in units of G, for G = L = 1."""

    tree: float
    reduced: float  # accounted for as runs are: by the iterates where they are covered, else by the nodes
    nodes: float  # of Algorithm 2 if all of its noisy nodes were released


@lru_cache(maxsize=128)
def fixed_path_levels(n: int, epochs: int, length: float, eps: float = 1.0, delta: float = 1e-5) -> Levels:
    """Both algorithms with K epochs, eta = length / (K N), alpha = 1 / N and exact noise; one order that repeats."""
    from dpexp.engine.finite_sum.noise_designs import tree_variance
    from dpexp.engine.finite_sum.noise_windows import stream_variances

    steps, alpha, mu = n * epochs, 1 / n, mu_of(eps, delta)
    # a step's noise is the node noise times the root of its variance for unit noise; the mean of squares is over steps
    tree = exact_node_std(alpha, 1.0, mu, fixed_tree(n, steps, alpha)) * math.sqrt(tree_variance(alpha, steps).mean())
    eta = length / steps
    plan = RunPlan(steps, alpha, eta, min(0.5, eta * n))
    # noise is inverse to mu. Where the iterates are covered, `unit_deviations` is that of the nodes times the mu that
    # the iterates have at the nodes' noise, so dividing by it gives the nodes back.
    stds = unit_deviations(plan, n, 1.0, 1.0) / mu
    variances = stream_variances(n, steps, alpha, plan.gamma).mean(axis=1)
    reduced, exact = math.sqrt(float(stds**2 @ variances)), covering(plan, n, 1.0, 1.0)
    return Levels(tree, reduced, reduced if exact is None else reduced / exact.mu)


LOOKS = {"tree": ("#2b6cb8", "o"), "reduced": ("#e0701a", "s")}
"""colour and marker of a method"""


def draw(results: Path) -> Drawing:
    """Left: rms noise of a coordinate over G. Right: |grad F| over G at the last iterate. Against epochs."""
    from matplotlib.lines import Line2D
    from matplotlib.ticker import LogLocator

    rows: Any = last_rows(results, EPOCHS, "grad_norm")
    n, d, path = int(rows.N.iloc[0]), int(rows.d.iloc[0]), float(rows.length.iloc[0])
    p = finite_sum(str(rows.problem.iloc[0]), n, d)
    length = round(path * p.smoothness / p.lipschitz, 12)  # in units of G / L
    levels = {k: fixed_path_levels(n, k, length)._asdict() for k in sorted(map(int, rows.epochs.unique()))}
    rows["noise"] = [levels[int(row.epochs)][row.method] for row in rows.itertuples()]
    rows["noise_by_nodes"] = [
        levels[int(r.epochs)]["nodes" if r.method == "reduced" else "tree"] for r in rows.itertuples()
    ]
    canvas, (first, right) = style.panels(7.2, 3.7, 2, sharex=True)
    for name, (colour, marker) in LOOKS.items():
        part = rows[rows.method == name]
        look: dict[str, Any] = {"color": colour, "marker": marker, "markersize": 4}
        first.plot(part.epochs, part.noise, **look, label=METHODS[name])
        if name == "reduced":
            nodes: dict[str, Any] = {"color": colour, "linewidth": 1, "label": "Algorithm 2: all nodes"}
            first.plot(part.epochs, part.noise_by_nodes, "--", **nodes)
        mean, low, high = (part[column] / p.lipschitz for column in ("mean", "ci_lo", "ci_hi"))
        right.errorbar(part.epochs, mean, [mean - low, high - mean], **look, linewidth=1.1, elinewidth=0.9, capsize=2)
    part = rows[rows.method == "tree"]
    # a guide of the exponent 1/2 from the first point
    level = part.noise.iloc[0] * np.sqrt(part.epochs / part.epochs.iloc[0])
    first.plot(part.epochs, level, ":", color="#777777", linewidth=1.1, label=r"$\propto \sqrt{K}$")
    style.ticks_at(first, sorted(levels))
    for axes in (first, right):
        axes.yaxis.set_major_locator(LogLocator(subs=(1, 1.5, 2, 3, 5)))
        axes.yaxis.set_major_formatter("{x:g}")
    noise = r"rms noise of a coordinate of $\hat m_t$ over $G$"
    first.set(xlabel="epochs $K$", ylabel=noise, title="noise, in closed form")
    right.set(xlabel="epochs $K$", ylabel=r"final $|\nabla F|$ over $G$", title="runs")
    setting = (
        rf"$N$ = {n}, $d$ = {d}, $\eta T$ = {length:g} $G/L$, $\varepsilon$ = 1, $\delta$ = $10^{{-5}}$, exact noise"
    )
    canvas.suptitle(setting, fontsize=9.5)
    words = f"bars: 95% CI of the mean, {rows.n.max()} replicates"
    bar: dict[str, Any] = {"marker": "|", "markersize": 9, "markeredgewidth": 1.1, "linestyle": ""}
    style.legend_below(canvas, 2, more=[Line2D([], [], color="#5c5c5c", label=words, **bar)])
    columns = ["method", "variant", "N", "d", "eps", "epochs", "length", "eta", "step", "mean", "se", "ci_lo", "ci_hi", "n",
             "n_diverged", "noise", "noise_by_nodes"]  # fmt: skip
    return Drawing(canvas, rows[[name for name in columns if name in rows]])


FIGURES = {"momentum_epochs": (draw, (EPOCHS,))}
COLUMNS: dict[str, Column] = {
    "problem": "{problem}",
    "d": "{d:g}",
    "eps": lambda r: "no noise" if math.isinf(r["eps"]) else f"{r['eps']:g}",
    "N": "{N:,.0f}",
    "method": lambda r: METHODS[r["method"]] + ("" if _by_iterates(r) else ", by nodes"),
    "grad norm / G": "{mean:#.3g} [{ci_lo:#.3g}, {ci_hi:#.3g}]",
    "F": "{objective:.4f}",
    "norm of w": "{param_norm:.3f}",
    "best of": "{settings}",
    "epochs": "{epochs:g}",
    "step": "{tuned:.3g}",
    "alpha N": lambda r: "-" if r["method"] == "descent" else f"{r['alpha_n']:.3g}",
    "at an end": lambda r: r["ends"] or "-",
    "diverged": "{n_diverged} of {n}",
}


def _by_iterates(record: dict[str, Any]) -> bool:
    """Whether the noise is what the iterates need, as of every method but a part of Algorithm 2's settings."""
    return record["method"] != "reduced" or str(record["accountant"]).startswith("certified-iterates")


NOTE = (
    "delta = 1e-5, replaced records, all noise calibrated exactly: Algorithm 2 by its iterates, certified for every "
    "position of a record, or, where named so, by the release of all nodes. 'Best of' counts a method's settings. The "
    "best setting is read off the same runs, which is not private, and a little too good for every method. Step: length "
    "of the path, for descent eta. At an end: where the grid does not go on beyond the best setting, so that a better one "
    "may lie there. Last iterates; 95% intervals over replicates. In every row: {same}."
)


def build(experiments: Sequence[str], results: Path) -> Content:
    """Final |grad F| / G of the best setting of every method, with F and the parameter's norm."""
    records = [{str(k): v for k, v in row.items()} for row in best_rows(results, experiments).to_dict("records")]
    head, rows, *_ = by_column(COLUMNS, records, "")
    head, rows, same = without_constants(head, rows, but=("at an end", "diverged"))
    return Content(head, rows, NOTE.format(same=", ".join(f"{name} = {value}" for name, value in same)), records)


MOMENTUM_TABLES = tuple(
    Table(name, title, "momentum", experiments, partial(build, experiments))
    for name, title, experiments in (
        ("momentum_tuned", "Tuned methods", TUNED),
        ("momentum_grid", "Tuned methods on three problems, and at N = 100,000", GRIDS),
    )
)
