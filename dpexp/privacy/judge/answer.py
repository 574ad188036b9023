"""The judge's answer: refuted with a counterexample that can be rerun, or not refuted, and what it cannot see."""

from __future__ import annotations

import json
import math
import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from dpexp.core.errors import UsageError
from dpexp.core.text import Printed
from dpexp.privacy.judge.bound import Bound
from dpexp.privacy.judge.families import admitted
from dpexp.privacy.judge.setting import NAMES
from dpexp.privacy.judge.worst_setting import FLOOR, BoundComparison, Search

REFUTED, NOT_REFUTED, NOTHING = "refuted", "not-refuted", "nothing-compared"
COMPARISONS = 1200
SECONDS = 60.0
QUANTILES = (0.0, 0.1, 0.5, 0.9)
_CANNOT_SEE = {
    "last-iterate": "more than one dimension, where convex losses could hide a sum beside a projected coordinate",
    "all-iterates": "adaptive adversaries and gradients that depend on the iterate",
}


@dataclass(frozen=True)
class Verdict(Printed):
    """What a comparison with exact laws or simulations gives."""

    facts: dict[str, Any]
    words: str

    @property
    def refuted(self) -> bool:
        return bool(self.facts["verdict"] == REFUTED)

    @property
    def exit_code(self) -> int:
        """Of the command: 1 where the bound is refuted, 3 where the question as it was put compares nothing."""
        return {REFUTED: 1, NOTHING: 3}.get(self.facts["verdict"], 0)

    def document(self) -> dict[str, Any]:
        return self.facts

    def text(self) -> str:
        return self.words

    def __str__(self) -> str:
        return self.words


def judge(bound: Bound, seconds: float = SECONDS, seed: int = 0, comparisons: int = COMPARISONS) -> Verdict:
    """Compare a bound with exact laws.

    Deterministic given the seed, unless `seconds` run out first, which the verdict then says.
    """
    search = Search(bound, comparisons, seconds, seed)
    search.run()
    # the worst comparison, its exact value computed again; where that is no violation, the next
    reruns: list[BoundComparison] = []
    for comparison in sorted(search.done, key=lambda c: -c.score)[:8]:
        reruns.append(comparison.again(bound))
        # one violation that holds up by finer means is enough; without one the largest ratio is what is shown
        if reruns[-1].violated or not comparison.violated:
            break
    worst = max(reruns, key=lambda c: (c.violated, c.score), default=None)
    return _verdict(bound, search.done, worst, search)


def rerun(bound: Bound, at: str) -> Verdict:
    """One comparison again, from the words of a counterexample."""
    try:
        comparison = _read_point(at, bound).again(bound)
    except ValueError as fault:
        raise UsageError(f"--at: {fault}") from None
    return _verdict(bound, [comparison], comparison)


def _verdict(
    bound: Bound, done: Sequence[BoundComparison], worst: BoundComparison | None, search: Search | None = None
) -> Verdict:
    informative = [c for c in done if c.exact > FLOOR]
    nothing = "" if any(math.isfinite(c.bound) for c in informative) else _nothing(bound, done, search)
    # where nothing is attained there is no ratio, and a violation has none that says how loose the bound is
    ratios = [c.bound / c.exact for c in informative if not c.violated]
    refuted = worst is not None and worst.violated
    document: dict[str, Any] = {
        "verdict": REFUTED if refuted else NOTHING if nothing else NOT_REFUTED,
        "reason": nothing,
        "comparisons": len(done),
        "informative": len(informative),
        "stopped_by_clock": bool(search and search.stopped),
        "vacuous": search.vacuous if search else 0,
        "families": {f.name: f.says for f in admitted(bound.assumes)},
        "cannot_see": _CANNOT_SEE[bound.assumes.released],
        "assumes": bound.assumes.model_dump(),
        "kind": bound.kind.function,
        "worst": None,
        "looseness": {f"{q:g}": float(np.quantile(ratios, q)) for q in QUANTILES} if ratios else {},
    }
    if worst is None or nothing:
        return Verdict(document, f"{NOTHING}: {nothing}\nthis says nothing about the bound, neither for nor against it")
    key, family = bound.kind.argument, worst.family
    parameters = {k: v for k in NAMES if (v := getattr(worst.setting, k)) not in (None, math.inf)}
    shape = dict(zip(family.shape, worst.shape, strict=True))
    point = json.dumps({**parameters, key: worst.at, "family": family.name, **shape})
    document["worst"] = {
        "parameters": parameters,
        "pair": {"family": family.name, "says": family.says, "shape": shape},
        "at": {key: worst.at},
        **{name: getattr(worst, name) for name in ("exact", "grid_error", "checked", "bound")},
        "rerun": f"dpexp judge {shlex.quote(bound.file)} --at {shlex.quote(point)}",
    }
    return Verdict(document, "\n".join(_lines(bound, document, search is not None)))


