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
from dpexp.reporting.drawing import Written
from dpexp.reporting.epsilon_curve import EpsilonCurve, Setting

MOST_KEYS, MOST_SETTINGS, POINTS = 2, 2000, 13
RANGE = re.compile(r"([^.].*?)\.\.(.+?)(?:/(\d+))?")
WHOLE = ("n", "batch_size", "epochs", "steps")
"""whole numbers also where the mechanism has another vocabulary"""
EXAMPLE = "for instance --mechanism sampled-gaussian sampling_probability=0.01 noise_multiplier=1 steps=10..1e4"


def is_sweep(name: str, words: Sequence[str], over: Sequence[str]) -> bool:
    """Whether these words sweep a parameter: by --over, by a range, or by a list where it takes one value."""
    if over:
        return True
    values = values_of(words)
    return any(key not in ("delta", "alphas") and _sweeps(name, key, value) for key, value in values.items())


def _sweeps(name: str, key: str, value: Any) -> bool:
    if isinstance(value, str):
        return RANGE.fullmatch(value) is not None
    return isinstance(value, list) and not _takes_a_list(name, key)


def _takes_a_list(name: str, key: str) -> bool:
    kind = kind_of(name)
    field = kind.model_fields.get(key)
    phased = key in PHASED and issubclass(kind, SampledGaussian)
    return phased or (field is not None and "tuple" in str(field.annotation))


def curve_of(name: str, words: Sequence[str], over: Sequence[str], hue: str = "") -> EpsilonCurve:
    """The settings of a sweep, all of which are built before anything is computed. Raises UsageError."""
    values = values_of(words)
    deltas = deltas_of(values)
    for key in dict.fromkeys((*over, *((hue,) if hue else ()))):
        if key not in values:
            raise UsageError(f"--over {key}: no values of '{key}' are given", EXAMPLE)
    own = [key for key, value in values.items() if _sweeps(name, key, value)]
    keys = list(dict.fromkeys([*(key for key in over if key != hue), *(key for key in own if key != hue)]))
    keys += [hue] if hue else []
    if not 1 <= len(keys) <= MOST_KEYS:
        raise UsageError(f"one or two parameters can be swept, not {len(keys)}", EXAMPLE)
    swept = {key: _values(name, key, values[key]) for key in keys}
    if math.prod(map(len, swept.values())) > MOST_SETTINGS:
        raise UsageError(f"{math.prod(map(len, swept.values())):,} settings; at most {MOST_SETTINGS:,} are computed")
    fixed = {key: value for key, value in values.items() if key not in swept}
    settings = []
    for point in itertools.product(*swept.values()):
        here = dict(zip(swept, point, strict=True))
        try:
            mechanism = mechanism_of(name, fixed | here)
        except UsageError as error:
            words_of = ", ".join(f"{key} = {value:g}" for key, value in here.items())
            raise UsageError(f"{words_of}: {error.message}", error.hint) from None
        settings.append(Setting(here, mechanism))
    return EpsilonCurve(name, fixed, swept, deltas, tuple(settings))


def _values(name: str, key: str, value: Any) -> list[float]:
    """The values of a swept parameter, in the order in which they are given."""
    if isinstance(value, str) and (found := RANGE.fullmatch(value)):
        return _range(name, key, *found.groups())
    numbers = value if isinstance(value, list) else [value]
    if not all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers):
        raise UsageError(f"{key}: only numbers are swept, not {value!r}", f"{key}=1,2,3 or {key}=1..1000")
    return list(dict.fromkeys(numbers))


def _range(name: str, key: str, low: str, high: str, count: str | None) -> list[float]:
    try:
        first, last, points = float(low), float(high), int(count or POINTS)
    except ValueError:
        raise UsageError(f"{key}={low}..{high} is no range of numbers", f"for instance {key}=10..1e4/25") from None
    if not (0 < first < last < math.inf and 2 <= points <= MOST_SETTINGS):
        raise UsageError(f"{key}={low}..{high}: a range rises from a number above 0, in at least 2 points")
    found = [first * (last / first) ** (k / (points - 1)) for k in range(points - 1)] + [last]
    field = kind_of(name).model_fields.get(key)
    if key in WHOLE or (field is not None and "int" in str(field.annotation)):
        return list(dict.fromkeys(round(one) for one in found))
    return [float(f"{one:.6g}") for one in found]


def statement(name: str, words: Sequence[str], over: Sequence[str]) -> EpsilonCurve:
    """The table of a sweep, as `dpexp privacy` prints it."""
    with understood(name):
        return curve_of(name, words, over)


def written(
    name: str, words: Sequence[str], over: Sequence[str], hue: str, formats: str, out: Path
) -> tuple[Written, Mapping[str, Any]]:
    """The figure of a sweep in files, and its numbers for programs."""
    forms = tuple(form.strip() for form in formats.split(","))
    if wrong := [form for form in forms if form not in ("png", "pdf", "svg")]:
        raise UsageError(f"--format is a list of png, pdf and svg, not {wrong[0]!r}")
    with understood(name):
        curve = curve_of(name, words, over, hue)
        return curve.written(out, forms), curve.document()
