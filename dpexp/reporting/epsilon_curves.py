"""Epsilon of a mechanism against one or two of its parameters: guarantees and what pairs of neighbours attain.

The truth is between the least valid guarantee and the largest attained value. A table has a line for each setting and
delta; a figure has a panel for each release, with the band between both; JSON and CSV have a row for each number.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpexp.core.terminal import each
from dpexp.core.text import Printed, columns, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.reporting.statement import analyses_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from dpexp.reporting.figure import Drawing, Figure

GUARANTEE, ATTAINED, REFUSED = "guarantee", "attained", "refused"
FAR = 100.0
"""times the best guarantee: what is nowhere below is named in the caption, and not drawn"""
WIDE = 10.0
"""ratio of the swept values from which on their axis is logarithmic"""
Row = dict[str, Any]
"""One number: the swept parameters, delta, analysis, released, secret, role, eps (inf: nothing), reason."""


@dataclass(frozen=True)
class EpsilonCurve(Printed):
    """A sweep over one or two parameters of a mechanism: settings are their values and the mechanism."""

    name: str
    fixed: Mapping[str, Any]
    over: Mapping[str, Sequence[float]]
    deltas: tuple[float, ...]
    settings: tuple[tuple[Mapping[str, float], Mechanism], ...]

    @cached_property
    def rows(self) -> list[Row]:
        """Every number of every setting."""
        rows = []
        for values, mechanism in each(self.settings, "setting", lambda setting: _words(setting[0])):
            statement = analyses_of(self.name, mechanism, self.deltas)
            for a in (*statement.analyses, *statement.lower):
                role = ATTAINED if a.side == "below" else GUARANTEE if a.valid else REFUSED
                about = {"analysis": a.name, "released": a.released, "secret": a.secret, "role": role}
                epsilons = [math.inf] * len(self.deltas) if role == REFUSED else a.at(self.deltas)
                pairs = zip(self.deltas, epsilons, strict=True)
                rows += [{**values, "delta": delta, **about, "eps": eps, "reason": a.refused} for delta, eps in pairs]
        return rows

    def _documents(self) -> list[Row]:
        return [{**row, "eps": row["eps"] if math.isfinite(row["eps"]) else None} for row in self.rows]

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --over --json`."""
        over = {key: list(values) for key, values in self.over.items()}
        return {"mechanism": self.name, "parameters": dict(self.fixed), "over": over, "delta": list(self.deltas),
                "rows": self._documents()}  # fmt: skip

    @property
    def _parameters(self) -> str:
        return ", ".join(f"{key} = {value}" for key, value in self.fixed.items())

    def text(self) -> str:
        """One line for each setting and delta; the best guarantee of a line has a star."""
        valid = [row for row in self.rows if row["role"] != REFUSED]
        names = sorted(dict.fromkeys((r["role"] == ATTAINED, r["analysis"]) for r in valid), key=lambda pair: pair[0])
        lines = []
        for (values, _), delta in itertools.product(self.settings, self.deltas):
            here = [r for r in valid if r["delta"] == delta and all(r[key] == values[key] for key in values)]
            best = min((r["eps"] for r in here if r["role"] == GUARANTEE and not r["secret"]), default=math.inf)
            cells = {(r["role"] == ATTAINED, r["analysis"]): _cell(r, best) for r in here}
            lines.append([*(f"{v:g}" for v in (*values.values(), delta)), *(cells.get(pair, "-") for pair in names)])
        head = [*self.over, "delta", *(f"{name} (attained)" if low else name for low, name in names)]
        last = sorted({r["analysis"] for r in valid if r["released"] == LAST})
        refused = dict.fromkeys(f"{r['analysis']}: {r['reason']}" for r in self.rows if r["role"] == REFUSED)
        return "\n".join([
            f"{self.name}: {self._parameters}" if self.fixed else self.name,
            "",
            *("  " + line for line in columns(lines, head).splitlines()),
            "",
            "  Guarantees are rounded up, and what a pair of neighbours attains is rounded down. * best guarantee",
            *([f"  Of the last iterate alone: {', '.join(last)}"] if last else []),
            *(f"  refused somewhere: {reason}" for reason in refused),
        ])  # fmt: skip

    @property
    def figure(self) -> Figure:
        """The figure for `dpexp plot`."""
        from dpexp.reporting.figure import Figure

        name = f"epsilon_{self.name.replace('-', '_')}_{'_'.join(self.over)}"
        return Figure(name, "", "any mechanism", "", (), lambda results: self.draw())

    def draw(self) -> Drawing:
        """A panel for each release: guarantees solid, attained dashed, a band between the best of both."""
        import pandas as pd

        from dpexp.reporting import style
        from dpexp.reporting.figure import Drawing

        kinds = [k for k in (ALL, LAST) if any(r["released"] == k and r["role"] != REFUSED for r in self.rows)]
        canvas, panels = style.panels(4.2 * len(kinds), 3.4, len(kinds), log=False, sharey=True)
        (x, values), omitted = next(iter(self.over.items())), dict[str, None]()
        for axes, kind in zip(panels, kinds, strict=True):
            if min(values) > 0 and max(values) > WIDE * min(values):
                style.logarithmic(axes, "x")
            style.logarithmic(axes, "y")
            omitted |= dict.fromkeys(self._panel(axes, kind))
            axes.set(xlabel=x, title=kind)
            axes.legend(frameon=False, fontsize="small")
        panels[0].set_ylabel(r"$\epsilon$")
        deltas = " and ".join(f"{delta:g}" for delta in self.deltas)
        caption = (
            f"Epsilon of {self.name} against {x} at delta = {deltas}: guarantees (solid), what pairs of neighbours "
            f"attain (dashed), and between the best of both the band that holds the truth. Parameters: "
            f"{self._parameters or 'none'}."
        )
        caption += f" Not drawn, more than {FAR:g} times the best: {', '.join(omitted)}." if omitted else ""
        # a figure's numbers have six digits in its file, and no guarantee is rounded down
        rows = [{**row, "eps": row["eps"] and float((down if row["role"] == ATTAINED else up)(row["eps"], 6))}
                for row in self._documents()]  # fmt: skip
        return Drawing(canvas, pd.DataFrame(rows), caption)

    def _panel(self, axes: Axes, kind: str) -> list[str]:
        """Draws one release; the names of what is too far above the best."""
        from dpexp.reporting.style import BAND_ALPHA, BLACK, COLOURS

        (x, values), *others = self.over.items()
        second = [{key: value} for key, own in others for value in own] or [{}]
        groups = [{"delta": delta, **rest} for delta in self.deltas for rest in second]
        far: list[str] = []
        for colour, group in zip(itertools.cycle(COLOURS), groups, strict=False):
            rows = [r for r in self.rows if all(r[key] == value for key, value in group.items())]
            # what covers all iterates covers the last one, and what the last one shows all of them show
            high = [r for r in rows if r["role"] == GUARANTEE and (kind == LAST or r["released"] == ALL)]
            low = [r for r in rows if r["role"] == ATTAINED and (kind == ALL or r["released"] == LAST)]
            best = [min((r["eps"] for r in high if r[x] == v and not r["secret"]), default=math.inf) for v in values]
            attained = [max((r["eps"] for r in low if r[x] == v), default=math.nan) for v in values]
            shade, dark, label = (colour, colour, "") if len(groups) > 1 else (COLOURS[3], BLACK, "attained")
            if len(groups) > 1:
                axes.plot(values, best, "-", color=colour, label=_words(group, len(self.deltas) > 1))
                high = []
            for name, secret in dict.fromkeys((r["analysis"], r["secret"]) for r in high):
                own = {r[x]: r["eps"] for r in high if r["analysis"] == name}
                line = [own.get(v, math.nan) for v in values]
                if all(not eps <= FAR * least for eps, least in zip(line, best, strict=True)):
                    far.append(name)
                    continue
                axes.plot(values, line, ":" if secret else "-", color=COLOURS[len(axes.lines) % len(COLOURS)],
                          label=f"{name}, {secret} secret" if secret else name)  # fmt: skip
            if low:
                axes.plot(values, attained, "--", color=dark, label=label or None)
            inside = [math.isfinite(a) and math.isfinite(b) for a, b in zip(attained, best, strict=True)]
            axes.fill_between(values, attained, best, where=inside, color=shade, alpha=BAND_ALPHA, lw=0)
        return far


def _words(values: Mapping[str, float], delta: bool = False) -> str:
    return ", ".join(f"{key} = {value:g}" for key, value in values.items() if delta or key != "delta")


def _cell(row: Row, best: float) -> str:
    if row["role"] == ATTAINED or not math.isfinite(row["eps"]):
        return down(row["eps"]) if math.isfinite(row["eps"]) else "-"
    return up(row["eps"]) + (" *" if row["eps"] == best and not row["secret"] else "")
