"""`dpexp claims --conformance`: published reference values beside ours."""

from __future__ import annotations

from dpexp.core.errors import UsageError

FORMATS = ("md", "json", "tex")


def conformance(form: str) -> tuple[str, list[str]]:
    """Published reference values beside ours, as text, and a line for every one that disagrees."""
    from dpexp.core.standard_json import standard_json
    from dpexp.reporting.published_numbers import conformance as run
    from dpexp.reporting.table import latex_table, markdown_table

    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    rows = run()
    wrong = [
        f"{row['what']}: {row['ours']:.10g}, published {row['published']:.10g}" for row in rows if not row["agrees"]
    ]
    if form == "json":
        return standard_json(rows), wrong
    head = ["value", "published", "ours", "relation", "difference", "agrees", "where from"]
    cells = [
        [
            row["what"],
            f"{row['published']:.10g}",
            f"{row['ours']:.10g}",
            row["relation"],
            f"{row['relative_difference']:+.1e}",
            "yes" if row["agrees"] else "NO",
            row["source"],
        ]
        for row in rows
    ]
    return (markdown_table(head, cells) if form == "md" else latex_table("Reference values", head, cells, "")), wrong
