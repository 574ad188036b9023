"""What a name in a config or on the command line can mean: an explicit dictionary that plug-ins may add to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from dpexp.core.errors import UsageError

T = TypeVar("T")


class Registry(dict[str, T]):
    """Names and what they mean; `kind` says of what, in messages. Nothing is ever replaced silently."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.kind = kind
        self.sources: dict[str, str] = {}
        """which plug-in a name comes from, for the names that are not built in"""

    def add(self, name: str, value: T, source: str) -> None:
        """Add what a plug-in defines. Raises UsageError where the name is taken."""
        if name in self:
            owner = self.sources.get(name, "dpexp itself")
            raise UsageError(f"{source}: {self.kind} '{name}' is already defined by {owner}", "give it another name")
        self[name] = value
        self.sources[name] = source

    def remove(self, name: str) -> None:
        """Take out what a plug-in added."""
        del self.sources[name]
        del self[name]
