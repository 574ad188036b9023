"""The base of problems: a frozen set of parameters, and what a problem is that says nothing else of itself."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from dpexp.core.parameters import Parameters


class ProblemBase(Parameters):
    """The members of `dpexp.protocols.Problem` with their defaults: no data are kept, read or spoken of."""

    name: str

    def memory(self) -> int:
        """No data are kept."""
        return 0

    def prepare(self) -> None:
        """There is nothing to read."""

    def notices(self) -> Sequence[str]:
        """There is nothing to say of the data."""
        return ()

    def files(self) -> Mapping[str, str]:
        """No file of the user is read."""
        return {}
