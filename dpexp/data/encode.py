"""One value of a record as a number, a day, a category or an id: a pure function of its text and of public inputs.

Training, fits and predictions go through the same lines. What a column holds is stated (a range, categories) or says
the file's schema; nothing follows from its values.

    missing      one of `MISSING` in any case, unless it is a stated category
    a number     digits with a decimal mark, an exponent and a sign; where marks of thousands are stated also 1,234
                 (three digits a group); true, yes, false and no are 1 and 0; nothing infinite. A budget may be inf
    a day        2021-03-01, and what follows it does not count: days since 1970; in a column whose range is two days
    a category   the stated one with these letters (Unicode's canonical form, blanks collapsed); else the only stated
                 one that is the same number (01, 1.0 and 1) or, where the two stated ones are 0 and 1 or truth words,
                 the same truth (TRUE, yes, 1); else `other`, if that is stated
    an id        letters in Unicode's compatible form without their case, and numbers without their spelling: a person
                 with two ids would have two budgets
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from itertools import product
from typing import NamedTuple

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.text import counted
from dpexp.data.public_inputs import DECIMALS, THOUSANDS, PublicColumn, PublicInputs
from dpexp.data.records import Header, RecordTable, Value, Values

MISSING = frozenset({"", "na", "n/a", "#n/a", "nan", "null", "none", "<na>", "nat"})
OTHER = "other"  # the category of all values that are not listed
RANGE = "[LOW, HIGH]"  # what is to be filled in for a range
SHOWN = 4  # faults that are named; more are counted
TRIED = 200  # different values that are tried in another spelling
PRIVATE = "(private: do not publish)"  # of everything that is read off the records for their owner
_TRUTH = {"true": 1.0, "yes": 1.0, "false": 0.0, "no": 0.0}
_LARGEST = float(np.finfo(np.float32).max)
_PADDED, _DAY = re.compile(r"[+-]?0\d"), re.compile(r"\d{4}-\d\d-\d\d(?!\d)", re.ASCII)
_ALIKE = {" ": "[ \u00a0\u202f]", "'": "['\u2019]"}  # marks that programs write in several forms


class Unread(ValueError):
    """A value that cannot be read: `fault` says why without the value."""

    def __init__(self, fault: str, value: str = "", more: str = "") -> None:
        super().__init__(f"{fault}{more}{f': {value[:40]!r}' if value else ''}")
        self.fault, self.value = fault, value


@lru_cache(maxsize=64)
def _patterns(decimal: str, thousands: str) -> tuple[re.Pattern[str], re.Pattern[str]]:
    """Of a number in this spelling, and of what is left out of it."""
    point, mark = re.escape(decimal), _ALIKE.get(thousands, re.escape(thousands))
    integers = rf"(?:\d{{1,3}}(?:{mark}\d{{3}})+|\d+)" if thousands else r"\d+"
    number = rf"[+-]?(?:{integers}(?:{point}\d*)?|{point}\d+)(?:e[+-]?\d+)?"
    return re.compile(number, re.ASCII | re.IGNORECASE), re.compile(mark if thousands else r"(?!)")


def read_number(text: str, decimal: str = ".", thousands: str = "") -> float | None:
    """The number that a text is in this spelling; inf where it overflows, None where it is none."""
    number, marks = _patterns(decimal, thousands)
    return float(marks.sub("", text).replace(decimal, ".")) if number.fullmatch(text) else None


def read_budget(text: str, decimal: str = ".", thousands: str = "") -> float | None:
    """A number, or inf: a budget that is read wrongly is a false guarantee. None where it is neither, or overflows."""
    if re.fullmatch(r"\+?inf(inity)?", text, re.ASCII | re.IGNORECASE):
        return math.inf
    value = read_number(text, decimal, thousands)
    return None if value is None or math.isinf(value) else value


def number_readings(text: str) -> dict[str, str]:
    """Other numbers that a text can be, with the public keys for each."""
    readings: dict[str, str] = {}
    for decimal, thousands in product(DECIMALS, THOUSANDS):
        value = None if decimal == thousands else read_number(text, decimal, thousands)
        if value is not None:
            keys = [f"decimal: '{decimal}'"] * (decimal != "." or not thousands)
            keys += [f'thousands: "{thousands}"'] * bool(thousands)
            # the first spelling of a value has the fewest keys
            readings.setdefault(f"{value:.12g}", " and ".join(keys))
    return readings


def read_id(text: str) -> str:
    """The id that a text spells; empty where there is none."""
    text = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    if text in MISSING or read_number(text) is None:
        return "" if text in MISSING else text
    # exactly: ids have more digits than a float
    with suppress(InvalidOperation):
        sign, digits, exponent = Decimal(text).as_tuple()
        figures = "".join(map(str, digits)).lstrip("0")
        short = figures.rstrip("0")
        return f"{'-' * sign}{short}e{int(exponent) + len(figures) - len(short)}" if short else "0"
    # an exponent of 19 digits is spelled in one way
    return text


def letters(text: str) -> str:
    """A text in Unicode's canonical form, with one blank where there are several."""
    return " ".join(unicodedata.normalize("NFC", text).split())


