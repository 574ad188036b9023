"""`dpexp privacy --users FILE`: what users, groups and everyone are promised by the budgets in a file."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.mechanism_arguments import DELTAS
from dpexp.core.errors import UsageError
from dpexp.core.scalars import scalar
from dpexp.data.users import read_users
from dpexp.reporting.statement import UsersStatement


def of_users(path: Path, pairs: Sequence[str]) -> UsersStatement:
    """The statement of a file of users, with the columns mu and, if there, uses and group."""
    from dpexp.privacy.users import Users

    deltas = _deltas(pairs)
    return UsersStatement(Users(*read_users(path)).groups(deltas), deltas)


def _deltas(pairs: Sequence[str]) -> tuple[float, ...]:
    found: list[float] = []
    for pair in pairs:
        key, _, value = pair.partition("=")
        numbers = [scalar(part) for part in value.split(",")]
        if key != "delta" or not all(isinstance(x, int | float) and 0 < x < 1 for x in numbers):
            raise UsageError(f"--users takes delta=... between 0 and 1, not {pair}")
        found += [float(x) for x in numbers]
    return tuple(found) or DELTAS
