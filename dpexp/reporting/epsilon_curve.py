"""Epsilon of a mechanism against one or two of its parameters: guarantees and what pairs of neighbours attain.

The truth lies between the least valid guarantee and the largest attained value. A table has a line for each setting and
delta; a figure has a panel for each release, with the band between both; JSON and CSV have a row for each number.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from dpexp.core.terminal import each
from dpexp.core.text import Printed, columns, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.reporting.mechanism_statement import MechanismStatement

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpexp.reporting.drawing import Drawing, Written

GUARANTEE, ATTAINED, REFUSED = "guarantee", "attained", "refused"
FAR = 100.0
"""times the best guarantee: what is nowhere below is named in the caption, and not drawn"""
WIDE = 10.0
"""ratio of the swept values from which on their axis is logarithmic"""
COLOURS = ("#2b6cb8", "#e0701a", "#2a9d6f", "#7a4fa3", "#a50f4c", "#c9a300", "#5c5c5c", "#8fb8de")


class Setting(NamedTuple):
    """One point of a sweep."""

    values: Mapping[str, float]
    """of the swept parameters"""
    mechanism: Mechanism


class Row(NamedTuple):
    """One number."""

    values: Mapping[str, float]
    delta: float
    analysis: str
    released: str
    secret: str
    role: str
    eps: float
    """inf where nothing is guaranteed"""
    reason: str

    def document(self) -> dict[str, Any]:
        """As plain numbers."""
        found = self._asdict()
        values = found.pop("values")
        return {**values, **found, "eps": self.eps if math.isfinite(self.eps) else None}


@dataclass(frozen=True)
class EpsilonCurve(Printed):
    """A sweep over one or two parameters of a mechanism."""

    name: str
    fixed: Mapping[str, Any]
    over: Mapping[str, Sequence[float]]
    deltas: tuple[float, ...]
    settings: tuple[Setting, ...]

    @cached_property
    def rows(self) -> list[Row]:
        """Every number of every setting."""
        return [row for setting in each(self.settings, "setting", _label) for row in self._of(setting)]

    def _of(self, setting: Setting) -> Iterable[Row]:
        stated = MechanismStatement(self.name, setting.mechanism, self.deltas)
        for a in stated.analyses:
            role = GUARANTEE if a.valid else REFUSED
            promised = a.at(self.deltas) if a.valid else [math.inf] * len(self.deltas)
            for delta, eps in zip(self.deltas, promised, strict=True):
                yield Row(setting.values, delta, a.name, a.released, a.secret, role, eps, a.refused)
        for b in stated.lower:
            for delta, eps in zip(self.deltas, b.at(self.deltas), strict=True):
                yield Row(setting.values, delta, b.name, b.released, "", ATTAINED, eps, "")

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --over --json`."""
        return {
            "mechanism": self.name,
            "parameters": dict(self.fixed),
            "over": {key: list(values) for key, values in self.over.items()},
            "delta": list(self.deltas),
            "rows": [row.document() for row in self.rows],
        }

    def text(self) -> str:
        """One line for each setting and delta; the best guarantee of a line has a star."""
        shown = list(dict.fromkeys((r.analysis, r.role == ATTAINED) for r in self.rows if r.role != REFUSED))
        shown.sort(key=lambda pair: pair[1])
        by_place = {(_label(r), r.delta, r.analysis, r.role == ATTAINED): r for r in self.rows}
        head = [*self.over, "delta", *(f"{name} (attained)" if low else name for name, low in shown)]
        lines = []
        for setting in self.settings:
            for delta in self.deltas:
                here = [by_place.get((_label(setting), delta, *pair)) for pair in shown]
                best = min((r.eps for r in here if r and r.role == GUARANTEE and not r.secret), default=math.inf)
                cells = [_cell(r, best) for r in here]
                lines.append([*(f"{v:g}" for v in setting.values.values()), f"{delta:g}", *cells])
        last = sorted({r.analysis for r in self.rows if r.released == LAST and r.role != REFUSED})
        refused = dict.fromkeys(f"{r.analysis}: {r.reason}" for r in self.rows if r.role == REFUSED)
        fixed = ", ".join(f"{key} = {value}" for key, value in self.fixed.items())
        return "\n".join(
            [
                f"{self.name}: {fixed}" if fixed else self.name,
                "",
                *("  " + line for line in columns(lines, head).splitlines()),
                "",
                "  Guarantees are rounded up, and what a pair of neighbours attains is rounded down. * best guarantee",
                *([f"  Of the last iterate alone: {', '.join(last)}"] if last else []),
                *(f"  refused somewhere: {one}" for one in refused),
            ]
        )

    # --- figure -----------------------------------------------------------------------------------------------------

    def written(self, out: Path, formats: Sequence[str]) -> Written:
        """The figure, its numbers and its caption, in files."""
        import matplotlib as mpl

        from dpexp.reporting.drawing import laid_out, put

        mpl.use("agg")
        file = f"epsilon_{self.name.replace('-', '_')}_{'_'.join(self.over)}"
        return put(file, laid_out(self.draw).files(file, formats), out)

    def draw(self) -> Drawing:
        """A panel for each release: guarantees solid, attained dashed, a band between the best of both."""
        import pandas as pd

        from dpexp.reporting import style
        from dpexp.reporting.drawing import Drawing

        kinds = [kind for kind in (ALL, LAST) if any(r.released == kind and r.role != REFUSED for r in self.rows)]
        canvas, panels = style.panels(4.2 * len(kinds), 3.4, len(kinds), log=False, sharey=True)
        left_out: dict[str, None] = {}
        for axes, kind in zip(panels, kinds, strict=True):
            left_out |= dict.fromkeys(self._panel(axes, kind))
        x = next(iter(self.over))
        panels[0].set_ylabel(r"$\epsilon$")
        for axes, kind in zip(panels, kinds, strict=True):
            axes.set(xlabel=x, title=kind)
            axes.legend(frameon=False, fontsize=7)
        fixed = ", ".join(f"{key} = {value}" for key, value in self.fixed.items())
        deltas = " and ".join(f"{delta:g}" for delta in self.deltas)
        caption = (
            f"Epsilon of {self.name} against {x} at delta = {deltas}: guarantees (solid), what pairs of neighbours "
            f"attain (dashed), and between the best of both the band in which the truth lies. Parameters: "
            f"{fixed or 'none'}."
        )
        caption += f" Not drawn, more than {FAR:g} times the best: {', '.join(left_out)}." if left_out else ""
        return Drawing(canvas, pd.DataFrame([row.document() for row in self.rows]), caption)

    def _panel(self, axes: Axes, kind: str) -> list[str]:
        """Draws one release; the names of what is too far above the best."""
        from dpexp.reporting import style

        x, *others = self.over
        values = self.over[x]
        if min(values) > 0 and max(values) > WIDE * min(values):
            style.logarithmic(axes, "x")
        style.logarithmic(axes, "y")
        far: list[str] = []
        place = 0
        for delta in self.deltas:
            for second in self.over[others[0]] if others else [math.nan]:
                rows = [
                    r
                    for r in self.rows
                    if r.delta == delta and r.role != REFUSED and (not others or r.values[others[0]] == second)
                ]
                # what covers all iterates covers the last one, and what the last one shows all of them show
                high = [r for r in rows if r.role == GUARANTEE and (kind == LAST or r.released == ALL)]
                low = [r for r in rows if r.role == ATTAINED and (kind == ALL or r.released == LAST)]
                public = [r for r in high if not r.secret]
                best = [min((r.eps for r in public if r.values[x] == v), default=math.inf) for v in values]
                most = [max((r.eps for r in low if r.values[x] == v), default=math.nan) for v in values]
                label = f"{others[0]} = {second:g}" if others else ""
                label += f"{', ' if label else ''}delta = {delta:g}" if len(self.deltas) > 1 else ""
                if others or len(self.deltas) > 1:
                    colour = COLOURS[place % len(COLOURS)]
                    place += 1
                    axes.plot(values, best, "-", color=colour, label=label)
                    axes.plot(values, most, "--", color=colour)
                else:
                    for name in dict.fromkeys(r.analysis for r in high):
                        own = {r.values[x]: r for r in high if r.analysis == name}
                        if all(r.eps > FAR * b for (v, r), b in zip(own.items(), best, strict=False)):
                            far.append(name)
                            continue
                        secret = next(iter(own.values())).secret
                        line = [own[v].eps if v in own else math.nan for v in values]
                        colour, shown = COLOURS[place % len(COLOURS)], f"{name}, {secret} secret" if secret else name
                        axes.plot(values, line, ":" if secret else "-", color=colour, label=shown)
                        place += 1
                    if low:
                        axes.plot(values, most, "--", color="#111111", label="attained")
                    colour = "#7a4fa3"
                inside = [math.isfinite(a) and math.isfinite(b) for a, b in zip(most, best, strict=True)]
                axes.fill_between(values, most, best, where=inside, color=colour, alpha=style.BAND_ALPHA, lw=0)
        return far


def _label(one: Setting | Row) -> str:
    return ", ".join(f"{key} = {value:g}" for key, value in one.values.items())


def _cell(row: Row | None, best: float) -> str:
    if row is None or not math.isfinite(row.eps):
        return "-"
    if row.role == ATTAINED:
        return down(row.eps)
    return up(row.eps) + (" *" if row.eps == best and not row.secret else "")
