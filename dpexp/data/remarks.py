"""What is odd about a user's own table, though it can be used: said to the owner, and to nobody else.

A column that is far larger than the others, one that numbers the records, and values that cannot be read are not
mistakes, but seldom meant, and nothing else shows them. These remarks are read off the records. They are therefore no
part of the privacy statement, of what is stored or of what is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpexp.data.drafting import LEVELS, key_of
from dpexp.data.encode import FOR_YOU, encoded, of_unread
from dpexp.data.public_inputs import Column
from dpexp.data.records import Table

OF_ONE_SIZE = 10.0
"""a column may be so many times as large as the median of the others. Beyond it, these are less than a hundredth of the
squared norm of a record each"""
FEWEST_RECORDS = 20
"""with fewer records it says little that no two have the same whole number"""


def remarks(table: Table, columns: Sequence[Column], classes: Column) -> list[str]:
    """What is odd about a labelled table, each in one line."""
    # a column with a stated range is scaled, and cannot drown the others
    raw = {
        c.name: values[np.isfinite(values)]
        for c in columns if c.levels is None and c.limits is None for values in [encoded(table, c).values]
    }  # fmt: skip
    found = [_of_words(c.name) for c in columns if c.name in raw and not (len(raw[c.name]) or c.may_miss)]
    others, raw = len(columns) - len(raw), {name: values for name, values in raw.items() if len(values)}
    found += [_numbered(name) for name, values in raw.items() if _numbers_records(values)]
    # every record is scaled to norm 1 by itself, so a column that is a thousand times larger than the others is all
    # that is left of a record
    large = _large({name: _size(values) for name, values in raw.items()}, others)
    if large:
        found.append(_drowned(large, list(raw)))
    return found + of_unread(table, [*columns, classes])


def majority(table: Table, classes: Column) -> list[str]:
    """What an accuracy is to be compared with: the share of the class that most records have."""
    values = encoded(table, classes).values
    counts = np.bincount(values[np.isfinite(values)].astype(np.int64), minlength=1)
    if not counts.any():
        return []
    share, name = counts.max() / counts.sum(), (classes.levels or ())[int(counts.argmax())]
    return [f"{share:.1%} of the records have the class {name}: so accurate is who always says so {FOR_YOU}"]


def _size(values: np.ndarray) -> float:
    """Root of the mean square, which is what a column adds to the norms of records."""
    return float(np.sqrt(np.mean(values**2))) if len(values) else 0.0


def _large(sizes: Mapping[str, float], others: int) -> list[str]:
    """Columns beside which the median of the rest is little; `others` have at most size 1, by range or as 0 and 1."""
    found = []
    for name, size in sizes.items():
        rest = [*(other for column, other in sizes.items() if column != name), *[1.0] * others]
        if rest and size > OF_ONE_SIZE * float(np.median(rest)):
            found.append(name)
    return found


def _numbers_records(values: np.ndarray) -> bool:
    return len(values) >= FEWEST_RECORDS and len(np.unique(values)) == len(values) and bool(np.all(values % 1 == 0))


def _drowned(large: Sequence[str], raw: Sequence[str]) -> str:
    template = ", ".join(f"{key_of(name)}: [LOW, HIGH]" for name in raw)
    many, names = len(large) > 1, ", ".join(map(key_of, large))
    return (
        f"{names} {'are' if many else 'is'} more than {OF_ONE_SIZE:g} times as large as other columns. "
        f"Every record is scaled to norm 1, so that little is left of these others. State limits that are known "
        f"without the records: ranges: {{{template}}} {FOR_YOU}"
    )


def _of_words(name: str) -> str:
    return (
        f"no value of {key_of(name)} is a number, so no record adds anything: of a column of words state categories: "
        f"{{{key_of(name)}: {LEVELS}}}, or leave it out {FOR_YOU}"
    )


def _numbered(name: str) -> str:
    said = "is another whole number in every record, as an identifier is; if it is one, leave it out"
    return f"{key_of(name)} {said} {FOR_YOU}"
