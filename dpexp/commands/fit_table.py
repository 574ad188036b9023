"""Several fits side by side, as regression tables are printed: a column each, estimates with standard errors."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.fit_result import read_fit
from dpexp.inference.user_scale import in_line
from dpexp.reporting.digits import rounded
from dpexp.reporting.text_table import Content

NOTE = "Standard errors in brackets. Unbounded: no finite interval at this budget."
GLANCE = {"target": "target", "model": "model", "nobs": "n", "sigma": "scale of the errors", "mu": "mu", "eps": "eps",
          "delta": "delta", "level": "level"}  # fmt: skip


def fit_table(paths: Sequence[Path]) -> Content:
    """Terms in the order in which they come with what `glance` holds below, and every estimate in long form."""
    stems = [path.stem for path in paths]
    # the file's name, with its folder where two have one name
    names = [p.stem if stems.count(p.stem) == 1 else str(p.with_suffix("")) for p in paths]
    fits = {name: read_fit(path).stored for name, path in zip(names, paths, strict=True)}
    by_term = [{row["term"]: row for row in fit["estimates"]} for fit in fits.values()]
    # the scale is the last row of a fit, and here it stands below with what belongs to the fit as a whole
    terms = dict.fromkeys(term for rows in by_term for term in rows if term != "(scale)")
    cells = [[in_line(term), *(_cell(rows.get(term)) for rows in by_term)] for term in terms]
    cells += [[label, *(_number(fit["glance"][key]) for fit in fits.values())] for key, label in GLANCE.items()]
    records = [{"fit": name, "target": fit["glance"]["target"], **row}
               for name, fit in fits.items() for row in fit["estimates"]]  # fmt: skip
    return Content(["", *fits], cells, NOTE, records)


def _cell(row: dict[str, Any] | None) -> str:
    if row is None:
        return ""
    if row["std_error"] is None:
        return "not estimated" if row["estimate"] is None else f"{row['estimate']:.3g} (unbounded)"
    return f"{rounded(row['estimate'], row['std_error'])} ({rounded(row['std_error'], row['std_error'])})"


def _number(value: float | str | None) -> str:
    if value is None or isinstance(value, str):
        return value or ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if math.isfinite(value) else "inf"
