"""`dpexp privacy --mechanism` and `dpexp calibrate`: statements of mechanisms given by their parameters."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from pydantic import ValidationError

from dpexp.config.words import suggest
from dpexp.config.yamlfile import scalar
from dpexp.errors import UsageError
from dpexp.privacy.analysis import Analysis
from dpexp.privacy.calibration import Calibrated, Unreachable, calibrate
from dpexp.privacy.mechanisms import MECHANISMS, Mechanism
from dpexp.text import columns, guess

DELTAS = (1e-5, 1e-6)


def state(name: str, pairs: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The privacy statement of a mechanism: document and text."""
    values = _values(pairs)
    deltas = _deltas(values)
    orders = _orders(values)
    mechanism = _mechanism(name, values)
    analyses = mechanism.analyses()
    best = _best(analyses, deltas)
    document = {
        "mechanism": name,
        "parameters": mechanism.model_dump(),
        "neighboring_relation": mechanism.neighboring_relation,
        "sampling": getattr(mechanism, "sampling", "every record once"),
        "statements": [a.statement(deltas, orders) if orders else a.statement(deltas) for a in analyses],
        "best": {kind: {"analysis": a.name, "eps": [[d, a.eps(d)] for d in deltas]} for kind, a in best.items()},
    }
    return document, _page(name, mechanism, analyses, best, deltas)


def solve(
    name: str, targets: Sequence[str], pairs: Sequence[str], released: str, analysis: str | None
) -> tuple[dict[str, Any], str]:
    """The least noise of a mechanism that meets a target: document and text."""
    goal = _values([*targets, *[pair for pair in pairs if pair.split("=")[0] == "delta"]])
    values = _values([pair for pair in pairs if pair.split("=")[0] != "delta"])
    eps, delta, mu = (goal.pop(key, None) for key in ("eps", "delta", "mu"))
    if goal:
        raise UsageError(f"a target is eps=... with delta=..., or mu=..., not {next(iter(goal))}")
    if (mu is None) == (eps is None):
        raise UsageError("give one target: eps=... with delta=..., or mu=...")
    if released not in ("all-iterates", "last-iterate"):
        raise UsageError(f"--released is all-iterates or last-iterate, not {released!r}")
    if mu is not None:
        target, shown = _number("mu", mu, 0, math.inf), {"mu": mu}
        if delta is not None:
            raise UsageError("a target mu=... takes no delta")
    else:
        at = _number("delta", 1e-5 if delta is None else delta, 0, 1)
        target = _number("eps", eps, 0, math.inf)
        shown = {"eps": target, "delta": at}

    def spends(a: Analysis) -> float:
        if mu is None:
            return a.eps(at)
        return math.inf if a.mu is None else a.mu

    kind = _kind(name)
    if kind.noise_field in values:
        raise UsageError(f"{kind.noise_field} is what calibrate solves for", f"leave {kind.noise_field}=... out")
    _mechanism(name, {**values, kind.noise_field: 1.0})
    try:
        found = calibrate(
            lambda noise: kind(**{**values, kind.noise_field: noise}), kind, spends, target, released, analysis
        )
    except Unreachable as error:
        raise UsageError(str(error)) from None
    return _calibrated(name, kind, found, shown, released)


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
    rows = [[a, f"{v:.8g}" if math.isfinite(v) else "not reachable"] for a, v in found.tried]
    where = f" at delta = {target['delta']:g}" if "delta" in target else ""
    text = (
        f"{kind.noise_field} = {found.value:.10g}\n\n"
        f"gives {measure} = {found.spent:.6g} <= {target[measure]:g}{where}, {released}, by {found.analysis}.\n\n"
        + columns(rows, ["analysis", kind.noise_field])
    )
    return document, text


def _kind(name: str) -> type[Mechanism]:
    if name not in MECHANISMS:
        raise UsageError(f"no mechanism '{name}'", f"{guess(name, MECHANISMS)}mechanisms: {', '.join(MECHANISMS)}")
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


def _mechanism(name: str, values: dict[str, Any]) -> Mechanism:
    kind = _kind(name)
    fields = kind.model_fields
    for key in values:
        if key not in fields:
            raise UsageError(f"{name} has no parameter '{key}'", suggest(key, list(fields)))
    missing = [key for key, field in fields.items() if field.is_required() and key not in values]
    if missing:
        raise UsageError(f"{name} needs {', '.join(missing)}", f"for instance {missing[0]}=1")
    try:
        return kind(**values)
    except ValidationError as error:
        first = error.errors()[0]
        where = f"{'.'.join(map(str, first['loc']))} = {first['input']!r}: " if first["loc"] else ""
        raise UsageError(where + first["msg"].removeprefix("Value error, ").lower()) from None


def _best(analyses: Sequence[Analysis], deltas: Sequence[float]) -> dict[str, Analysis]:
    """The tightest valid analysis of what is released; all-iterates analyses cover the last iterate too."""
    valid = [a for a in analyses if a.valid]
    kinds = {"all-iterates": [a for a in valid if a.released == "all-iterates"], "last-iterate": valid}
    return {kind: min(found, key=lambda a: a.eps(deltas[0])) for kind, found in kinds.items() if found}


def _page(
    name: str, mechanism: Mechanism, analyses: Sequence[Analysis], best: dict[str, Analysis], deltas: Sequence[float]
) -> str:
    parameters = ", ".join(
        f"{k} = {v:g}" if isinstance(v, float) else f"{k} = {v}" for k, v in mechanism if v is not None
    )
    rows = []
    for a in analyses:
        mark = "; ".join(f"best for {kind}" for kind, b in best.items() if b is a)
        rows.append([a.name, a.released, *(_shown(a.eps(d)) for d in deltas), mark if a.valid else "NOT A GUARANTEE"])
    head = ["analysis", "released", *(f"eps at {d:g}" for d in deltas), ""]
    lines = [f"{name}: {parameters}", "", *(f"  {topic:<12} {text}" for topic, text in mechanism.describe()), ""]
    lines += ["  " + line for line in columns(rows, head).splitlines()]
    lines.append("")
    for a in analyses:
        lines.append(f"  {a.name}: {a.source}" if a.source else f"  {a.name}")
        if not a.valid:
            lines.append(f"      refused: {a.refused}")
        elif a.assumptions:
            lines.append("      holds if " + "; ".join(a.assumptions))
    if any(a.released == "last-iterate" for a in analyses):
        lines += ["", "  Not covered by last-iterate analyses: averages of iterates, earlier iterates, gradients."]
    return "\n".join(lines)


def _shown(value: float) -> str:
    return "inf" if math.isinf(value) else f"{value:.5g}"
