"""The map of what is attained on bounded sets, before and after the search for the worst pair: a table and a figure."""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.core.text import down, up
from dpexp.privacy.pairs.shipped import DELTA, Entry, stored
from dpexp.reporting import style
from dpexp.reporting.figure import Drawing, Figure
from dpexp.reporting.table import Content, Table

LOOKS = {
    ("clipped", "fixed-size"): ("#a50f4c", "o"),
    ("clipped", "poisson"): ("#e0701a", "s"),
    ("clipped", "full-batch"): ("#7a4fa3", "^"),
    ("convex", "fixed-size"): ("#2b6cb8", "o"),
    ("convex", "poisson"): ("#2a9d6f", "s"),
    ("convex", "full-batch"): ("#555555", "^"),
}


def _record(entry: Entry) -> dict[str, Any]:
    space = entry.walled
    return {
        "losses": "convex" if space.convex else "clipped",
        "sampling": space.sampling,
        "neighboring_relation": entry.mechanism.neighboring_relation,
        "n": space.n,
        "batch_size": space.batch_size,
        "steps": space.steps,
        "width": 2 * space.half_width,
        "reach": space.reach,
        "curvature": space.bend,
        "bound": entry.bound,
        "analysis": entry.analysis,
        "before": entry.before,
        "after": entry.after,
        "gain": entry.after / entry.before,
    }


def records() -> list[dict[str, Any]]:
    """One dict for each mechanism of the map, in its order."""
    return [_record(entry) for entry in stored()]


def _median(found: Sequence[dict[str, Any]], losses: str) -> float:
    return statistics.median(r["gain"] for r in found if r["losses"] == losses)


def build(results: Path) -> Content:
    """One row for each mechanism: what bounds its last iterate, and what pairs attain."""
    found = records()
    rows = [
        [
            r["losses"], r["sampling"], r["neighboring_relation"], f"{r['n']:,}", f"{r['batch_size']:,}",
            f"{r['steps']:,}", f"{r['width']:g}", f"{r['reach']:g}", f"{r['curvature']:g}",
            f"{up(r['bound'], 4)} ({r['analysis']})", down(r["before"], 4), down(r["after"], 4),
            f"{r['bound'] / r['before']:.3g}", f"{r['bound'] / r['after']:.3g}", f"{r['gain']:.2f}",
        ]
        for r in found
    ]  # fmt: skip
    head = ["losses", "sampling", "neighbours", "n", "b", "T", "width", "u", "eta m", "bound on eps", "before", "after"]
    head += ["bound / before", "bound / after", "gain"]
    note = (
        f"Epsilon of the last iterate at delta = {DELTA:g}; width of the set and u = eta C over the noise of one step. "
        "Before: all others do nothing. After: the worst pair that a search found, certified by two exact laws, rounded "
        f"down. Median gain: {_median(found, 'clipped'):.2f} for clipped losses, {_median(found, 'convex'):.2f} for convex ones."
    )
    return Content(head, rows, note, found)


def draw(results: Path) -> Drawing:
    """Bound over attained, before against after: on the diagonal a search has found nothing, at 1 nothing is left."""
    import pandas as pd

    data = pd.DataFrame(records())
    canvas, (axes,) = style.panels(5.6, 4.9)
    for (losses, sampling), (colour, marker) in LOOKS.items():
        part = data[(data.losses == losses) & (data.sampling == sampling)]
        axes.scatter(
            part.bound / part.before, part.bound / part.after, s=26, color=colour, marker=marker, alpha=0.85,
            label=f"{losses}, {sampling}",
        )  # fmt: skip
    most = 1.6 * float((data.bound / data.before).max())
    for gain, line, words in ((1, "-", "nothing found"), (3, "--", "gain 3")):
        axes.plot([1, most], [1 / gain, most / gain], color="#999999", linewidth=1.0, linestyle=line)
        place = most / 7, most / (7 * gain)
        style.note(axes, words, place, (0, 0), rotation=45, ha="center", va="bottom", color="#666666")
    axes.set(xlim=(1, most), xlabel="bound over attained, the others do nothing")
    axes.set(ylim=(0.9, most), ylabel="bound over attained, worst pair found")
    axes.legend(frameon=False, fontsize=8, loc="upper left")
    return Drawing(canvas, data)


ATTAINED_MAP = Table(
    "attained_map", "what the last iterate attains, before and after a search", "hidden-state", (), build
)
ATTAINED_MAP_FIGURE = Figure(
    "attained_map",
    "The smallest valid bound on epsilon of the last iterate at delta = 1e-5 over what is attained, for mechanisms on "
    "bounded sets from tight to loose: with the pair in which all others do nothing, and with the worst pair that a "
    "search found. Stored certificates; nothing is simulated.",
    "hidden-state",
    "beyond the slides",
    (),
    draw,
)
