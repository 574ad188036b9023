"""The file of `dpexp fit --public`: ranges, categories and what else is known of columns without the records."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.config.yamlfile import ConfigError, Issue, Located, Position, all_at, read
from dpexp.core.text import guess
from dpexp.data.encode import letters, limits_of
from dpexp.data.public_inputs import BLANKS, DECIMALS, THOUSANDS, PublicInputs

KEYS = ("ranges", "categories", "missing", "leave_out", "error_scale", "known_error_scale", "decimal", "thousands",
        "shares", "correlation")  # fmt: skip
FILL_IN = "fill it in from a code book, an earlier public sample or common knowledge, never from these records"


def read_public(source: Path | Mapping[str, object] | None) -> PublicInputs:
    """The statements of a file or of a mapping; none without one.

    Raises ConfigError with all that is wrong, each at its place.
    """
    if source is None:
        return PublicInputs()
    root = read(source) if isinstance(source, Path) else all_at(_plain(source), Position("public"))
    issues: list[Issue] = []
    if not isinstance(root.value, dict):
        raise ConfigError([Issue(root.where, "must be keys with values", f"keys: {', '.join(KEYS)}")])
    for key in root.value:
        if key not in KEYS:
            issues.append(Issue(root.keys[key], f"unknown key '{key}'", f"{guess(key, KEYS)}keys: {', '.join(KEYS)}"))
    ranges = _each(root, "ranges", _range, issues)
    categories = _each(root, "categories", _levels, issues)
    guessed, known = (_positive(root, key, issues) for key in ("error_scale", "known_error_scale"))
    if guessed is not None and known is not None:
        issues.append(Issue(root.keys["known_error_scale"], "error_scale is stated too", "keep one of them"))
    missing = _missing(root, issues)
    decimal, thousands = _mark(root, "decimal", DECIMALS, issues), _mark(root, "thousands", THOUSANDS, issues)
    if decimal == thousands:
        issues.append(
            Issue(root.keys["thousands"], "decimal and thousands are one mark", "decimal is '.' if not stated")
        )
    shares = _each(root, "shares", partial(_shares, categories), issues)
    correlation, correlations = _correlation(root.value.get("correlation"), issues)
    leave_out = tuple(_names(root.value["leave_out"], issues)) if "leave_out" in root.value else ()
    # A column is a number or a category, and which it is must not depend on the records.
    for name in ranges.keys() & categories.keys():
        place = root.value["categories"].keys[name]
        issues.append(Issue(place, f"{name} has a range and categories", "keep one of them"))
    if issues:
        raise ConfigError(issues)
    pairs = root.value["ranges"].plain() if ranges else {}
    # A range is kept as numbers, so that its column is remembered as one of days.
    days = tuple(str(name) for name, pair in pairs.items() if isinstance(pair[0], str))
    return PublicInputs(
        ranges, categories, missing, leave_out, days, guessed or known, known is not None, decimal, thousands,
        str(source) if isinstance(source, Path) else "public", shares, correlation, correlations,
    )  # fmt: skip


def _plain(value: object) -> object:
    """A value of Python as a file has it: numbers of numpy as such, days as texts."""
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, date):
        return value.isoformat()[:10]
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value


def _mark(root: Located, key: str, known: Sequence[str], issues: list[Issue]) -> str:
    """How numbers are spelled: one of the known marks, the first of which is the default."""
    given = root.value.get(key)
    if given is None or given.value is None or given.value in known:
        return known[0] if given is None or given.value is None else str(given.value)
    marks = " or ".join(repr(mark) for mark in known if mark)
    issues.append(Issue(given.where, f"{key} is {marks}", "in quotes"))
    return known[0]


def _each(
    root: Located, key: str, read_one: Callable[[str, Located, list[Issue]], Any], issues: list[Issue]
) -> dict[str, Any]:
    given = root.value.get(key)
    if given is None or given.value is None:
        return {}
    if not isinstance(given.value, dict):
        issues.append(Issue(given.where, f"{key} must map columns to values", "for instance {age: [20, 70]}"))
        return {}
    return {str(name): read_one(str(name), one, issues) for name, one in given.value.items()}


def _shares(
    categories: Mapping[str, tuple[str, ...]], name: str, given: Located, issues: list[Issue]
) -> dict[str, float]:
    """Of some categories of a column; together at most 1."""
    found = {} if not isinstance(given.value, dict) else {str(key): one.value for key, one in given.value.items()}
    numbers = all(type(one) in (int, float) and 0 < one < 1 for one in found.values())
    if not found or not numbers or sum(found.values()) > 1 + 1e-9:
        issues.append(Issue(given.where, "shares are above 0 and add up to at most 1", "shares: {smoker: {yes: 0.05}}"))
        return {}
    levels = categories.get(name, ("0", "1"))
    for level in found.keys() - set(levels):
        issues.append(Issue(given.where, f"{name} has no category {level!r}", f"categories: {', '.join(levels)}"))
    return found


def _correlation(given: Located | None, issues: list[Issue]) -> tuple[float, dict[tuple[str, str], float]]:
    """Of any two columns of numbers, or of single pairs."""
    if given is None or given.value is None:
        return 0.0, {}
    if type(given.value) in (int, float) and 0 <= given.value < 1:
        return float(given.value), {}
    found = {}
    for one, others in given.value.items() if isinstance(given.value, dict) else ():
        for other, value in others.value.items() if isinstance(others.value, dict) else ():
            found[str(one), str(other)] = value.value
    if not found or not all(type(value) in (int, float) and -1 < value < 1 for value in found.values()):
        example = "correlation: 0.5, or correlation: {age: {income: 0.3}}"
        issues.append(Issue(given.where, "correlation is a number from 0 to below 1, or one of each pair", example))
        return 0.0, {}
    return 0.0, {pair: float(value) for pair, value in found.items()}


def _range(name: str, given: Located, issues: list[Issue]) -> tuple[float, float]:
    values = given.plain()
    blank = next((v for v in values if isinstance(v, str) and v in BLANKS), None) if isinstance(values, tuple) else None
    if blank is not None:
        issues.append(Issue(given.where, f"{name}: {blank} is not filled in", FILL_IN))
    # Two numbers or two days, but not one of each.
    elif isinstance(values, tuple) and len(values) == 2 and len({isinstance(v, str) for v in values}) == 1:
        try:
            return limits_of(name, values)
        except (ValueError, TypeError):
            pass
    if blank is None:
        hint = "for instance [20, 70] or [2001-01-01, 2020-12-31]"
        issues.append(Issue(given.where, f"{name}: a range is two numbers or two days, the smaller first", hint))
    # Any range does from here on, since the file is refused when all of it was looked at.
    return -2.0, 2.0


def _levels(name: str, given: Located, issues: list[Issue]) -> tuple[str, ...]:
    values = given.plain()
    if not isinstance(values, tuple) or len(values) < 2:
        issues.append(Issue(given.where, f"{name}: categories are a list of two or more", "for instance [no, yes]"))
        # As above: two levels that stand for any.
        return ("", "-")
    texts = tuple(map(str, values))
    blank = next((text for text in texts if text in BLANKS and set(texts) <= set(BLANKS)), None)
    if blank is not None:
        issues.append(Issue(given.where, f"{name}: {blank} is not filled in", FILL_IN))
    if len(set(map(letters, texts))) < len(texts):
        issues.append(Issue(given.where, f"{name}: a category is named twice", "name every level once"))
    return texts


def _names(given: Located, issues: list[Issue]) -> list[str]:
    if not isinstance(given.value, list) or not all(isinstance(one.value, str | int | float) for one in given.value):
        issues.append(Issue(given.where, "must be a list of columns", "for instance [age, income]"))
        return []
    return [str(one.value) for one in given.value]


def _missing(root: Located, issues: list[Issue]) -> tuple[str, ...]:
    """Columns of `missing: [...]`; `error`, which is the default, names none."""
    given = root.value.get("missing")
    if given is None or given.value in ("error", None):
        return ()
    if not isinstance(given.value, list):
        hint = "missing: error, or the columns whose missing values count as the centre: missing: [age]"
        issues.append(Issue(given.where, "missing is error, or a list of columns", hint))
        return ()
    return tuple(_names(given, issues))


def _positive(root: Located, key: str, issues: list[Issue]) -> float | None:
    given = root.value.get(key)
    if given is None or given.value is None:
        return None
    value = given.value
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < math.inf:
        issues.append(Issue(given.where, f"{key} is a number above 0", "in the units of the target"))
        return None
    return float(value)
