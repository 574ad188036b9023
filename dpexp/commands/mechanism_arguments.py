"""A mechanism from NAME key=value ..., as `dpexp privacy --mechanism` and `dpexp calibrate` take it, or a sweep of one.

A list of values sweeps its parameter where that takes one value. Where a list is a value itself (phases of one run),
`--over KEY` sweeps it. LO..HI is 13 numbers in equal ratios, LO..HI/25 is 25 of them, whole where the parameter is.
"""

from __future__ import annotations

import itertools
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dpexp.accounting.search import Unreachable
from dpexp.commands.api import builtin
from dpexp.core.errors import UsageError
from dpexp.core.text import guess, scalar
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.privacy.samplings import own_fields

if TYPE_CHECKING:
    from dpexp.reporting.epsilon_curves import EpsilonCurve

DELTAS = (1e-5, 1e-6)
LEAST, LARGEST = 1e-9, 1e12
"""bounds of a number other than 0 and inf, so that its squares are numbers too"""
MOST_IN_TREES = 50_000_000
"""records or steps of the mechanisms on trees, which hold a few numbers for each of them"""
PHASED = ("noise_multiplier", "sampling_probability", "steps")
"""parameters whose list of values is phases of one run"""
WHOLE = ("n", "batch_size", "epochs", "steps")
RANGE = re.compile(r"([^.].*?)\.\.(.+?)(?:/(\d+))?")
MOST_KEYS, MOST_SETTINGS, POINTS = 2, 2000, 13
EXAMPLE = "for instance sampling_probability=0.01 noise_multiplier=1 steps=10,100,1000 --over steps"
SYMBOLS = {
    "sigma": "noise_multiplier", "z": "noise_multiplier", "q": "sampling_probability", "T": "steps", "eta": "step_size",
    "lr": "step_size", "C": "clip", "L": "lipschitz", "D": "diameter", "M": "smoothness", "b": "batch_size", "N": "n",
}  # fmt: skip
"""names of a parameter in papers and other libraries, and its name here (NOTATION.md)"""


@contextmanager
def understood(name: str) -> Iterator[None]:
    """Numbers inside their ranges can still be too far apart for an analysis, or need more memory than there is."""
    try:
        yield
    # These have words of their own.
    except (UsageError, Unreachable):
        raise
    except (ArithmeticError, MemoryError, ValueError) as error:
        from dpexp.plugins.loaded import blame

        if blame(error):  # a mistake of a plug-in is shown with its place
            raise
        message = f"{name} cannot be evaluated at these values: {str(error) or type(error).__name__}"
        raise UsageError(message, "take less extreme ones, or fewer steps") from None


def kind_of(name: str) -> type[Mechanism]:
    """The class of a mechanism. Raises UsageError."""
    if name not in MECHANISMS:
        from dpexp.config.error_messages import listed

        raise UsageError(f"no mechanism '{name}'", f"{guess(name, MECHANISMS)}mechanisms: {listed(MECHANISMS)}")
    return MECHANISMS[name]


