"""Epsilon of a mechanism against one or two of its parameters: guarantees and what pairs of neighbours attain.

The truth is between the least valid guarantee and the largest attained value. A table has a line for each setting and
delta; a figure has a panel for each release, with the band between both; JSON and CSV have a row for each number.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

from dpexp.core.errors import UsageError
from dpexp.core.terminal import each
from dpexp.core.text import Printed, columns, down, up
from dpexp.privacy.analyses.analysis import ALL, LAST
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.reporting.statement import analyses_of
from dpexp.reporting.templates import filled

if TYPE_CHECKING:
    import pandas as pd

    from dpexp.reporting.figure import Drawing, Figure

GUARANTEE, ATTAINED, REFUSED = "guarantee", "attained", "refused"
FAR = 100.0
"""times the best guarantee: what is nowhere below is named in the caption, and not drawn"""
WIDE = 10.0
"""ratio of the swept values from which on their axis is logarithmic"""
Row = dict[str, Any]
"""One number: the swept parameters, delta, analysis, released, secret, role, eps (None where refused), reason."""


@dataclass(frozen=True)
class EpsilonCurve(Printed):
    """A sweep over one or two parameters of a mechanism: settings are their values and the mechanism."""

    name: str
    fixed: Mapping[str, Any]
    over: Mapping[str, Sequence[float]]
    deltas: tuple[float, ...]
    settings: tuple[tuple[Mapping[str, float], Mechanism], ...]

    @cached_property
    def _numbers(self) -> tuple[list[Row], bool]:
        """Every number of every setting, and whether a pair of neighbours refutes an analysis somewhere."""
        rows, refuted = list[Row](), False
        for values, mechanism in each(self.settings, "setting", lambda setting: words_of(setting[0])):
            statement = analyses_of(self.name, mechanism, self.deltas)
            refuted |= statement.is_refuted
            for a in (*statement.analyses, *statement.lower):
                role = ATTAINED if a.side == "below" else GUARANTEE if a.valid else REFUSED
                about = {"analysis": a.name, "released": a.released, "secret": a.secret, "role": role}
                epsilons = a.at(self.deltas) if a.valid else [None] * len(self.deltas)
                pairs = zip(self.deltas, epsilons, strict=True)
                rows += [{**values, "delta": delta, **about, "eps": eps, "reason": a.refused} for delta, eps in pairs]
        return rows, refuted

    @property
    def rows(self) -> list[Row]:
        """Every number of every setting."""
        return self._numbers[0]

    @property
    def exit_code(self) -> int:
        """1 where a pair of neighbours refutes an analysis."""
        return int(self._numbers[1])

    def document(self) -> dict[str, Any]:
        """With the keys of `dpexp privacy --over --json`."""
        over = {key: list(values) for key, values in self.over.items()}
        return {"mechanism": self.name, "parameters": dict(self.fixed), "over": over, "delta": list(self.deltas),
                "rows": self.rows}  # fmt: skip

    def text(self) -> str:
        """One line for each setting and delta; the best guarantee of a line has a star."""
        valid = [row for row in self.rows if row["role"] != REFUSED]
        names = sorted(dict.fromkeys((r["role"] == ATTAINED, r["analysis"]) for r in valid), key=lambda pair: pair[0])
        places: dict[tuple[float, ...], dict[tuple[bool, str], Row]] = {}
        for row in self.rows:
            own = places.setdefault((*(row[key] for key in self.over), row["delta"]), {})
            own[row["role"] == ATTAINED, row["analysis"]] = row
        lines = []
        for place, own in places.items():
            sure = [r["eps"] for r in own.values() if r["role"] == GUARANTEE and not r["secret"]]
            cells = [_cell(own.get(name), min(sure, default=math.inf)) for name in names]
            lines.append([*map(_number, place), *cells])
        head = [*self.over, "delta", *(f"{name} (attained)" if low else name for low, name in names)]
        last = sorted({r["analysis"] for r in valid if r["released"] == LAST})
        refused = dict.fromkeys(f"{r['analysis']}: {r['reason']}" for r in self.rows if r["role"] == REFUSED)
        return filled("dpexp.reporting", "epsilon_curve.txt", curve=self, parameters=self._parameters,
                      table=columns(lines, head), last=last, refused=refused)  # fmt: skip

    @property
    def _parameters(self) -> str:
        phases = {key: value if isinstance(value, list) else [value] for key, value in self.fixed.items()}
        return ", ".join(f"{key} = {', then '.join(map(str, values))}" for key, values in phases.items())

    @property
    def figure(self) -> Figure:
        """The figure for `dpexp plot`."""
        from dpexp.reporting.figure import Figure

        name = f"epsilon_{self.name.replace('-', '_')}_{'_'.join(self.over)}"
        return Figure(name, "", "any mechanism", "", (), lambda results: self.draw())

    def draw(self) -> Drawing:
        """A panel for each release: guarantees solid, attained dashed, a band between the best of both; of several
        settings or deltas the best alone."""
        import pandas as pd

        from dpexp.reporting import style
        from dpexp.reporting.figure import Drawing
        from dpexp.reporting.results.choose import Declaration
        from dpexp.reporting.results.draw import Scene
        from dpexp.reporting.results.gather import Line
        from dpexp.reporting.results.labels import Metric

        (x, *others), (points, far) = self.over, self._points()
        vary = [name for name in (*others, "delta", "analysis", "released", "role") if points[name].nunique() > 1]
        hue, *panels = [name for name in vary if name != "role"] or [""]
        declared = Declaration(x=x, hue=hue, facet=tuple(panels), style="role" * ("role" in vary))
        run: Any = None  # numbers of no run
        settings = [dict(zip((x, *vary), own, strict=True)) for own in points[[x, *vary]].itertuples(index=False)]
        rows = points.assign(step=1, mean=points["eps"], ci_lo=math.nan, ci_hi=math.nan, n=1, n_diverged=0)
        lines = [Line(run, "", dict(own), rows.iloc[[k]], "") for k, own in enumerate(settings)]
        scene = Scene(lines, declared, Metric(r"$\varepsilon$", sampled=False), self.name, {})
        canvas = scene.draw()
        for axes in canvas.axes if x == "n" else ():  # which is the number of steps of a config
            axes.set_xlabel(axes.get_xlabel() and "records $n$")
        # of lines, by the swept parameters: a column of numbers may have the name of one
        kinds = [points[name].to_numpy()[scene.table["line"]] for name in (*others, "delta")]
        for _, own in scene.table.groupby(["panel", *kinds]):
            axes = canvas.axes[int(own["panel"].iloc[0])]
            sure, low = own[(own["role"] == GUARANTEE) & (own["secret"] == "")], own[own["role"] == ATTAINED]
            band = pd.concat([low.groupby("at")["eps"].max(), sure.groupby("at")["eps"].min()], axis=1).dropna()
            colour = style.BLACK if own["colour"].nunique() > 1 else scene.colours[own["colour"].iloc[0]]
            axes.fill_between(band.index, *band.to_numpy().T, color=colour, alpha=style.BAND_ALPHA, lw=0)
        # a figure's numbers have six digits in its file, and no guarantee is rounded down
        numbers = [{**row, "eps": row["eps"] and float((down if row["role"] == ATTAINED else up)(row["eps"], 6))}
                   for row in self.rows]  # fmt: skip
        caption = filled("dpexp.reporting", "epsilon_caption.txt", curve=self, x=x, parameters=self._parameters,
                         far=far, times=FAR)  # fmt: skip
        return Drawing(canvas, pd.DataFrame(numbers), " ".join(caption.splitlines()))

    def _points(self) -> tuple[pd.DataFrame, list[str]]:
        """What is drawn, as rows of a summary, and the names of analyses that are nowhere close to the best."""
        import pandas as pd

        rows = pd.DataFrame([row for row in self.rows if row["role"] != REFUSED and row["eps"] < math.inf])
        if rows.empty:
            raise UsageError(f"no analysis of {self.name} has a finite epsilon here", "the table names the reasons")
        # what covers all iterates covers the last one, and what the last one shows all of them show
        wider = rows.assign(released=rows["role"].map({GUARANTEE: LAST, ATTAINED: ALL}))
        rows = pd.concat([rows, wider[wider["released"].isin(rows["released"])]]).drop_duplicates()
        public = rows["secret"] == ""
        rows["analysis"] += ("; secret: " + rows["secret"]).mask(public, "")
        places = [rows[name] for name in (*self.over, "delta", "released")]
        least, largest = (
            rows["eps"].where(public & (rows["role"] == role)).groupby(places) for role in (GUARANTEE, ATTAINED)
        )
        if len(self.over) == len(self.deltas) == 1:
            near = (rows["eps"] <= FAR * least.transform("min")).groupby(rows["analysis"]).transform("any")
            return rows[near], list(rows["analysis"][~near].unique())
        best = rows[(rows["eps"] == least.transform("min")) | (rows["eps"] == largest.transform("max"))]
        return best.drop_duplicates([*self.over, "delta", "released", "role"]).assign(analysis=""), []


def words_of(values: Mapping[str, float]) -> str:
    """A setting as `key = value` of what is swept."""
    return ", ".join(f"{key} = {_number(value)}" for key, value in values.items())


def _number(value: float) -> str:
    return f"{value:,.0f}" if float(value).is_integer() else f"{value:g}"


def _cell(row: Row | None, best: float) -> str:
    if row is None or row["eps"] is None or not math.isfinite(row["eps"]):
        return "-"
    return (
        down(row["eps"])
        if row["role"] == ATTAINED
        else up(row["eps"]) + " *" * (row["eps"] == best and not row["secret"])
    )
