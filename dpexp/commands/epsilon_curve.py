"""Sweeps of `--over`: settings of a mechanism, their table (`dpexp privacy`) and figure (`dpexp plot --mechanism`).

A list of values sweeps its parameter where the parameter takes one value. Where a list is a value itself (phases of one
run), or where several lists are given, `--over KEY` chooses. LO..HI is 13 numbers in equal ratios, LO..HI/25
is 25 of them, whole and each once where the parameter is whole.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.mechanism_arguments import PHASED, deltas_of, kind_of, mechanism_of, understood, values_of
from dpexp.core.errors import UsageError
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.reporting.epsilon_curves import EpsilonCurve
from dpexp.reporting.figure import Written

MOST_KEYS, MOST_SETTINGS, POINTS = 2, 2000, 13
RANGE = re.compile(r"([^.].*?)\.\.(.+?)(?:/(\d+))?")
WHOLE = ("n", "batch_size", "epochs", "steps")
"""whole numbers also where the mechanism has another vocabulary"""
EXAMPLE = "for instance --mechanism sampled-gaussian sampling_probability=0.01 noise_multiplier=1 steps=10..1e4"


def is_sweep(name: str, values: Mapping[str, Any], over: Sequence[str]) -> bool:
    """Whether these values sweep a parameter: by --over, by a range, or by a list where it takes one value."""
    return bool(over) or any(key not in ("delta", "alphas") and _sweeps(name, key, v) for key, v in values.items())


def _annotation(name: str, key: str) -> str:
    field = kind_of(name).model_fields.get(key)
    return str(field.annotation) if field else ""


def _sweeps(name: str, key: str, value: Any) -> bool:
    if isinstance(value, str):
        return RANGE.fullmatch(value) is not None
    phased = key in PHASED and issubclass(kind_of(name), SampledGaussian)
    return isinstance(value, list) and not phased and "tuple" not in _annotation(name, key)


def curve_of(name: str, values: dict[str, Any], over: Sequence[str], hue: str = "") -> EpsilonCurve:
    """The settings of a sweep, which are all built before anything is computed. Raises UsageError."""
    deltas, last = deltas_of(values), [hue] if hue else []
    for key in (*over, *last):
        if key not in values:
            raise UsageError(f"--over {key}: no values of '{key}' are given", EXAMPLE)
    own = [key for key, value in values.items() if _sweeps(name, key, value)]
    keys = [*dict.fromkeys(key for key in (*over, *own) if key != hue), *last]
    if not 1 <= len(keys) <= MOST_KEYS:
        raise UsageError(f"one or two parameters can be swept, not {len(keys)}", EXAMPLE)
    swept = {key: _values(name, key, values[key]) for key in keys}
    count = math.prod(map(len, swept.values()))
    if count > MOST_SETTINGS:
        raise UsageError(f"{count:,} settings; at most {MOST_SETTINGS:,} are computed")
    fixed, settings = {key: value for key, value in values.items() if key not in swept}, []
    for point in itertools.product(*swept.values()):
        setting = dict(zip(swept, point, strict=True))
        try:
            settings.append((setting, mechanism_of(name, fixed | setting)))
        except UsageError as error:
            place = ", ".join(f"{key} = {value:g}" for key, value in setting.items())
            raise UsageError(f"{place}: {error.message}", error.hint) from None
    return EpsilonCurve(name, fixed, swept, deltas, tuple(settings))


def _values(name: str, key: str, value: Any) -> list[float]:
    """The values of a swept parameter, in the order in which they are given."""
    if isinstance(value, str) and (match := RANGE.fullmatch(value)):
        try:
            low, high, points = float(match[1]), float(match[2]), int(match[3] or POINTS)
        except ValueError:
            raise UsageError(f"{key}={value} is no range of numbers", f"for instance {key}=10..1e4/25") from None
        if not (0 < low < high < math.inf and 2 <= points <= MOST_SETTINGS):
            raise UsageError(f"{key}={value}: a range rises from a number above 0, in at least 2 points")
        numbers = [low * (high / low) ** (k / (points - 1)) for k in range(points - 1)] + [high]
        is_whole = key in WHOLE or "int" in _annotation(name, key)
        return list(dict.fromkeys(round(x) if is_whole else float(f"{x:.6g}") for x in numbers))
    numbers = value if isinstance(value, list) else [value]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
        raise UsageError(f"{key}: only numbers are swept, not {value!r}", f"{key}=1,2,3 or {key}=1..1000")
    return list(dict.fromkeys(numbers))


def written(
    name: str, words: Sequence[str], over: Sequence[str], hue: str, formats: str, out: Path
) -> tuple[Written, Mapping[str, Any]]:
    """The figure of a sweep in files, and its numbers for programs."""
    forms = tuple(form.strip() for form in formats.split(","))
    if wrong := [form for form in forms if form not in ("png", "pdf", "svg")]:
        raise UsageError(f"--format is a list of png, pdf and svg, not {wrong[0]!r}")
    with understood(name):
        curve = curve_of(name, values_of(words), over, hue)
        return curve.written(out, forms), curve.document()
