"""`dpexp table`: tables from stored results, never computing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.selecting import select
from dpexp.core.errors import UsageError


def table(names: Sequence[str], every: bool, form: str, out: Path | None, results: Path) -> str:
    """Tables as text, or the paths written."""
    from dpexp.papers import tables
    from dpexp.reporting.table import FORMATS, render
    from dpexp.store import write_text

    known = tables()

    chosen = select(names, every, known, "table")
    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    texts = {name: render(known[name], results, form) for name in chosen}
    if out is None:
        return "\n\n".join(texts.values())
    for name, text in texts.items():
        write_text(out / f"{name}.{form}", text)
    return "\n".join(str(out / f"{name}.{form}") for name in texts)
