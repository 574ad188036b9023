"""The estimates of a fit as tables print them, on the terminal and on the page."""

from __future__ import annotations

import math
from typing import Any


def shown(one: dict[str, Any], error: float) -> list[str]:
    """Estimate, error, ends and p as a table has them."""
    value = "not finite" if one["value"] is None else digits(one["value"], error)
    if one["ci_lo"] is None:
        return [value, "", "unbounded", "", ""]
    ends = [digits(one[key], error) for key in ("ci_lo", "ci_hi")]
    return [value, f"{error:.2g}", *ends, level_in_digits(one["p"])]


def level_in_digits(p: float | None, equals: str = "") -> str:
    """A p-value; where it is tiny its digits say more of the normal law than of the table."""
    return "" if p is None else "< 1e-4" if p < 1e-4 else f"{equals}{p:.2g}"


def digits(value: float, error: float) -> str:
    """A number with as many decimals as its standard error needs for two digits."""
    if not math.isfinite(error) or error <= 0:
        return f"{value:.6g}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{value:.{min(decimals, 12)}f}" if abs(value) < 1e15 else f"{value:.6g}"
