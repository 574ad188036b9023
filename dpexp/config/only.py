"""`--only KEY=A,B`: cells in which a column has one of these values, such as `alpha=1/2 mu=1,non-private`."""

from __future__ import annotations

import math
import shlex
from collections.abc import Collection, Mapping
from typing import Any

from dpexp.config.cell_settings import NON_PRIVATE, spelled
from dpexp.core.errors import UsageError
from dpexp.core.scalars import scalar
from dpexp.core.text import guess


def matches(conditions: str, columns: Mapping[str, Any], known: Collection[str] = ()) -> bool:
    """Whether every condition holds of these columns; a cell that lacks the column does not match.

    `known` are columns that other cells have. Raises UsageError for what is no condition, or no column of any cell.
    """
    try:
        pairs = [word.replace("==", "=").partition("=") for word in shlex.split(conditions)]
    except ValueError:
        pairs = []
    if not pairs or not all(key and values for key, _, values in pairs):
        hint = "for instance --only 'alpha=1/2,1 mu=inf'; names are columns of cells.parquet"
        raise UsageError(f"--only {conditions!r} is not KEY=VALUE,VALUE", hint)
    if wrong := [key for key, _, _ in pairs if key not in columns and key not in known]:
        every = dict.fromkeys([*columns, *known])
        raise UsageError(f"--only: no column '{wrong[0]}'", f"{guess(wrong[0], every)}columns: {', '.join(every)}")
    return all(
        any(_is(columns.get(key), value, columns.get("budget") if key == "mu" else None) for value in values.split(","))
        for key, _, values in pairs
    )


def _is(value: Any, text: str, label: str | None) -> bool:
    """Whether a value of a column is what is written, as a number or as it is printed."""
    number = math.inf if text == NON_PRIVATE else scalar(text)
    if all(isinstance(one, int | float) and not isinstance(one, bool) for one in (value, number)):
        # 1/3 is typed and read as a fraction, and stored as a double
        return math.isclose(value, number, rel_tol=1e-9)
    return value is not None and text in (label, str(value), spelled("", value))
