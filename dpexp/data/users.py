"""A file of users' budgets: a table with the columns mu and, if there, uses and group.

Nothing is guessed: every line holds one value for each column, and a number is digits with a point and an exponent, or
inf. Everything else is an error at its line.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.data.records import Table, read_table

COLUMNS = ("mu", "uses", "group")
EVERYONE = "all"
"""the row of all users together, so no group can be called so"""
# a budget that is read wrongly is a false guarantee
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?|\+?inf(inity)?", re.ASCII | re.IGNORECASE)
_SHOWN = 5
"""faults that a message lists"""


class Users(NamedTuple):
    """One entry a user."""

    mu: np.ndarray
    uses: np.ndarray | None
    groups: Any
    """text [N], or None"""


def read_users(path: Path) -> Users:
    """The users of a file. Raises UsageError that names the file and the lines that are wrong."""
    table = read_table(path)
    named = table.header.kinds
    unknown = next((name for name in named if name not in COLUMNS), None)
    if unknown is not None:
        hint = f"{guess(unknown, COLUMNS)}columns: {', '.join(COLUMNS)}"
        raise UsageError(f"{path}:1: no column {unknown!r} is known", hint)
    table.header.require(["mu"], f"{path}:1")
    found: list[str] = []
    mu = _numbers(table, "mu", found)
    uses = _numbers(table, "uses", found) if "uses" in named else None
    groups = _groups(table, found) if "group" in named else None
    # a line that does not fit is found in every column, and said once
    if faults := list(dict.fromkeys(found)):
        rest = f" (and {len(faults) - _SHOWN} more)" if len(faults) > _SHOWN else ""
        raise UsageError("; ".join(faults[:_SHOWN]) + rest, "a number is written like 0.5, 2e-1 or inf")
    return Users(mu, uses, groups)


def _numbers(table: Table, name: str, faults: list[str]) -> np.ndarray:
    """A column as numbers >= 0, whole and finite where they are uses; what is wrong with it joins the faults."""
    entries = table.columns[name]
    if isinstance(entries, np.ndarray):
        values, overflow = entries, np.zeros(len(entries), dtype=bool)
    else:
        # words of a schema are no numbers, whatever they say
        texts = [text or "" if table.header.kinds[name] == "unknown" else "" for text in entries]
        values = np.array([float(text) if _NUMBER.fullmatch(text) else np.nan for text in texts])
        # 1e999 is read as inf, which nobody wrote
        overflow = np.isinf(values) & np.array(["inf" not in text.lower() for text in texts])
    rules = [(np.isnan(values), "is not a number"), (overflow, "is too large"), (values < 0, "must not be negative")]
    if name == "uses":
        with np.errstate(invalid="ignore"):
            rules.append((~np.isnan(values) & ~(values == np.floor(values)) | np.isinf(values), "must be whole"))
    faults += [_fault(table, name, int(k), words) for wrong, words in rules for k in np.flatnonzero(wrong)]
    return values


def _groups(table: Table, faults: list[str]) -> np.ndarray:
    """Group labels as text, none of them missing or called as everyone's row is; what is wrong joins the faults."""
    found = ["" if entry is None or entry != entry else str(entry) for entry in table.columns["group"]]
    words = {"": "is missing", EVERYONE: f"cannot be {EVERYONE!r}: that is the row of all users"}
    faults += [_fault(table, "group", k, words[label]) for k, label in enumerate(found) if label in words]
    return np.array(found, dtype=object)


def _fault(table: Table, name: str, k: int, words: str) -> str:
    """What is wrong with a value, and where."""
    entry = table.columns[name][k]
    if entry is None:
        return f"{table.place(k)}: does not hold one value for each of the {len(table.columns)} columns"
    got = "" if name == "group" else f", got {repr(str(entry)[:40]) if entry == entry and str(entry) else 'nothing'}"
    return f"{table.place(k)}: {name} {words}{got}"
