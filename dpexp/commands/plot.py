"""`dpexp plot`: figures from stored results, never computing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.selecting import select
from dpexp.core.errors import UsageError


def plot(
    names: Sequence[str],
    every: bool,
    formats: str,
    out: Path | None,
    results: Path,
    theory: bool = False,
    stored: bool = False,
) -> str:
    """Draw figures, or those with theory laid over them; the paths that were written, one in each line."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import write

    known, with_theory = figures(), overlays()

    chosen = select(names, every or stored, known, "figure")
    if stored and not every:
        chosen = [name for name in chosen if name in names or known[name].needs]
    if theory:
        without = [name for name in chosen if name not in with_theory]
        if without and not every:
            raise UsageError(f"'{without[0]}' cannot be drawn with theory", f"these can: {', '.join(with_theory)}")
        chosen = [name for name in chosen if name in with_theory]
    wanted = [form.strip() for form in formats.split(",")]
    for form in wanted:
        if form not in ("png", "pdf", "svg"):
            raise UsageError(f"--format is a list of png, pdf and svg, not {form!r}")
    registry = with_theory if theory else known
    paths = [path for name in chosen for path in write(registry[name], results, out or results / "figures", wanted)]
    return "\n".join(map(str, paths))
