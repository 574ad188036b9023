"""Several fits side by side, as regression tables are printed: a column each, estimates with standard errors."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.fit_after import in_line
from dpexp.commands.fit_result import StoredFit, read_fit
from dpexp.core.errors import UsageError
from dpexp.core.standard_json import standard_json
from dpexp.core.text import columns, csv_cell, guess
from dpexp.reporting import latex
from dpexp.reporting.digits import rounded
from dpexp.reporting.table import markdown_table

FORMATS = ("text", "md", "tex", "csv", "json")
NOTE = "Standard errors in brackets. Unbounded: no finite interval at this budget."
GLANCE = {"nobs": "n", "sigma": "scale of the errors", "mu": "mu", "eps": "eps", "delta": "delta", "level": "level"}
"""rows below the estimates"""


def records(paths: Sequence[Path]) -> list[dict[str, Any]]:
    """Every estimate of every fit, in long form."""
    fits = dict(zip(_names(paths), map(read_fit, paths), strict=True))
    return [{"fit": name, "target": one.stored["glance"]["target"], **row}
            for name, one in fits.items() for row in one.estimates()]  # fmt: skip


def fit_table(paths: Sequence[Path], form: str, raw: bool = False) -> str:
    """The table in one of FORMATS; csv and json hold all digits in long form. Raises UsageError for no fit."""
    if form not in FORMATS:
        raise UsageError(f"no format '{form}'", f"{guess(form, FORMATS)}formats of fits: {', '.join(FORMATS)}")
    if form in ("csv", "json"):
        rows = records(paths)
        if form == "json":
            return standard_json({"table": "fits", "rows": rows})
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(dict.fromkeys(key for row in rows for key in row)), lineterminator="\n")
        writer.writeheader()
        writer.writerows({key: csv_cell(value, raw) for key, value in row.items()} for row in rows)
        return buffer.getvalue().rstrip("\n")
    head, body = _content(dict(zip(_names(paths), map(read_fit, paths), strict=True)))
    if form == "tex":
        return latex.table("fits", NOTE, head, body)
    return f"{columns(body, head) if form == 'text' else markdown_table(head, body)}\n\n{NOTE}"


def _names(paths: Sequence[Path]) -> list[str]:
    """What each fit is called: its file's name, with its folder where two have one name."""
    stems = [path.stem for path in paths]
    return [
        stem if stems.count(stem) == 1 else str(path.with_suffix("")) for stem, path in zip(stems, paths, strict=True)
    ]


def _content(fits: dict[str, StoredFit]) -> tuple[list[str], list[list[str]]]:
    """Head and rows: terms in the order in which they come, and what `glance` says."""
    found = {name: {one["term"]: one for one in fit.estimates()} for name, fit in fits.items()}
    # the scale is the last row of a fit, and here it stands below with what belongs to the fit as a whole
    terms = dict.fromkeys(term for own in found.values() for term in own if term != "(scale)")
    rows = [[in_line(term), *(_cell(own.get(term)) for own in found.values())] for term in terms]
    glances = [fit.stored["glance"] for fit in fits.values()]
    rows.append(["target", *(str(one["target"]) for one in glances)])
    rows.append(["model", *(str(one["model"]) for one in glances)])
    rows += [[said, *(_number(one[key]) for one in glances)] for key, said in GLANCE.items()]
    return ["", *fits], rows


def _cell(one: dict[str, Any] | None) -> str:
    if one is None:
        return ""
    if one["std_error"] is None:
        return "not estimated" if one["estimate"] is None else f"{one['estimate']:.3g} (unbounded)"
    return f"{rounded(one['estimate'], one['std_error'])} ({one['std_error']:.2g})"


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,}" if isinstance(value, int) else f"{value:.4g}" if math.isfinite(value) else "inf"
