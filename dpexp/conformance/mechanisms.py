"""What mechanisms and analyses must do: epsilon falls with delta and noise, and is never below what is attained."""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from dpexp.conformance.check import Check, Failed, NotTried, Subject, ToyExperiments
from dpexp.conformance.literal_law import largest, masses, neighbours
from dpexp.conformance.settings import examples, literal_fields, optional_numbers
from dpexp.core.text import counted
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis
from dpexp.privacy.attained.lower_bounds import covers, refuted, with_last_iterate
from dpexp.privacy.mechanisms import MECHANISMS
from dpexp.privacy.mechanisms.mechanism import Mechanism

DELTAS = (1e-9, 1e-5, 1e-2, 0.5)
DIGITS = 1 + 1e-9
"""rounding of the computation of epsilon"""
SMALL_SETTINGS = 60
"""random ones of a few records, for which the law of what is released is enumerated"""
MOST_SETTINGS = 3
"""of one mechanism: the analyses of some take a second each"""


@lru_cache(maxsize=64)
def settings_of(kind: type[Any]) -> tuple[Any, ...]:
    """Settings of a mechanism: a first one in which an analysis states something, and variations of it.

    Varied are the numbers that are off by default, all at once, and every choice between words.
    """
    first = None
    for value in examples(kind):
        # Where nothing finite is stated, no comparison below would say anything.
        if any(a.valid and 0 < a.eps(1e-5) < math.inf for a in value.analyses()):
            first = value
            break
    if first is None:
        raise Failed("in no setting that was tried does an analysis state a positive, finite epsilon", kind)
    found = [first]
    given = {name: getattr(first, name) for name in kind.model_fields}
    more = [optional_numbers(kind), *({name: value} for name, value in literal_fields(kind))]
    for change in filter(None, more):
        if len(found) == MOST_SETTINGS:
            break
        with suppress(ValueError):  # a choice that does not go with the rest
            found.append(kind.model_validate(given | change))
    return tuple(found)


@lru_cache(maxsize=512)
def _analyses_of(value: Any) -> tuple[Analysis, ...]:
    """A mechanism's own analyses, kept with what they have computed already."""
    return tuple(value.analyses())


def _shown(value: Any, analysis: Analysis) -> str:
    fields = ", ".join(f"{name} = {getattr(value, name)}" for name in type(value).model_fields)
    return f"{analysis.name} of {fields}"


class _Analyses:
    """The analyses that are checked of a value: a mechanism's own, or one that a plug-in adds to it."""

    def __init__(self, subject: Subject[Any]) -> None:
        own = isinstance(subject.value, type)
        self.kind: type[Mechanism] = subject.value if own else MECHANISMS[subject.name.partition("/")[0]]
        self.added: Callable[[Any], Analysis] | None = None if own else subject.value
        self.at: object = subject.value.analyses if own else subject.value

    def of(self, value: Any) -> Sequence[Analysis]:
        return _analyses_of(value) if self.added is None else [self.added(value)]

    def settings(self) -> tuple[Any, ...]:
        return settings_of(self.kind)


def members(subject: Subject[Any], toys: ToyExperiments) -> str:
    checked, names = _Analyses(subject), []
    value = checked.settings()[0]
    # An analysis that a plug-in adds says nothing of the mechanism, which is checked for itself.
    if checked.added is None:
        if checked.kind.noise_field not in checked.kind.model_fields:
            raise Failed(f"noise_field is '{checked.kind.noise_field}', which is no parameter", checked.kind)
        pairs = value.describe()
        if not pairs or not all(len(p) == 2 and all(isinstance(w, str) and w for w in p) for p in pairs):
            raise Failed("describe() is a list of (topic, sentence)", checked.kind.describe)
    for analysis in checked.of(value):
        if not isinstance(analysis, Analysis):
            raise Failed(f"gives {type(analysis).__name__}, not an Analysis", checked.at)
        if not (analysis.name and analysis.source and analysis.released in (ALL, LAST) and list(analysis.assumptions)):
            raise Failed(f"{analysis.name}: an analysis says its name, source, release and assumptions", checked.at)
        # That it can be made at all; what it says is for the other checks.
        analysis.statement([1e-5])
        names.append(analysis.name)
    if len(set(names)) < len(names):
        raise Failed(f"two analyses have one name: {', '.join(names)}", checked.at)
    return ", ".join(names)


