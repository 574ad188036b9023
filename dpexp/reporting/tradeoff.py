"""Tests of one record: error rates of an attacker, of every analysis and of what is attained, as table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from dpexp.core.terminal import each
from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.reporting.figure import Drawing, Written, laid_out, put

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


class Attacker:
    """Tests of one record, by each analysis and by what is attained."""

    def __init__(self, analyses: Sequence[Analysis], lower: Sequence[Analysis]) -> None:
        self.rows = [*(a for a in analyses if a.valid), *lower]
        self._curves: dict[int, list[float]] = {}

    def curve(self, row: Analysis) -> list[float]:
        """False negative rates at `CURVE`, each of which may be a search."""
        if id(row) not in self._curves:
            self._curves[id(row)] = [row.beta(rate, True) for rate in CURVE]
        return self._curves[id(row)]

    def document(self) -> dict[str, Any]:
        """The key `tradeoff` of `dpexp privacy --json`; `curve` has false positive and false negative rates."""
        return {"statements": [self._document(row) for row in each(self.rows, "attack", lambda row: row.name)]}

    def _document(self, row: Analysis) -> dict[str, Any]:
        return {"analysis": row.name, "released": row.released, "role": _role(row),
                "tpr": [[rate, row.tpr(rate)] for rate in RATES],
                "bayes_error": [[PRIOR, row.bayes_error(PRIOR)]], "advantage": row.advantage,
                "curve": [[rate, beta] for rate, beta in zip(CURVE, self.curve(row), strict=True)]}  # fmt: skip

    def text(self) -> str:
        """A table to read: of a guarantee what helps the attacker is rounded up, of what is attained down."""
        head = ["analysis", "released", *(f"TPR @ FPR {rate:g}" for rate in RATES), "advantage", "Bayes error", ""]
        rows = []
        for row in each(self.rows, "attack", lambda row: row.name):
            attained = _role(row) == ATTAINED
            more, less = (down, up) if attained else (up, down)
            numbers = [*(more(row.tpr(rate)) for rate in RATES), more(row.advantage), less(row.bayes_error(PRIOR))]
            rows.append([row.name, row.released, *numbers, ATTAINED * attained])
        lines = ["Tests of one record", "", *columns(rows, head).splitlines(), "", *SAYS]
        return "\n".join("  " + line if line else "" for line in lines)

    def best(self, released: str) -> tuple[Analysis | None, Analysis | None]:
        """The guarantee with the least advantage, and the attained value with the largest.

        What covers all iterates covers the last one, and what the last iterate shows all of them show.
        """
        last = released == LAST
        upper = [r for r in self.rows if _role(r) == GUARANTEE and (last or r.released == released)]
        lower = [r for r in self.rows if _role(r) == ATTAINED and (not last or r.released == released)]
        return (
            min(upper, key=lambda r: r.advantage, default=None),
            max(lower, key=lambda r: r.advantage, default=None),
        )

    def written(self, name: str, setting: str, out: Path) -> Written:
        """The figure, its numbers and its caption, in files."""
        file = f"tradeoff_{name.replace('-', '_')}"
        return put(file, laid_out(partial(self.draw, name, setting)).files(file, ("png", "pdf")), out)

    def draw(self, name: str, setting: str) -> Drawing:
        """True against false positive rates, a panel for each release: the band between guarantee and attack."""
        import pandas as pd

        from dpexp.reporting import style

        kinds = [kind for kind in (ALL, LAST) if any(self.best(kind))]
        if len(kinds) == 2 and self.best(ALL) == self.best(LAST):
            kinds = kinds[:1]
        canvas, panels = style.panels(3.4 * len(kinds), 3.2, len(kinds), sharey=True)
        numbers = []
        for axes, kind in zip(panels, kinds, strict=True):
            upper, lower = self.best(kind)
            axes.plot(CURVE, CURVE, color="#8a8a8a", lw=0.9, ls=":", label="guessing")
            curves = []
            for row, colour, dashes in ((lower, "#a50f4c", (0, (4, 1.6))), (upper, "#2b6cb8", "-")):
                if row is not None:
                    betas = self.curve(row)
                    curves.append([1 - beta for beta in betas])
                    axes.plot(CURVE, curves[-1], color=colour, ls=dashes, label=f"{_role(row)}: {row.name}")
                    about = {"released": kind, "role": _role(row), "analysis": row.name}
                    numbers += [{**about, "fpr": r, "fnr": beta} for r, beta in zip(CURVE, betas, strict=True)]
            if len(curves) == 2:
                axes.fill_between(CURVE, curves[1], curves[0], color="#7a4fa3", alpha=style.BAND_ALPHA, lw=0)
            axes.set(xlim=(CURVE[0], 1.1), ylim=(CURVE[0], 1.1), title=kind, xlabel="false positive rate")
            axes.legend(loc="lower right", frameon=False, fontsize=7.5)
        panels[0].set_ylabel("true positive rate")
        caption = (
            f"Largest true positive rate of a test for a record against its false positive rate, {name}: no test lies "
            "above the guarantee, for either order of the neighbours, and no guarantee can lie below what is "
            f"attained. The truth lies in the band. Parameters: {setting}."
        )
        return Drawing(canvas, pd.DataFrame(numbers), caption)


def _role(row: Analysis) -> str:
    return ATTAINED if row.side == "below" else GUARANTEE
