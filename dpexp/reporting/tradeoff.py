"""Tests of one record: error rates of an attacker, of every analysis and of what is attained, as table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dpexp.accounting.curve import Curve
from dpexp.core.terminal import each
from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.reporting.drawing import Drawing, Written, laid_out, put

CURVE = (*(round(10 ** (-4 + k / 6), 12) for k in range(24)), 0.9, 0.99)
"""false positive rates of a curve: 1e-4 to 0.68, six a decade, and two close to 1"""
RATES = (1e-3, 1e-2, 1e-1)
"""false positive rates of the table"""
PRIOR = 0.5
"""probability that the record is there, of the Bayes error"""
GUARANTEE, ATTAINED = "guarantee", "attained"
SAYS = (
    "A guarantee: no test of one data set against a neighbour does better, whichever of the two has the record.",
    "Attained: no guarantee can promise less than this, since it is what one pair of neighbours shows.",
)


@dataclass(frozen=True)
class Row:
    """The answers of one analysis, or of one pair of neighbours."""

    name: str
    released: str
    profile: Curve

    @property
    def role(self) -> str:
        return ATTAINED if self.profile.side == "below" else GUARANTEE

    @cached_property
    def curve(self) -> list[tuple[float, float]]:
        """False positive and false negative rates."""
        return [(rate, self.profile.beta(rate, True)) for rate in CURVE]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`."""
        own = self.profile
        return {
            "analysis": self.name,
            "released": self.released,
            "role": self.role,
            "tpr": [[rate, own.tpr(rate)] for rate in RATES],
            "bayes_error": [[PRIOR, own.bayes_error(PRIOR)]],
            "advantage": own.advantage,
            "curve": [[rate, beta] for rate, beta in self.curve],
        }

    def cells(self) -> list[str]:
        """A line of the table: of a guarantee what helps the attacker is rounded up, of what is attained down."""
        own = self.profile
        more, less = (down, up) if self.role == ATTAINED else (up, down)
        rates = (more(own.tpr(rate)) for rate in RATES)
        mark = ATTAINED if self.role == ATTAINED else ""
        return [self.name, self.released, *rates, more(own.advantage), less(own.bayes_error(PRIOR)), mark]


class Attacker:
    """Tests of one record, by each analysis and by what is attained."""

    def __init__(self, analyses: Sequence[Analysis], lower: Sequence[Analysis]) -> None:
        self.rows = [Row(a.name, a.released, a) for a in (*(a for a in analyses if a.valid), *lower)]

    def document(self) -> dict[str, Any]:
        """The key `tradeoff` of `dpexp privacy --json`."""
        return {"statements": [row.document() for row in each(self.rows, "attack", lambda row: row.name)]}

    def text(self) -> str:
        """A table to read."""
        head = ["analysis", "released", *(f"TPR @ FPR {rate:g}" for rate in RATES), "advantage", "Bayes error", ""]
        rows = [row.cells() for row in each(self.rows, "attack", lambda row: row.name)]
        lines = ["Tests of one record", "", *columns(rows, head).splitlines(), "", *SAYS]
        return "\n".join("  " + line if line else "" for line in lines)

    def best(self, released: str) -> tuple[Row | None, Row | None]:
        """The guarantee with the least advantage, and the attained value with the largest.

        What covers all iterates covers the last one, and what the last iterate shows all of them show.
        """
        last = released == "last-iterate"
        promised = [r for r in self.rows if r.role == GUARANTEE and (last or r.released == released)]
        shown = [r for r in self.rows if r.role == ATTAINED and (not last or r.released == released)]
        return (
            min(promised, key=lambda r: r.profile.advantage, default=None),
            max(shown, key=lambda r: r.profile.advantage, default=None),
        )

    def written(self, name: str, setting: str, out: Path) -> Written:
        """The figure, its numbers and its caption, in files."""
        import matplotlib as mpl

        mpl.use("agg")
        file = f"tradeoff_{name.replace('-', '_')}"
        return put(file, laid_out(partial(_draw, self, name, setting)).files(file, ("png", "pdf")), out)


def _draw(attacker: Attacker, name: str, setting: str) -> Drawing:
    """True against false positive rates, a panel for each release: the band between guarantee and attack."""
    import matplotlib.pyplot as plt
    import pandas as pd

    from dpexp.reporting.style import BAND_ALPHA, log_log

    kinds = [kind for kind in ("all-iterates", "last-iterate") if any(attacker.best(kind))]
    if len(kinds) == 2 and attacker.best(kinds[0]) == attacker.best(kinds[1]):
        kinds = kinds[:1]
    canvas, panels = plt.subplots(1, len(kinds), figsize=(3.4 * len(kinds), 3.2), sharey=True, squeeze=False)
    numbers = []
    for axes, kind in zip(panels[0], kinds, strict=True):
        promised, shown = attacker.best(kind)
        axes.plot(CURVE, CURVE, color="#8a8a8a", lw=0.9, ls=":", label="guessing")
        curves = {}
        for row, colour, style in ((shown, "#a50f4c", (0, (4, 1.6))), (promised, "#2b6cb8", "-")):
            if row is None:
                continue
            curves[row.role] = [1 - beta for _, beta in row.curve]
            axes.plot(CURVE, curves[row.role], color=colour, ls=style, label=f"{row.role}: {row.name}")
            numbers += [
                {"released": kind, "role": row.role, "analysis": row.name, "fpr": rate, "fnr": beta}
                for rate, beta in row.curve
            ]
        if len(curves) == 2:
            axes.fill_between(CURVE, curves[GUARANTEE], curves[ATTAINED], color="#7a4fa3", alpha=BAND_ALPHA, lw=0)
        log_log(axes)
        axes.set_ylim(CURVE[0], 1.1)
        axes.set_xlim(CURVE[0], 1.1)
        axes.set_title(kind)
        axes.set_xlabel("false positive rate")
        axes.legend(loc="lower right", frameon=False, fontsize=7.5)
    panels[0][0].set_ylabel("true positive rate")
    canvas.tight_layout()
    caption = (
        f"Largest true positive rate of a test for a record against its false positive rate, {name}: "
        "no test lies above the guarantee, for either order of the neighbours, and no guarantee can lie below what is "
        f"attained. The truth lies in the band. Parameters: {setting}."
    )
    return Drawing(canvas, pd.DataFrame(numbers), caption)
