"""How a table is printed: plain text, Markdown, LaTeX (booktabs), CSV and JSON."""

from __future__ import annotations

import csv
import io
import sys
import textwrap
from collections.abc import Sequence
from pathlib import Path

from dpexp.core.errors import UsageError
from dpexp.core.standard_json import standard_json
from dpexp.core.text import csv_cell, guess
from dpexp.reporting import latex
from dpexp.reporting.text_table import Content, Table, folded

FORMATS = ("text", "md", "tex", "csv", "json")


def render(table: Table, results: Path, form: str, width: int = 0, only: Sequence[str] = (), raw: bool = False) -> str:
    """The table in one of FORMATS; CSV and JSON hold the numbers in long form.

    `width` is that of a terminal, which text and Markdown are made to fit; 0 for one without end. `only` names the
    columns of text, Markdown and LaTeX, in this order; all where it is empty. `raw` is for `csv_cell`. Raises
    ResultsMissing, UsageError for an unknown column.
    """
    content = table.build(results)
    if only:
        head = list(content.head)
        for name in only:
            if name not in head:
                hint = f"{guess(name, head)}columns: {', '.join(head)}"
                raise UsageError(f"--columns {name}: {table.name} has no such column", hint)
        places = [head.index(name) for name in only]
        content = content._replace(head=list(only), rows=[[row[k] for k in places] for row in content.rows])
    if form == "json":
        document = {"table": table.name, "title": table.title, "note": content.note, "rows": content.records}
        return standard_json(document)
    if form == "csv":
        buffer = io.StringIO()
        names = list(dict.fromkeys(name for record in content.records for name in record))
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([csv_cell(name, raw) for name in names])
        writer.writerows([csv_cell(record.get(name), raw) for name in names] for record in content.records)
        return buffer.getvalue().rstrip("\n")
    if form in ("text", "md"):
        return _lines(table, content, width, form == "md")
    return latex.table(table.name, caption_of(table, content, results), content.head, content.rows)


def caption_of(table: Table, content: Content, results: Path) -> str:
    """Title, note, and every parameter of the experiments that the table shows, where it does not say them itself."""
    from dpexp.reporting.results.labels import of_experiments

    parameters = "" if table.names_its_parameters else of_experiments(results, table.needs)
    return " ".join(filter(None, [f"{table.title.rstrip('.')}.", content.note, parameters]))


def _lines(table: Table, content: Content, width: int, markdown: bool) -> str:
    title = f"**{table.title}**" if markdown else table.title
    text, left_out = folded(content.head, content.rows, width or sys.maxsize, markdown)
    words = [textwrap.fill(words, width) if width else words for words in (left_out, content.note) if words]
    return "\n\n".join([title, text, "\n".join(words)])
