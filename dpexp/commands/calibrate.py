"""`dpexp calibrate`: the noise or budget of a mechanism that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import count
from typing import Any, Literal, NamedTuple

from dpexp.accounting import search
from dpexp.commands.command_answer import Answer
from dpexp.commands.mechanism_arguments import kind_of, mechanism_of, numbers, own_values, understood, values_of
from dpexp.core.errors import BoundRefuted, UsageError
from dpexp.core.terminal import tell
from dpexp.core.text import columns, down, up
from dpexp.privacy import calibration
from dpexp.privacy.analyses.analysis import Analysis, refuted, with_last_iterate
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism


class Measure(NamedTuple):
    """What a target is in: its range, what goes with it, and what an analysis spends of it there.

    An analysis without such a number spends without end, and is never used.
    """

    low: float
    high: float
    at: str
    spends: Callable[[Analysis, float], float]


LEAST, LARGEST = 1e-9, 1e6
"""of eps and mu, so that their squares are numbers too"""
MEASURES = {
    "eps": Measure(0, LARGEST, "delta", lambda a, delta: a.eps(delta)),
    # without a floor the mu of sampled steps is that of no sampling: the rarest losses decide
    "mu": Measure(LEAST, LARGEST, "", lambda a, _: a.unsampled if a.mu is None else a.mu),
    "advantage": Measure(0, 1, "", lambda a, _: a.advantage),
    "tpr": Measure(0, 1, "fpr", lambda a, fpr: a.tpr(fpr)),
}
USAGE = "a target is eps=... with delta=..., mu=..., advantage=... or tpr=...@fpr=..."


def calibrate(
    *words: str, mechanism: str = "sampled-gaussian", analysis: str | None = None,
    released: Literal["all-iterates", "last-iterate"] = "all-iterates", **parameters: Any,
) -> Answer:  # fmt: skip
    """The least noise of a mechanism that meets a target, such as eps=1, delta=1e-5: `["value"]` of what is returned.

    The target is among the parameters. Raises UsageError.
    """
    if words and words[0] in MECHANISMS:
        mechanism, words = words[0], words[1:]
    if released not in ("all-iterates", "last-iterate"):
        raise UsageError(f"--released is all-iterates or last-iterate, not {released!r}")
    kind, typed = kind_of(mechanism), values_of(words, parameters)
    target = {key: typed.pop(key) for key in (*MEASURES, "delta", "fpr") if key in typed}
    levels = _levels(target)
    (measure, level), prob = next(iter(levels.items())), [*levels.values()][-1]
    values = own_values(mechanism, typed)
    field = kind.solved(values)
    if field in values:
        raise UsageError(f"{field} is what calibrate solves for", f"leave {field}=... out")
    # All that is wrong with the parameters is an error before anything is solved.
    mechanism_of(mechanism, {**values, field: 1.0})
    trial = count(1)

    def at(noise: float) -> Mechanism:
        tell(f"value {next(trial)} of {field}: {noise:.4g}")
        return kind(**{**values, field: noise})

    try:
        with understood(mechanism):
            loss = MEASURES[measure].spends
            solved = calibration.calibrate(at, kind, lambda a: loss(a, prob), level, released, analysis, every_analysis)
            result = kind(**{**values, field: solved.value})
            # The rule of one table: no guarantee below what a pair of neighbours attains.
            best = [a for a in every_analysis(result) if a.name == solved.analysis]
            attained = with_last_iterate(result.lower_bounds())
            for message in refuted(best, attained, [levels.get("delta", 1e-5)]).values():
                raise BoundRefuted(message)
    except search.Unreachable as error:
        hint = "; ".join(dict.fromkeys(a.refused for a in every_analysis(at(1.0)) if a.refused))
        hint += ": neighboring_relation=replace-one" if "for replace-one" in hint else ""
        raise UsageError(str(error), hint) from None
    document = {
        "mechanism": mechanism, "target": levels, "released": released, "parameter": field, "value": solved.value,
        "analysis": solved.analysis, measure: solved.spent,
        "all": [{"analysis": a, "value": v} for a, v in solved.tried],
    }  # fmt: skip
    safe = up if kind.more_noise_is_larger else down  # so that who copies the printed value does not overspend
    rows = [[a, safe(v, 8) if math.isfinite(v) else "not reachable"] for a, v in solved.tried]
    where = "".join(f" at {key} = {value:g}" for key, value in levels.items() if key != measure)
    spent = f"gives {measure} = {up(solved.spent, 6)} <= {level:g}{where}, {released}, by {solved.analysis}."
    return Answer(f"{field} = {safe(solved.value, 10)}\n\n{spent}\n\n{columns(rows, ['analysis', field])}", document)


def _levels(target: dict[str, Any]) -> dict[str, float]:
    """The measure of a target, then what goes with it. Raises UsageError."""
    if "@" in str(target.get("tpr")):
        rate, _, rest = str(target["tpr"]).strip('"').partition("@")
        target = {**target, **values_of([f"tpr={rate}", rest])}
    measures = [key for key in MEASURES if key in target]
    if len(measures) != 1:
        raise UsageError(USAGE, "give exactly one, with the parameters")
    (name,) = measures
    measure, target = MEASURES[name], {"delta": 1e-5, **target} if name == "eps" else target
    if {*target} - {name} != {measure.at} - {""}:
        raise UsageError(USAGE, f"{name}=... goes with {measure.at or 'nothing'}{'=...' if measure.at else ''}")
    levels = {name: numbers(name, target[name], measure.low, measure.high)[0]}
    if measure.at:
        levels |= {measure.at: numbers(measure.at, target[measure.at], 0, 1)[0]}
    if name == "tpr" and levels["tpr"] <= levels["fpr"]:
        message = f"tpr={levels['tpr']:g} is met by guessing at fpr={levels['fpr']:g}: no noise brings it lower"
        raise UsageError(message, "give a larger tpr")
    return levels
