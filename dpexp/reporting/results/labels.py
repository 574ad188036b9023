"""What settings and their levels are called in legends, titles and tables, and what all cells of results share."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from dpexp.config.cell_settings import NON_PRIVATE, Words, varying
from dpexp.reporting.results.choose import ESTIMATOR, Factor, is_number
from dpexp.reporting.results.gather import FROM, Gathered
from dpexp.reporting.results.metrics import SYMBOLS

NO_PRIVACY = "no privacy"
ESTIMATORS = {"sgd": "SGD (iterate)", "asgd": "ASGD (average)", "last": "last iterate"}
PARAMETERS = {
    "d": "dimension", "N": "records", "n": "steps", "mu": "budget", "eps": "privacy budget", "eta": "step size",
    "alpha": "decay of the step size", "length": "length of the path", "clip": "clipping bound",
}  # fmt: skip
"""words for parameters whose names are symbols or short"""
BARE = (FROM, "algorithm", "problem", "schedule", "analysis", "released", "role")
"""names that their values explain"""


def level_labels(factor: Factor, words: Words, lines: Sequence[Mapping[str, Any]]) -> list[str]:
    """The levels of a factor in words, of lines with these settings; an estimator of LDP-SGD alone is called so."""
    labels = []
    for code, level in enumerate(factor.levels):
        algorithms = {line.get("algorithm") for line, own in zip(lines, factor.codes, strict=True) if own == code}
        pairs = [(name, value) for name, value in zip(factor.names, level, strict=True) if value is not None]
        parts = [_part(name, value, words, algorithms == {"ldp-sgd"}) for name, value in pairs]
        labels.append(", ".join(parts) or "without " * bool(factor.names) + ", ".join(map(short_name, factor.names)))
    return labels


def _part(name: str, value: Any, words: Words, local: bool) -> str:
    if name == ESTIMATOR:
        return "LDP-" * (local and value in ("sgd", "asgd")) + ESTIMATORS.get(value, value)
    text, symbol = value_label(name, value, words), SYMBOLS.get(name.rpartition(".")[2])
    if name in BARE or text == NO_PRIVACY:
        return text
    if symbol is None:
        return f"{short_name(name)} = {text}"
    if not is_number(value):
        return rf"${symbol}\sim$ {text}"
    # 1e-05 is 10^{-5}; no space within mathematics, where a line would break
    if power := re.fullmatch(r"(.*?)e([-+]?\d+)", text):
        text = ("" if power[1] == "1" else rf"{power[1]}\cdot") + f"10^{{{int(power[2])}}}"
    return f"${symbol}={text}$"


def short_name(name: str) -> str:
    """A parameter in words: `errors df` for population.errors.df, `correlation ar1` for that of its design."""
    return name.removeprefix("population.").removeprefix("design.").replace("_", " ").replace(".", " ")


def value_label(name: str, value: Any, words: Words) -> str:
    """A value as figures and tables print it: a decay as the fraction that it is, 1/2 next to 1/3."""
    if name.rpartition(".")[2] == "alpha" and is_number(value):
        near = Fraction(value).limit_denominator(6)
        if abs(float(near) - value) < 1e-12:
            return str(near)
    text = words.value(name, value)
    return NO_PRIVACY if text == NON_PRIVATE else text


def parameter_label(name: str) -> str:
    """A parameter on an axis: words where its name is a symbol, and always the name itself."""
    key = name.rpartition(".")[2]
    symbol = SYMBOLS.get(key)
    return f"{PARAMETERS.get(key, '')} {f'${symbol}$' if symbol else short_name(name)}".strip()


def constants(gathered: Gathered) -> str:
    """`name=value` of what all cells share, in the order of the config."""
    runs, words = gathered.runs, gathered.words
    vary = {*varying(run.settings for run in runs), FROM}
    pairs = [words.pair(k, v) for k, v in runs[0].settings.items() if k not in vary and v is not None]
    return f"The same in all: {', '.join(pairs)}."
