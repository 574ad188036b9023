"""`dpexp table`: tables from stored results, shipped ones, those of any result and fits, never computing."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.commands.command_answer import RESULTS, Answer, Pathname, names_in
from dpexp.commands.figure_names import Selection, Work
from dpexp.core.errors import UsageError
from dpexp.core.text import standard_json
from dpexp.papers import tables, theories
from dpexp.reporting.results.gather import name_of
from dpexp.reporting.text_table import FORMATS, Content, Table, render, terminal_width


@dataclass(frozen=True)
class TableOptions:
    """The options of the table of a result; `only` is an expression that picks cells."""

    metrics: tuple[str, ...] = ()
    estimators: tuple[str, ...] = ()
    only: str | None = None
    statistic: str = "mean"
    theory: bool = False


def table(
    *names: Pathname, results: Pathname = RESULTS, metric: str | Sequence[str] = (), estimator: Sequence[str] = (),
    only: str | None = None, statistic: str = "mean", theory: bool = False, every: bool = False, form: str = "md",
    out: Pathname | None = None,
) -> Answer:  # fmt: skip
    """Tables of results, of files of fits, or shipped ones; all results among the names make one table.

    `.frame()` has the numbers of a single table with all digits. Without a name and `every`: each table that the
    stored results allow. `form` is how they are printed, `out` a folder for files.
    """
    from dpexp.store.folder import write_text

    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    words, folder = list(map(str, names)), Path(out) if out else None
    request = TableOptions(tuple(names_in(metric)), tuple(estimator), only, statistic, theory)
    # A file is as wide as its rows, whoever's terminal wrote it.
    how = form, 0 if folder is not None else terminal_width()
    if fits := fit_files(words):
        from dpexp.commands.fit_table import fit_table

        if request != TableOptions():
            raise UsageError("--metric, --estimator, --only, --statistic, --theory are for results", "leave them out")
        side_by_side = Table("fits", "Private regressions", "", (), lambda _: fit_table(fits))
        made = [_made(side_by_side, Path(results), *how)]
    else:
        selection = Selection("table", tables(), Path(results), request != TableOptions())
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


def table_of(folders: Sequence[Path], request: TableOptions, reserved: Collection[str] = ()) -> Table:
    """The table of some results, under a name that is not `reserved`."""
    names = ", ".join(dict.fromkeys(folder.name for folder in folders))
    named: dict[str, Any] = {"metric": request.metrics, "estimator": request.estimators, "only": request.only or ""}
    named |= {"statistic": request.statistic.replace("mean", ""), "theory": request.theory}

    def build(_: Path) -> Content:
        from dpexp.reporting.results.gather import gather
        from dpexp.reporting.results.result_table import content_of

        options = request.metrics, request.estimators, request.statistic, theories(), request.theory
        return content_of(gather(folders, request.only), *options)

    # the note has all parameters, so that nothing else is needed for a caption
    return Table(name_of(folders, reserved, named), f"Results of {names}", "", (), build)


def _selected(
    work: Work, request: TableOptions, results: Path, form: str, width: int
) -> tuple[str, str, dict[str, Any]]:
    """A shipped table, or that of some results in the folder that it reads."""
    if isinstance(work, str):
        return _made(tables()[work], results, form, width)
    return _made(table_of(work, request, tables()), work[0].parent, form, width)


def _made(own: Table, results: Path, form: str, width: int) -> tuple[str, str, dict[str, Any]]:
    """Name, text and document of a table, which is built once."""
    content = own.build(results)
    text = render(own, content, form, width)
    return own.name, text, {"table": own.name, "title": own.title, "note": content.note, "rows": content.records}
