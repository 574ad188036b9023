"""Aligned columns that fit the terminal: folded into parts where they would be wider, and as they are elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import textwrap
from collections.abc import Sequence

from dpexp.core.text import columns
from dpexp.reporting.fitting import Rows, fit

LEAST = 40
"""characters below which a terminal's width is not believed: nothing can be read in less"""


def terminal_width() -> int:
    """Characters of a line of the terminal, or of COLUMNS where that is set; 0 where the text goes elsewhere."""
    if sys.stdout.isatty() or os.environ.get("COLUMNS", "").isdigit():
        return shutil.get_terminal_size().columns
    return 0


def fitting_columns(rows: Rows, head: Sequence[str]) -> str:
    """The rows below their head; what was done to make them fit is said below them."""
    width = terminal_width()
    if not width or not rows:
        return columns(rows, head)
    fitted = fit(head, rows, max(width, LEAST), _width)
    parts = [columns(part, names) for names, part in fitted.parts]
    return "\n\n".join([*parts, *(textwrap.fill(line, max(width, LEAST)) for line in fitted.said)])


def in_lines(lines: Sequence[tuple[str, str]]) -> str:
    """What there is of every kind: the kind, and beside it the names, in several lines where they are many."""
    width = terminal_width()
    if not width:
        return columns(lines)
    left = max(len(kind) for kind, _ in lines) + 2
    return "\n".join(
        textwrap.fill(names, max(width, LEAST), initial_indent=kind.ljust(left), subsequent_indent=" " * left,
                      break_on_hyphens=False, break_long_words=False)
        for kind, names in lines
    )  # fmt: skip


def _width(head: Sequence[str], rows: Rows) -> int:
    return max(map(len, columns(rows, head).splitlines()))