def encode(value: Value, column: PublicColumn) -> float:
    """A value as a number: itself, its day or the place of its category; NaN where it may be missing. Raises Unread."""
    if value is None:
        raise Unread("its line does not hold one value for each column; a quoted value ends on its line")
    # the public keys say how texts spell numbers, and a number in memory is none; a whole one may have either type
    if not isinstance(value, str):
        value, column = repr(value).removesuffix(".0"), column._replace(decimal=".", thousands="")
    text = value.strip()
    # a stated category comes first, also one that is spelled like a missing value
    spelled = letters(text)
    for place, level in enumerate(column.levels or ()):
        if letters(level) == spelled:
            return float(place)
    if text.lower() in MISSING:
        if column.may_miss:
            return math.nan
        raise Unread(f"{column.name} is missing")
    if column.levels is not None:
        return _level_place(text, column)
    if column.days:
        return day(text, column.name)
    value = _number(text, column.decimal, column.thousands)
    if value is None:
        raise Unread(f"{column.name} is not a number", text)
    if abs(value) > _LARGEST:
        raise Unread(f"{column.name} is infinite or above {_LARGEST:.1e}", text)
    # without the sign of a zero: 0.0 and -0.0 are one key of a dict, so that one record would decide it for another
    return value + 0.0


def day(text: str, name: str = "it") -> float:
    """Days since 1970. Raises Unread."""
    with suppress(ValueError):
        if match := _DAY.match(text):
            return float(date.fromisoformat(match[0]).toordinal() - date(1970, 1, 1).toordinal())
    raise Unread(f"{name} is not a day like 2021-03-01", text)


def limits_of(name: str, pair: Sequence[float | str]) -> tuple[float, float]:
    """A stated range of numbers, or of days as days since 1970. Raises ValueError."""
    low, high = (day(end, name) if isinstance(end, str) else float(end) for end in pair)
    if bool in map(type, pair) or not low < high or not math.isfinite(high - low):
        raise ValueError(f"{name}: a range is two numbers or two days, the smaller first")
    return low, high


def _number(text: str, decimal: str = ".", thousands: str = "") -> float | None:
    value = read_number(text, decimal, thousands)
    return _TRUTH.get(text.lower()) if value is None else value


def _level_place(text: str, column: PublicColumn) -> float:
    """The place of a category that is not spelled as it is stated."""
    levels = column.levels or ()
    spelled = {level.lower() for level in levels if level != OTHER}
    truths = len(spelled) == 2 and {_number(level) for level in spelled} == {0.0, 1.0}
    # yes and no are numbers only between two categories that are 0 and 1: else a category `1` would take them in
    numbers = {k: _number(level) for k, level in enumerate(levels) if truths or level.lower() not in _TRUTH}
    value = _number(text, column.decimal, column.thousands) if truths or text.lower() not in _TRUTH else None
    alike = [k for k, number in numbers.items() if value is not None and number == value]
    # of two stated ones that are one number, such as 1 and 01, a number is the one without zeros before it
    if len(alike) > 1 and not _PADDED.match(text):
        alike = [k for k in alike if not _PADDED.match(levels[k])]
    if len(alike) == 1 or OTHER in levels:
        return float(alike[0] if len(alike) == 1 else levels.index(OTHER))
    raise Unread(f"{column.name} is not among its categories", text, f" ({', '.join(levels[:20])})")


class Encoded(NamedTuple):
    """The values of a column."""

    values: np.ndarray  # [n] float64, as `encode` has them; NaN where missing or unread
    read: np.ndarray  # [n] whether a value could be read; one that is missing and may be was read
    faults: Mapping[int, Unread] = {}  # of the others, by record


def encoded(table: RecordTable, column: PublicColumn) -> Encoded:
    """`encode` of every record."""
    entries = table.columns[column.name]
    # numbers by a schema: what `encode` makes of their texts, all at once
    if isinstance(entries, np.ndarray) and column.levels is None and not column.days:
        read = (np.abs(entries) <= _LARGEST) | (np.isnan(entries) & column.may_miss)
        if read.all():
            return Encoded(entries + 0.0, read)
    each = listed(entries)
    readings: dict[Value, float | Unread] = {}
    # equal texts have equal numbers, whoever holds them, and are read once
    for value in set(each):
        try:
            readings[value] = encode(value, column)
        except Unread as error:
            readings[value] = error
    in_order = [readings[value] for value in each]
    faults = {k: reading for k, reading in enumerate(in_order) if isinstance(reading, Unread)}
    values = np.array([math.nan if isinstance(reading, Unread) else reading for reading in in_order])
    return Encoded(values, ~np.isin(np.arange(len(each)), list(faults)), faults)


