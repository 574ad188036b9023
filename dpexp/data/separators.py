"""What a table that was saved with something else than commas between its columns looks like to a reader of commas."""

from __future__ import annotations

from collections.abc import Iterable

OTHERS = {";": "semicolons", "\t": "tabs", "|": "bars"}


def separated_otherwise(names: Iterable[str]) -> str:
    """A hint where names of columns hold another separator than commas; empty where none does."""
    found = next((words for sign, words in OTHERS.items() if any(sign in name for name in names)), "")
    return f"its columns seem to be separated by {found}: save it with commas; " if found else ""
