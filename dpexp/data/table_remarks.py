"""What an owner should know about a table before it is used: for the owner alone.

Records that cannot be read, a column that is far larger than the others and one that numbers the records are not
mistakes, but seldom meant, and nothing else shows them. These remarks are read off the records. They are therefore no
part of the privacy statement, of what is stored or of what is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.text import counted, yaml_in_line
from dpexp.data.encode import PRIVATE, Unread, encoded, number_readings, unread
from dpexp.data.public_inputs import PublicColumn
from dpexp.data.records import RecordTable

RANGE = "[LOW, HIGH]"
"""what is to be filled in for a range"""
OF_ONE_SIZE = 10.0
"""a column may be so many times as large as the median of the others. Beyond it, these are less than a hundredth of the
squared norm of a record each"""
FEWEST_RECORDS = 20
"""with fewer records it says little that no two have the same whole number"""
SHOWN = 4
"""faults that are named; more are counted"""
TRIED = 200
"""different values that are tried in another spelling"""


def remarks(table: RecordTable, columns: Sequence[PublicColumn], classes: PublicColumn) -> list[str]:
    """What is odd about a labelled table, each in one line."""
    raw = _raw(table, columns)
    lines = identifiers(table, columns)
    # every record is scaled to norm 1 by itself, so a column that is a thousand times larger than the others is all
    # that is left of a record: the root of its mean square is what it adds to the norms
    sizes = {name: float(np.sqrt(np.mean(values**2))) for name, values in raw.items() if len(values)}
    # by range or as 0 and 1 the others have at most size 1
    others = [1.0] * (len(columns) - len(raw))
    rest = {name: [*(size for other, size in sizes.items() if other != name), *others] for name in sizes}
    large = [name for name, size in sizes.items() if rest[name] and size > OF_ONE_SIZE * float(np.median(rest[name]))]
    if large:
        template = ", ".join(f"{name}: {RANGE}" for name in raw)
        lines.append(
            f"{', '.join(large)} {'are' if len(large) > 1 else 'is'} more than {OF_ONE_SIZE:g} times as large as other "
            "columns. Every record is scaled to norm 1, so that little is left of these others. State limits that are "
            f"known without the records: ranges: {{{template}}} {PRIVATE}"
        )
    return lines + losses(table, unread(table, [*columns, classes]))


def _raw(table: RecordTable, columns: Sequence[PublicColumn]) -> dict[str, np.ndarray]:
    """The numbers of every column that no range scales."""
    plain = [column for column in columns if column.levels is None and column.limits is None and not column.days]
    values = {yaml_in_line(column.name): encoded(table, column).values for column in plain}
    return {name: numbers[np.isfinite(numbers)] for name, numbers in values.items()}


def identifiers(table: RecordTable, columns: Sequence[PublicColumn]) -> list[str]:
    """Columns without a range that number the records."""
    return [
        f"{name} is another whole number in every record, as an identifier is; if it is one, leave it out {PRIVATE}"
        for name, values in _raw(table, columns).items()
        if len(np.unique(values)) == len(values) >= FEWEST_RECORDS and np.all(values % 1 == 0)
    ]


def losses(table: RecordTable, unreadable: Mapping[int, Unread], lost: str = "add nothing") -> list[str]:
    """The records that were `unread`, in one sentence: how many, why, and what would read them."""
    if not unreadable:
        return []
    faults: dict[str, list[int]] = {}
    for k, error in unreadable.items():
        faults.setdefault(error.fault, []).append(k)
    ordered = sorted(faults.items(), key=lambda fault: -len(fault[1]))
    reasons = [
        f"{unreadable[ks[0]]} ({counted(len(ks), 'record')}, first {table.place(ks[0])})" for _, ks in ordered[:SHOWN]
    ]
    more = [f"and {counted(len(ordered) - SHOWN, 'more reason')}"] if len(ordered) > SHOWN else []
    share = f"{len(unreadable):,} of {counted(len(table), 'record')} cannot be read and {lost}"
    return [f"{share}: {'; '.join(reasons + more)}{_other_reading(unreadable)} {PRIVATE}"]


def _other_reading(unreadable: Mapping[int, Unread]) -> str:
    """How the first number in another spelling reads, if one is among the values that are shown no further."""
    values = dict.fromkeys(error.value for error in unreadable.values() if error.fault.endswith(" a number"))
    read = next(((text, how) for text in [*values][:TRIED] if (how := number_readings(text))), None)
    if read is None:
        return ""
    readings = " or ".join(f"{value} with {keys}" for value, keys in read[1].items())
    return f". {read[0]!r} is {readings} in the public inputs"


def none_read(table: RecordTable, lost: Sequence[str]) -> DataError:
    """What to raise before anything is drawn, where all records are lost: a budget would be spent on noise."""
    hint = "state categories of columns of words, and decimal and thousands, among the public inputs"
    return DataError(f"{table.where}: no record can be read; {'; '.join(lost) or PRIVATE}", hint)


def majority(table: RecordTable, classes: PublicColumn) -> list[str]:
    """What an accuracy is to be compared with: the share of the class that most records have."""
    values = encoded(table, classes).values
    counts = np.bincount(values[np.isfinite(values)].astype(np.int64), minlength=1)
    if not counts.any():
        return []
    share, name = counts.max() / counts.sum(), (classes.levels or ())[int(counts.argmax())]
    return [f'Always predicting "{name}" would be {share:.1%} accurate {PRIVATE}']
