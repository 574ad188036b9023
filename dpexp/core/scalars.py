"""Plain words as values and values as words, in configs and on the command line: 1/3, 1e-5 and inf are numbers."""

from __future__ import annotations

import json
import math
import re
from typing import Any

_MAX_DIGITS = 40
_INTEGER = re.compile(r"[+-]?\d[\d_]*")
_FLOAT = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FRACTION = re.compile(r"([+-]?\d[\d_]*)\s*/\s*(\d[\d_]*)")
_INFINITE = re.compile(r"([+-]?)\.?inf(inity)?", re.IGNORECASE)
_PLAIN = re.compile(r"[\w./~]([\w./~@+ -]*[\w./~@+-])?")
"""text in which YAML finds no mark"""


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


def yaml_in_line(value: Any) -> str:
    """YAML in one line that reads back to this value; numbers keep all their digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{yaml_in_line(k)}: {yaml_in_line(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(yaml_in_line, value)) + "]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return "inf" if math.isinf(value) else repr(int(value)) if value.is_integer() and value < 1e15 else repr(value)
    if isinstance(value, int):
        return repr(value)
    # between quotes a text is a text, whatever it looks like
    return value if _PLAIN.fullmatch(value) and scalar(value) == value else json.dumps(value, ensure_ascii=False)
