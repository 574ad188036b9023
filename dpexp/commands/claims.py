"""`dpexp claims`: the ledger, from stored results."""

from __future__ import annotations

import json
from pathlib import Path

from dpexp.core.errors import UsageError

FORMATS = ("md", "json", "tex")


def claims(paper: str | None, form: str, out: Path | None, results: Path) -> tuple[str, list[str]]:
    """The ledger as text, or the path written; and a line for every verdict that is not the expected one."""
    from dpexp.core.text import finite, guess
    from dpexp.papers import claims as registered
    from dpexp.papers import papers
    from dpexp.reporting.claims_ledger import document, latex, markdown, settle, surprises
    from dpexp.store import write_text

    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    known = registered()
    if paper is not None and paper not in known:
        raise UsageError(
            f"no claims of a paper '{paper}'",
            f"{guess(paper, known)}papers: {', '.join(known)}; a plug-in's needs --plugin FILE.py",
        )
    asked = [paper] if paper else list(known)
    entries = settle(results, [claim for name in asked for claim in known[name]])
    not_claimed = {name: one.not_claimed for name, one in papers().items() if name in asked}
    if form == "json":
        text = json.dumps(finite(document(entries)), indent=2)
    else:
        text = markdown(entries, not_claimed) if form == "md" else latex(entries)
    if out is not None:
        path = out / f"CLAIMS.{form}"
        write_text(path, text)
        text = str(path)
    return text, surprises(entries)


def conformance(form: str) -> tuple[str, list[str]]:
    """Published reference values beside ours, as text, and a line for every one that disagrees."""
    from dpexp.core.text import finite
    from dpexp.reporting.published_numbers import conformance as run
    from dpexp.reporting.table import latex_table, markdown_table

    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    rows = run()
    wrong = [
        f"{row['what']}: {row['ours']:.10g}, published {row['published']:.10g}" for row in rows if not row["agrees"]
    ]
    if form == "json":
        return json.dumps(finite(rows), indent=2), wrong
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
