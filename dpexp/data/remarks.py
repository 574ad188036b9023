"""What is odd about a user's own table, though it can be used: said to the owner, and to nobody else.

Every record is scaled to norm 1 by itself, so a column that is a thousand times larger than the others is all that is
left of a record. That, a column that numbers the records, and a count that is taken for classes are not mistakes, but
seldom meant, and nothing else shows them. These remarks are read off the records. They are therefore no part of the
privacy statement, of what is stored or of what is released.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np

from dpexp.data.columns import is_number

OF_ONE_SIZE = 10.0
"""a column may be so many times as large as the median of the others. Beyond it, these are less than a hundredth of the
squared norm of a record each"""
FEW_CLASSES = 10
"""whole numbers that take more values than digits are probably counts, of which neighbours are alike"""
FEWEST_RECORDS = 20
"""with fewer records it says little that no two have the same whole number"""
_FOR_YOU = "(read off the records: for you, not for release)"


def remarks(
    frame: Any, target: str, ranges: Mapping[str, tuple[float, float]], categories: Mapping[str, Collection[str]]
) -> list[str]:
    """What is odd about a table that `read_table` accepts, each in one line."""
    numbers = [name for name in frame.columns.drop(target) if is_number(frame[name]) and name not in categories]
    raw = [name for name in numbers if name not in ranges]
    found = [_numbered(name) for name in raw if _numbers_records(frame[name])]
    large = _large({name: _size(frame[name]) for name in raw}, others=len(frame.columns) - 1 - len(raw))
    if large:
        found.append(_drowned(large, raw))
    if target not in categories and is_number(frame[target]) and frame[target].nunique() > FEW_CLASSES:
        found.append(_counted(target, frame[target].nunique()))
    return found


def _size(column: Any) -> float:
    """Root of the mean square, which is what a column adds to the norms of records."""
    return float(np.sqrt(np.mean(column.to_numpy(np.float64) ** 2)))


def _large(sizes: Mapping[str, float], others: int) -> list[str]:
    """Columns beside which the median of the rest is little; `others` have at most size 1, by range or as 0 and 1."""
    found = []
    for name, size in sizes.items():
        rest = [*(other for column, other in sizes.items() if column != name), *[1.0] * others]
        if rest and size > OF_ONE_SIZE * float(np.median(rest)):
            found.append(name)
    return found


def _numbers_records(column: Any) -> bool:
    values = column.to_numpy(np.float64)
    return len(values) >= FEWEST_RECORDS and len(np.unique(values)) == len(values) and bool(np.all(values % 1 == 0))


def _drowned(large: Sequence[str], raw: Sequence[str]) -> str:
    template = ", ".join(f"{name}: [LOW, HIGH]" for name in raw)
    many = len(large) > 1
    return (
        f"{', '.join(large)} {'are' if many else 'is'} more than {OF_ONE_SIZE:g} times as large as other columns. "
        f"Every record is scaled to norm 1, so that little is left of these others. State limits that are known "
        f"without the records: ranges: {{{template}}} {_FOR_YOU}"
    )


def _numbered(name: str) -> str:
    return f"{name} is another whole number in every record, as an identifier is; if it is one, leave it out {_FOR_YOU}"


def _counted(target: str, values: int) -> str:
    return (
        f"the target {target} has {values} whole numbers, which are taken for as many classes, in no order. To explain "
        f"a count or an amount: dpexp fit DATA --target {target} {_FOR_YOU}"
    )
