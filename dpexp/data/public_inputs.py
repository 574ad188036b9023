"""What is known of the columns of a table without its records: ranges, categories, and which values may be missing.

Bounds are needed for nothing: a value outside its range is used as it is. A range says where most values lie, so that
columns count alike. It comes from a code book, an earlier public sample or common knowledge. A mean or a range that is
read off the records would be a release of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

DECIMALS = (".", ",")
THOUSANDS = ("", ",", ".", " ", "'", "_")  # as they are stated; a blank includes narrow ones
BLANKS = frozenset({"LOW", "HIGH", "ONE", "OTHER"})
"""words that a draft holds in place of values; a file that still holds them is refused"""


@dataclass(frozen=True)
class PublicInputs:
    """Statements about columns by their names."""

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """(low, high) between which 19 of 20 values lie: the middle is the centre, a quarter of the width the scale"""
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)  # every level, the reference first
    centred_if_missing: tuple[str, ...] = ()  # missing values count as the centre, with an entry of their own for that
    leave_out: tuple[str, ...] = ()  # columns that are not used
    days: tuple[str, ...] = ()  # columns whose range is one of days, in days since 1970
    error_scale: float | None = None  # a guess, within a factor 3, of the standard deviation of the target's errors
    error_scale_is_known: bool = False  # then it is not estimated
    decimal: str = "."
    thousands: str = ""  # another mark than `decimal`; empty: digits are not grouped
    where: str = ""  # the file of these statements
    # of plans: how many of the records are thought to have a category; correlations of any two columns of numbers, and
    # of two columns by name (those of categories are of the normals that are cut into levels); and how far columns are
    # thought to move the log odds of the target, as their standard deviation
    shares: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    correlation: float | None = None
    correlations: Mapping[tuple[str, str], float] = field(default_factory=dict)
    log_odds_sd: float | None = None

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is spoken of."""
        return tuple(dict.fromkeys([*self.ranges, *self.categories, *self.centred_if_missing, *self.leave_out]))


class PublicColumn(NamedTuple):
    """What is public of one column."""

    name: str
    limits: tuple[float, float] | None = None  # the stated range of a column of numbers, if there is one
    levels: tuple[str, ...] | None = None  # the categories of a column that has them, in the order of their entries
    may_miss: bool = False  # a missing value then has an entry of its own
    days: bool = False
    decimal: str = "."
    thousands: str = ""

    @property
    def entries(self) -> list[str]:
        """Names of its entries: the column's own or one for each category, and whether its value is missing."""
        # all levels have an entry here, the reference too: softmax needs no reference
        own = [self.name] if self.levels is None else [f"{self.name}={level}" for level in self.levels]
        return [*own, *[f"{self.name} is missing"] * self.may_miss]

    @property
    def entry_limits(self) -> list[tuple[float, float]]:
        """The range by which each entry is scaled; (0, 1) where it is not."""
        return [self.limits or (0.0, 1.0), *[(0.0, 1.0)] * (len(self.entries) - 1)]


def column_of(document: Mapping[str, Any]) -> PublicColumn:
    """The column whose `_asdict` JSON kept."""
    lists = {name: document[name] and tuple(document[name]) for name in ("limits", "levels")}
    return PublicColumn(**{**document, **lists})
