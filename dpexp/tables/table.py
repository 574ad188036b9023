"""What a table is, and how it is printed: Markdown, LaTeX (booktabs), CSV and JSON."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.text import finite

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
        return json.dumps(finite(document), indent=2)
    if form == "csv":
        buffer = io.StringIO()
        writer = csv.DictWriter(buffer, list(content.records[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(content.records)
        return buffer.getvalue().rstrip("\n")
    return _markdown(table, content) if form == "md" else _latex(table, content)


def _markdown(table: Table, content: Content) -> str:
    widths = [max(len(row[k]) for row in [content.head, *content.rows]) for k in range(len(content.head))]

    def line(cells: Sequence[str]) -> str:
        return "| " + " | ".join(cell.ljust(width) for cell, width in zip(cells, widths, strict=True)) + " |"

    rule = "|" + "|".join("-" * (width + 2) for width in widths) + "|"
    body = "\n".join([line(content.head), rule, *map(line, content.rows)])
    return f"**{table.title}**\n\n{body}\n\n{content.note}"


def _latex(table: Table, content: Content) -> str:
    def line(cells: Sequence[str]) -> str:
        return " & ".join(_escape(cell) for cell in cells) + r" \\"

    alignment = "l" * len(content.head)
    rows = "\n".join(map(line, content.rows))
    return (
        f"% {table.title}\n\\begin{{tabular}}{{{alignment}}}\n\\toprule\n{line(content.head)}\n\\midrule\n{rows}\n"
        f"\\bottomrule\n\\end{{tabular}}\n% {content.note}"
    )


def _escape(text: str) -> str:
    for a, b in (
        ("\\", r"\textbackslash{}"),
        ("_", r"\_"),
        ("%", r"\%"),
        ("&", r"\&"),
        ("^", r"\^{}"),
        ("±", r"$\pm$"),
    ):
        text = text.replace(a, b)
    return text
