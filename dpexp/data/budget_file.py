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
from dpexp.data.encode import listed, read_budget
from dpexp.data.public_inputs import PublicInputs
from dpexp.data.records import RecordTable, read_record_table

COLUMNS = ("mu", "uses", "group")
EVERYONE = "all"  # the row of all users together, so no group can be called so
NO_NUMBER = "is not a number"
Rule = tuple[str, str, np.ndarray]
"""a column, what is wrong with a value in words, and of which users [n]"""
SHOWN = 5  # faults that a message lists


class UserBudgets(NamedTuple):
    """One entry a user."""

    mu: np.ndarray
    uses: np.ndarray | None
    groups: Any  # text [N], or None


def read_users(path: Path) -> UserBudgets:
    """The users of a file. Raises UsageError that names the file and the lines that are wrong."""
    table = read_record_table(path)
    named = table.header.kinds
    unknown = next((name for name in named if name not in COLUMNS), None)
    if unknown is not None:
        hint = f"{guess(unknown, COLUMNS)}columns: {', '.join(COLUMNS)}"
        raise UsageError(f"{path}:1: no column {unknown!r} is known", hint)
    table.header.require(["mu"], f"{path}:1")
    mu, uses, groups = _numbers(table, "mu"), None, None
    rules: list[Rule] = [("mu", NO_NUMBER, np.isnan(mu)), ("mu", "must not be negative", mu < 0)]
    if "uses" in named:
        uses = _numbers(table, "uses")
        rules += [("uses", NO_NUMBER, np.isnan(uses)), ("uses", "must not be negative", uses < 0)]
        rules.append(("uses", "must be whole", ~np.isnan(uses) & ~(np.isfinite(uses) & (uses == np.floor(uses)))))
    if "group" in named:
        groups = np.array(["" if value is None else str(value) for value in listed(table.columns["group"])], object)
        rules.append(("group", "is missing", groups == ""))
        rules.append(("group", f"cannot be {EVERYONE!r}: that is the row of all users", groups == EVERYONE))
    _require(table, rules, UsageError)
    return UserBudgets(mu, uses, groups)


def read_budgets(table: RecordTable, column: str, public: PublicInputs) -> np.ndarray:
    """The budgets of a table, which are public: numbers above 0, or inf. Raises DataError at what is none."""
    table.header.require([column], table.where)
    mu = _numbers(table, column, public.decimal, public.thousands)
    _require(table, [(column, NO_NUMBER, np.isnan(mu)), (column, "must be above 0", mu <= 0)], DataError)
    return mu


def _numbers(table: RecordTable, name: str, decimal: str = ".", thousands: str = "") -> np.ndarray:
    """A column as numbers, inf among them; NaN where a value is none. Words of a schema are no numbers."""
    if table.header.kinds[name] == "text":
        return np.full(len(table), np.nan)
    entries = (read_budget(v.strip(), decimal, thousands) if isinstance(v, str) else v for v in table.columns[name])
    return np.array([np.nan if value is None else value for value in entries])


def _require(table: RecordTable, rules: Sequence[Rule], error: type[UsageError | DataError]) -> None:
    """Raises the error that lists what is wrong with values, and where."""
    faults = list[str]()
    for name, words, wrong in rules:
        for k in np.flatnonzero(wrong).tolist():
            entry = table.columns[name][k]
            value = repr(str(entry)[:40]) if entry == entry and str(entry) else "nothing"
            text = f"{name} {words}" if name == "group" else f"{name} {words}, got {value}"
            text = f"does not hold one value for each of the {len(table.columns)} columns" if entry is None else text
            faults.append(f"{table.place(k)}: {text}")
    # a line that does not fit is a fault of every column, and listed once
    if different := list(dict.fromkeys(faults)):
        rest = f" (and {len(different) - SHOWN} more)" if len(different) > SHOWN else ""
        raise error("; ".join(different[:SHOWN]) + rest, "a budget is written like 0.5, 2e-1 or inf")
