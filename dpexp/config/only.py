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

EXAMPLE = "for instance --only 'alpha=1/2,1 mu=inf'; names are columns of cells.parquet"


def matches(conditions: str, columns: Mapping[str, Any], known: Collection[str] = ()) -> bool:
    """Whether every condition holds of these columns; a cell that lacks the column does not match.

    `known` are columns that other cells have. Raises UsageError for what is no condition, or no column of any cell.
    """
    try:
        words = shlex.split(conditions)
    except ValueError as error:
        raise UsageError(f"--only {conditions!r}: {error}", EXAMPLE) from None
    if not words or not all("=" in word and word.strip("=") == word for word in words):
        raise UsageError(f"--only {conditions!r} is not KEY=VALUE,VALUE", EXAMPLE)
    holds = True
    for word in words:
        key, _, values = word.replace("==", "=").partition("=")
        if key not in columns and key not in known:
            everything = dict.fromkeys([*columns, *known])
            raise UsageError(f"--only: no column '{key}'", f"{guess(key, everything)}columns: {', '.join(everything)}")
        label = columns.get("budget") if key == "mu" else None
        holds &= key in columns and any(_is(columns[key], value, label) for value in values.split(","))
    return holds


def _is(value: Any, text: str, label: str | None) -> bool:
    """Whether a value of a column is what is written, as a number or as it is printed."""
    if value is None:
        return False
    number = math.inf if text == NON_PRIVATE else scalar(text)
    if (
        isinstance(value, int | float)
        and isinstance(number, int | float)
        and isinstance(value, bool) is isinstance(number, bool)
    ):
        # 1/3 is typed and read as a fraction, and stored as a double
        return math.isclose(value, number, rel_tol=1e-9)
    return text in (label, str(value), spelled("", value))
