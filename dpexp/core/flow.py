"""Values as YAML in one line, as a config and a command line have them."""

from __future__ import annotations

import math
from typing import Any


def flow(value: Any) -> str:
    """YAML in one line; numbers keep all their digits."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k}: {flow(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, bool) or value is None:
        return "null" if value is None else str(value).lower()
    if isinstance(value, float):
        return "inf" if math.isinf(value) else repr(int(value)) if value.is_integer() and value < 1e15 else repr(value)
    return str(value)
