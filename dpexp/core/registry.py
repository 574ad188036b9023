"""What a name in a config or on the command line can mean: an explicit dictionary that plug-ins may add to."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from dpexp.core.errors import UsageError

T = TypeVar("T")
BUILT_IN = "dpexp itself"
"""where a name comes from that no plug-in adds"""


class Registry(dict[str, T]):
    """Names and what they mean; `kind` says of what, in messages. Nothing is ever replaced silently."""

    def __init__(self, kind: str, entries: Mapping[str, T]) -> None:
        super().__init__(entries)
        self.kind = kind
        self.sources: dict[str, str] = {}
        """which plug-in a name comes from, for the names that are not built in"""

    def add(self, name: str, value: T, source: str) -> None:
        """Add a name; `source` is where a plug-in defines it, `file:line`. Raises UsageError where it is taken."""
        if name in self:
            owner = self.source(name)
            raise UsageError(f"{source}: {self.kind} '{name}' is already defined by {owner}", "give it another name")
        self[name] = value
        if source != BUILT_IN:
            self.sources[name] = source

    def source(self, name: str) -> str:
        """Where a name comes from."""
        return self.sources.get(name, BUILT_IN)

    def words(self) -> list[str]:
        """The names as messages and lists show them: behind those of plug-ins, which file they come from."""
        return [f"{name} (from {self.sources[name]})" if name in self.sources else name for name in self]

    def remove(self, name: str) -> None:
        """Take out what a plug-in added."""
        del self.sources[name]
        del self[name]
