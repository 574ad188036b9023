"""What a run releases, as a privacy statement needs it: a seam between algorithms and statements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from dpexp.privacy.analyses.analysis import Analysis


class Released(Protocol):
    """What an algorithm's run releases, as a privacy statement needs it; asked by `run` and `privacy`."""

    @property
    def neighboring_relation(self) -> str: ...

    @property
    def sampling(self) -> str:
        """How records meet the steps."""

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns of cells.parquet: the noise, epsilon at each delta, and by which analysis. Asked by `store.rows`."""

    def analyses(self) -> Sequence[Analysis]:
        """Every analysis, refused ones included with their reason. Asked by `dpexp.reporting.statement`."""

    def describe(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
