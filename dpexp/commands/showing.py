"""`dpexp plot` and `dpexp table`: from stored results, never computing."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from dpexp.config.words import listed
from dpexp.core.errors import UsageError
from dpexp.core.text import guess


def _select(names: Sequence[str], every: bool, known: Iterable[str], what: str) -> list[str]:
    if every:
        return list(known)
    if not names:
        raise UsageError(f"which {what}? or --all", f"{what}s: {listed(known)}")
    for name in names:
        if name not in known:
            raise UsageError(
                f"no {what} '{name}'",
                f"{guess(name, known)}{what}s: {listed(known)}; a plug-in's needs --plugin FILE.py",
            )
    return list(dict.fromkeys(names))


def plot(
    names: Sequence[str],
    every: bool,
    formats: str,
    out: Path | None,
    results: Path,
    theory: bool = False,
    stored: bool = False,
) -> str:
    """Draw figures, or those with theory laid over them; the paths written, a line each."""
    from dpexp.papers import figures, overlays
    from dpexp.reporting.figure import write

    known, with_theory = figures(), overlays()

    chosen = _select(names, every or stored, known, "figure")
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


def table(names: Sequence[str], every: bool, form: str, out: Path | None, results: Path) -> str:
    """Tables as text, or the paths written."""
    from dpexp.papers import tables
    from dpexp.reporting.table import FORMATS, render
    from dpexp.store import write_text

    known = tables()

    chosen = _select(names, every, known, "table")
    if form not in FORMATS:
        raise UsageError(f"--format is one of {', '.join(FORMATS)}, not {form!r}")
    texts = {name: render(known[name], results, form) for name in chosen}
    if out is None:
        return "\n\n".join(texts.values())
    for name, text in texts.items():
        write_text(out / f"{name}.{form}", text)
    return "\n".join(str(out / f"{name}.{form}") for name in texts)
