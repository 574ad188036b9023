"""The file of `dpexp fit --public`: ranges, categories and what else is known of columns without the records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.config.yamlfile import ConfigError, Issue, Position, Tree, all_at, read
from dpexp.core.text import guess
from dpexp.data.encode import letters, limits_of
from dpexp.data.public_inputs import BLANKS, DECIMALS, THOUSANDS, PublicInputs

KEYS = ("ranges", "categories", "missing", "leave_out", "error_scale", "known_error_scale", "decimal", "thousands",
        "shares", "correlation", "log_odds_sd")  # fmt: skip
FILL_IN = "fill it in from a code book, an earlier public sample or common knowledge, never from these records"


def read_public(source: Path | Mapping[str, object] | None) -> PublicInputs:
    """The statements of a file or of a mapping; none without one.

    Raises ConfigError with all that is wrong, each at its place.
    """
    if source is None:
        return PublicInputs()
    root = read(source) if isinstance(source, Path) else all_at(_plain(source), Position("public"))
    if not isinstance(root.value, dict):
        raise ConfigError([Issue(root.at(), "must be keys with values", f"keys: {', '.join(KEYS)}")])
    return _Statements(root).read(str(source) if isinstance(source, Path) else "public")


def _plain(value: object) -> object:
    """A value of Python as a file has it: numbers of numpy as such, days as texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return tuple(map(_plain, value)) if isinstance(value, list | tuple) else value


