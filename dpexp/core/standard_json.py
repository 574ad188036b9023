"""Documents as standard JSON, which has no infinite and no undefined number.

Such a number is null, and the key beside it, with "_is" at the end of its name, says which: "infinity", "-infinity" or
"undefined". Where a key holds a list, the list beside it has the same shape: words where a number was lost, null
elsewhere. So {"mu": null, "mu_is": "infinity"} and {"eps": [[1e-05, null]], "eps_is": [[null, "infinity"]]}.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

BESIDE = "_is"
"""what the name of the key ends in that says which number it was"""


def standard_json(document: Any) -> str:
    """The document as text. Numbers of numpy are numbers, tuples are lists, and names of keys are text."""
    return json.dumps(standard(document), indent=2, allow_nan=False)


def standard(value: Any) -> Any:
    """The document of JSON's own values."""
    value = _plain(value)
    if isinstance(value, dict):
        found: dict[str, Any] = {}
        for key, held in value.items():
            found[str(key)] = standard(held)
            words = _words(held)
            if words is not None:
                found[f"{key}{BESIDE}"] = words
        return found
    if isinstance(value, list):
        return [standard(held) for held in value]
    return None if _lost(value) else value


def _plain(value: Any) -> Any:
    """Numbers of numpy as Python's, arrays and tuples as lists."""
    if isinstance(value, tuple):
        return list(value)
    return value.tolist() if isinstance(value, np.generic | np.ndarray) else value


def _lost(value: Any) -> bool:
    return isinstance(value, float) and not math.isfinite(value)


def _words(value: Any) -> Any:
    """What the numbers are that are lost: a word, or a list of the same shape; None where none is.

    A dict says so for itself.
    """
    value = _plain(value)
    if _lost(value):
        return "undefined" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    if isinstance(value, list):
        words = [_words(held) for held in value]
        return words if any(word is not None for word in words) else None
    return None
