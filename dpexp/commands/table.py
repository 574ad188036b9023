"""`dpexp table`: tables from stored results, shipped ones and those of any result, never computing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.commands.selecting import at_hand, select, stem, those_made, unless_refused
from dpexp.commands.terminal_columns import terminal_width
from dpexp.core.errors import UsageError
from dpexp.core.steps import tell
from dpexp.reporting.of_results.gather import Source

if TYPE_CHECKING:
    from dpexp.reporting.table import Content, Table


def table(
    names: Sequence[str],
    every: bool,
    form: str,
    out: Path | None,
    results: Path,
    metric: str | None = None,
    estimators: Sequence[str] = (),
    only: str | None = None,
    columns: str = "",
) -> str:
    """Tables as text, or the paths written. All results among the names make one table.

    `columns` are names with commas between them. Without a name and `every`: each table that the stored results allow,
    see `at_hand`.
    """
    from dpexp.papers import tables
    from dpexp.reporting.several import several
    from dpexp.reporting.table import FORMATS, render

    known = tables()
    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    chosen_columns = tuple(name.strip() for name in columns.split(",") if name.strip())
    if chosen_columns and (form not in ("md", "tex") or len(names) + every == 0):
        raise UsageError("--columns is for named tables in md or tex", "csv and json have all numbers")
    given = [f"--{name}" for name, value in (("metric", metric), ("estimator", estimators), ("only", only)) if value]
    width = 0 if out is not None else terminal_width()
    if not names and not every:
        if given:
            raise UsageError(f"{given[0]} is for results", "name them: dpexp table NAME, or its folder")
        chosen = at_hand(known, "table", results)
        work: list[str | Source] = [*chosen.shipped, *chosen.sources]
        titles = [one.name if isinstance(one, Source) else one for one in work]
        asked = [(_at_hand, one, results, form, width) for one in work]
        return _written(dict(those_made(several(unless_refused, asked, "table", titles), results)), form, out)
    chosen = select(names, every, known, "table", results)
    if chosen.shipped and given:
        raise UsageError(f"{given[0]} is for results, and '{chosen.shipped[0]}' is a shipped table")
    tasks = [(name, results, form, width, chosen_columns) for name in chosen.shipped]
    long = {name for name in chosen.shipped if not known[name].needs}  # what reads no results computes all it shows
    texts = dict(zip(chosen.shipped, several(_rendered, tasks, "table", chosen.shipped, long=long), strict=True))
    if chosen.sources:
        own = table_of(chosen.sources, metric, estimators, only, known)
        tell(f"table {own.name}")
        texts[own.name] = render(own, chosen.sources[0].results, form, width, chosen_columns)
    return _written(texts, form, out)


def _written(texts: Mapping[str, str], form: str, out: Path | None) -> str:
    """What is printed: the tables, or the paths of their files."""
    from dpexp.store import write_text

    if out is None:
        return "\n\n".join(texts.values())
    for name, text in texts.items():
        write_text(out / f"{name}.{form}", text)
    return "\n".join(str(out / f"{name}.{form}") for name in texts)


def _at_hand(what: str | Source, results: Path, form: str, width: int) -> tuple[str, str]:
    """Name and text of a shipped table, or of that of a result."""
    from dpexp.papers import tables
    from dpexp.reporting.table import render

    if isinstance(what, Source):
        own = table_of([what], taken=tables())
        return own.name, render(own, what.results, form, width)
    return what, _rendered(what, results, form, width)


def _rendered(name: str, results: Path, form: str, width: int, columns: Sequence[str] = ()) -> str:
    """One shipped table, as text."""
    from dpexp.papers import tables
    from dpexp.reporting.table import render

    return render(tables()[name], results, form, width, columns)


def one_table(
    names: Sequence[str], results: Path, metric: str | None, estimators: Sequence[str], only: str | None
) -> tuple[Table, Path]:
    """One table, of results or a shipped one, and the folder that it reads."""
    from dpexp.papers import tables

    known = tables()
    chosen = select(names, False, known, "table", results)
    if len(chosen.shipped) + bool(chosen.sources) != 1:
        raise UsageError("one table at a time", "several results make one table; a shipped table is made alone")
    if chosen.sources:
        return table_of(chosen.sources, metric, estimators, only, known), chosen.sources[0].results
    if metric or estimators or only:
        raise UsageError(f"metric, estimator and only are for results, and '{chosen.shipped[0]}' is a shipped table")
    return known[chosen.shipped[0]], results


def table_of(
    sources: Sequence[Source],
    metric: str | None = None,
    estimators: Sequence[str] = (),
    only: str | None = None,
    taken: Sequence[str] | dict[str, Table] = (),
) -> Table:
    """The table of some results, under a name that is not `taken`."""
    from dpexp.reporting.table import Table

    needs = tuple(dict.fromkeys(source.name for source in sources))
    build = partial(_build, tuple(sources), metric, tuple(estimators), only)
    return Table(stem(sources, list(taken), [metric or ""]), f"Results of {', '.join(needs)}", "", needs, build, True)


def _build(
    sources: tuple[Source, ...], metric: str | None, estimators: tuple[str, ...], only: str | None, results: Path
) -> Content:
    from dpexp.reporting.of_results.gather import gather
    from dpexp.reporting.of_results.table import content_of

    return content_of(gather(sources, only), metric, estimators)
