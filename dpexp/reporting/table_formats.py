"""How a table is printed: plain text, Markdown, LaTeX (booktabs), CSV and JSON."""

from __future__ import annotations

import csv
import io
import textwrap
from pathlib import Path

from dpexp.core.standard_json import standard_json
from dpexp.core.text import csv_cell
from dpexp.reporting import latex
from dpexp.reporting.text_table import Table, folded

FORMATS = ("text", "md", "tex", "csv", "json")


def render(table: Table, results: Path, form: str, width: int = 0, raw: bool = False) -> str:
    """The table in one of FORMATS; CSV and JSON hold the numbers in long form.

    `width` is that of a terminal, which text and Markdown are made to fit; 0 for one without end. `raw` is for
    `csv_cell`. Raises ResultsMissing.
    """
    from dpexp.reporting.results.labels import of_experiments

    head, rows, note, records = table.build(results)
    if form == "json":
        return standard_json({"table": table.name, "title": table.title, "note": note, "rows": records})
    if form == "csv":
        buffer, names = io.StringIO(), list(dict.fromkeys(name for record in records for name in record))
        writer = csv.writer(buffer, lineterminator="\n")
        writer.writerow([csv_cell(name, raw) for name in names])
        writer.writerows([csv_cell(record.get(name), raw) for name in names] for record in records)
        return buffer.getvalue().rstrip("\n")
    if form == "tex":
        # title, note, and every parameter of the experiments, unless the note has them
        parameters = "" if table.names_its_parameters else of_experiments(results, table.needs)
        caption = " ".join(filter(None, [f"{table.title.rstrip('.')}.", note, parameters]))
        return latex.table(table.name, caption, head, rows)
    title = f"**{table.title}**" if form == "md" else table.title
    return "\n\n".join([title, folded(head, rows, width, form == "md"), textwrap.fill(note, width) if width else note])