def _nothing(bound: Bound, done: Sequence[BoundComparison], search: Search | None) -> str:
    """Why there is no finite value of the bound with an exact one above 0."""
    if not admitted(bound.assumes):
        return "no family of pairs fits these assumptions"
    if search and search.stopped:
        return "the clock stopped the search before a first comparison: give more --seconds"
    if (search and search.vacuous) or any(math.isinf(c.bound) for c in done):
        return "the bound is infinite at every point that was tried"
    return f"no pair attains more than {FLOOR:g} at the points that were tried: nothing is attained to compare with"


def _lines(bound: Bound, document: Mapping[str, Any], searched: bool) -> Iterator[str]:
    """A page to read."""
    kind, worst, refuted = bound.kind, document["worst"], document["verdict"] == REFUTED
    (key, at), pair = next(iter(worst["at"].items())), worst["pair"]
    if refuted:
        side = "above" if kind.function == "beta" else "below"  # a small beta promises little
        yield f"refuted: {bound.file}:{bound.line}: {kind.function} is {side} what a pair of neighbours attains."
    else:
        families = ", ".join(document["families"])
        yield f"not-refuted in {document['comparisons']:,} comparisons of these families: {families}."
    yield "the counterexample:" if refuted else "the tightest comparison:"
    compared = f"{'>' if refuted else 'against'} bound {worst['bound']:.9g}"
    yield (
        f"  {kind.measured} at {key} = {at:.6g}: exact {worst['exact']:.9g} ({compared}), "
        f"rounded down by {worst['grid_error']:.1e}"
    )
    yield f"  pair: {pair['says']}"
    yield f"  shape: {', '.join(f'{k} {v:.4g}' for k, v in pair['shape'].items()) or 'none'}"
    yield f"  parameters: {', '.join(f'{k} {v:.6g}' for k, v in worst['parameters'].items())}"
    yield f"  checked by: {worst['checked']}"
    yield f"  again: {worst['rerun']}"
    if not refuted and searched:
        if spread := ", ".join(f"{v:.4g}" for v in document["looseness"].values()):
            yield f"bound / exact, least, 10%, median, 90%: {spread}"
        if document["vacuous"]:
            yield f"the bound is infinite at {document['vacuous']:,} more points, which do not count"
        yield f"this cannot see: {document['cannot_see']}; and nothing here shows that the bound holds"
    if document["stopped_by_clock"]:
        yield "stopped by the clock: give --seconds for all comparisons, which the seed then determines"


def _read_point(at: str, bound: Bound) -> BoundComparison:
    """The words of --at, a JSON object. Its exact value is still to be computed."""
    known = {f.name: f for f in admitted(bound.assumes)}
    try:
        point = json.loads(at)
        if (name := point.pop("family", None)) not in known:
            raise ValueError(f"{name!r} is no family of these assumptions, which are {', '.join(known)}")
        family = known[name]
        level, *shape = (float(point.pop(k)) for k in (bound.kind.argument, *family.shape))
        setting = bound.assumes.run(**point)
    except (KeyError, ValueError, TypeError, AttributeError) as error:
        wrong = (f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in getattr(error, "errors", list)())
        hint = "copy it from the verdict: one JSON object in quotes, every parameter a number"
        raise UsageError(f"--at: cannot read {at!r}: {'; '.join(wrong) or error}", hint) from None
    return BoundComparison(setting, family, tuple(shape), level, 0.0, bound(level, setting))
