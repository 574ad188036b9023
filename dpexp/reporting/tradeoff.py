"""What a test can tell: error rates of an attacker, of every analysis and of what is attained, as table and figure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

from dpexp.accounting.curve import Curve, Group
from dpexp.core.terminal import each
from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.analyses.groups import group_profile
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.reporting.drawing import Drawing, Written, laid_out, put

CURVE = (*(round(10 ** (-4 + k / 6), 12) for k in range(24)), 0.9, 0.99)
"""false positive rates of a curve: 1e-4 to 0.68, six a decade, and two close to 1"""
GUARANTEE, ATTAINED = "guarantee", "attained"
SAYS = (
    "A guarantee: no test of one data set against a neighbour does better, whichever of the two has the record.",
    "Attained: no guarantee can promise less than this, since it is what one pair of neighbours shows.",
)

DIRECT, GENERIC = "own", "generic"
ALL_OR_NONE = (
    "Own law of the group: of records that are all there or all absent. Where some are added and others removed, the "
    "other lines hold."
)


@dataclass(frozen=True)
class Questions:
    """What is asked of every analysis."""

    eps: tuple[float, ...] = ()
    """delta at these epsilons"""
    fpr: tuple[float, ...] = ()
    """true positive rates at these false positive rates"""
    priors: tuple[float, ...] = ()
    """Bayes errors at these probabilities that the record is there"""
    advantage: bool = False
    group: int = 1
    """records that are protected together"""
    curve: bool = False
    deltas: tuple[float, ...] = ()
    """epsilon of a group at these"""

    def at(self, deltas: Sequence[float]) -> Questions:
        """With the deltas of a statement, whose epsilons are those of one record, where a group is asked for."""
        return replace(self, deltas=tuple(deltas)) if self.group > 1 else self


@dataclass(frozen=True)
class Row:
    """The answers of one analysis, or of one pair of neighbours."""

    name: str
    released: str
    profile: Curve
    group: int
    mark: str = ""
    together: Curve | None = None
    """of the group, where its own law is known; else the generic conversion holds"""

    @property
    def role(self) -> str:
        return ATTAINED if self.profile.side == "below" else GUARANTEE

    @cached_property
    def answers(self) -> Curve | Group:
        """Of the group where one is asked for."""
        if self.together is not None:
            return self.together
        return self.profile if self.profile.side == "below" or self.group == 1 else Group(self.profile, self.group)

    @cached_property
    def curve(self) -> list[tuple[float, float]]:
        """False positive and false negative rates."""
        return [(rate, self.answers.beta(rate, True)) for rate in CURVE]

    def document(self, asked: Questions) -> dict[str, Any]:
        """With the keys of `dpexp privacy --json`."""
        own, size = self.answers, 1 if self.profile.side == "below" else self.group
        found: dict[str, Any] = {
            "analysis": self.name,
            "released": self.released,
            "role": self.role,
            "group": size,
            "group_law": None
            if self.profile.side == "below" or self.group == 1
            else DIRECT
            if self.together
            else GENERIC,
            "eps": [[delta, own.eps(delta)] for delta in asked.deltas],
            "delta": [[eps, own.delta(eps)] for eps in asked.eps],
            "tpr": [[rate, own.tpr(rate)] for rate in asked.fpr],
            "bayes_error": [[prior, own.bayes_error(prior)] for prior in asked.priors],
            "advantage": own.advantage if asked.advantage else None,
        }
        return {**found, "curve": [[rate, beta] for rate, beta in self.curve]} if asked.curve else found

    def cells(self, asked: Questions) -> list[str]:
        """A line of the table: of a guarantee what helps the attacker is rounded up, of what is attained down."""
        own = self.answers
        more, less = (down, up) if self.profile.side == "below" else (up, down)
        return [
            self.name,
            self.released,
            *(more(own.eps(delta)) for delta in asked.deltas),
            *(more(own.delta(eps)) for eps in asked.eps),
            *(more(own.tpr(rate)) for rate in asked.fpr),
            *([more(own.advantage)] if asked.advantage else []),
            *(less(own.bayes_error(prior)) for prior in asked.priors),
            self.mark,
        ]


class Attacker:
    """The answers to some questions about a statement."""

    def __init__(self, analyses: Sequence[Analysis], lower: Sequence[LowerBound], asked: Questions) -> None:
        self.asked = asked
        rows = [_promised(a, asked.group) for a in analyses if a.valid]
        one = " (of one record)" if asked.group > 1 else ""
        rows += [Row(b.name, b.released, Curve(b.eps, "below"), 1, f"attained{one}") for b in lower]
        self.rows = rows

    def document(self) -> dict[str, Any]:
        """The key `tradeoff` of `dpexp privacy --json`."""
        return {
            "group": self.asked.group,
            "statements": [row.document(self.asked) for row in each(self.rows, "attack", lambda row: row.name)],
        }

    def text(self) -> str:
        """A table to read."""
        asked = self.asked
        head = [
            "analysis",
            "released",
            *(f"eps @ delta {delta:g}" for delta in asked.deltas),
            *(f"delta @ eps {eps:g}" for eps in asked.eps),
            *(f"TPR @ FPR {rate:g}" for rate in asked.fpr),
            *(["advantage"] if asked.advantage else []),
            *("Bayes error" + ("" if prior == 0.5 else f" @ prior {prior:g}") for prior in asked.priors),
            "",
        ]
        rows = [row.cells(asked) for row in each(self.rows, "attack", lambda row: row.name)]
        told = "one record" if asked.group == 1 else f"a group of {asked.group} records"
        own = [ALL_OR_NONE] if any(row.together for row in self.rows) else []
        lines = [f"What a test can tell of {told}", "", *columns(rows, head).splitlines(), "", *SAYS, *own]
        return "\n".join("  " + line if line else "" for line in lines)

    def best(self, released: str) -> tuple[Row | None, Row | None]:
        """The guarantee with the least advantage, and the attained value with the largest.

        What covers all iterates covers the last one, and what the last iterate shows all of them show.
        """
        last = released == "last-iterate"
        promised = [r for r in self.rows if r.role == GUARANTEE and (last or r.released == released)]
        shown = [r for r in self.rows if r.role == ATTAINED and (not last or r.released == released)]
        return (
            min(promised, key=lambda r: r.answers.advantage, default=None),
            max(shown, key=lambda r: r.answers.advantage, default=None),
        )

    def written(self, name: str, setting: str, out: Path) -> Written:
        """The figure, its numbers and its caption, in files."""
        import matplotlib as mpl

        mpl.use("agg")
        file = f"tradeoff_{name.replace('-', '_')}"
        return put(file, laid_out(partial(_draw, self, name, setting)).files(file, ("png", "pdf")), out)


def _promised(analysis: Analysis, size: int) -> Row:
    """An analysis, with the law of the group where one is asked for and it is known."""
    together = group_profile(analysis, size) if size > 1 else None
    mark = "own law of the group" if together else ""
    return Row(analysis.name, analysis.released, analysis.curve, size, mark, together)


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
    group = f", of a group of {attacker.asked.group} records" if attacker.asked.group > 1 else ""
    caption = (
        f"Largest true positive rate of a test for a record{group} against its false positive rate, {name}: "
        "no test lies above the guarantee, for either order of the neighbours, and no guarantee can lie below what is "
        f"attained. The truth lies in the band. Parameters: {setting}."
    )
    return Drawing(canvas, pd.DataFrame(numbers), caption)
