"""What is wrong with a column of a user's table: missing or infinite values, constants, dates, free text, mixtures."""

from __future__ import annotations

import re
from typing import Any

import numpy as np

MOST_CATEGORIES = 100
"""a text column with more different values is taken for free text, and refused"""
_DATE = re.compile(r"\d{4}-\d{1,2}-\d{1,2}([ T].*)?|\d{1,2}[./]\d{1,2}[./]\d{2,4}")
_WRITTEN = re.compile(
    r"[+-]?[$€£]?\s?(\d{1,3}([,.' \xa0\u202f]\d{3})+|\d+)([.,]\d+)?\s?[$€£%‰]?|\([$€£]?\d[\d,.]*\)", re.ASCII
)
"""numbers as people write them: 1,000 or 1 000, 0,5, 1%, $5, (3); what reads as a number already is not asked"""
_LARGEST = float(np.finfo(np.float32).max)


def faults(column: Any, limits: tuple[float, float] | None, stated: list[str] | None, is_target: bool) -> list[str]:
    """Everything that is wrong with a column."""
    missing = int(column.isna().sum())
    found = [f"{missing} missing values"] if missing else []
    column = column.dropna()
    strange = sorted({type(v).__name__ for v in column} - {"str", "bool", "bool_"}) if column.dtype == object else []
    if column.dtype.kind in "mM" or any(kind in ("date", "datetime", "time", "timedelta") for kind in strange):
        return [*found, "dates are not understood"]
    if column.dtype.kind == "c" or strange:
        return [*found, f"values of type {', '.join(strange) or 'complex'} are not understood"]
    different = column.nunique()
    if different <= 1:
        found.append("constant" if different else "no values")
    if limits is not None and (is_target or stated is not None or not is_number(column)):
        found.append("a range is for a column of numbers without categories")
    elif limits is not None and not limits[0] < limits[1]:
        found.append("its range must be (low, high) with low < high")
    if stated is not None:
        outside = sorted(set(words(column)) - set(stated))
        found += [f"values outside its categories: {', '.join(outside[:5])}"] if outside else []
        found += ["its categories name a value twice"] if len(set(stated)) < len(stated) else []
    elif is_number(column):
        found += _number_faults(column, is_target)
    elif different > 1:
        found += _text_faults(column, is_target)
    return found


def _number_faults(column: Any, is_target: bool) -> list[str]:
    values = column.to_numpy(np.float64)
    infinite = int((~np.isfinite(values)).sum())
    found = [f"{infinite} infinite values"] if infinite else []
    if not infinite and np.any(np.abs(values) > _LARGEST):
        found.append(f"values above {_LARGEST:.1e}")
    if is_target and (np.any(values != np.rint(values)) or column.nunique() > MOST_CATEGORIES):
        found.append(
            f"a target of classes cannot have fractions or more than {MOST_CATEGORIES} values; to explain a number, "
            f"dpexp fit DATA --target {column.name} is private regression"
        )
    return found


def _text_faults(column: Any, is_target: bool) -> list[str]:
    """Text that is not categories: dates, numbers with a slip, free text; nothing of it where categories are stated."""
    texts, different = words(column), column.nunique()
    if all(_DATE.fullmatch(word) for word in texts):
        return ["dates are not understood"]
    numbers = sum(map(_reads_as_number, texts))
    if numbers and not is_target:
        other = next((word for word in texts if not _reads_as_number(word)), None)
        beside = f" beside text such as {other!r}" if other is not None else " stored as text"
        return [f"{numbers} numbers{beside}: make it numbers, or state its categories"]
    written = [word for word in texts if _WRITTEN.fullmatch(word.strip())]
    if written and not is_target:
        how = "without signs and thousands separators, with a decimal point"
        return [f"{len(written)} numbers written like {written[0]!r}: write them {how}, or state its categories"]
    if different > MOST_CATEGORIES:
        return [f"text with {different} different values (at most {MOST_CATEGORIES})"]
    return []


def _reads_as_number(word: str) -> bool:
    try:
        float(word)
    except ValueError:
        return False
    return True


def words(column: Any) -> Any:
    """Values as text; whole numbers without a fraction."""
    if column.dtype.kind == "f":
        known = column.dropna().to_numpy(np.float64)
        if np.all(np.abs(known) < 2**53) and np.all(known == np.rint(known)):
            column = column.astype("Int64")
    return column.astype(str)


def is_number(column: Any) -> bool:
    return column.dtype.kind in "iuf"
