"""What a table is, its text as Markdown, and how it fits the width of a terminal.

A column is a format of a record, and behind the text are the numbers. On a terminal what is constant leaves, what is
too wide is folded, and both is said.
"""

from __future__ import annotations

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


LEAST = 12
"""characters of a column that is wrapped"""


class Fitted(NamedTuple):
    """The parts of a table, and what was done to it in words; nothing where it fits as it is."""

    parts: list[tuple[list[str], list[list[str]]]]
    said: list[str]


def fit(head: Sequence[str], rows: Rows, width: int, drawn: Callable[[Sequence[str], Rows], str]) -> Fitted:
    """The table in parts of at most so many characters, as far as words allow; `drawn` is how one is printed."""

    def width_of(head: Sequence[str], rows: Rows) -> int:
        return max(map(len, drawn(head, rows).splitlines()))

    if width_of(head, rows) <= width:
        return Fitted([(list(head), [list(row) for row in rows])], [])
    said = []
    head, rows, same = without_constants(head, rows)
    if same:
        said.append("The same in every row: " + ", ".join(f"{name} = {value}" for name, value in same) + ".")
    if width_of(head, rows) <= width:
        return Fitted([(head, rows)], said)
    # parts that stand below each other are read together by the number of the row
    head, rows = ["#", *head], [[str(number), *row] for number, row in enumerate(rows, 1)]
    parts: list[list[int]] = []
    for k in range(1, len(head)):
        if parts and width_of(*_columns(head, rows, [0, *parts[-1], k])) <= width:
            parts[-1].append(k)
        else:
            parts.append([k])
    if len(parts) > 1:
        said.append(f"Folded: {len(head) - 1} columns in {len(parts)} parts; # is the number of a row in all of them.")
    return Fitted([_wrapped(_columns(head, rows, [0, *part]), width, width_of) for part in parts], said)


def _columns(head: Sequence[str], rows: Rows, chosen: Sequence[int]) -> tuple[list[str], list[list[str]]]:
    return [head[k] for k in chosen], [[row[k] for k in chosen] for row in rows]


def _wrapped(
    part: tuple[list[str], list[list[str]]], width: int, width_of: Callable[[Sequence[str], Rows], int]
) -> tuple[list[str], list[list[str]]]:
    """The same with long cells in several lines, where it is still too wide."""
    head, rows = part
    most = max(len(text) for row in rows for text in row)
    # a character at a time from the longest cell, so that no cell is wrapped for nothing
    while width_of(head, rows) > width and most > LEAST:
        most -= 1
        rows = [line for row in part[1] for line in _lines(row, most)]
    return head, rows


def _lines(row: Sequence[str], most: int) -> list[list[str]]:
    """A row as lines whose cells have at most so many characters."""
    cells = [textwrap.wrap(text, most) or [""] for text in row]
    return [[cell[k] if k < len(cell) else "" for cell in cells] for k in range(max(map(len, cells)))]


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
    fitted = fit(head, rows, max(width, NARROWEST), lambda head, rows: columns(rows, head))
    parts = [columns(part, names) for names, part in fitted.parts]
    return "\n\n".join([*parts, *(textwrap.fill(line, max(width, NARROWEST)) for line in fitted.said)])


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
