"""A mechanism from NAME key=value ..., as `dpexp privacy --mechanism` and `dpexp calibrate` take it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, get_args

from pydantic import ValidationError

from dpexp.accounting.least_noise import Unreachable
from dpexp.core.errors import UsageError
from dpexp.core.scalars import scalar
from dpexp.core.text import guess
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.samplings import own_fields

DELTAS = (1e-5, 1e-6)
PHASED = ("noise_multiplier", "sampling_probability", "steps")
"""parameters of which a list of values is phases of one run"""
EPOCHS = "epoch-gaussian"
LEAST, LARGEST = 1e-9, 1e12
"""what a number other than 0 and inf lies between, so that its squares are numbers too"""
MOST_IN_TREES = 50_000_000
"""records or steps of the mechanisms on trees, which hold a few numbers for each of them"""


@contextmanager
def understood(name: str) -> Iterator[None]:
    """Numbers inside their ranges can still be too far apart for an analysis, or ask for more memory than there is."""
    try:
        yield
    # These have words of their own.
    except (UsageError, Unreachable):
        raise
    except MemoryError:
        raise UsageError(f"{name} at these values needs more memory than there is", "take fewer steps") from None
    except (ArithmeticError, ValueError) as error:
        from dpexp.plugins.loaded import blame

        if place := blame(error):
            raise UsageError(
                f"{place}{type(error).__name__}: {error}", "mend the plug-in, whose mechanism this is"
            ) from error
        raise UsageError(f"{name} cannot be evaluated at these values: {error}", "take less extreme ones") from None


def kind_of(name: str) -> type[Mechanism]:
    if name not in MECHANISMS:
        from dpexp.config.error_messages import listed

        raise UsageError(f"no mechanism '{name}'", f"{guess(name, MECHANISMS)}mechanisms: {listed(MECHANISMS)}")
    return MECHANISMS[name]


def values_of(pairs: Sequence[str]) -> dict[str, Any]:
    values: dict[str, Any] = {}
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


SYMBOLS = {
    "sigma": "noise_multiplier", "z": "noise_multiplier", "q": "sampling_probability", "T": "steps", "eta": "step_size",
    "lr": "step_size", "learning_rate": "step_size", "C": "clip", "L": "lipschitz", "D": "diameter", "M": "smoothness",
    "b": "batch_size", "N": "n", "orders": "alphas", "max_grad_norm": "clip", "sample_rate": "sampling_probability",
}  # fmt: skip
"""how papers and other libraries call a parameter, and its name here (NOTATION.md)"""


def phases_of(values: dict[str, Any]) -> str:
    """That lists of values are phases of one run, in a sentence; empty where there is none."""
    lists = {key: value for key in PHASED if isinstance(value := values.get(key), list) and len(value) > 1}
    if not lists:
        return ""
    key, values_of_key = next(iter(lists.items()))
    return f"{len(values_of_key)} phases of one run; --over {key} for {len(values_of_key)} runs."


def deltas_of(values: dict[str, Any]) -> tuple[float, ...]:
    """The deltas among some values, from which they are taken."""
    return _numbers("delta", values.pop("delta", list(DELTAS)), 0, 1)


def orders_of(values: dict[str, Any]) -> tuple[float, ...]:
    """The Renyi orders among some values, from which they are taken."""
    return _numbers("alphas", values.pop("alphas", []), 1, math.inf)


def _numbers(name: str, given: Any, low: float, high: float) -> tuple[float, ...]:
    return tuple(number(name, one, low, high) for one in (given if isinstance(given, list) else [given]))


def number(name: str, value: Any, low: float, high: float) -> float:
    """A number strictly between two ends (eps may be 0)."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    inside = numeric and (low < value < high or (name == "eps" and value == 0))
    if not inside:
        ends = f"between {low:g} and {high:g}" if math.isfinite(high) else f"above {low:g}"
        raise UsageError(f"{name} is a number {ends}, not {value!r}")
    return float(value)


def _out_of_range(name: str, values: dict[str, Any]) -> dict[str, str]:
    """Parameters with numbers that no analysis can square, or trees that do not fit into memory; and what is wrong."""
    found: dict[str, str] = {}
    for key, given in values.items():
        for value in given if isinstance(given, list) else [given]:
            if not isinstance(value, int | float) or isinstance(value, bool) or value in (0, math.inf):
                continue
            if not LEAST <= abs(value) <= LARGEST:
                found[key] = f"{key} is 0 or a number from {LEAST:g} to {LARGEST:g}, not {value:g}"
            elif ("tree-" in name or "reduced-" in name) and key in ("n", "steps") and value > MOST_IN_TREES:
                found[key] = f"{key} is at most {MOST_IN_TREES:,} for {name}, not {value:g}"
    return found


def own_values(name: str, values: dict[str, Any]) -> dict[str, Any]:
    """The parameters of a mechanism, where n, batch_size and epochs stand for them. Raises UsageError."""
    try:
        return own_fields(kind_of(name).model_fields, values)
    except ValueError as error:
        raise UsageError(f"{name}: {error}") from None


def mechanism_of(name: str, values: dict[str, Any]) -> Mechanism:
    """The mechanism of these parameters. Raises UsageError that says all that is wrong with them, and not the first."""
    kind, values = kind_of(name), own_values(name, values)
    fields = kind.model_fields
    unknown = [key for key in values if key not in fields]
    missing = [key for key, field in fields.items() if field.is_required() and key not in values]
    out_of_range = _out_of_range(name, values)
    problems = [f"{name} has no parameter '{key}'" for key in unknown]
    problems += [f"{name} needs {', '.join(missing)}"] if missing else []
    problems += out_of_range.values()
    # What is known to be wrong is left out, so that pydantic says what else is.
    known = {key: value for key, value in values.items() if key in fields and key not in out_of_range}
    try:
        built = kind(**known)
    except ValidationError as error:
        # what is missing has been said, and of what is out of range the worse word
        told = [one for one in error.errors() if one["type"] != "missing" and not {*one["loc"][:1]} & {*out_of_range}]
        if not out_of_range or all(one["loc"] for one in told):
            problems += dict.fromkeys(map(_said, told))
    else:
        if not problems:
            return built
    from dpexp.config.error_messages import suggest  # with the reader of configs, which a statement does not need

    # A kind of batches that another mechanism has is no spelling mistake.
    elsewhere = values.get("sampling")
    if name != EPOCHS and elsewhere in get_args(MECHANISMS[EPOCHS].model_fields["sampling"].annotation):
        hint = f"batches of the kind {elsewhere} are those of --mechanism {EPOCHS} batches=... epochs=..."
        raise UsageError("\n".join(problems), hint)
    # A symbol of a paper is closer to what was meant than a name of similar letters.
    hint = "; ".join(f"{key} is {SYMBOLS[key]} here" for key in unknown if SYMBOLS.get(key) in fields)
    example = f"for instance {missing[0]}=1" if missing else ""
    raise UsageError("\n".join(problems), hint or (suggest(unknown[0], list(fields)) if unknown else example))


def _said(problem: Any) -> str:
    """One complaint of pydantic's in our words; of phases, the number of the wrong one is left out."""
    where = f"{problem['loc'][0]} = {problem['input']!r}: " if problem["loc"] else ""
    return str(where + problem["msg"].removeprefix("Value error, ").lower())