def values_of(pairs: Sequence[str], parameters: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The values of texts key=value, and of parameters from Python. Raises UsageError."""
    values = {key: builtin(value, key) for key, value in (parameters or {}).items()}
    for pair in pairs:
        key, sign, text = pair.partition("=")
        if not sign or not key:
            raise UsageError(f"'{pair}' is not key=value", "for instance n=10000 batch_size=100 delta=1e-5")
        if key in values:
            raise UsageError(f"'{key}' is given twice")
        # 1,2 and [1, 2] are both a list, for shells in which brackets mean something.
        parts = [scalar(part.strip()) for part in text.strip("[]").split(",")]
        values[key] = parts if len(parts) > 1 or text.startswith("[") else parts[0]
    return values


def deltas_of(values: dict[str, Any]) -> tuple[float, ...]:
    """The deltas among some values, from which they are taken."""
    return numbers("delta", values.pop("delta", list(DELTAS)), 0, 1)


def numbers(name: str, value: Any, low: float, high: float) -> tuple[float, ...]:
    """A number or several, strictly between two ends (eps may be 0). Raises UsageError."""
    items = value if isinstance(value, list) else [value]
    for item in items:
        numeric = isinstance(item, int | float) and not isinstance(item, bool)
        if not (numeric and (low < item < high or (name == "eps" and item == 0))):
            ends = f"between {low:g} and {high:g}" if math.isfinite(high) else f"above {low:g}"
            raise UsageError(f"{name} is a number {ends}, not {item!r}")
    return tuple(map(float, items))


def own_values(name: str, values: Mapping[str, Any]) -> dict[str, Any]:
    """The parameters of a mechanism, also from n, batch_size and epochs. Raises UsageError."""
    try:
        return own_fields(kind_of(name).model_fields, values)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def mechanism_of(name: str, values: Mapping[str, Any]) -> Mechanism:
    """The mechanism of these parameters. Raises UsageError with all that is wrong with them."""
    kind, own = kind_of(name), own_values(name, values)
    for key, value in own.items():
        for item in value if isinstance(value, list) else [value]:
            if not isinstance(item, int | float) or item in (0, math.inf):
                continue
            if not LEAST <= abs(item) <= LARGEST:
                raise UsageError(f"{key} is 0 or a number from {LEAST:g} to {LARGEST:g}, not {item:g}")
            if ("tree-" in name or "reduced-" in name) and key in ("n", "steps") and item > MOST_IN_TREES:
                raise UsageError(f"{key} is at most {MOST_IN_TREES:,} for {name}, not {item:g}")
    try:
        return kind(**own)
    except ValidationError as error:
        # with the reader of configs, which a statement does not need
        from dpexp.config.error_messages import explain
        from dpexp.config.yamlfile import Position, with_place

        issues = explain(error, kind, with_place(own, Position(name)))
        # A symbol of a paper is closer to what was meant than a name of similar letters.
        symbols = [f"{key} is {SYMBOLS[key]} here" for key in own if SYMBOLS.get(key) in kind.model_fields]
        hints = sorted((issue.hint for issue in issues if issue.hint), key=lambda hint: not hint.startswith("did you"))
        hint = "; ".join(symbols) or next(iter(hints), "")
        raise UsageError("\n".join(f"{name}: {issue.message}" for issue in issues), hint) from None


def phases_of(values: Mapping[str, Any]) -> str:
    """That lists of values are phases of one run, in a sentence; empty where there is none."""
    lists = ((key, len(value)) for key in PHASED if isinstance(value := values.get(key), list) and len(value) > 1)
    return next((f"{count} phases of one run; --over {key} for {count} runs." for key, count in lists), "")


def swept_keys(name: str, values: Mapping[str, Any]) -> list[str]:
    """The parameters that sweep by themselves: by a range, or by a list where they take one value."""
    phased = PHASED if issubclass(kind_of(name), SampledGaussian) else ()
    return [
        key for key, value in values.items()
        if (isinstance(value, str) and RANGE.fullmatch(value))
        or (isinstance(value, list) and key not in ("delta", "alphas", *phased)
            and tuple not in kind_of(name).types(key))
    ]  # fmt: skip


def _swept(key: str, value: Any, whole: bool) -> list[float]:
    """The values of a swept parameter."""
    if isinstance(value, str) and (match := RANGE.fullmatch(value)):
        try:
            low, high, points = float(match[1]), float(match[2]), int(match[3] or POINTS)
        except ValueError:
            raise UsageError(f"{key}={value} is no range of numbers", f"for instance {key}=10..1e4/25") from None
        if not (0 < low < high < math.inf and 2 <= points <= MOST_SETTINGS):
            raise UsageError(f"{key}={value}: a range rises from a number above 0, in at least 2 points")
        ratios = [low * (high / low) ** (k / (points - 1)) for k in range(points - 1)] + [high]
        return list(dict.fromkeys(round(x) if whole else float(f"{x:.6g}") for x in ratios))
    items = value if isinstance(value, list) else [value]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) for x in items):
        raise UsageError(f"{key}: only numbers are swept, not {value!r}", f"{key}=1,2,3 or {key}=1..1000")
    return list(dict.fromkeys(items))


def curve_of(name: str, values: dict[str, Any], over: Sequence[str], hue: str = "") -> EpsilonCurve:
    """The settings of a sweep, which are all built before anything is computed. Raises UsageError."""
    from dpexp.reporting.epsilon_curves import EpsilonCurve, words_of

    deltas = deltas_of(values)
    keys = [*dict.fromkeys(key for key in (*over, *swept_keys(name, values)) if key != hue), *([hue] if hue else [])]
    if not 1 <= len(keys) <= MOST_KEYS:
        raise UsageError(f"one or two parameters are swept, not {len(keys)}", EXAMPLE)
    if absent := [key for key in keys if key not in values]:
        raise UsageError(f"--over {absent[0]}: no values of '{absent[0]}' are given", EXAMPLE)
    swept = {key: _swept(key, values[key], key in WHOLE or int in kind_of(name).types(key)) for key in keys}
    if hue and len(swept[hue]) == 1:
        raise UsageError(f"--hue {hue} has one value", EXAMPLE)
    count = math.prod(map(len, swept.values()))
    if count > MOST_SETTINGS:
        raise UsageError(f"{count:,} settings; at most {MOST_SETTINGS:,} are computed")
    fixed, settings = {key: value for key, value in values.items() if key not in swept}, []
    for point in itertools.product(*swept.values()):
        setting = dict(zip(swept, point, strict=True))
        try:
            settings.append((setting, mechanism_of(name, fixed | setting)))
        except UsageError as error:
            raise UsageError(f"{words_of(setting)}: {error.message}", error.hint) from None
    return EpsilonCurve(name, fixed, swept, deltas, tuple(settings))
