"""What levels of factors are called in legends, titles and rows: `name=value`, and only what tells them apart."""

from __future__ import annotations

from typing import Any

from dpexp.config.settings import Words
from dpexp.reporting.of_results.choose import ESTIMATOR, Factor
from dpexp.reporting.of_results.gather import FROM

ESTIMATORS = {"sgd": "sgd (iterate)", "asgd": "asgd (average)", "last": "last iterate"}
PARAMETERS = {
    "d": "dimension", "N": "records", "n": "steps", "mu": "budget", "eps": "privacy budget", "eta": "step size",
    "alpha": "decay of the step size", "length": "length of the path", "clip": "clipping bound",
    "regulariser": "regulariser", "batch_size": "batch size", "sampling_rate": "sampling rate",
}  # fmt: skip
"""words for parameters whose names are symbols or short"""
BARE = (ESTIMATOR, FROM)
"""names that their values explain"""


def level_label(factor: Factor, level: int, words: Words) -> str:
    """A level in words.

    Of several names those are written in which the level differs from another one that agrees with it before.
    """
    values = factor.levels[level]
    parts = []
    for k, name in enumerate(factor.names):
        alike = [other for other in factor.levels if other[:k] == values[:k]]
        if len({(isinstance(other[k], bool), other[k]) for other in alike}) > 1 and values[k] is not None:
            parts.append(_part(name, values[k], words))
    return " ".join(parts) or f"without {', '.join(factor.names)}"


def _part(name: str, value: Any, words: Words) -> str:
    if name == ESTIMATOR:
        return ESTIMATORS.get(str(value), str(value))
    return str(value) if name in BARE else words.pair(name, value)


def parameter_label(name: str) -> str:
    """A parameter on an axis: words where its name is a symbol, and always the name itself."""
    words = PARAMETERS.get(name.rpartition(".")[2], "")
    return f"{words} {name}" if words and words.replace(" ", "_") != name else name
