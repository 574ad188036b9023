"""`dpexp calibrate`: the noise or budget of a mechanism that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from itertools import count
from typing import Any, Literal, NamedTuple

from dpexp.accounting import least_noise
from dpexp.commands.answer import Answer
from dpexp.commands.mechanism_arguments import LEAST, kind_of, mechanism_of, number, own_values, understood, values_of
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.terminal import tell
from dpexp.core.text import columns, down, up
from dpexp.privacy import calibration
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.lower_bounds import refuted, with_last_iterate
from dpexp.privacy.mechanisms import MECHANISMS, every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism

TARGETS = {"eps": ("delta",), "mu": (), "rho": (), "rdp": ("order",), "advantage": (), "tpr": ("fpr",)}
"""measures of a target, and what goes with each"""
USAGE = (
    "a target is eps=... with delta=..., mu=..., rho=... (zCDP), rdp=... with order=..., advantage=..., tpr=...@fpr=..."
)
RANGES = {"delta": (0, 1), "fpr": (0, 1), "tpr": (0, 1), "advantage": (0, 1), "order": (1, math.inf)}
LARGEST = 1e6
"""so that the square of a target is a number too"""


class Goal(NamedTuple):
    """What an analysis spends, how much it may, and how that is levels: the measure first."""

    spends: Callable[[Analysis], float]
    level: float
    levels: dict[str, float]


def calibrate(
    *words: str, mechanism: str = "sampled-gaussian", target: Mapping[str, Any] | None = None,
    released: Literal["all-iterates", "last-iterate"] = "all-iterates", analysis: str | None = None,
    invalid: bool = False, **parameters: Any,
) -> Answer:  # fmt: skip
    """The least noise of a mechanism that meets a target, such as eps=1, delta=1e-5: `["value"]` of what is returned.

    The target is among the parameters, or apart: target={"tpr": 0.25, "fpr": 0.1}. `invalid` accepts a refused
    analysis, which has to be named. Raises UsageError.
    """
    if words and words[0] in MECHANISMS:
        mechanism, words = words[0], words[1:]
    if invalid and analysis is None:
        raise UsageError("--invalid accepts a refused analysis", "name it with --analysis")
    kind = kind_of(mechanism)
    typed = values_of(words, parameters)
    of_target = {key: value for key, value in typed.items() if _is_of_target(key, value, kind)}
    goal = _goal({**values_of((), target), **of_target})
    values = own_values(mechanism, {key: value for key, value in typed.items() if key not in of_target})
    if released not in ("all-iterates", "last-iterate"):
        raise UsageError(f"--released is all-iterates or last-iterate, not {released!r}")
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
            solved = calibration.calibrate(
                at, kind, goal.spends, goal.level, released, analysis, invalid, every_analysis
            )
            result = kind(**{**values, field: solved.value})
            # The rule of one table: no guarantee below what a pair of neighbours attains.
            best = [a for a in every_analysis(result) if a.name == solved.analysis]
            attained = with_last_iterate(result.lower_bounds())
            for message in refuted(best, attained, [goal.levels.get("delta", 1e-5)]).values():
                raise DpexpError(message)
    except least_noise.Unreachable as error:
        raise UsageError(str(error)) from None
    measure, *others = goal.levels
    document = {
        "mechanism": mechanism, "target": goal.levels, "released": released, "parameter": field, "value": solved.value,
        "analysis": solved.analysis, measure: solved.spent,
        "all": [{"analysis": a, "value": v} for a, v in solved.tried],
    }  # fmt: skip
    safe = up if kind.more_noise_is_larger else down  # so that who copies the printed value does not overspend
    rows = [[a, safe(v, 8) if math.isfinite(v) else "not reachable"] for a, v in solved.tried]
    where = "".join(f" at {key} = {goal.levels[key]:g}" for key in others)
    spent = f"gives {measure} = {up(solved.spent, 6)} <= {goal.level:g}{where}, {released}, by {solved.analysis}."
    return Answer(f"{field} = {safe(solved.value, 10)}\n\n{spent}\n\n{columns(rows, ['analysis', field])}", document)


def _is_of_target(key: str, value: Any, kind: type[Mechanism]) -> bool:
    """Whether key=value belongs to the target; a mechanism's own `order` is a word, a Renyi order a number."""
    free = key not in kind.model_fields or isinstance(value, int | float)
    return key in TARGETS or (key in ("delta", "order", "fpr") and free)


def _goal(target: dict[str, Any]) -> Goal:
    """The measure of a target, and its level. Raises UsageError."""
    measures = [key for key in TARGETS if key in target]
    if len(measures) != 1:
        raise UsageError(USAGE, "give exactly one, with the parameters")
    measure = measures[0]
    if measure == "tpr" and "@" in str(target["tpr"]):
        rate, _, rest = str(target["tpr"]).strip('"').partition("@")
        target = {**target, **values_of([f"tpr={rate}", rest])}
    if unused := [key for key in target if key != measure and key not in TARGETS[measure]]:
        raise UsageError(f"a target {measure}=... takes no {unused[0]}")
    if measure == "eps":
        target = {"delta": 1e-5, **target}
    if absent := [key for key in TARGETS[measure] if key not in target]:
        raise UsageError(f"a target {measure}=... needs {absent[0]}=...")
    keys = (measure, *TARGETS[measure])
    levels = {key: number(key, target[key], *RANGES.get(key, (0, math.inf))) for key in keys}
    level, at = levels[measure], next((levels[key] for key in TARGETS[measure]), 0.0)
    if measure in ("eps", "mu", "rho", "rdp") and level and not LEAST <= level <= LARGEST:
        raise UsageError(f"{measure} is a number from {LEAST:g} to {LARGEST:g}, not {level:g}")
    # Who says yes to one in a hundred at random finds one in a hundred.
    if measure == "tpr" and level <= at:
        hint = "give a larger tpr"
        raise UsageError(f"tpr={level:g} is met by guessing at fpr={at:g}: no noise brings it lower", hint)
    # An analysis without such a number spends without end, and is never used.
    spends: dict[str, Callable[[Analysis], float]] = {
        "eps": lambda a: a.eps(at),
        "mu": lambda a: math.inf if a.mu is None else a.mu,
        "rho": lambda a: math.inf if a.zcdp is None else a.zcdp,
        "rdp": lambda a: math.inf if a.rdp is None else a.rdp(at),
        "advantage": lambda a: a.advantage,
        "tpr": lambda a: a.tpr(at),
    }
    return Goal(spends[measure], level, levels)
