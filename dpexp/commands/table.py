"""`dpexp table`: tables from stored results, shipped ones and those of any result, never computing."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.commands.selecting import Selection, Work
from dpexp.core.errors import UsageError
from dpexp.core.files import at_home
from dpexp.core.standard_json import standard_json
from dpexp.reporting.results.gather import Source, mark, name_of
from dpexp.reporting.table import terminal_width

if TYPE_CHECKING:
    from dpexp.reporting.table import Content, Table


@dataclass(frozen=True)
class Request:
    """The options of the table of a result."""

    metrics: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    only: str | None = None
    """an expression that picks cells"""
    statistic: str = "mean"
    theory: bool = False


def table(
    names: Sequence[str],
    every: bool,
    form: str,
    out: Path | None,
    results: Path,
    metrics: Sequence[str] = (),
    estimators: Sequence[str] = (),
    only: str | None = None,
    columns: str = "",
    raw: bool = False,
    statistic: str = "mean",
    theory: bool = False,
) -> str:
    """Tables as text, or the paths written. All results among the names make one table; JSON of several is a list.

    `columns` are names with commas between them; `raw` is for `csv_cell`. Without a name and `every`: each table that
    the stored results allow, see `at_hand`.
    """
    from dpexp.papers import tables
    from dpexp.reporting.table_formats import FORMATS

    if fits := fit_files(names):
        from dpexp.commands.fit_table import fit_table

        if given := every or metrics or estimators or only or columns:
            raise UsageError(f"{given} is for results", "fits stand side by side as they are")
        return _written({"fits": fit_table(fits, form, raw)}, form, out)
    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    chosen_columns = tuple(name.strip() for name in columns.split(",") if name.strip())
    # Programs choose columns for themselves, and get them all.
    if chosen_columns and (form not in ("md", "tex") or len(names) + every == 0):
        raise UsageError("--columns is for named tables in md or tex", "csv and json have all numbers")
    # A file is as wide as its rows, whoever's terminal wrote it.
    width = 0 if out is not None else terminal_width()
    request = Request(tuple(metrics), tuple(estimators), only, statistic, theory)
    selection, whole = _selection(results, request), list(tables()) if every else []
    arguments = (request, results, form, width, chosen_columns, raw)
    texts = dict(selection.made(_rendered, names, whole, arguments))
    if form == "json" and out is None and (len(texts) != 1 or not names):
        return standard_json({"tables": [json.loads(text) for text in texts.values()]})
    return _written(texts, form, out)


def fit_files(names: Sequence[str]) -> list[Path]:
    """The names as files, if they are files of fits by their ending; none where nobody means fits."""
    paths = [at_home(Path(name)) for name in names]
    return paths if paths and all(path.suffix.lower() == ".json" for path in paths) else []


def _selection(results: Path, request: Request) -> Selection:
    """Among all tables, with the options that are for results alone."""
    from dpexp.papers import tables

    options = {"metric": request.metrics, "estimator": request.estimators, "only": request.only,
               "statistic": request.statistic != "mean", "theory": request.theory}  # fmt: skip
    return Selection("table", tables(), results, [f"--{name}" for name, value in options.items() if value])


def _written(texts: Mapping[str, str], form: str, out: Path | None) -> str:
    """What is printed: the tables, or the paths of their files."""
    from dpexp.store import write_text

    if out is None:
        return "\n\n".join(texts.values())
    for name, text in texts.items():
        write_text(out / f"{name}.{form}", text)
    return "\n".join(str(out / f"{name}.{form}") for name in texts)


def _rendered(one: Work, request: Request, results: Path, *how: Any) -> tuple[str, str]:
    """Name and text of a shipped table, or of that of some results."""
    from dpexp.papers import tables
    from dpexp.reporting.table_formats import render

    known = tables()
    own = known[one] if isinstance(one, str) else table_of(one, request, known)
    return own.name, render(own, results if isinstance(one, str) else one[0].results, *how)


def one_table(names: Sequence[str], results: Path, request: Request) -> tuple[Table, Path]:
    """One table, of results or a shipped one, and the folder that it reads."""
    from dpexp.papers import tables

    known = tables()
    chosen = _selection(results, request).only_one(names)
    if isinstance(chosen, str):
        return known[chosen], results
    return table_of(chosen, request, known), chosen[0].results


def table_of(sources: Sequence[Source], request: Request, taken: Sequence[str] | dict[str, Table] = ()) -> Table:
    """The table of some results, under a name that is not `taken`."""
    from dpexp.reporting.table import Table

    needs = tuple(dict.fromkeys(source.name for source in sources))
    marks = [mark("estimator", *request.estimators), mark("only", request.only or "")]
    marks += ["" if request.statistic == "mean" else request.statistic, "theory" if request.theory else ""]
    name = name_of(sources, taken, "-".join(request.metrics), *marks)
    build = partial(_build, tuple(sources), request)
    return Table(name, f"Results of {', '.join(needs)}", "", needs, build, True)


def _build(sources: tuple[Source, ...], request: Request, results: Path) -> Content:
    from dpexp.papers import theories
    from dpexp.reporting.results.gather import gather
    from dpexp.reporting.results.table import content_of

    gathered = gather(sources, request.only)
    return content_of(gathered, request.metrics, request.estimators, request.statistic, theories(), request.theory)
