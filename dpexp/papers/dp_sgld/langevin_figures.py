"""Figures of `dp-sgld`: where Theorem 3.1 fails, and the noise that (1, 1e-5) needs under each way to draw batches.

(a) Where the theorem fails: the smallest order at which the printed bound is below an exact divergence.
(b) The noise is a bracket for each scheme. The upper end is the least with which an analysis of exactly this scheme and
these neighbours states the target. The lower end is the largest with which a pair of neighbours still attains more than
the target: with less noise than that the target is missed, whatever is proved some day.
"""

from __future__ import annotations

import math
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.accounting.least_noise import least_noise
from dpexp.accounting.sampling import Relation
from dpexp.accounting.search import first_whole
from dpexp.core.text import counted
from dpexp.papers.dp_sgld.cases import CASES
from dpexp.papers.dp_sgld.exact_law import LANGEVIN_ORDERS, QuadraticLangevin
from dpexp.privacy.analyses.analysis import ALL
from dpexp.privacy.mechanisms.epoch_gaussian import EpochGaussian
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing

PANELS = ((0.5, 1), (0.5, 10))
"""eta lambda and number of steps"""
SHIFTS = np.geomspace(0.2, 16, 23)
PROBABILITIES = np.geomspace(1e-4, 0.5, 14)
SHIFT_TICKS = (0.25, 0.5, 1, 2, 4, 8, 16)
MARKED = "settings of the counterexamples"
RULE = r"$8\,v\,\log(1/q)\,/\,s^2 = 128$, where $v$ is the variance of the output over that of one step's noise"
LEVELS, SHADES = (2, 16, 128), ("#8c1245", "#f0973c", "#8fb8de")


def draw_region(results: Path) -> Drawing:
    """A panel a number of steps: lines of the smallest order that fails, settings of the counterexamples as points."""
    import pandas as pd

    canvas, axes = style.panels(7.2, 3.7, 2, log=False, sharex=True, sharey=True)
    rows = []
    for panel, (eta_lambda, steps) in zip(axes, PANELS, strict=True):
        order = np.array([[failing(eta_lambda, steps, float(q), float(s)) for s in SHIFTS] for q in PROBABILITIES])
        title = rf"$\eta\lambda$ = {eta_lambda:g}, $K$ = {steps}"
        panel.set(xlim=SHIFTS[[0, -1]], ylim=PROBABILITIES[[0, -1]], xscale="log", yscale="log", title=title)
        # outside of the outermost line no order fails
        contours = panel.contour(SHIFTS, PROBABILITIES, np.minimum(order, 2 * LEVELS[-1]), levels=LEVELS, colors=SHADES)
        panel.clabel(contours, fmt="order %g", fontsize=8)
        if steps == 1:
            # order = 8 log(1/q) v / shift^2 at order 128: where the failing orders come into view
            q = np.geomspace(PROBABILITIES[0], 0.3, 60)
            shift = np.sqrt(8 * np.log(1 / q) * QuadraticLangevin(eta_lambda, 1, 0.1, 1.0).variance / 128)
            panel.plot(shift, q, color="#333333", linestyle=":", linewidth=1.1, label=RULE)
        # full batches have no place on this axis
        cases = [c for c in CASES if (c.eta * c.strong_convexity, c.steps) == (eta_lambda, steps) and c.q < 1]
        looks: dict[str, Any] = {"color": "#2b6cb8", "markeredgecolor": "white", "markersize": 7, "label": MARKED}
        panel.plot([case.shift for case in cases], [case.q for case in cases], "o", **looks)
        style.ticks_at(panel, SHIFT_TICKS)
        panel.set_xlabel("shift $s$ of one step, in sd of its noise")
        panel.grid(False)
        rows += [
            (eta_lambda, steps, s, q, order[i, j]) for i, q in enumerate(PROBABILITIES) for j, s in enumerate(SHIFTS)
        ]
    axes[0].set_ylabel("sampling probability $q$")
    style.legend_below(canvas, 1)
    return Drawing(canvas, pd.DataFrame(rows, columns=["eta_lambda", "steps", "shift", "q", "order"]))


def failing(eta_lambda: float, steps: int, q: float, shift: float) -> float:
    """The first of the tested orders that fails, inf where none does; all orders above a failing one fail."""
    bed = QuadraticLangevin(eta_lambda, steps, q, shift)
    first = first_whole(lambda k: bed.ratio(LANGEVIN_ORDERS[k]) > 1, -1, len(LANGEVIN_ORDERS))
    return LANGEVIN_ORDERS[first] if first < len(LANGEVIN_ORDERS) else math.inf