class _Statements:
    """The keys of a file one by one, with what is wrong; a key without a value is one that is left out."""

    def __init__(self, root: Tree) -> None:
        self.root, self.issues = root, list[Issue]()
        self.given = {key: value for key, value in root.value.items() if value is not None}

    def complain(self, message: str, hint: str, *keys: str) -> None:
        self.issues.append(Issue(self.root.at(*keys), message, hint))

    def read(self, where: str) -> PublicInputs:
        """All of them. Raises ConfigError."""
        root, values = self.root, self.given
        for key in [key for key in root.value if key not in KEYS]:
            self.issues.append(
                Issue(root.key(key), f"unknown key '{key}'", f"{guess(key, KEYS)}keys: {', '.join(KEYS)}")
            )
        ranges, categories = self.each("ranges", self.limits), self.each("categories", self.levels)
        guessed, known = self.positive("error_scale"), self.positive("known_error_scale")
        if guessed is not None and known is not None:
            self.issues.append(Issue(root.key("known_error_scale"), "error_scale is stated too", "keep one of them"))
        missing = () if values.get("missing", "error") == "error" else self.missing()
        decimal, thousands = self.mark("decimal", DECIMALS), self.mark("thousands", THOUSANDS)
        if decimal == thousands:
            message = "decimal and thousands are one mark"
            self.issues.append(Issue(root.key("thousands"), message, "decimal is '.' if not stated"))
        shares = self.each("shares", lambda name, value: self.shares(name, value, categories.get(name, ("0", "1"))))
        correlation, correlations = self.correlation(values.get("correlation"))
        spread = self.positive("log_odds_sd")
        leave_out = self.names("leave_out") if "leave_out" in root else ()
        # A column is a number or a category, and which it is must not depend on the records.
        for name in ranges.keys() & categories.keys():
            place = root.key("categories", name)
            self.issues.append(Issue(place, f"{name} has a range and categories", "keep one of them"))
        if self.issues:
            raise ConfigError(self.issues)
        # A range is kept as numbers, so that its column is remembered as one of days.
        days = tuple(name for name in ranges if isinstance(values["ranges"][name][0], str))
        return PublicInputs(
            ranges, categories, missing, leave_out, days, guessed or known, known is not None, decimal, thousands,
            where, shares, correlation, correlations, spread,
        )  # fmt: skip

    def each(self, key: str, read_one: Callable[[str, Any], Any]) -> dict[str, Any]:
        """What a key says of columns, by their names."""
        value = self.given.get(key, {})
        if not isinstance(value, dict):
            self.complain(f"{key} must map columns to values", "for instance {age: [20, 70]}", key)
            return {}
        return {name: read_one(name, entry) for name, entry in value.items()}

    def limits(self, name: str, value: Any) -> tuple[float, float]:
        """A range: two numbers or two days, but not one of each."""
        pair = isinstance(value, tuple) and len(value) == 2 and len({isinstance(v, str) for v in value}) == 1
        blanks = [v for v in value if isinstance(v, str) and v in BLANKS] if isinstance(value, tuple) else []
        if blanks:
            self.complain(f"{name}: {blanks[0]} is not filled in", FILL_IN, "ranges", name)
        elif pair:
            with suppress(ValueError, TypeError):
                return limits_of(name, value)
        if not blanks:
            message = f"{name}: a range is two numbers or two days, the smaller first"
            self.complain(message, "for instance [20, 70] or [2001-01-01, 2020-12-31]", "ranges", name)
        # Any range does from here on, since the file is refused when all of it was looked at.
        return -2.0, 2.0

    def levels(self, name: str, value: Any) -> tuple[str, ...]:
        """Categories of a column."""
        if not isinstance(value, tuple) or len(value) < 2:
            message = f"{name}: categories are a list of two or more"
            self.complain(message, "for instance [no, yes]", "categories", name)
            # As above: two levels that stand for any.
            return ("", "-")
        texts = tuple(map(str, value))
        if set(texts) <= BLANKS:
            self.complain(f"{name}: {texts[0]} is not filled in", FILL_IN, "categories", name)
        if len(set(map(letters, texts))) < len(texts):
            self.complain(f"{name}: a category is named twice", "name every level once", "categories", name)
        return texts

    def shares(self, name: str, value: Any, levels: Sequence[str]) -> dict[str, float]:
        """Of some categories of a column; together at most 1."""
        numbers = isinstance(value, dict) and all(type(v) in (int, float) and 0 < v < 1 for v in value.values())
        if not numbers or not value or sum(value.values()) > 1 + 1e-9:
            example = "shares: {smoker: {yes: 0.05}}"
            self.complain("shares are above 0 and add up to at most 1", example, "shares", name)
            return {}
        for level in value.keys() - set(levels):
            self.complain(f"{name} has no category {level!r}", f"categories: {', '.join(levels)}", "shares", name)
        return dict(value)

    def correlation(self, value: Any) -> tuple[float | None, dict[tuple[str, str], float]]:
        """Of any two columns of numbers, or of single pairs."""
        if value is None or (type(value) in (int, float) and 0 <= value < 1):
            return value, {}
        columns = value if isinstance(value, dict) else {}
        pairs = {(a, b): v for a, other in columns.items() if isinstance(other, dict) for b, v in other.items()}
        if not pairs or not all(type(number) in (int, float) and -1 < number < 1 for number in pairs.values()):
            message = "correlation is a number from 0 to below 1, or one of each pair"
            self.complain(message, "correlation: 0.5, or correlation: {age: {income: 0.3}}", "correlation")
            return None, {}
        return None, {pair: float(number) for pair, number in pairs.items()}

    def names(self, key: str) -> tuple[str, ...]:
        """A list of columns."""
        value = self.given.get(key)
        if not isinstance(value, tuple) or not all(isinstance(name, str | int | float) for name in value):
            self.complain("must be a list of columns", "for instance [age, income]", key)
            return ()
        return tuple(map(str, value))

    def missing(self) -> tuple[str, ...]:
        """Columns of `missing: [...]`."""
        if isinstance(self.given["missing"], tuple):
            return self.names("missing")
        hint = "missing: error, or the columns whose missing values count as the centre: missing: [age]"
        self.complain("missing is error, or a list of columns", hint, "missing")
        return ()

    def mark(self, key: str, known: Sequence[str]) -> str:
        """How numbers are spelled: one of the known marks, the first of which is the default."""
        value = self.given.get(key, known[0])
        if value in known:
            return str(value)
        self.complain(f"{key} is {' or '.join(repr(mark) for mark in known if mark)}", "in quotes", key)
        return known[0]

    def positive(self, key: str) -> float | None:
        """A number above 0."""
        value = self.given.get(key)
        if value is None or (not isinstance(value, bool) and isinstance(value, int | float) and 0 < value < math.inf):
            return None if value is None else float(value)
        self.complain(f"{key} is a number above 0", "in the units of the target", key)
        return None
