"""One value of a record as a number: a pure function of its text and of what is public of its column.

Nothing here sees another record, so what is trained on, what is fitted and what is predicted later go through the same
lines. What a column holds is stated (a range, categories) or says the file's schema; it is never read off its values.

    missing      one of `MISSING` in any case, unless it is a stated category
    a number     digits with a point and an exponent, no signs but + and -; with a decimal comma where no comma
                 separates columns; true, yes, false and no are 1 and 0; nothing that is infinite or beyond float32
    a day        2021-03-01, and what follows it does not count: days since 1970; in a column whose range is two days
    a category   the stated one with this text; else the only stated one that is the same number (01, 1.0 and 1) or,
                 where the two stated ones are 0 and 1 or truth words, the same truth (TRUE, yes, 1); else `other`, if
                 that is stated
    anything else cannot be read, and what becomes of the record is for the caller to say, by a public rule
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from datetime import date
from typing import NamedTuple

import numpy as np

from dpexp.core.errors import DataError
from dpexp.data.public_inputs import Column, PublicInputs
from dpexp.data.records import Header, Table, Values

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "nat"})
OTHER = "other"
"""the category that stands for all that are not listed"""
SHOWN = 5
"""records that cannot be read and are shown to their owner"""
FOR_YOU = "(read off the records: for you, not for release)"
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)(e[+-]?\d+)?", re.ASCII | re.IGNORECASE)
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_LARGEST = float(np.finfo(np.float32).max)


class Unread(ValueError):
    """A value that cannot be read; the message says why."""


def encode(text: str | None, column: Column, decimal_comma: bool = False) -> float:
    """The number that a value is: itself, its day, or the place of its category; NaN where it is missing and may be.

    Raises Unread. `text` None is a value of a line that could not be taken apart.
    """
    if text is None:
        raise Unread("its line does not hold one value for each column; a quoted value ends on its line")
    text = text.strip()
    # a stated category comes first, also one that is spelled like a missing value
    if column.levels is not None and text in column.levels:
        return float(column.levels.index(text))
    if text.lower() in MISSING:
        if column.may_miss:
            return math.nan
        raise Unread(f"{column.name} is missing")
    if column.levels is not None:
        return _place(text, column, decimal_comma)
    if column.days:
        return day(text, column.name)
    value = _number(text, decimal_comma)
    if value is None:
        raise Unread(f"{column.name} is not a number: {text[:40]!r}")
    if abs(value) > _LARGEST:
        raise Unread(f"{column.name} is infinite or above {_LARGEST:.1e}: {text[:40]!r}")
    return value


def day(text: str, name: str = "it") -> float:
    """Days since 1970. Raises Unread."""
    try:
        return float(date.fromisoformat(text[:10]).toordinal() - date(1970, 1, 1).toordinal())
    except ValueError:
        raise Unread(f"{name} is not a day like 2021-03-01: {text[:40]!r}") from None


def limits_of(name: str, pair: Sequence[float | str]) -> tuple[float, float]:
    """A stated range of numbers, or of days as days since 1970. Raises ValueError."""
    low, high = (day(end, name) if isinstance(end, str) else float(end) for end in pair)
    if bool in map(type, pair) or not low < high or not math.isfinite(high - low):
        raise ValueError(f"{name}: a range is two numbers or two days, the smaller first")
    return low, high


def _number(text: str, decimal_comma: bool = False) -> float | None:
    # one comma alone can be a decimal one: 1,234,567 is no number
    if decimal_comma and "." not in text:
        text = text.replace(",", ".", 1)
    return float(text) if _NUMBER.fullmatch(text) else _TRUTH.get(text.lower())


def _place(text: str, column: Column, decimal_comma: bool) -> float:
    """The place of a category that is not spelled as it is stated."""
    levels = column.levels or ()
    stated = {level.lower() for level in levels if level != OTHER}
    truths = len(stated) == 2 and {_number(level) for level in stated} == {0.0, 1.0}
    # yes and no are numbers only between two categories that are 0 and 1: else a category `1` would take them in
    value = _number(text, decimal_comma)
    if value is not None and (truths or text.lower() not in _TRUTH):
        alike = [
            k for k, level in enumerate(levels) if _number(level) == value and (truths or level.lower() not in _TRUTH)
        ]
        # where two stated ones are the same number the text says neither
        if len(alike) == 1:
            return float(alike[0])
    if OTHER in levels:
        return float(levels.index(OTHER))
    raise Unread(f"{column.name} is {text[:40]!r}, which is not among its categories: {', '.join(levels[:20])}")


class Encoded(NamedTuple):
    """The values of a column."""

    values: np.ndarray
    """[n] float64, as `encode` has them; NaN where missing or unread"""
    read: np.ndarray
    """[n] whether a value could be read; one that is missing and may be was read"""


def encoded(table: Table, column: Column) -> Encoded:
    """`encode` of every record."""
    given, comma = table.columns[column.name], table.decimal_comma
    # numbers by a schema: what `encode` says of their texts, all at once
    if isinstance(given, np.ndarray) and column.levels is None and not column.days:
        values = np.where(np.abs(given) <= _LARGEST, given, np.nan)
        return Encoded(values, np.isfinite(values) | (np.isnan(given) & column.may_miss))
    # equal texts have equal numbers, whoever holds them, and are read once
    known: dict[str | None, float | None] = {}
    for text in set(_texts(given)):
        try:
            known[text] = encode(text, column, comma)
        except Unread:
            known[text] = None
    found = [known[text] for text in _texts(given)]
    return Encoded(np.array(found, dtype=np.float64), np.array([value is not None for value in found]))


def unread(table: Table, columns: Sequence[Column]) -> dict[int, str]:
    """Of every record of which a value cannot be read: where it stands and the first reason.

    For the owner of the table alone: no part of any statement or release.
    """
    found: dict[int, str] = {}
    for column in columns:
        for k in np.flatnonzero(~encoded(table, column).read).tolist():
            try:
                encode(_texts(table.columns[column.name][k : k + 1])[0], column, table.decimal_comma)
            except Unread as error:
                found.setdefault(k, f"{table.place(k)}: {error}")
    return dict(sorted(found.items()))


def of_unread(table: Table, columns: Sequence[Column]) -> list[str]:
    """The first records of which a value cannot be read, and why."""
    said = list(unread(table, columns).values())
    more = [f"... {FOR_YOU}"] if len(said) > SHOWN else []
    return [f"{one}; this record adds nothing {FOR_YOU}" for one in said[:SHOWN]] + more


def _texts(values: Values) -> Sequence[str | None]:
    """Values as texts; a number by a schema is spelled like one, and empty where there is none."""
    return ["" if v != v else repr(v) for v in values.tolist()] if isinstance(values, np.ndarray) else values


def columns_of(header: Header, used: Sequence[str], public: PublicInputs) -> list[Column]:
    """Columns from what is stated of them and, where nothing is, from the schema. Raises DataError with all faults."""
    found, wrong = [], []
    for name in used:
        kind, limits, levels = header.kinds[name], public.ranges.get(name), public.categories.get(name)
        if levels is None and limits is None and kind == "truth":
            levels = ("False", "True")
        if limits is not None and levels is not None:
            wrong.append(f"{name} has a range and categories")
        elif levels is not None and len(set(levels)) < len(levels):
            wrong.append(f"{name}: its categories name a value twice")
        elif kind == "other":
            wrong.append(f"{name} holds lists, bytes or the like, which are not understood")
        elif levels is None and limits is None and kind in ("text", "day"):
            wrong.append(f"{name} holds {kind}s, and no {'range' if kind == 'day' else 'categories'} of it are stated")
        days = kind == "day" or name in public.days
        found.append(Column(name, limits, levels, name in public.centred_if_missing, days and levels is None))
    if wrong:
        raise DataError("; ".join(wrong), "state what is known of a column without the records, or leave it out")
    return found
