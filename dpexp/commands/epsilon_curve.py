"""Sweeps of `--over`: settings of a mechanism, their table (`dpexp privacy`) and figure (`dpexp plot --mechanism`).

A list without `--over` is one value: phases of one run.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

from dpexp.commands.mechanism_arguments import deltas_of, mechanism_of
from dpexp.core.errors import UsageError
from dpexp.reporting.epsilon_curves import EpsilonCurve

MOST_KEYS, MOST_SETTINGS = 2, 2000
EXAMPLE = "for instance sampling_probability=0.01 noise_multiplier=1 steps=10,100,1000 --over steps"


def curve_of(name: str, values: dict[str, Any], over: Sequence[str], hue: str = "") -> EpsilonCurve:
    """The settings of a sweep, which are all built before anything is computed. Raises UsageError."""
    deltas = deltas_of(values)
    keys = [*dict.fromkeys(key for key in over if key != hue), *([hue] if hue else [])]
    if not 1 <= len(keys) <= MOST_KEYS:
        raise UsageError(f"--over sweeps one or two parameters, not {len(keys)}", EXAMPLE)
    swept = {}
    for key in keys:
        if key not in values:
            raise UsageError(f"--over {key}: no values of '{key}' are given", EXAMPLE)
        numbers = values[key] if isinstance(values[key], list) else [values[key]]
        if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in numbers):
            raise UsageError(f"{key}: only numbers are swept, not {values[key]!r}", EXAMPLE)
        swept[key] = list(dict.fromkeys(numbers))
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
