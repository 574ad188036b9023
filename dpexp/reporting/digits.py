"""Numbers with their uncertainty, in as many digits as it leaves them: 3.07(8) is 3.07 with 0.08.

Also the estimates of a fit as tables print them, on the terminal and on the page.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from typing import Any

LEAST, MOST, LARGE = 1e-3, 1e5, 1e9
"""numbers between the first two are written without a power of ten, and estimates between the first and the last"""
SKEWED = 2.0
"""how many times longer than the other one side of an interval is, where half its length would mislead"""
INDEX = re.compile(r"(?<== )\d\.\d\d")  # J in the name of a prediction
MOST_DIGITS = 6
"""significant digits of a number whose uncertainty leaves it more: CSV has all"""


def within(value: float, low: float, high: float) -> str:
    """A value and its interval: as `uncertain` writes it, or 10 [7, 29] where one side is more than twice the other."""
    shorter, longer = sorted((value - low, high - value))
    if not (math.isfinite(low) and math.isfinite(high)) or shorter < 0 or longer <= SKEWED * shorter:
        return uncertain(value, (high - low) / 2)
    if longer < 10.0**-MOST_DIGITS * abs(value):
        return f"{value:.{MOST_DIGITS}g}"
    digits = 2 + max(0, math.floor(math.log10(max(map(abs, (value, low, high))) / longer)))
    return f"{value:.{digits}g} [{low:.{digits}g}, {high:.{digits}g}]"


def uncertain(value: float, half: float) -> str:
    """A value and half its interval: the uncertainty in one digit, or two where it begins with 1.

    The digits in brackets are those of the uncertainty, in units of the last digits of the value. A value without one
    is written in four digits, with a tiny one in six; inf and nan as such.
    """
    if not math.isfinite(value):
        return f"{value:g}"
    if not 0 < half < math.inf:
        return f"{value:.4g}"
    if half < 10.0**-MOST_DIGITS * abs(value):
        return f"{value:.{MOST_DIGITS}g}"
    size = max(abs(value), half)
    power = 0 if LEAST <= size < MOST else math.floor(math.log10(size))
    value, half = value / 10.0**power, half / 10.0**power
    if f"{half:.0e}"[0] == "1" and f"{half:.1e}"[0] != "1":
        half = float(f"{half:.0e}")  # 0.096 is 0.10
    digits = 2 if f"{half:.1e}"[0] == "1" else 1
    places = digits - 1 - math.floor(math.log10(float(f"{half:.{digits - 1}e}")))
    # an uncertainty above the units is written out
    unit, decimals = 10.0 ** max(-places, 0), max(places, 0)
    error = f"{round(half / unit) * unit:.0f}" if places <= 0 else f"{half:.{decimals}f}"
    if places > 0 and half < 1:
        error = error.replace(".", "").lstrip("0")
    text = f"{round(value / unit) * unit if places < 0 else value:.{decimals}f}({error})"
    return text + (f"e{power:+03d}" if power else "")


def from_to(counts: Iterable[int]) -> str:
    """A count that all share, or the least and the largest: 8, 8 to 200."""
    ordered = sorted(set(counts))
    return f"{ordered[0]:,}" if len(ordered) == 1 else f"{ordered[0]:,} to {ordered[-1]:,}"


def estimate_row(row: dict[str, Any], error: float) -> list[str]:
    """Estimate, error, ends and p as a table has them."""
    value = "not finite" if row["estimate"] is None else rounded(row["estimate"], error)
    if row["conf_low"] is None:
        return [value, "", "unbounded", "", ""]
    ends = [rounded(row[key], error) for key in ("conf_low", "conf_high")]
    test = " (AR)" * (row.get("interval") == "anderson-rubin" and row["p_value"] is not None)
    return [value, rounded(error, error), *ends, level_in_digits(row["p_value"]) + test]


def level_in_digits(p: float | None, equals: str = "") -> str:
    """A p-value; the digits of a tiny one say more of the normal law than of the table."""
    return "" if p is None else "< 1e-4" if p < 1e-4 else f"{equals}{p:.2g}"


def rounded(value: float, error: float) -> str:
    """A number with as many decimals as its standard error needs for two digits, small or large with an exponent."""
    if not math.isfinite(error) or error <= 0:
        return f"{value:.6g}"
    last, size = math.floor(math.log10(error)) - 1, max(abs(value), error)
    if not LEAST <= size < LARGE:
        return f"{value:.{min(max(0, math.floor(math.log10(size)) - last), 15)}e}"
    return f"{value:.{min(max(0, -last), 15)}f}"


def curve_names(curves: Iterable[str]) -> str:
    """The curves of theory by their names, once for all that differ in their index J alone; empty without a curve."""
    indices: dict[str, list[str]] = {}
    for name in curves:
        indices.setdefault(INDEX.sub("{}", name), []).append((INDEX.findall(name) or [""])[0])
    return "; ".join(name.replace("{}", " to ".join(sorted({min(own), max(own)}))) for name, own in indices.items())
