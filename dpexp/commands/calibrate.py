"""`dpexp calibrate`: the noise or budget of a mechanism that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

from dpexp.accounting.least_noise import Unreachable
from dpexp.commands.mechanism_arguments import LEAST, kind_of, mechanism_of, number, own_values, understood, values_of
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.scalars import scalar
from dpexp.core.terminal import tell
from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.lower_bounds import refuted, with_last_iterate
from dpexp.privacy.mechanisms import every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism

TARGETS = {"eps": ("delta",), "mu": (), "rho": (), "rdp": ("order",), "advantage": (), "tpr": ("fpr",)}
"""measures of a target, and what goes with each"""
USAGE = (
    "a target is eps=... with delta=..., mu=..., rho=... (zCDP), rdp=... with order=..., advantage=..., tpr=...@fpr=..."
)
LARGEST = 1e6
"""so that the square of a target is a number too"""


class Goal(NamedTuple):
    """What an analysis spends, how much it may, and how that is shown: the measure first."""

    spends: Callable[[Analysis], float]
    level: float
    shown: dict[str, float]


def solve(
    mechanism: str | None, arguments: Sequence[str], released: str, analysis: str | None, invalid: bool = False
) -> tuple[dict[str, Any], str]:
    """The least noise of a mechanism that meets a target: document and text.

    The target is among the parameters: eps=1 delta=1e-5 with sampling_probability=0.01 steps=1000. `invalid` accepts a
    refused analysis, which has to be named. Raises UsageError.
    """
    if invalid and analysis is None:
        raise UsageError("--invalid accepts a refused analysis", "name it with --analysis")
    name = mechanism or "sampled-gaussian"
    kind = kind_of(name)
    of_target = [pair for pair in arguments if _is_of_target(pair, kind)]
    goal = _goal(values_of(of_target))
    values = own_values(name, values_of([pair for pair in arguments if pair not in of_target]))
    if released not in ("all-iterates", "last-iterate"):
        raise UsageError(f"--released is all-iterates or last-iterate, not {released!r}")
    field = kind.solved(values)
    if field in values:
        raise UsageError(f"{field} is what calibrate solves for", f"leave {field}=... out")
    # All that is wrong with the parameters is said before anything is solved.
    mechanism_of(name, {**values, field: 1.0})
    tried = count(1)

    def at(noise: float) -> Mechanism:
        tell(f"value {next(tried)} of {field}: {noise:.4g}")
        return kind(**{**values, field: noise})

    try:
        with understood(name):
            found = calibrate(at, kind, goal.spends, goal.level, released, analysis, invalid, every_analysis)
            solved = kind(**{**values, field: found.value})
            # The rule of one table: no guarantee below what a pair of neighbours attains.
            chosen = [a for a in every_analysis(solved) if a.name == found.analysis]
            attained = with_last_iterate(solved.lower_bounds())
            for said in refuted(chosen, attained, [goal.shown.get("delta", 1e-5)]).values():
                raise DpexpError(said)
    except Unreachable as error:
        raise UsageError(str(error)) from None
    measure, *others = goal.shown
    document = {
        "mechanism": name, "target": goal.shown, "released": released, "parameter": field, "value": found.value,
        "analysis": found.analysis, measure: found.spent,
        "all": [{"analysis": a, "value": v} for a, v in found.tried],
    }  # fmt: skip
    safe = up if kind.more_noise_is_larger else down  # so that who copies the printed value does not overspend
    rows = [[a, safe(v, 8) if math.isfinite(v) else "not reachable"] for a, v in found.tried]
    where = "".join(f" at {key} = {goal.shown[key]:g}" for key in others)
    spent = f"gives {measure} = {up(found.spent, 6)} <= {goal.level:g}{where}, {released}, by {found.analysis}."
    return document, f"{field} = {safe(found.value, 10)}\n\n{spent}\n\n{columns(rows, ['analysis', field])}"


def _is_of_target(pair: str, kind: type[Mechanism]) -> bool:
    """Whether key=value belongs to the target; a mechanism's own `order` is a word, a Renyi order a number."""
    key, _, text = pair.partition("=")
    free = key not in kind.model_fields or isinstance(scalar(text), int | float)
    return key in TARGETS or (key in ("delta", "order", "fpr") and free)


def _goal(given: dict[str, Any]) -> Goal:
    """The one measure that is given, and its level."""
    measures = [key for key in TARGETS if key in given]
    if len(measures) != 1:
        raise UsageError(USAGE, "give exactly one, with the parameters")
    measure = measures[0]
    if measure == "tpr" and "@" in str(given["tpr"]):
        rate, _, rest = str(given["tpr"]).strip('"').partition("@")
        given = {**given, **values_of([f"tpr={rate}", rest])}
    if unused := [key for key in given if key != measure and key not in TARGETS[measure]]:
        raise UsageError(f"a target {measure}=... takes no {unused[0]}")
    if measure == "eps":
        given = {"delta": 1e-5, **given}
    if missing := [key for key in TARGETS[measure] if key not in given]:
        raise UsageError(f"a target {measure}=... needs {missing[0]}=...")
    shares = {"delta": (0, 1), "fpr": (0, 1), "tpr": (0, 1), "advantage": (0, 1), "order": (1, math.inf)}
    shown = {key: number(key, given[key], *shares.get(key, (0, math.inf))) for key in (measure, *TARGETS[measure])}
    level, at = shown[measure], next((shown[key] for key in TARGETS[measure]), 0.0)
    if measure in ("eps", "mu", "rho", "rdp") and level and not LEAST <= level <= LARGEST:
        raise UsageError(f"{measure} is a number from {LEAST:g} to {LARGEST:g}, not {level:g}")
    # Who says yes to one in a hundred at random finds one in a hundred.
    if measure == "tpr" and level <= at:
        hint = "give a larger tpr"
        raise UsageError(f"tpr={level:g} is met by guessing at fpr={at:g}: no noise brings it lower", hint)
    # An analysis without such a number spends without end, and is never chosen.
    spends: dict[str, Callable[[Analysis], float]] = {
        "eps": lambda a: a.eps(at),
        "mu": lambda a: math.inf if a.mu is None else a.mu,
        "rho": lambda a: math.inf if a.zcdp is None else a.zcdp,
        "rdp": lambda a: math.inf if a.rdp is None else a.rdp(at),
        "advantage": lambda a: a.advantage,
        "tpr": lambda a: a.tpr(at),
    }
    return Goal(spends[measure], level, shown)
