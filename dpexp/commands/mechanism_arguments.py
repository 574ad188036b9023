"""A mechanism from NAME key=value ..., as `dpexp privacy --mechanism` and `dpexp calibrate` take it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from pydantic import ValidationError

from dpexp.core.errors import UsageError
from dpexp.core.scalars import scalar
from dpexp.core.text import guess
from dpexp.privacy.accounting.calibration import Unreachable
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism

DELTAS = (1e-5, 1e-6)
LEAST, LARGEST = 1e-9, 1e12
"""what a number other than 0 and inf lies between, so that its squares are numbers too"""
MOST_IN_TREES = 50_000_000
"""records or steps of the mechanisms on trees, which hold a few numbers for each of them"""


@contextmanager
def understood(name: str) -> Iterator[None]:
    """Numbers inside their ranges can still be too far apart for an analysis, or ask for more memory than there is."""
    try:
        yield
    except (UsageError, Unreachable):
        raise
    except MemoryError:
        raise UsageError(f"{name} at these values needs more memory than there is", "take fewer steps") from None
    except (ArithmeticError, ValueError) as error:
        raise UsageError(f"{name} cannot be evaluated at these values: {error}", "take less extreme ones") from None


def kind_of(name: str) -> type[Mechanism]:
    if name not in MECHANISMS:
        from dpexp.config.words import listed

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
        parts = [scalar(part.strip()) for part in text.strip("[]").split(",")]
        values[key] = parts if len(parts) > 1 or text.startswith("[") else parts[0]
    return values


def deltas_of(values: dict[str, Any]) -> tuple[float, ...]:
    given = values.pop("delta", list(DELTAS))
    return tuple(number("delta", delta, 0, 1) for delta in (given if isinstance(given, list) else [given]))


def orders_of(values: dict[str, Any]) -> tuple[float, ...]:
    given = values.pop("alphas", [])
    return tuple(number("alphas", order, 1, math.inf) for order in (given if isinstance(given, list) else [given]))


def number(name: str, value: Any, low: float, high: float) -> float:
    """A number strictly between two ends (eps may be 0)."""
    numeric = isinstance(value, int | float) and not isinstance(value, bool)
    inside = numeric and (low < value < high or (name == "eps" and value == 0))
    if not inside:
        ends = f"between {low:g} and {high:g}" if math.isfinite(high) else f"above {low:g}"
        raise UsageError(f"{name} is a number {ends}, not {value!r}")
    return float(value)


def _require_range(name: str, values: dict[str, Any]) -> None:
    """Refuse numbers that no analysis can square, and trees that do not fit into memory."""
    for key, given in values.items():
        for value in given if isinstance(given, list) else [given]:
            if not isinstance(value, int | float) or isinstance(value, bool) or value in (0, math.inf):
                continue
            if not LEAST <= abs(value) <= LARGEST:
                raise UsageError(f"{key} is 0 or a number from {LEAST:g} to {LARGEST:g}, not {value:g}")
            if ("tree-" in name or "reduced-" in name) and key in ("n", "steps") and value > MOST_IN_TREES:
                raise UsageError(f"{key} is at most {MOST_IN_TREES:,} for {name}, not {value:g}")


def mechanism_of(name: str, values: dict[str, Any]) -> Mechanism:
    kind = kind_of(name)
    fields = kind.model_fields
    for key in values:
        if key not in fields:
            from dpexp.config.words import suggest

            raise UsageError(f"{name} has no parameter '{key}'", suggest(key, list(fields)))
    missing = [key for key, field in fields.items() if field.is_required() and key not in values]
    if missing:
        raise UsageError(f"{name} needs {', '.join(missing)}", f"for instance {missing[0]}=1")
    _require_range(name, values)
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{'.'.join(map(str, first['loc']))} = {first['input']!r}: " if first["loc"] else ""
        raise UsageError(where + first["msg"].removeprefix("Value error, ").lower()) from None
