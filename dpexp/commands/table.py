"""`dpexp table`: tables from stored results, shipped ones, those of any result and fits, never computing."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from dpexp.commands.answer import RESULTS, Answer, Pathname, names_in, path_of
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


def table(
    *names: Pathname, results: Pathname = RESULTS, metric: str | Sequence[str] = (), estimator: Sequence[str] = (),
    only: str | None = None, statistic: str = "mean", theory: bool = False, every: bool = False, form: str = "md",
    out: Pathname | None = None, raw: bool = False,
) -> Answer:  # fmt: skip
    """Tables of results, of files of fits, or shipped ones; all results among the names make one table.

    `.frame()` has the numbers of a single table with all digits. Without a name and `every`: each table that the
    stored results allow. `form` is how they are printed, `out` a folder for files, `raw` is for `csv_cell`.
    """
    from dpexp.store import write_text

    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    words, folder = list(map(str, names)), path_of(out)
    request = Request(tuple(names_in(metric)), tuple(estimator), only, statistic, theory)
    # A file is as wide as its rows, whoever's terminal wrote it.
    how = form, 0 if folder is not None else terminal_width(), raw
    if fits := fit_files(words):
        made = [_made(_table_of_fits(fits, request), Path(results), *how)]
    else:
        options = {"metric": request.metrics, "estimator": estimator, "only": only, "statistic": statistic != "mean",
                   "theory": theory}  # fmt: skip
        selection = Selection("table", tables(), Path(results), options)
        made = selection.apply(_selected, words, list(tables()) if every else [], (request, Path(results), *how))
    if folder is not None:
        paths = {folder / f"{title}.{form}": text for title, text, _ in made}
        for path, text in paths.items():
            write_text(path, text)
        return Answer("\n".join(map(str, paths)), {"files": list(map(str, paths))})
    documents = [document for _, _, document in made]
    document = documents[0] if len(documents) == 1 and names else {"tables": documents}
    text = "\n\n".join(text for _, text, _ in made)
    return Answer(standard_json(document) if form == "json" else text, document)


def fit_files(names: Sequence[str]) -> list[Path]:
    """The names as files, if they are files of fits by their ending; none where other names are among them."""
    paths = [Path(name).expanduser() for name in names]
    return paths if paths and all(path.suffix.lower() == ".json" for path in paths) else []


def table_of(sources: Sequence[Source], request: Request, reserved: Sequence[str] | dict[str, Table] = ()) -> Table:
    """The table of some results, under a name that is not `reserved`."""
    needs = tuple(dict.fromkeys(source.name for source in sources))
    marks = [mark("estimator", *request.estimators), mark("only", request.only or "")]
    marks += ["" if request.statistic == "mean" else request.statistic, "theory" if request.theory else ""]
    name = name_of(sources, reserved, "-".join(request.metrics), *marks)

    def build(_: Path) -> Content:
        from dpexp.papers import theories
        from dpexp.reporting.results.gather import gather
        from dpexp.reporting.results.result_table import content_of

        gathered = gather(sources, request.only)
        return content_of(gathered, request.metrics, request.estimators, request.statistic, theories(), request.theory)

    return Table(name, f"Results of {', '.join(needs)}", "", needs, build, True)


def _table_of_fits(paths: Sequence[Path], request: Request) -> Table:
    """Fits side by side. Raises UsageError for options that are for results."""
    from dpexp.commands.fit_table import fit_table

    if request != Request():
        raise UsageError("--metric, --estimator, --only, --statistic and --theory are for results", "leave them out")
    return Table("fits", "Private regressions", "", (), lambda _: fit_table(paths), True)


def _selected(work: Work, request: Request, results: Path, *how: Any) -> tuple[str, str, dict[str, Any]]:
    """A shipped table, or that of some results in the folder that it reads."""
    if isinstance(work, str):
        return _made(tables()[work], results, *how)
    return _made(table_of(work, request, tables()), work[0].results, *how)


def _made(own: Table, results: Path, form: str, width: int, raw: bool) -> tuple[str, str, dict[str, Any]]:
    """Name, text and document of a table, which is built once."""
    content = own.build(results)
    text = render(replace(own, build=lambda _: content), results, form, width, raw)
    return own.name, text, {"table": own.name, "title": own.title, "note": content.note, "rows": content.records}
