"""A plain word as a value, in configs and on the command line alike: 1/3, 1e-5 and inf are numbers."""

from __future__ import annotations

import math
import re
from typing import Any

_MAX_DIGITS = 40
_INTEGER = re.compile(r"[+-]?\d[\d_]*")
_FLOAT = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FRACTION = re.compile(r"([+-]?\d[\d_]*)\s*/\s*(\d[\d_]*)")
_INFINITE = re.compile(r"([+-]?)\.?inf(inity)?", re.IGNORECASE)


def scalar(text: str) -> Any:
    """The value of a plain scalar: None, bool, int, float (also 1/3, 1e-5, inf) or str."""
    if text in ("", "~", "null", "Null", "NULL"):
        return None
    if text.lower() in ("true", "false"):
        return text.lower() == "true"
    if len(text) > _MAX_DIGITS:
        return text
    if _INTEGER.fullmatch(text):
        return int(text.replace("_", ""))
    if _FLOAT.fullmatch(text):
        value = float(text.replace("_", ""))
        return value if math.isfinite(value) else text
    if match := _FRACTION.fullmatch(text):
        numerator, denominator = (int(part.replace("_", "")) for part in match.groups())
        return numerator / denominator if denominator else text
    if match := _INFINITE.fullmatch(text):
        return -math.inf if match.group(1) == "-" else math.inf
    return text
