"""What is known of the columns of a table without its records: ranges, categories, and which values may be missing.

Bounds are needed for nothing: a value outside its range is used as it is. A range says where most values lie, so that
columns count alike. It comes from a code book, an earlier public sample or common knowledge. A mean or a range that is
read off the records would be a release of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class PublicInputs:
    """Statements about columns by their names."""

    ranges: Mapping[str, tuple[float, float]] = field(default_factory=dict)
    """(low, high) between which 19 of 20 values lie: the middle is the centre, a quarter of the width the scale"""
    categories: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """every level of a column, the first of which is the reference"""
    centred_if_missing: tuple[str, ...] = ()
    """columns whose missing values count as the centre, with an entry of their own that says so"""
    leave_out: tuple[str, ...] = ()
    """columns that are not used"""
    days: tuple[str, ...] = ()
    """columns whose range is one of days, in days since 1970"""
    error_scale: float | None = None
    """a guess, within a factor 3, of the standard deviation of what the columns do not explain of the target"""
    error_scale_is_known: bool = False
    """whether that is no guess: then it is not estimated"""
    where: str = ""
    """the file that says so"""

    @property
    def named(self) -> tuple[str, ...]:
        """Every column that is spoken of."""
        return tuple(dict.fromkeys([*self.ranges, *self.categories, *self.centred_if_missing, *self.leave_out]))


@dataclass(frozen=True)
class Entry:
    """One covariate: a column of numbers, one level of a column, or whether a value is missing."""

    name: str
    column: str
    centre: float
    scale: float
    level: str | None = None
    """the level for which it is 1; None for numbers"""
    of_missing: bool = False

    @property
    def is_number(self) -> bool:
        return self.level is None and not self.of_missing


TYPICAL_RANGE = (-2.0, 2.0)
"""what a column of numbers without a range is taken to have: centre 0 and scale 1"""
SHARE_MISSING = 0.1
"""share of missing values that is guessed of a column in which they are expected"""


def entries_of_numbers(name: str, public: PublicInputs) -> list[Entry]:
    """The covariate of a column of numbers, and whether its value is missing."""
    low, high = public.ranges.get(name, TYPICAL_RANGE)
    return [Entry(name, name, (low + high) / 2, (high - low) / 4), *_missing(name, public)]


def entries_of_levels(name: str, levels: Sequence[str], public: PublicInputs) -> list[Entry]:
    """One covariate for every level but the first, scaled as if all levels were equally frequent.

    With L levels such an indicator has mean 1 / L and variance (1 / L)(1 - 1 / L). Divided by its standard deviation it
    counts as much as a number does; undivided, its curvature would be at most a quarter of theirs.
    """
    share = 1 / len(levels)
    spread = (share * (1 - share)) ** 0.5
    return [Entry(f"{name}={level}", name, share, spread, level) for level in levels[1:]] + _missing(name, public)


def _missing(name: str, public: PublicInputs) -> list[Entry]:
    if name not in public.centred_if_missing:
        return []
    spread = (SHARE_MISSING * (1 - SHARE_MISSING)) ** 0.5
    return [Entry(f"{name} is missing", name, SHARE_MISSING, spread, of_missing=True)]