def in_delta(subject: Subject[Any], toys: ToyExperiments) -> str:
    checked, count = _Analyses(subject), 0
    for value in checked.settings():
        for analysis in checked.of(value):
            eps = [analysis.eps(delta) for delta in DELTAS]
            if any(math.isnan(e) or e < 0 for e in eps):
                raise Failed(f"{_shown(value, analysis)}: eps is {eps} at delta {DELTAS}", checked.at)
            if any(b > a * DIGITS for a, b in itertools.pairwise(eps)):
                raise Failed(f"{_shown(value, analysis)}: eps grows with delta: {eps} at {DELTAS}", checked.at)
            # A user who is refused has to learn what to change.
            if not analysis.valid and not analysis.refused.strip():
                raise Failed(f"{_shown(value, analysis)}: refused without a reason", checked.at)
            count += 1
    return f"{count} analyses at {len(DELTAS)} deltas"


def _compared(checked: _Analyses, field: str, factors: tuple[float, ...], falling: bool) -> str:
    """Epsilon along a field: it falls, or grows, as it should."""
    count = 0
    for value in checked.settings():
        start = value.model_dump()[field]  # as a plain number, also where it is the budget that everybody has
        series: dict[str, list[float]] = {}
        for factor in factors:
            changed = type(value).model_validate(
                {name: getattr(value, name) for name in type(value).model_fields} | {field: type(start)(start * factor)}
            )
            for analysis in checked.of(changed):
                # Refused analyses are not compared: what they compute is no bound.
                if analysis.valid:
                    series.setdefault(analysis.name, []).append(analysis.eps(1e-5))
        for name, eps in series.items():
            # Turned around, what should grow should fall.
            ordered = eps if falling else eps[::-1]
            if any(b > a * DIGITS for a, b in itertools.pairwise(ordered)):
                at = ", ".join(f"{start * factor:g}" for factor in factors)
                way = "more noise costs more" if falling else "more steps cost less"
                raise Failed(f"{name}: {way}: eps is {eps} at {field} = {at}", checked.at)
            count += len(eps) > 1
    return f"{count} analyses along {field}"


def in_noise(subject: Subject[Any], toys: ToyExperiments) -> str:
    checked = _Analyses(subject)
    return _compared(checked, checked.kind.noise_field, (0.5, 1.0, 2.0), checked.kind.more_noise_is_larger)


def in_steps(subject: Subject[Any], toys: ToyExperiments) -> str:
    checked = _Analyses(subject)
    if "steps" not in checked.kind.model_fields:
        raise NotTried("has no steps")
    if checked.kind.noise_for_all_steps:
        raise NotTried("its noise is set for all steps together, so it grows with them")
    return _compared(checked, "steps", (1.0, 2.0, 5.0), False)


def above_attained(subject: Subject[Any], toys: ToyExperiments) -> str:
    """The rule of one table: no guarantee is below the exact loss of a pair of neighbours that it covers."""
    checked, count = _Analyses(subject), 0
    for value in checked.settings():
        bounds, analyses = with_last_iterate(value.lower_bounds()), checked.of(value)
        for said in refuted(analyses, bounds, (1e-5, 1e-2)).values():
            raise Failed(f"{_shown(value, analyses[0])}: {said}", checked.at)
        for bound in bounds:
            # What pairs attain rises as delta falls, and is as much of all iterates as of the last one.
            if not 0 <= bound.eps(1e-2) <= bound.eps(1e-5) * DIGITS:
                raise Failed(
                    f"{bound.name} attains {bound.eps(1e-2)} at 1e-2 and {bound.eps(1e-5)} at 1e-5", checked.at
                )
        count += 2 * sum(a.valid and covers(a, bound) for a in analyses for bound in bounds)
    return counted(count, "comparison") if count else "no pair of neighbours is known exactly"


