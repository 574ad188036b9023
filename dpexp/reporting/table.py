"""What a table is: its text, as Markdown too, and the numbers behind it; a column is a format of a record."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

Rows = Sequence[Sequence[str]]


class Content(NamedTuple):
    """A table's text, and the numbers behind it in long form."""

    head: Sequence[str]
    rows: Rows
    note: str
    records: Sequence[dict[str, Any]]


Column = str | Callable[[dict[str, Any]], str]
"""what a column shows of a record: a format of its fields, such as {n:,}, or a function"""


def by_column(columns: Mapping[str, Column], records: Sequence[dict[str, Any]], note: str) -> Content:
    """The table with a row for each record: every column by its heading."""
    ways = [column.format_map if isinstance(column, str) else column for column in columns.values()]
    return Content(list(columns), [[shown(record) for shown in ways] for record in records], note, records)


@dataclass(frozen=True)
class Table:
    """A table: `build(results)` reads stored results and never simulates."""

    name: str
    title: str
    paper: str
    needs: tuple[str, ...]
    build: Callable[[Path], Content]
    names_its_parameters: bool = False
    """whether its note holds all parameters of its experiments, so that a caption needs no more"""


def without_constants(
    head: Sequence[str], rows: Rows, but: Collection[str] = ()
) -> tuple[list[str], list[list[str]], list[tuple[str, str]]]:
    """The table without the columns in which all rows agree, and those columns as pairs; a single row keeps its own.

    Columns in `but` stay: what a table is read for is not looked for in a note.
    """
    if len(rows) < 2:
        return list(head), [list(row) for row in rows], []
    same = [k for k in range(len(head)) if head[k] not in but and len({row[k] for row in rows}) == 1]
    if len(same) == len(head):
        same = []
    kept = [k for k in range(len(head)) if k not in same]
    return [head[k] for k in kept], [[row[k] for k in kept] for row in rows], [(head[k], rows[0][k]) for k in same]


def markdown_table(head: Sequence[str], rows: Rows) -> str:
    """A Markdown table with aligned columns."""
    shown = [[cell.replace("|", r"\|") for cell in row] for row in [head, *rows]]
    widths = [max(len(row[k]) for row in shown) for k in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(shown[0]), rule, *map(line, shown[1:])])
