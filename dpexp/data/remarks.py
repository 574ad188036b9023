"""What is odd about a user's own table, though it can be used: said to the owner, and to nobody else.

A column that is far larger than the others, one that numbers the records, and values that cannot be read are not
mistakes, but seldom meant, and nothing else shows them. These remarks are read off the records. They are therefore no
part of the privacy statement, of what is stored or of what is released.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from dpexp.data.drafting import LEVELS, RANGE, key_of
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
    found, raw = list[str](), dict[str, np.ndarray]()
    # a column with a stated range is scaled, and cannot drown the others
    unscaled = [column for column in columns if column.levels is None and column.limits is None]
    for column in unscaled:
        values, name = encoded(table, column).values, key_of(column.name)
        values = values[np.isfinite(values)]
        if len(values):
            raw[name] = values
        elif not column.may_miss:
            found.append(
                f"no value of {name} is a number, so no record adds anything: of a column of words state categories: "
                f"{{{name}: {LEVELS}}}, or leave it out {FOR_YOU}"
            )
    found += [
        f"{name} is another whole number in every record, as an identifier is; if it is one, leave it out {FOR_YOU}"
        for name, values in raw.items()
        if len(np.unique(values)) == len(values) >= FEWEST_RECORDS and np.all(values % 1 == 0)
    ]
    # every record is scaled to norm 1 by itself, so a column that is a thousand times larger than the others is all
    # that is left of a record: the root of its mean square is what it adds to the norms
    sizes = {name: float(np.sqrt(np.mean(values**2))) for name, values in raw.items()}
    # by range or as 0 and 1 the others have at most size 1
    others = [1.0] * (len(columns) - len(unscaled))
    rest = {name: [*(size for one, size in sizes.items() if one != name), *others] for name in sizes}
    large = [name for name, size in sizes.items() if rest[name] and size > OF_ONE_SIZE * float(np.median(rest[name]))]
    if large:
        template = ", ".join(f"{name}: {RANGE}" for name in raw)
        found.append(
            f"{', '.join(large)} {'are' if len(large) > 1 else 'is'} more than {OF_ONE_SIZE:g} times as large as other "
            "columns. Every record is scaled to norm 1, so that little is left of these others. State limits that are "
            f"known without the records: ranges: {{{template}}} {FOR_YOU}"
        )
    return found + of_unread(table, [*columns, classes])


def majority(table: Table, classes: Column) -> list[str]:
    """What an accuracy is to be compared with: the share of the class that most records have."""
    values = encoded(table, classes).values
    counts = np.bincount(values[np.isfinite(values)].astype(np.int64), minlength=1)
    if not counts.any():
        return []
    share, name = counts.max() / counts.sum(), (classes.levels or ())[int(counts.argmax())]
    return [f"{share:.1%} of the records have the class {name}: so accurate is who always says so {FOR_YOU}"]
