"""Documents as standard JSON, which has no infinite and no undefined number.

Such a number is null, and a second key, with "_is" at the end of its name, has the word for it: "infinity", "-infinity"
or "undefined". Where a key holds a list, the second key has a list of the same shape: words where a number was lost,
null elsewhere. So {"mu": null, "mu_is": "infinity"} and {"eps": [[1e-05, null]], "eps_is": [[null, "infinity"]]}.
"""

from __future__ import annotations

import json
import math
from typing import Any

import numpy as np

BESIDE = "_is"
"""end of the name of the key that has the word"""


def standard_json(document: Any) -> str:
    """The document as text. Numbers of numpy are numbers, tuples are lists, and names of keys are text."""
    return json.dumps(standard(document), indent=2, allow_nan=False)


def standard(value: Any) -> Any:
    """The document of JSON's own values."""
    return _with_words(value)[0]


def _with_words(value: Any) -> tuple[Any, Any]:
    """A value of JSON's own, and words for the numbers that it lost: a word, or a list of the same shape, or None."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    if isinstance(value, dict):
        document: dict[str, Any] = {}
        for key, inner in value.items():
            document[str(key)], words = _with_words(inner)
            document |= {} if words is None else {f"{key}{BESIDE}": words}
        return document, None
    if isinstance(value, list | tuple):
        pairs = [_with_words(inner) for inner in value]
        words = [words for _, words in pairs]
        return [inner for inner, _ in pairs], None if set(map(type, words)) <= {type(None)} else words
    if isinstance(value, float) and not math.isfinite(value):
        return None, "undefined" if math.isnan(value) else "infinity" if value > 0 else "-infinity"
    return value, None
