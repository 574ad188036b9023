"""A table as text and as records, how it is printed (plain text, Markdown, LaTeX, CSV, JSON) and fits a terminal."""

from __future__ import annotations

import io
import os
import re
import shutil
import sys
import textwrap
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.text import columns, csv_cell, standard_json
from dpexp.reporting.templates import filled

Rows = Sequence[Sequence[str]]
Column = str | Callable[[dict[str, Any]], str]
"""the text of a column for a record: a format of its fields, such as {n:,}, or a function"""
FORMATS = ("text", "md", "tex", "csv", "json")
NARROWEST = 40
"""characters of a line at least: nothing can be read in less"""


class Content(NamedTuple):
    """A table's text, and the numbers behind it in long form."""

    head: Sequence[str]
    rows: Rows
    note: str
    records: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Table:
    """A table: `build(results)` reads stored results, those of the experiments `needs`, and never simulates."""

    name: str
    title: str
    paper: str
    needs: tuple[str, ...]
    build: Callable[[Path], Content]


def render(table: Table, content: Content, form: str, width: int = 0) -> str:
    """The content of a table in one of FORMATS; CSV and JSON hold the numbers in long form.

    `width` is that of a terminal, which text and Markdown are made to fit; 0 for one without end.
    """
    head, rows, note, records = content
    if form == "json":
        return standard_json({"table": table.name, "title": table.title, "note": note, "rows": records})
    if form == "csv":
        import pandas as pd

        frame = pd.DataFrame(records, dtype=object).map(csv_cell).rename(columns=csv_cell)
        return frame.to_csv(index=False).rstrip("\n")
    if form == "tex":
        return latex(table.name, f"{table.title.rstrip('.')}. {note}".rstrip(), head, rows)
    title = f"**{table.title}**" if form == "md" else table.title
    return "\n\n".join([title, folded(head, rows, width, form == "md"), textwrap.fill(note, width) if width else note])


def escaped(text: str) -> str:
    """Text in which LaTeX reads every character as itself."""
    from dpexp.reporting.results.labels import WORDS

    # a minus before a number, which a hyphen is not
    return re.sub(r"(?<![\w.)])-(?=[\d.])", "\u2212", text).translate(str.maketrans(WORDS["latex"]))


def latex_cell(text: str) -> str:
    """One cell: symbols in mathematics, all else as text."""
    from dpexp.reporting.results.labels import METRICS, WORDS

    symbols = {**WORDS["symbols"], "T": "T", **{name: metric.symbol for name, metric in METRICS.items()}}
    symbol = symbols.get(text := text.strip())
    return "--" if text == "-" else f"${symbol}$" if symbol else escaped(text)


def latex(name: str, caption: str, head: Sequence[str], rows: Rows) -> str:
    r"""A float with caption and label, never wider than the text. It needs \usepackage{booktabs,adjustbox}."""
    label = f"tab:{re.sub('[^A-Za-z0-9]+', '-', name)}"
    lines = [" & ".join(map(latex_cell, row)) for row in [head, *rows]]
    return filled("dpexp.reporting", "table.tex", caption=escaped(caption), label=label, lines=lines, count=len(head))


def by_column(columns: Mapping[str, Column], records: Sequence[dict[str, Any]], note: str) -> Content:
    """The table with a row for each record: every column by its heading."""
    functions = [column.format_map if isinstance(column, str) else column for column in columns.values()]
    return Content(list(columns), [[text(record) for text in functions] for record in records], note, records)


def without_constants(
    head: Sequence[str], rows: Rows, but: Collection[str] = ()
) -> tuple[list[str], list[list[str]], list[tuple[str, str]]]:
    """The table without the columns in which all rows agree, and those columns as pairs; a single row keeps its own.

    Columns in `but` stay: what a table is read for is not looked for in a note.
    """
    same = [k for k in range(len(head)) if head[k] not in but and len({row[k] for row in rows}) == 1]
    same = [] if len(rows) < 2 or len(same) == len(head) else same
    rest = [k for k in range(len(head)) if k not in same]
    return [head[k] for k in rest], [[row[k] for k in rest] for row in rows], [(head[k], rows[0][k]) for k in same]


def markdown_table(head: Sequence[str], rows: Rows) -> str:
    """A Markdown table with aligned columns."""
    cells = [[cell.replace("|", r"\|") for cell in row] for row in [head, *rows]]
    widths = [max(len(row[k]) for row in cells) for k in range(len(head))]
    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    lines = ["| " + " | ".join(map(str.ljust, row, widths)) + " |" for row in cells]
    return "\n".join([lines[0], rule, *lines[1:]])


def folded(head: Sequence[str], rows: Rows, width: int | None = None, markdown: bool = False) -> str:
    """The table in at most so many characters, those of the terminal where it is None; width 0 has no end. Columns in
    which all rows agree leave first, into a sentence below; then long cells are wrapped."""
    width = terminal_width() if width is None else width
    text = markdown_table(head, rows) if markdown else columns(rows, head)
    if not width or max(map(len, text.splitlines())) <= width:
        return text
    head, rows, same = without_constants(head, rows)
    if same:
        words = "The same in every row: " + ", ".join(f"{name} = {value}" for name, value in same) + "."
        return f"{folded(head, rows, width, markdown)}\n\n{textwrap.fill(words, width)}"
    from rich.box import MARKDOWN
    from rich.console import Console
    from rich.table import Table as Wrapped
    from rich.text import Text

    padding = (0, 1) if markdown else (0, 2, 0, 0)
    wrapped = Wrapped(box=MARKDOWN if markdown else None, pad_edge=markdown, padding=padding)
    for name in head:
        wrapped.add_column(Text(name), overflow="fold")
    for row in rows:
        wrapped.add_row(*map(Text, row))
    buffer = io.StringIO()
    Console(file=buffer, width=width, color_system=None).print(wrapped)
    return "\n".join(line.rstrip() for line in buffer.getvalue().strip("\n").splitlines())


def terminal_width() -> int:
    """Characters of a line of the terminal, or of COLUMNS where that is set; 0 where the text goes elsewhere."""
    # a file or a pipe has no width
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return max(shutil.get_terminal_size().columns, NARROWEST)
    return 0
