"""What an owner should know about a table before it is used: for the owner alone.

Nothing else shows that records cannot be read. These remarks are read off the records, and are therefore no part of the
privacy statement, of what is stored or of what is released.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from dpexp.core.errors import DataError
from dpexp.core.text import counted
from dpexp.data.encode import PRIVATE, Unread, encoded, number_readings, unread
from dpexp.data.public_inputs import PublicColumn
from dpexp.data.records import RecordTable

RANGE = "[LOW, HIGH]"  # what is to be filled in for a range
SHOWN = 4  # faults that are named; more are counted
TRIED = 200  # different values that are tried in another spelling


def remarks(table: RecordTable, columns: Sequence[PublicColumn], classes: PublicColumn) -> list[str]:
    """What is odd about a labelled table, each in one line; and the accuracy without any features."""
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
