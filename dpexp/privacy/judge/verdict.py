"""The judge's answer: refuted with a counterexample that can be rerun, or not refuted, and what it cannot see."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.privacy.judge.bound import Bound, from_file, from_function
from dpexp.privacy.judge.families import FAMILIES, Family, admitted
from dpexp.privacy.judge.kinds import tightest
from dpexp.privacy.judge.search import FLOOR, Comparison, Search, confirmed, exact_pair, least
from dpexp.privacy.judge.setting import Setting

REFUTED, NOT_REFUTED, NOTHING = "refuted", "not-refuted", "nothing-compared"
CONFIRMED = "confirmed"
"""of one point and a bound from below: a pair attains it there"""
COMPARISONS = 1200
SECONDS = 60.0
QUANTILES = (0.0, 0.1, 0.5, 0.9)
_CANNOT_SEE = {
    "last-iterate": "more than one dimension, where convex losses could hide a sum beside a projected coordinate",
    "all-iterates": "adaptive adversaries and gradients that depend on the iterate",
    "average": "projection, curvature that varies, and random batches over more than 12 steps",
}


@dataclass(frozen=True)
class Verdict:
    """What the judge found; `document` is what --json prints, `text` what the command prints."""

    document: dict[str, Any]
    text: str

    @property
    def refuted(self) -> bool:
        return bool(self.document["verdict"] == REFUTED)

    @property
    def compared(self) -> bool:
        """Whether the bound was held against anything."""
        return bool(self.document["verdict"] != NOTHING)

    @property
    def exit_code(self) -> int:
        """Of the command: 1 where the bound is refuted, 3 where the question as it was put compares nothing."""
        return 1 if self.refuted else 0 if self.compared else 3

    def __str__(self) -> str:
        return self.text


def judge(
    bound: Callable[..., Any] | Path | str,
    assumes: Mapping[str, Any] | None = None,
    *,
    seconds: float = SECONDS,
    seed: int = 0,
    comparisons: int = COMPARISONS,
) -> Verdict:
    """Hold a bound against exact laws: a file, or a function of delta (or order) and parameters with what it assumes.

    Deterministic given the seed, unless `seconds` run out first, which the verdict then says.
    """
    held = _bound(bound, assumes)
    search = Search(held.kind, held.assumes, held, comparisons, seconds, seed)
    done = search.run()
    worst = _worst(held, done)
    return _verdict(held, search, done, worst)


def rerun(bound: Callable[..., Any] | Path | str, at: str, assumes: Mapping[str, Any] | None = None) -> Verdict:
    """One comparison again, from the words of a counterexample."""
    held = _bound(bound, assumes)
    setting, family, shape, level = _read(at, held)
    try:
        exact = exact_pair(family, setting, held.assumes, shape)
    except ValueError as fault:
        raise UsageError(f"--at: {fault}") from None
    low, error, how = confirmed(exact, held.kind, level)
    upper = least(setting, held.assumes, held.kind, level) if held.kind.lower else None
    found = Comparison(setting, family.name, shape, level, low, held(level, setting), upper=upper)
    return _verdict(held, None, [found], (found, error, how))


def _bound(bound: Callable[..., Any] | Path | str, assumes: Mapping[str, Any] | None) -> Bound:
    if isinstance(bound, Path | str):
        return from_file(Path(bound))
    if assumes is None:
        raise UsageError("a function is judged with assumes={...}", 'for instance {"sampling": "poisson", ...}')
    return from_function(bound, assumes)


Found = tuple[Comparison, float, str]


def _worst(bound: Bound, done: Sequence[Comparison]) -> Found | None:
    """The worst comparison, its exact value computed again; where that does not hold up, the next."""
    ranked = sorted(done, key=lambda c: -c.score)
    first: Found | None = None
    # one violation that holds up by finer means is enough
    for c in ranked[:8]:
        family = next(f for f in FAMILIES if f.name == c.family)
        low, error, how = confirmed(exact_pair(family, c.setting, bound.assumes, c.shape), bound.kind, c.at)
        again = Comparison(c.setting, c.family, c.shape, c.at, low, c.bound, upper=c.upper)
        if first is None or again.score > first[0].score:
            first = (again, error, how)
        # a violation that does not hold up sends the judge to the next; without one the largest ratio is what is shown
        if again.violated or not c.violated:
            return (again, error, how) if again.violated else first
    return first


def _verdict(bound: Bound, search: Search | None, done: Sequence[Comparison], worst: Found | None) -> Verdict:
    refuted = worst is not None and worst[0].violated
    nothing = _nothing(bound, search, done)
    # where nothing is attained there is no ratio, and a violation has none that says how loose the bound is
    ratios = [c.sides[1] / c.sides[0] for c in done if c.sides[0] > FLOOR and not c.violated]
    confirmed_at = sum(c.confirmed for c in done)
    # a point settles a bound from below for that point alone, so that a search never confirms
    settled = CONFIRMED if search is None and confirmed_at else NOT_REFUTED
    families = admitted(bound.assumes)
    document: dict[str, Any] = {
        "verdict": REFUTED if refuted else NOTHING if nothing else settled,
        "reason": nothing,
        "comparisons": len(done),
        "informative": sum(c.sides[0] > FLOOR for c in done),
        "confirmed": confirmed_at,
        "stopped_by_clock": bool(search and search.stopped),
        "vacuous": search.vacuous if search else 0,
        "families": {f.name: f.says for f in families},
        "cannot_see": _CANNOT_SEE[bound.assumes.released],
        "assumes": asdict(bound.assumes),
        "kind": bound.kind.function,
        "worst": None,
        "looseness": {f"{q:g}": float(np.quantile(ratios, q)) for q in QUANTILES} if ratios else {},
        "competitor": None,
    }
    lines = []
    if worst is not None and not nothing:
        c, error, how = worst
        document["worst"] = _shown(bound, c, error, how)
        document["competitor"] = tightest(c.setting, bound.assumes, bound.kind, c.at)
    if refuted:
        # a small beta promises little, and a bound from below errs on the other side: each turns the word around
        side = "above" if (bound.kind.quantity == "beta") != bound.kind.lower else "below"
        what = "what any such run can leak" if bound.kind.lower else "what a pair of neighbours attains"
        lines.append(f"refuted: {bound.file}:{bound.line}: {bound.kind.function} is {side} {what}.")
    elif nothing:
        return Verdict(document, f"{NOTHING}: {nothing}\nthis says nothing about the bound, neither for nor against it")
    elif document["verdict"] == CONFIRMED:
        lines.append("confirmed at this point: a pair of neighbours attains as much.")
    else:
        names = ", ".join(f.name for f in families) or "none"
        lines.append(f"not-refuted in {len(done):,} comparisons of these families: {names}.")
    lines += _worst_lines(bound, document)
    if not refuted and search is not None:
        if document["looseness"]:
            spread = ", ".join(f"{v:.4g}" for v in document["looseness"].values())
            ratio = "upper bound / what it says" if bound.kind.lower else "bound / exact"
            lines.append(f"{ratio}, least, 10%, median, 90%: {spread}")
        if document["vacuous"]:
            nothing = "says nothing, or no analysis covers the run," if bound.kind.lower else "is infinite"
            lines.append(f"the bound {nothing} at {document['vacuous']:,} more points, which do not count")
        if bound.kind.lower:
            lines.append(f"a pair attains it at {confirmed_at:,} of the points, which settles it there only")
        lines.append(f"this cannot see: {document['cannot_see']}; and nothing here shows that the bound holds")
    if document["stopped_by_clock"]:
        lines.append("stopped by the clock: give --seconds for all comparisons, which the seed then determines")
    return Verdict(document, "\n".join(lines))


def _nothing(bound: Bound, search: Search | None, done: Sequence[Comparison]) -> str:
    """Why the bound was held against nothing: no finite value of it beside an exact one above 0. Empty where it was."""
    if any(c.compared for c in done):
        return ""
    if not admitted(bound.assumes):
        return "no family of pairs fits these assumptions"
    if search is not None and search.stopped:
        return f"the clock stopped the search before a first comparison: give more than --seconds {search.seconds:g}"
    if bound.kind.lower and (done or (search is not None and search.vacuous)):
        return "the bound says nothing, or no analysis covers such a run, at every point that was tried"
    if (search is not None and search.vacuous) or any(math.isinf(c.bound) for c in done):
        return "the bound is infinite at every point that was tried"
    if done:
        return f"nothing is attained above {FLOOR:g} at the points that were tried, so that no bound is below it"
    return "none of the settings that were tried has a pair"


def _shown(bound: Bound, c: Comparison, error: float, how: str) -> dict[str, Any]:
    family = next(f for f in FAMILIES if f.name == c.family)
    parameters = {k: v for k, v in asdict(c.setting).items() if not (isinstance(v, float) and math.isinf(v))}
    pair: dict[str, Any] = {"family": family.name, "says": family.says}
    pair["shape"] = dict(zip(family.shape, c.shape, strict=True))
    key = bound.kind.argument
    point = {**parameters, key: c.at, "family": family.name, **pair["shape"]}
    return {
        "parameters": parameters,
        "pair": pair,
        "at": {key: c.at},
        "exact": c.exact,
        "grid_error": error,
        "checked": how,
        "bound": c.bound,
        "upper": c.upper,
        "rerun": f"dpexp judge {shlex.quote(bound.file)} --at {shlex.quote(json.dumps(point))}",
    }


def _worst_lines(bound: Bound, document: dict[str, Any]) -> list[str]:
    worst = document["worst"]
    refuted = document["verdict"] == REFUTED
    compared = "against" if not refuted else "<" if bound.kind.lower else ">"
    key, at = next(iter(worst["at"].items()))
    lines = [
        f"  {bound.kind.measured} at {key} = {at:.6g}: exact {worst['exact']:.9g} "
        + f"({compared} bound {worst['bound']:.9g}), rounded down by {worst['grid_error']:.1e}",
        f"  pair: {worst['pair']['says']}",
        "  shape: " + (", ".join(f"{k} {v:.4g}" for k, v in worst["pair"]["shape"].items()) or "none"),
        "  parameters: " + ", ".join(f"{k} {v:.6g}" for k, v in worst["parameters"].items()),
        f"  checked by: {worst['checked']}",
    ]
    if document["competitor"]:
        c = document["competitor"]
        digits = 9 if bound.kind.lower else 6
        lines.append(f"  tightest known there: {c['analysis']} {c['value']:.{digits}g} ({c['source']})")
    lines.append(f"  again: {worst['rerun']}")
    return ["the counterexample:" if refuted else "the tightest comparison:", *lines]


def _read(at: str, bound: Bound) -> tuple[Setting, Family, tuple[float, ...], float]:
    """The words of --at: one JSON object, or key=value pairs with commas."""
    try:
        given = json.loads(at) if at.lstrip().startswith("{") else dict(p.split("=", 1) for p in at.split(","))
    except ValueError:
        raise UsageError(f"--at: cannot read {at!r}", "copy it from the verdict: one JSON object in quotes") from None
    given = {str(k).strip(): v for k, v in given.items()}
    names = [field.name for field in fields(Setting)]
    key = bound.kind.argument
    family = next((f for f in FAMILIES if f.name == given.get("family")), None)
    if family is None or not family.admits(bound.assumes):
        known = ", ".join(f.name for f in admitted(bound.assumes))
        raise UsageError(f"--at: {given.get('family')!r} is no family of these assumptions", f"families: {known}")
    known_keys = {*names, key, "family", *family.shape}
    for name in given:
        if name not in known_keys:
            raise UsageError(f"--at: there is no {name!r}", f"it takes {', '.join(sorted(known_keys))}")
    try:
        numbers = {k: float(v) for k, v in given.items() if k != "family"}
        # what is left out keeps its default: the words of a verdict, which are JSON, have no infinite number
        whole = {k: int(numbers[k]) for k in ("n", "batch_size", "steps")}
        rest = {k: numbers[k] for k in names if k in numbers and k not in whole}
        setting = Setting(**whole, **rest)  # type: ignore[arg-type]
        return setting, family, tuple(numbers[k] for k in family.shape), numbers[key]
    except (KeyError, ValueError, TypeError) as error:
        raise UsageError(f"--at: {error}", "copy it from the verdict: every parameter, a number") from None
