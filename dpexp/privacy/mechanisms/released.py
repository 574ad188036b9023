"""What a run releases, as a privacy statement needs it: a seam between algorithms and statements.

A run on a data set states its mechanism: what its algorithm amounts to, with the analysis that its noise was set by.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from dpexp.core.errors import NoSuchAnalysis
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism


class Released(Protocol):
    """What an algorithm's run releases, as a privacy statement needs it; asked by `run` and `privacy`."""

    @property
    def neighboring_relation(self) -> str: ...

    @property
    def sampling(self) -> str:
        """How records meet the steps."""

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns of cells.parquet: the noise, epsilon at each delta, and by which analysis. Asked by `store.rows`."""

    def upper_bounds(self) -> Sequence[Analysis]:
        """Every analysis, refused ones included with their reason: curves from above."""

    def lower_bounds(self) -> Sequence[Analysis]:
        """What pairs of neighbours attain, where that is known: curves from below."""

    def description(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""


@dataclass(frozen=True)
class Stated:
    """A mechanism, its name in MECHANISMS, and the analysis that a row of cells.parquet states.

    `accountant` is the name of one of the mechanism's analyses. `label` names it as the config does, `valid` whether it
    is a guarantee for this run: a reproduction of invalid accounting says so.
    """

    name: str
    mechanism: Mechanism
    accountant: str
    label: str = ""
    valid: bool = True

    @property
    def analysis(self) -> Analysis:
        """The analysis of the row. Raises NoSuchAnalysis where the mechanism has none of that name."""
        found = self.mechanism.upper_bounds()
        for analysis in found:
            if analysis.name == self.accountant:
                return analysis
        raise NoSuchAnalysis(
            f"the mechanism {self.name} has no analysis '{self.accountant}' to state in its row",
            f"its analyses here: {', '.join(a.name for a in found)}",
        )

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns for cells.parquet: the calibrated noise, epsilon at each delta, and by which accountant."""
        analysis, noise = self.analysis, self.mechanism.model_dump()[self.mechanism.noise_field]
        one = self.mechanism.more_noise_is_larger and not isinstance(noise, tuple)  # not a budget, and of all releases
        return {
            "noise_multiplier": float(noise) if one else math.nan,
            "accountant": self.label or self.accountant,
            "guarantee": self.valid and analysis.valid,
            "gdp_mu": math.nan if analysis.mu is None else analysis.mu,
            **{f"eps_{delta:g}": eps for delta, eps in zip(deltas, analysis.at(deltas), strict=True)},
        }

    def upper_bounds(self) -> list[Analysis]:
        """Every analysis of the mechanism."""
        return self.mechanism.upper_bounds()

    def lower_bounds(self) -> list[Analysis]:
        """What pairs of neighbours attain of it."""
        return self.mechanism.lower_bounds()

    @property
    def neighboring_relation(self) -> str:
        """Which data sets count as neighbours."""
        return self.mechanism.neighboring_relation

    @property
    def sampling(self) -> str:
        """How batches are drawn."""
        return self.mechanism.scheme

    def description(self) -> list[tuple[str, str]]:
        """Who is protected and what is released, as (topic, sentence) pairs."""
        return self.mechanism.description()