EPS, DELTA = 1.0, 1e-5
SETTINGS = ((16, 1), (16, 10), (128, 10))
"""batches of an epoch, epochs: every record is used once in an epoch, or once on average"""
GROUPS = 5
"""public groups of cyclic Poisson sampling; batches are as large as those of the others on average"""
TOLERANCE = 1e-4
"""of the noise, relative"""
SCHEMES: tuple[tuple[str, str, tuple[Relation, ...]], ...] = (
    ("balls-in-bins", "balls in bins", ("add-remove", "replace-one")),
    ("reshuffled", "a new order in every epoch", ("add-remove", "replace-one")),
    ("shuffled", "one order for all epochs", ("add-remove", "replace-one")),
    ("poisson", "Poisson", ("add-remove", "replace-one")),
    ("cyclic-poisson", f"cyclic Poisson, {GROUPS} groups", ("add-remove",)),
    ("fixed-size", "fixed size", ("replace-one",)),
)
"""ways to draw batches, in words, and the neighbours; those with one lower law follow each other"""


def mechanism_of(sampling: str, relation: Relation, batches: int, epochs: int, z: float) -> Mechanism:
    """Batches drawn in this way, with noise multiplier z."""
    kind: type[Mechanism] = EpochGaussian
    own: dict[str, Any] = {"batches": batches, "epochs": epochs}
    if sampling in ("poisson", "fixed-size"):
        kind, own = SampledGaussian, {"sampling_probability": 1 / batches, "steps": batches * epochs}
    elif sampling == "cyclic-poisson":
        # a group has its turn in every GROUPS-th step, so that its records are drawn GROUPS times as often then
        cycles, unfinished = divmod(batches * epochs, GROUPS)
        own = {"batches": GROUPS, "epochs": cycles, "sampling_probability": GROUPS / batches}
        # as many steps as the others, though groups have their turns in cycles
        own |= {"unfinished": unfinished or None}
    return kind.model_validate({"noise_multiplier": z, "sampling": sampling, "neighboring_relation": relation, **own})


def bracket(sampling: str, relation: Relation, batches: int, epochs: int) -> tuple[float, float]:
    """(low, high) of the noise multiplier for epsilon 1 at delta 1e-5, of all iterates."""
    # a replaced record of an order attains what a removed one does at half the noise, whose laws are kept
    unit = 2.0 if relation == "replace-one" and sampling in ("reshuffled", "shuffled") else 1.0

    def states(z: float) -> float:
        bounds = mechanism_of(sampling, relation, batches, epochs, unit * z).upper_bounds()
        return min(a.eps(DELTA) for a in bounds if a.valid and a.released == ALL)

    def attains(z: float) -> float:
        return max(b.eps(DELTA) for b in mechanism_of(sampling, relation, batches, epochs, unit * z).lower_bounds())

    high, low = (unit * least_noise(of, EPS, TOLERANCE) for of in (states, attains))
    # the search ends a little above the noise that it looks for, where more than the target is no longer attained
    return min(high, low * (1 - 2 * TOLERANCE)), high


TICKS = (1, 2, 5, 10, 20)
COLOURS = {"add-remove": "#2b6cb8", "replace-one": "#e0701a"}


def rows() -> dict[tuple[str, str], list[dict[str, Any]]]:
    """By neighbours and scheme, a record of each setting; schemes with the least noise first."""
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for (batches, epochs), (sampling, words, relations) in product(SETTINGS, SCHEMES):
        for relation in relations:
            low, high = bracket(sampling, relation, batches, epochs)
            groups.setdefault((relation, words), []).append(
                {"neighboring_relation": relation, "sampling": sampling, "batches": batches, "epochs": epochs,
                 "eps": EPS, "delta": DELTA, "noise_multiplier_low": low, "noise_multiplier": high}
            )  # fmt: skip
    return dict(sorted(groups.items(), key=lambda item: (item[0][0], sum(r["noise_multiplier"] for r in item[1]))))


def draw_noise(results: Path) -> Drawing:
    """One panel for each setting, one line for each scheme: its bracket on a logarithmic axis."""
    import pandas as pd

    records = rows()
    canvas, panels = style.panels(10.5, 3.9, len(SETTINGS), log=False, sharey=True)
    places = range(len(records), 0, -1)
    for k, (axes, (batches, epochs)) in enumerate(zip(panels, SETTINGS, strict=True)):
        for place, ((relation, _), needs) in zip(places, records.items(), strict=True):
            ends, colour = [needs[k]["noise_multiplier_low"], needs[k]["noise_multiplier"]], COLOURS[relation]
            axes.plot(ends, [place, place], color=colour, linewidth=3.5, alpha=0.45, solid_capstyle="butt")
            axes.plot(ends[1], place, "o", color=colour, markersize=5)
        axes.set(xscale="log", xlim=(1, 30))
        style.ticks_at(axes, TICKS)
        axes.set(xlabel="noise multiplier $z$", title=f"{batches} batches, {counted(epochs, 'epoch')}")
        axes.grid(axis="y", linewidth=0.4)
    panels[0].set_yticks(list(places), [words for _, words in records])
    for relation, colour in COLOURS.items():
        panels[0].plot([], [], "o-", color=colour, label=f"{relation}: attained (left end) and proved (dot)")
    style.legend_below(canvas, 2)
    return Drawing(canvas, pd.DataFrame([record for needs in records.values() for record in needs]))


FIGURES = {"dp_sgld_region": (draw_region, ()), "sampling_noise": (draw_noise, ())}