def unread(table: RecordTable, columns: Sequence[PublicColumn]) -> dict[int, Unread]:
    """For every record with an unreadable value, the first reason: for the owner of the table alone."""
    first: dict[int, Unread] = {}
    for column in reversed(columns):
        first |= encoded(table, column).faults
    return dict(sorted(first.items()))


def listed(values: Values) -> Sequence[Value]:
    """Values one by one; one that is not there is an empty text."""
    return ["" if v != v else v for v in values.tolist()] if isinstance(values, np.ndarray) else values


def columns_of(header: Header, used: Sequence[str], public: PublicInputs) -> list[PublicColumn]:
    """Columns from public statements or, without one, from the schema. Raises DataError with all faults."""
    columns, wrong = [], []
    for name in used:
        kind, limits, levels = header.kinds[name], public.ranges.get(name), public.categories.get(name)
        if levels is None and limits is None and kind == "truth":
            levels = ("False", "True")
        if limits is not None and levels is not None:
            wrong.append(f"{name} has a range and categories")
        elif levels is not None and len(set(map(letters, levels))) < len(levels):
            wrong.append(f"{name}: its categories name a value twice")
        elif kind == "other":
            wrong.append(f"{name} holds lists, bytes or the like, which are not understood")
        elif levels is None and limits is None and kind in ("text", "day"):
            wrong.append(f"{name} holds {kind}s, and no {'range' if kind == 'day' else 'categories'} of it are stated")
        days = (kind == "day" or name in public.days) and levels is None
        may_miss = name in public.centred_if_missing
        columns.append(PublicColumn(name, limits, levels, may_miss, days, public.decimal, public.thousands))
    if wrong:
        raise DataError("; ".join(wrong), "state what is known of a column without the records, or leave it out")
    return columns


def remarks(table: RecordTable, columns: Sequence[PublicColumn], classes: PublicColumn) -> list[str]:
    """For the owner of a labelled table alone: what cannot be read, and the accuracy without any features.

    It is read off the records, and so no part of the privacy statement, of what is stored or of what is released.
    """
    lines = losses(table, unread(table, [*columns, classes]))
    values = encoded(table, classes).values
    counts = np.bincount(values[np.isfinite(values)].astype(np.int64), minlength=1)
    if counts.any():
        share, name = counts.max() / counts.sum(), (classes.levels or ())[int(counts.argmax())]
        lines.append(f'Always predicting "{name}" would be {share:.1%} accurate {PRIVATE}')
    return lines


def losses(table: RecordTable, unreadable: Mapping[int, Unread], lost: str = "add nothing") -> list[str]:
    """The records that were `unread`, in one sentence: how many, why, and what would read them."""
    if not unreadable:
        return []
    faults: dict[str, list[int]] = {}
    for k, error in unreadable.items():
        faults.setdefault(error.fault, []).append(k)
    ordered = sorted(faults.values(), key=lambda records: -len(records))
    reasons = [f"{unreadable[ks[0]]} ({counted(len(ks), 'record')}, first {table.place(ks[0])})" for ks in ordered]
    reasons[SHOWN:] = [f"and {counted(len(ordered) - SHOWN, 'more reason')}"] if len(ordered) > SHOWN else []
    # the first number in another spelling, whose value no reason need show
    texts = dict.fromkeys(error.value for error in unreadable.values() if error.fault.endswith(" a number"))
    text, readings = next(((text, how) for text in [*texts][:TRIED] if (how := number_readings(text))), ("", {}))
    spelled = " or ".join(f"{value} with {keys}" for value, keys in readings.items())
    more = f". {text!r} is {spelled} in the public inputs" if spelled else ""
    share = f"{len(unreadable):,} of {counted(len(table), 'record')} cannot be read and {lost}"
    return [f"{share}: {'; '.join(reasons)}{more} {PRIVATE}"]


def none_read(table: RecordTable, lost: Sequence[str]) -> DataError:
    """What to raise before anything is drawn, where all records are lost: a budget would be spent on noise."""
    hint = "state categories of columns of words, and decimal and thousands, among the public inputs"
    return DataError(f"{table.where}: no record can be read; {'; '.join(lost) or PRIVATE}", hint)
