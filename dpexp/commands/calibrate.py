"""`dpexp calibrate`: the noise or budget of a mechanism that meets a target."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, NamedTuple

from dpexp.accounting.calibrate import Unreachable
from dpexp.commands.mechanism_arguments import (
    LEAST,
    group_size,
    kind_of,
    mechanism_of,
    number,
    own_values,
    understood,
    values_of,
)
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.scalars import scalar
from dpexp.core.terminal import tell
from dpexp.core.text import columns, down, up
from dpexp.privacy.analyses.analysis import Analysis
from dpexp.privacy.calibration import Calibrated, calibrate
from dpexp.privacy.lower_bounds import refuted, with_last_iterate
from dpexp.privacy.mechanisms import every_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism

TARGETS = {
    "eps": "eps=... with delta=... (and group=...)",
    "mu": "mu=...",
    "rho": "rho=... (zCDP)",
    "rdp": "rdp=... with order=...",
    "advantage": "advantage=...",
    "tpr": "tpr=...@fpr=...",
}
WITH_TARGETS = ("delta", "order", "fpr", "group")
LARGEST_TARGET = 1e6
"""so that the square of a target is a number too"""


def solve(
    name: str, pairs: Sequence[str], released: str, analysis: str | None, invalid: bool = False
) -> tuple[dict[str, Any], str]:
    """The least noise of a mechanism that meets a target: document and text.

    The target is among the parameters: eps=1 delta=1e-5 with sampling_probability=0.01 steps=1000.

    `invalid` accepts a refused analysis, which has to be named.
    """
    if invalid and analysis is None:
        raise UsageError("--invalid accepts a refused analysis", "name it with --analysis")
    kind = kind_of(name)
    given = [pair for pair in pairs if _of_target(pair, kind)]
    goal = _goal(values_of(given))
    values = own_values(name, values_of([pair for pair in pairs if pair not in given]))
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
            found = calibrate(
                at,
                kind,
                goal.spends,
                goal.level,
                released,
                analysis,
                invalid,
                every_analysis,
            )
            mechanism = kind(**{**values, field: found.value})
            # The rule of one table: no guarantee below what a pair of neighbours attains.
            chosen = [a for a in every_analysis(mechanism) if a.name == found.analysis]
            for said in refuted(
                chosen, with_last_iterate(mechanism.lower_bounds()), [goal.shown.get("delta", 1e-5)]
            ).values():
                raise DpexpError(said)
    except Unreachable as error:
        raise UsageError(str(error)) from None
    return _calibrated(name, kind, field, found, goal.shown, released)


def _of_target(pair: str, kind: type[Mechanism]) -> bool:
    """Whether key=value belongs to the target; a mechanism's own `order` is a word, a Renyi order a number."""
    key, _, text = pair.partition("=")
    free = key not in kind.model_fields or isinstance(scalar(text), int | float)
    return key in TARGETS or (key in WITH_TARGETS and free)


class Goal(NamedTuple):
    """What an analysis spends, how much it may, and how that is shown."""

    spends: Callable[[Analysis], float]
    level: float
    shown: dict[str, float]


def _goal(given: dict[str, Any]) -> Goal:
    """One of eps=... with delta=..., mu=..., rho=... (zCDP), rdp=... with order=...."""
    measures = [key for key in TARGETS if key in given]
    if len(measures) != 1:
        raise UsageError(f"a target is {', '.join(TARGETS.values())}", "give exactly one, with the parameters")
    measure = measures[0]
    if measure in ("advantage", "tpr"):
        if unused := [key for key in WITH_TARGETS if key in given and (measure, key) != ("tpr", "fpr")]:
            raise UsageError(f"a target {measure}=... takes no {unused[0]}")
        if measure == "tpr":
            return _rates(f"{given['tpr']}@fpr={given['fpr']}" if "fpr" in given else given["tpr"])
        largest = number(measure, given[measure], 0, 1)  # of TPR - FPR of an attacker
        return Goal(lambda a: a.advantage, largest, {measure: largest})
    level = number(measure, given[measure], 0, math.inf)
    if level and not LEAST <= level <= LARGEST_TARGET:
        raise UsageError(f"{measure} is a number from {LEAST:g} to {LARGEST_TARGET:g}, not {level:g}")
    for key in WITH_TARGETS:
        if key in given and key not in TARGETS[measure]:
            raise UsageError(f"a target {measure}=... takes no {key}")
    if measure == "eps":
        delta = number("delta", given.get("delta", 1e-5), 0, 1)
        size = group_size(given.get("group", 1))
        shown = {"eps": level, "delta": delta, **({"group": size} if size > 1 else {})}
        return Goal(lambda a: a.of_group(size).eps(delta) if size > 1 else a.eps(delta), level, shown)
    if measure == "rdp":
        if "order" not in given:
            raise UsageError("a target rdp=... needs order=...")
        order = number("order", given["order"], 1, math.inf)
        return Goal(lambda a: math.inf if a.rdp is None else a.rdp(order), level, {"rdp": level, "order": order})
    if measure == "mu":
        return Goal(lambda a: math.inf if a.mu is None else a.mu, level, {"mu": level})
    # An analysis without such a number spends without end, and is never chosen.
    return Goal(lambda a: math.inf if a.zcdp is None else a.zcdp, level, {"rho": level})


def _rates(value: Any) -> Goal:
    """TPR at FPR: tpr=0.05@fpr=0.01."""
    parts = str(value).strip('"').split("@fpr=")
    if len(parts) != 2:
        raise UsageError(f"a target tpr=... is tpr=T@fpr=F, not tpr={value}", "for instance tpr=0.05@fpr=0.01")
    tpr, fpr = (number(key, scalar(text), 0, 1) for key, text in zip(("tpr", "fpr"), parts, strict=True))
    # Who says yes to one in a hundred at random finds one in a hundred.
    if tpr <= fpr:
        raise UsageError(
            f"tpr={tpr:g} is met by guessing at fpr={fpr:g}: no noise brings it lower", "give a larger tpr"
        )
    return Goal(lambda a: a.tpr(fpr), tpr, {"tpr": tpr, "fpr": fpr})


def _calibrated(
    name: str, kind: type[Mechanism], field: str, found: Calibrated, target: dict[str, float], released: str
) -> tuple[dict[str, Any], str]:
    measure = next(iter(target))
    document = {
        "mechanism": name,
        "target": target,
        "released": released,
        "parameter": field,
        "value": found.value,
        "analysis": found.analysis,
        measure: found.spent,
        "all": [{"analysis": a, "value": v} for a, v in found.tried],
    }
    safe = up if kind.more_noise_is_larger else down  # so that who copies the printed value does not overspend
    rows = [[a, safe(v, 8) if math.isfinite(v) else "not reachable"] for a, v in found.tried]
    where = "".join(f" at {key} = {target[key]:g}" for key in WITH_TARGETS if key in target)
    text = (
        f"{field} = {safe(found.value, 10)}\n\n"
        f"gives {measure} = {up(found.spent, 6)} <= {target[measure]:g}{where}, {released}, by {found.analysis}.\n\n"
        + columns(rows, ["analysis", field])
    )
    return document, text