def literal_law(subject: Subject[Any], toys: ToyExperiments) -> str:
    """No statement is below what all pairs of neighbours of a few records attain by the law that a mechanism gives."""
    checked, count, generator = _Analyses(subject), 0, np.random.default_rng(0)
    given = {name: getattr(checked.settings()[0], name) for name in checked.kind.model_fields}
    deltas = (1e-2, 1e-5)
    for _ in range(SMALL_SETTINGS):
        sizes = {"n": int(generator.integers(1, 5)), "batch_size": 1, "steps": int(generator.integers(1, 3))}
        change = {key: value for key, value in sizes.items() if key in given}
        noise = checked.kind.noise_field
        scaled = {noise: given[noise] * 2.0 ** generator.uniform(-1, 1)} if isinstance(given[noise], float) else {}
        with suppress(ValueError):  # a mechanism may refuse it by its fields
            value = checked.kind.model_validate(given | change | scaled)
            pairs = neighbours(sizes["n"], change.get("steps", 1), value.neighboring_relation, generator, 20)
            every = list(dict.fromkeys(data for pair in pairs for data in pair))
            try:
                laws = masses([value.law(data) for data in every])
            except NotImplementedError:
                raise NotTried("gives no `law` of a few records") from None
            low = largest(laws, [(every.index(a), every.index(b)) for a, b in pairs], deltas)
            for analysis in checked.of(value):
                for delta, eps in zip(deltas, low, strict=True):
                    if analysis.valid and analysis.released == ALL and eps > analysis.eps(delta) * DIGITS + 1e-12:
                        said = f"states eps {analysis.eps(delta):.6g} at delta {delta:g}, and two data sets of "
                        raise Failed(
                            f"{_shown(value, analysis)}: {said}{sizes['n']} records attain {eps:.6g}", checked.at
                        )
                count += 2
    return counted(count, "comparison")


def edges(subject: Subject[Any], toys: ToyExperiments) -> str:
    """Nothing dies at the ends: no noise or all of it, no step, delta close to 0 and to 1; and epsilon is a number."""
    checked, count = _Analyses(subject), 0
    value = checked.settings()[0]
    given = {name: getattr(value, name) for name in type(value).model_fields}
    ends: list[dict[str, Any]] = [{}, {checked.kind.noise_field: 0.0}, {checked.kind.noise_field: math.inf}]
    if "steps" in given:
        ends.append({"steps": 0})
    for end in ends:
        try:
            changed = type(value).model_validate(given | end)
        except ValueError:
            continue  # a mechanism may refuse it by its fields
        for analysis in checked.of(changed):
            # Here a formula that squares delta or takes log(1 - delta) leaves the range of doubles.
            for delta in (1e-300, 1 - 1e-12):
                eps = analysis.eps(delta)
                if math.isnan(eps) or eps < 0:
                    raise Failed(f"{_shown(changed, analysis)}: eps is {eps} at delta = {delta}", checked.at)
                count += 1
    return f"{count} values of epsilon"


CHECKS: tuple[Check[Any], ...] = (
    Check("members", "Members are there; every analysis names itself, its source and what it assumes.", members),
    Check("in delta", "Epsilon falls as delta grows, and is never negative; a refusal has a reason.", in_delta),
    Check("in noise", "Epsilon falls as the noise grows.", in_noise),
    Check("in steps", "Epsilon grows with the number of steps.", in_steps),
    Check("attained", "No guarantee is below what a pair of neighbours attains.", above_attained),
    Check("literal law", "No guarantee is below what a few records attain by the algorithm as written.", literal_law),
    Check("edges", "No noise, all noise, no step, delta close to 0 and to 1: a number, and no error.", edges),
)
