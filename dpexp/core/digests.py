"""One hash for JSON values: what names a cell, and what checks a document."""

from __future__ import annotations

import hashlib
import json
from typing import Any


def digest(value: Any, length: int = 32) -> str:
    """Hexadecimal SHA-256 of a JSON value, cut to `length` digits; equal values have equal digests."""
    return hashlib.sha256(json.dumps(value, sort_keys=True).encode()).hexdigest()[:length]
