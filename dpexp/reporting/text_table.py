"""What a table is, its text as Markdown, and how it fits the width of a terminal.

A column is a format of a record, and behind the text are the numbers. On a terminal what is constant leaves, what is
too wide is wrapped.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.text import columns

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


def folded(head: Sequence[str], rows: Rows, width: int, markdown: bool = False) -> tuple[str, str]:
    """The table in at most so many characters, as far as words allow, and what was left out of it in words.

    Columns in which all rows agree leave first; then long cells are wrapped.
    """
    from rich.box import MARKDOWN
    from rich.console import Console
    from rich.table import Table as Wrapped
    from rich.text import Text

    whole = markdown_table if markdown else lambda head, rows: columns(rows, head)
    if max(map(len, whole(head, rows).splitlines())) <= width:
        return whole(head, rows), ""
    head, rows, same = without_constants(head, rows)
    left_out = "The same in every row: " + ", ".join(f"{name} = {value}" for name, value in same) + "." if same else ""
    if max(map(len, whole(head, rows).splitlines())) <= width:
        return whole(head, rows), left_out
    wrapped = Wrapped(
        box=MARKDOWN if markdown else None, pad_edge=markdown, padding=(0, 1) if markdown else (0, 2, 0, 0)
    )
    for name in head:
        wrapped.add_column(Text(name), overflow="fold")
    for row in rows:
        wrapped.add_row(*map(Text, row))
    console = Console(file=io.StringIO(), width=width, color_system=None, force_terminal=False, highlight=False)
    with console.capture() as found:
        console.print(wrapped)
    return "\n".join(line.rstrip() for line in found.get().strip("\n").splitlines()), left_out


NARROWEST = 40
"""characters below which a terminal's width is not believed: nothing can be read in less"""


def terminal_width() -> int:
    """Characters of a line of the terminal, or of COLUMNS where that is set; 0 where the text goes elsewhere."""
    # a file or a pipe has no width
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return 0


def fitting_columns(rows: Rows, head: Sequence[str]) -> str:
    """The rows below their head; what was done to make them fit is said below them."""
    width = terminal_width()
    if not width or not rows:
        return columns(rows, head)
    text, left_out = folded(head, rows, max(width, NARROWEST))
    return text + (f"\n\n{textwrap.fill(left_out, max(width, NARROWEST))}" if left_out else "")


def in_lines(lines: Sequence[tuple[str, str]]) -> str:
    """What there is of every kind: the kind, and beside it the names, in several lines where they are many."""
    width = terminal_width()
    if not width:
        return columns(lines)
    left = max(len(kind) for kind, _ in lines) + 2
    return "\n".join(
        textwrap.fill(names, max(width, NARROWEST), initial_indent=kind.ljust(left), subsequent_indent=" " * left,
                      break_on_hyphens=False, break_long_words=False)
        for kind, names in lines
    )  # fmt: skip
