"""What `dpexp plot` and `dpexp table` share: which of the known names are meant."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from dpexp.config.words import listed
from dpexp.core.errors import UsageError
from dpexp.core.text import guess


def select(names: Sequence[str], every: bool, known: Iterable[str], what: str) -> list[str]:
    """The names, each once, or all that are known. Raises UsageError for an unknown one, or for none."""
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
