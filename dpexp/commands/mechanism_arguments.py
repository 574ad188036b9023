"""A mechanism from NAME key=value ..., as `dpexp privacy --mechanism` and `dpexp calibrate` take it, or a sweep of one.

A list is one value, phases of one run, unless `--over` names it.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from pydantic import ValidationError

from dpexp.accounting.least_noise import Unreachable
from dpexp.commands.api import builtin
from dpexp.core.errors import UsageError
from dpexp.core.scalars import scalar
from dpexp.core.text import guess
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.samplings import own_fields

if TYPE_CHECKING:
    from dpexp.reporting.epsilon_curves import EpsilonCurve

DELTAS = (1e-5, 1e-6)
LEAST, LARGEST = 1e-9, 1e12
"""bounds of a number other than 0 and inf, so that its squares are numbers too"""
MOST_KEYS, MOST_SETTINGS = 2, 2000
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
            if isinstance(item, int | float) and item not in (0, math.inf) and not LEAST <= abs(item) <= LARGEST:
                raise UsageError(f"{key} is 0 or a number from {LEAST:g} to {LARGEST:g}, not {item:g}")
    try:
        return kind(**own)
    except ValidationError as error:
        # with the reader of configs, which a statement does not need
        from dpexp.config.error_messages import explain
        from dpexp.config.yamlfile import Position, all_at

        issues = explain(error, "", all_at(own, Position(name)), kind)
        # A symbol of a paper is closer to what was meant than a name of similar letters.
        symbols = [f"{key} is {SYMBOLS[key]} here" for key in own if SYMBOLS.get(key) in kind.model_fields]
        hints = sorted((issue.hint for issue in issues if issue.hint), key=lambda hint: not hint.startswith("did you"))
        lists = [f"--over {key} sweeps its values" for key, value in own.items() if isinstance(value, list)]
        hint = "; ".join(symbols) or next(iter([*hints, *lists]), "")
        raise UsageError("\n".join(f"{name}: {issue.message}" for issue in issues), hint) from None


def curve_of(name: str, values: dict[str, Any], over: Sequence[str], hue: str = "") -> EpsilonCurve:
    """The settings of a sweep, which are all built before anything is computed. Raises UsageError."""
    from dpexp.reporting.epsilon_curves import EpsilonCurve

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
