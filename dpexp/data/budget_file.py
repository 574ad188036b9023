"""Budgets of users: a file with the columns mu and, if there, uses and group; or a column of a table.

Every line holds one value for each column, and a budget is a number or inf, spelled as all numbers are (`encode`).
Everything else is an error at its line.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import DataError, UsageError
from dpexp.core.text import guess
from dpexp.data.encode import read_budget
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import RecordTable, read_record_table

COLUMNS = ("mu", "uses", "group")
EVERYONE = "all"
"""the row of all users together, so no group can be called so"""
HINT = "a budget is written like 0.5, 2e-1 or inf"
_SHOWN = 5
"""faults that a message lists"""


class UserBudgets(NamedTuple):
    """One entry a user."""

    mu: np.ndarray
    uses: np.ndarray | None
    groups: Any
    """text [N], or None"""


def read_users(path: Path) -> UserBudgets:
    """The users of a file. Raises UsageError that names the file and the lines that are wrong."""
    table = read_record_table(path)
    named = table.header.kinds
    unknown = next((name for name in named if name not in COLUMNS), None)
    if unknown is not None:
        hint = f"{guess(unknown, COLUMNS)}columns: {', '.join(COLUMNS)}"
        raise UsageError(f"{path}:1: no column {unknown!r} is known", hint)
    table.header.require(["mu"], f"{path}:1")
    faults: list[str] = []
    mu = _parse_column(table, "mu", faults)
    uses = _parse_column(table, "uses", faults) if "uses" in named else None
    groups = _groups(table, faults) if "group" in named else None
    if faults:
        raise UsageError(_listed(faults), HINT)
    return UserBudgets(mu, uses, groups)


def _parse_column(
    table: RecordTable, name: str, faults: list[str], decimal: str = ".", thousands: str = ""
) -> np.ndarray:
    """A column as numbers >= 0, whole and finite where they are uses; what is wrong with it joins the faults."""
    entries = table.columns[name]
    if isinstance(entries, np.ndarray):
        values = entries
    else:
        # words of a schema are no numbers, whatever they say
        own = table.header.kinds[name] != "text"
        read = (
            read_budget(entry.strip(), decimal, thousands) if isinstance(entry, str) else entry for entry in entries
        )
        values = np.array([np.nan if value is None or not own else value for value in read])
    rules = [(np.isnan(values), "is not a number"), (values < 0, "must not be negative")]
    if name == "uses":
        with np.errstate(invalid="ignore"):
            rules.append((~np.isnan(values) & ~(values == np.floor(values)) | np.isinf(values), "must be whole"))
    faults += [_fault(table, name, int(k), words) for wrong, words in rules for k in np.flatnonzero(wrong)]
    return values


def read_budgets(table: RecordTable, column: str, public: PublicInputs) -> np.ndarray:
    """The budgets of a table, which are public: numbers above 0, or inf. Raises DataError at what is none."""
    table.header.require([column], table.where)
    faults: list[str] = []
    values = _parse_column(table, column, faults, public.decimal, public.thousands)
    faults += [_fault(table, column, int(k), "must be above 0") for k in np.flatnonzero(values == 0)]
    if faults:
        raise DataError(_listed(faults), HINT)
    return values


def _listed(faults: Sequence[str]) -> str:
    # a line that does not fit is found in every column, and said once
    different = list(dict.fromkeys(faults))
    rest = f" (and {len(different) - _SHOWN} more)" if len(different) > _SHOWN else ""
    return "; ".join(different[:_SHOWN]) + rest


def _groups(table: RecordTable, faults: list[str]) -> np.ndarray:
    """Group labels as text, none of them missing or called as everyone's row is; what is wrong joins the faults."""
    groups = ["" if entry is None or entry != entry else str(entry) for entry in table.columns["group"]]
    words = {"": "is missing", EVERYONE: f"cannot be {EVERYONE!r}: that is the row of all users"}
    faults += [_fault(table, "group", k, words[label]) for k, label in enumerate(groups) if label in words]
    return np.array(groups, dtype=object)


def _fault(table: RecordTable, name: str, k: int, words: str) -> str:
    """What is wrong with a value, and where."""
    entry = table.columns[name][k]
    if entry is None:
        return f"{table.place(k)}: does not hold one value for each of the {len(table.columns)} columns"
    got = "" if name == "group" else f", got {repr(str(entry)[:40]) if entry == entry and str(entry) else 'nothing'}"
    return f"{table.place(k)}: {name} {words}{got}"
