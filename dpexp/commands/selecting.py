"""What `dpexp plot` and `dpexp table` share: which of the known names are meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpexp.core.errors import UsageError
from dpexp.core.text import guess


def select(names: Sequence[str], every: bool, known: Iterable[str], what: str) -> list[str]:
    """The names, each once, or all that are known. Raises UsageError for an unknown one, or for none."""
    known = list(known)
    if every:
        return known
    if not names:
        raise UsageError(f"which {what}? or --all", f"{what}s: {', '.join(known)}")
    for name in names:
        if name not in known:
            raise UsageError(f"no {what} '{name}'", f"{guess(name, known)}{what}s: {', '.join(known)}")
    return list(dict.fromkeys(names))
