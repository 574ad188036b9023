"""`dpexp table`: tables from stored results, shipped ones, those of any result and fits, never computing."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.commands.figure_names import Selection, Work
from dpexp.core.errors import UsageError
from dpexp.core.standard_json import standard_json
from dpexp.papers import tables
from dpexp.reporting.results.gather import Source, mark, name_of
from dpexp.reporting.table_formats import FORMATS, render
from dpexp.reporting.text_table import Content, Table, terminal_width


@dataclass(frozen=True)
class Request:
    """The options of the table of a result."""

    metrics: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    only: str | None = None
    """an expression that picks cells"""
    statistic: str = "mean"
    theory: bool = False


PLAIN = Request()


def table(
    names: Sequence[str], every: bool, form: str, out: Path | None, results: Path, request: Request = PLAIN,
    columns: str = "", raw: bool = False,
) -> str:  # fmt: skip
    """Tables as text, or the paths written. All results among the names make one table; JSON of several is a list.

    `columns` are names with commas between them; `raw` is for `csv_cell`. Without a name and `every`: each table that
    the stored results allow.
    """
    from dpexp.store import write_text

    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    chosen = tuple(name.strip() for name in columns.split(",") if name.strip())
    # Programs choose columns for themselves, and get them all.
    if chosen and (form in ("csv", "json") or len(names) + every == 0):
        raise UsageError("--columns is for named tables in text, md or tex", "csv and json have all numbers")
    # A file is as wide as its rows, whoever's terminal wrote it.
    width = 0 if out is not None else terminal_width()
    how = form, width, chosen, raw
    if fits := fit_files(names):
        texts = {"fits": render(table_of_fits(fits, request), results, *how)}
    else:
        all_of = list(tables()) if every else []
        texts = dict(_selection(results, request).apply(_rendered, names, all_of, (request, results, *how)))
    if out is not None:
        paths = {out / f"{name}.{form}": text for name, text in texts.items()}
        for path, text in paths.items():
            write_text(path, text)
        return "\n".join(map(str, paths))
    if form == "json" and (len(texts) != 1 or not names):
        return standard_json({"tables": [json.loads(text) for text in texts.values()]})
    return "\n\n".join(texts.values())


def command(
    names: Sequence[str], every: bool, form: str, out: Path | None, results: Path, columns: str, raw: bool,
    metrics: Sequence[str], estimators: Sequence[str], **options: Any,
) -> str:  # fmt: skip
    """As the command line has it."""
    request = Request(tuple(metrics), tuple(estimators), **options)
    return table(names, every, form, out, results, request, columns, raw)


def fit_files(names: Sequence[str]) -> list[Path]:
    """The names as files, if they are files of fits by their ending; none where nobody means fits."""
    paths = [Path(name).expanduser() for name in names]
    return paths if paths and all(path.suffix.lower() == ".json" for path in paths) else []


def one_table(names: Sequence[str], results: Path, request: Request) -> Content:
    """One table: of results, of fits, or a shipped one."""
    if fits := fit_files(names):
        return table_of_fits(fits, request).build(results)
    work = _selection(results, request).only_one(names)
    own, home = _table(work, request, results)
    return own.build(home)


def table_of(sources: Sequence[Source], request: Request, taken: Sequence[str] | dict[str, Table] = ()) -> Table:
    """The table of some results, under a name that is not `taken`."""
    needs = tuple(dict.fromkeys(source.name for source in sources))
    marks = [mark("estimator", *request.estimators), mark("only", request.only or "")]
    marks += ["" if request.statistic == "mean" else request.statistic, "theory" if request.theory else ""]
    name = name_of(sources, taken, "-".join(request.metrics), *marks)

    def build(_: Path) -> Content:
        from dpexp.papers import theories
        from dpexp.reporting.results.gather import gather
        from dpexp.reporting.results.result_table import content_of

        gathered = gather(sources, request.only)
        return content_of(gathered, request.metrics, request.estimators, request.statistic, theories(), request.theory)

    return Table(name, f"Results of {', '.join(needs)}", "", needs, build, True)


def table_of_fits(paths: Sequence[Path], request: Request) -> Table:
    """Fits side by side. Raises UsageError for options that are for results."""
    from dpexp.commands.fit_table import fit_table

    if request != PLAIN:
        raise UsageError("--metric, --estimator, --only, --statistic and --theory are for results", "leave them out")
    return Table("fits", "Private regressions", "", (), lambda _: fit_table(paths), True)


def _selection(results: Path, request: Request) -> Selection:
    """Among all tables, with the options that are for results alone."""
    options = {"metric": request.metrics, "estimator": request.estimators, "only": request.only,
               "statistic": request.statistic != "mean", "theory": request.theory}  # fmt: skip
    return Selection("table", tables(), results, [f"--{name}" for name, value in options.items() if value])


def _table(work: Work, request: Request, results: Path) -> tuple[Table, Path]:
    """A shipped table, or that of some results, and the folder that it reads."""
    known = tables()
    return (known[work], results) if isinstance(work, str) else (table_of(work, request, known), work[0].results)


def _rendered(work: Work, request: Request, results: Path, *how: Any) -> tuple[str, str]:
    """Name and text of a table."""
    own, home = _table(work, request, results)
    return own.name, render(own, home, *how)
