"""`dpexp privacy --mechanism` and `dpexp calibrate`: statements of mechanisms given by their parameters."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

from pydantic import ValidationError

from dpexp.commands.statement import Statement
from dpexp.config.words import listed, suggest
from dpexp.config.yamlfile import scalar
from dpexp.core.errors import UsageError
from dpexp.core.text import columns, down, guess, up
from dpexp.privacy.accounting.calibration import Calibrated, Unreachable, calibrate
from dpexp.privacy.analyses.analysis import ORDERS, Analysis
from dpexp.privacy.mechanisms import MECHANISMS, Mechanism, every_analysis

DELTAS = (1e-5, 1e-6)
TARGETS = {"eps": "eps=... with delta=...", "mu": "mu=...", "rho": "rho=... (zCDP)", "rdp": "rdp=... with order=..."}
WITH_TARGETS = ("delta", "order")
LEAST, LARGEST, LARGEST_TARGET = 1e-9, 1e12, 1e6
"""what a number other than 0 and inf lies between, so that its squares are numbers too, and so does a target"""
MOST_IN_TREES = 50_000_000
"""records or steps of the mechanisms on trees, which hold a few numbers for each of them"""


def state(name: str, pairs: Sequence[str], force: bool = False) -> Statement:
    """The privacy statement of a mechanism. `force` lets refused analyses compete for the best."""
    values = _values(pairs)
    deltas, orders = _deltas(values), _orders(values)
    mechanism = _mechanism(name, values)
    with understood(name):
        return Stated(name, mechanism, deltas, orders or ORDERS, force)


class Stated(Statement):
    """A statement at numbers that a user gave: where one of them leads nowhere, that is said."""

    def document(self) -> dict[str, Any]:
        with understood(self.name):
            return super().document()

    def text(self) -> str:
        with understood(self.name):
            return super().text()


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


def solve(
    name: str, targets: Sequence[str], pairs: Sequence[str], released: str, analysis: str | None, force: bool = False
) -> tuple[dict[str, Any], str]:
    """The least noise of a mechanism that meets a target: document and text.

    `force` accepts a refused analysis, which has to be named.
    """
    if force and analysis is None:
        raise UsageError("--force accepts a refused analysis", "name it with --analysis")
    kind = _kind(name)
    given = [pair for pair in pairs if _of_target(pair, kind)]
    goal = _goal(_values([*targets, *given]))
    values = _values([pair for pair in pairs if pair not in given])
    if released not in ("all-iterates", "last-iterate"):
        raise UsageError(f"--released is all-iterates or last-iterate, not {released!r}")
    if kind.noise_field in values:
        raise UsageError(f"{kind.noise_field} is what calibrate solves for", f"leave {kind.noise_field}=... out")
    _mechanism(name, {**values, kind.noise_field: 1.0})
    try:
        with understood(name):
            found = calibrate(
                lambda noise: kind(**{**values, kind.noise_field: noise}),
                kind,
                goal.spends,
                goal.level,
                released,
                analysis,
                force,
                every_analysis,
            )
    except Unreachable as error:
        raise UsageError(str(error)) from None
    return _calibrated(name, kind, found, goal.shown, released)


def _of_target(pair: str, kind: type[Mechanism]) -> bool:
    """Whether key=value belongs to the target; a mechanism's own `order` is a word, a Renyi order a number."""
    key, _, text = pair.partition("=")
    return key in WITH_TARGETS and (key not in kind.model_fields or isinstance(scalar(text), int | float))


class Goal(NamedTuple):
    """What an analysis spends, how much it may, and how that is shown."""

    spends: Callable[[Analysis], float]
    level: float
    shown: dict[str, float]


def _goal(given: dict[str, Any]) -> Goal:
    """One of eps=... with delta=..., mu=..., rho=... (zCDP), rdp=... with order=...."""
    measures = [key for key in TARGETS if key in given]
    stray = next((key for key in given if key not in TARGETS and key not in WITH_TARGETS), None)
    if len(measures) != 1 or stray:
        raise UsageError(
            f"a target is {', '.join(TARGETS.values())}" + (f", not {stray}" if stray else ""), "give exactly one"
        )
    measure = measures[0]
    level = _number(measure, given[measure], 0, math.inf)
    if level and not LEAST <= level <= LARGEST_TARGET:
        raise UsageError(f"{measure} is a number from {LEAST:g} to {LARGEST_TARGET:g}, not {level:g}")
    for key in WITH_TARGETS:
        if key in given and key not in TARGETS[measure]:
            raise UsageError(f"a target {measure}=... takes no {key}")
    if measure == "eps":
        delta = _number("delta", given.get("delta", 1e-5), 0, 1)
        return Goal(lambda a: a.eps(delta), level, {"eps": level, "delta": delta})
    if measure == "rdp":
        if "order" not in given:
            raise UsageError("a target rdp=... needs order=...")
        order = _number("order", given["order"], 1, math.inf)
        return Goal(lambda a: math.inf if a.rdp is None else a.rdp(order), level, {"rdp": level, "order": order})
    if measure == "mu":
        return Goal(lambda a: math.inf if a.mu is None else a.mu, level, {"mu": level})
    return Goal(lambda a: math.inf if a.zcdp is None else a.zcdp, level, {"rho": level})


def _calibrated(
    name: str, kind: type[Mechanism], found: Calibrated, target: dict[str, float], released: str
) -> tuple[dict[str, Any], str]:
    measure = next(iter(target))
    document = {
        "mechanism": name,
        "target": target,
        "released": released,
        "parameter": kind.noise_field,
        "value": found.value,
        "analysis": found.analysis,
        measure: found.spent,
        "all": [{"analysis": a, "value": v} for a, v in found.tried],
    }
    safe = up if kind.more_noise_is_larger else down  # so that who copies the printed value does not overspend
    rows = [[a, safe(v, 8) if math.isfinite(v) else "not reachable"] for a, v in found.tried]
    where = "".join(f" at {key} = {target[key]:g}" for key in WITH_TARGETS if key in target)
    text = (
        f"{kind.noise_field} = {safe(found.value, 10)}\n\n"
        f"gives {measure} = {up(found.spent, 6)} <= {target[measure]:g}{where}, {released}, by {found.analysis}.\n\n"
        + columns(rows, ["analysis", kind.noise_field])
    )
    return document, text


def _kind(name: str) -> type[Mechanism]:
    if name not in MECHANISMS:
        raise UsageError(f"no mechanism '{name}'", f"{guess(name, MECHANISMS)}mechanisms: {listed(MECHANISMS)}")
    return MECHANISMS[name]


def _values(pairs: Sequence[str]) -> dict[str, Any]:
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


def _deltas(values: dict[str, Any]) -> tuple[float, ...]:
    given = values.pop("delta", list(DELTAS))
    return tuple(_number("delta", delta, 0, 1) for delta in (given if isinstance(given, list) else [given]))


def _orders(values: dict[str, Any]) -> tuple[float, ...]:
    given = values.pop("alphas", [])
    return tuple(_number("alphas", order, 1, math.inf) for order in (given if isinstance(given, list) else [given]))


def _number(name: str, value: Any, low: float, high: float) -> float:
    """A number strictly between two ends (eps may be 0)."""
    number = isinstance(value, int | float) and not isinstance(value, bool)
    inside = number and (low < value < high or (name == "eps" and value == 0))
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


def _mechanism(name: str, values: dict[str, Any]) -> Mechanism:
    kind = _kind(name)
    fields = kind.model_fields
    for key in values:
        if key not in fields:
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
