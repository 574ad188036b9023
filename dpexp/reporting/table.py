"""What a table is, and how it is printed: Markdown, LaTeX (booktabs), CSV and JSON."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.core.standard_json import standard_json

FORMATS = ("md", "tex", "csv", "json")


class Content(NamedTuple):
    """A table's text, and the numbers behind it in long form."""

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    note: str
    records: Sequence[dict[str, Any]]


@dataclass(frozen=True)
class Table:
    """A table: `build(results)` reads stored results and never simulates."""

    name: str
    title: str
    paper: str
    needs: tuple[str, ...]
    build: Callable[[Path], Content]


def render(table: Table, results: Path, form: str) -> str:
    """The table in one of FORMATS; CSV and JSON hold the numbers in long form. Raises ResultsMissing."""
    content = table.build(results)
    if form == "json":
        document = {"table": table.name, "title": table.title, "note": content.note, "rows": content.records}
        return standard_json(document)
    if form == "csv":
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(content.records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(content.records)
        return buffer.getvalue().rstrip("\n")
    return _markdown(table, content) if form == "md" else _latex(table, content)


def _markdown(table: Table, content: Content) -> str:
    return f"**{table.title}**\n\n{markdown_table(content.head, content.rows)}\n\n{content.note}"


def markdown_table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    shown = [[cell.replace("|", r"\|") for cell in row] for row in [head, *rows]]
    widths = [max(len(row[k]) for row in shown) for k in range(len(head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    return "\n".join([line(shown[0]), rule, *map(line, shown[1:])])


def _latex(table: Table, content: Content) -> str:
    return latex_table(table.title, content.head, content.rows, content.note)


def latex_table(title: str, head: Sequence[str], rows: Sequence[Sequence[str]], note: str, alignment: str = "") -> str:
    """A booktabs table; columns are left-aligned unless an alignment is given."""

    def line(cells: Sequence[str]) -> str:
        return " & ".join(_escape(cell) for cell in cells) + r" \\"

    body = "\n".join(map(line, rows))
    return (
        f"% {title}\n\\begin{{tabular}}{{{alignment or 'l' * len(head)}}}\n\\toprule\n{line(head)}\n\\midrule\n{body}\n"
        f"\\bottomrule\n\\end{{tabular}}" + (f"\n% {note}" if note else "")
    )


def _escape(text: str) -> str:
    for a, b in (
        ("\\", r"\textbackslash{}"),
        ("_", r"\_"),
        ("%", r"\%"),
        ("&", r"\&"),
        ("^", r"\^{}"),
        ("±", r"$\pm$"),
        ("|", r"\textbar{}"),
        ("<", r"\textless{}"),
        (">", r"\textgreater{}"),
        ("~", r"\textasciitilde{}"),
    ):
        text = text.replace(a, b)
    return text
