"""What metrics, statistics, settings and their levels are called on axes, in legends, titles, tables and captions.

Words and symbols are in `words.yaml`; what is not listed there goes by its name.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.config.cell_settings import NON_PRIVATE, Words
from dpexp.reporting.results.choose import ESTIMATOR, FROM, Factor, is_number
from dpexp.reporting.templates import data_of
from dpexp.store.stats import CI_NAME

WORDS = data_of(Path(__file__).with_name("words.yaml"))
"""of metrics, statistics, parameters and estimators, symbols of parameters, and characters of LaTeX"""


class Metric(NamedTuple):
    """A metric in words and symbols."""

    words: str
    symbol: str = ""
    """in mathematics, for axes and LaTeX"""
    error: bool = False
    """whether it is a distance from an optimum: a rate is a slope of its logarithm"""
    share: bool = False
    """whether it is between 0 and 1, so that a linear axis shows it best"""
    sampled: bool = True
    """whether it is over replicates, with a band"""


class Statistic(NamedTuple):
    """A statistic of the replicates: columns of the summary for its value and its band, and words for the band."""

    columns: tuple[str, str, str]
    short: str
    band: str = CI_NAME


STATISTICS = {name: Statistic(**own) for name, own in WORDS["statistics"].items()}
CONTROLLED = "_controlled"
"""ends the name of the same mean from fewer replicates, by a control variate"""
COEFFICIENTS = "coefficients"
"""all recorded parameters as one metric"""
NO_PRIVACY = "no privacy"
BARE = (FROM, "algorithm", "problem", "schedule", "analysis", "released", "role")
"""names that their values explain"""
METRICS = {name: Metric(**own) for name, own in WORDS["metrics"].items()}


def metric_of(name: str, statistic: str = "mean") -> Metric:
    """The metric of this name; of medians and quantiles the words name these, and no symbol is that of a mean."""
    metric = METRICS.get(name, Metric(name.replace("_", " ")))
    median = metric._replace(symbol="", words=f"median {metric.words.removeprefix('mean ')}")
    return metric if statistic == "mean" else median


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
        return "LDP-" * (local and value in ("sgd", "asgd")) + WORDS["estimators"].get(value, value)
    text, symbol = value_label(name, value, words), WORDS["symbols"].get(name.rpartition(".")[2])
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
    text = text.replace("'", "") if text.startswith("[{") else text  # mappings, as in YAML
    return NO_PRIVACY if text == NON_PRIVATE else text


def parameter_label(name: str) -> str:
    """A parameter on an axis: words where its name is a symbol, and always the name itself."""
    key = name.rpartition(".")[2]
    symbol = WORDS["symbols"].get(key)
    return f"{WORDS['parameters'].get(key, '')} {f'${symbol}$' if symbol else short_name(name)}".strip()
