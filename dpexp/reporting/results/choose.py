"""Which setting of some lines is on the horizontal axis, which is colour, line style or panel, where nobody says.

A *line* is one estimator of one cell; its settings are a mapping from names to values. The rules, in order:

(a) Settings in which all lines agree are left out, and so are those that follow from others (`needed`).
(b) What belongs to the method (the algorithm, the schedule, and those of their parameters that are words or that only
    some lines have) is one factor, as long as there are at most `MOST_METHODS` of it. Numbers that only some lines have
    are another one.
(c) A number with at least `SWEEP` finite values (`LEAST_CURVE` where there are few checkpoints) is the horizontal axis,
    the final value against it, if some curve has `LEAST_CURVE` of them. Else it is the step, if there are at least
    `SWEEP` checkpoints. Else lines are rows of dots.
(d) Colour is the method where the algorithm varies, else the budget, else what has the most values, of what has at most
    `MOST_COLOURS`. The line style, or the marker, is the estimator.
(e) What is left makes the panels. Where they are too many, the smallest factor takes the line style, if this is free,
    and else all lines become rows of dots.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpexp.config.cell_settings import Settings, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.results.declaration import DOTS, STEP, Declaration

ESTIMATOR = "estimator"
SWEEP, LEAST_CURVE = 5, 3
MOST_METHODS, MOST_COLOURS, MOST_STYLES, MOST_PANELS, MOST_DOT_PANELS = 12, 8, 4, 24, 6
LEAST_IMPORTANT = ("result", "diverged_above", "checkpoints", "seed", "n")
"""kept only where nothing else tells lines apart"""
MOST_IMPORTANT = ("mu", "eps", "algorithm", "problem", "schedule", ESTIMATOR)
NO_AXIS = ("seed", "checkpoints", "diverged_above")
"""numbers that mean nothing along an axis"""


@dataclass(frozen=True)
class Factor:
    """A setting, or several that belong together."""

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    """values of `names`, in the order in which they are shown"""

    def of(self, line: Settings) -> int:
        """The level of a line."""
        return self.levels.index(tuple(line.get(name) for name in self.names))

    @property
    def numbers(self) -> list[float] | None:
        """Its values where it is one number, else None."""
        values = [level[0] for level in self.levels]
        return list(map(float, values)) if len(self.names) == 1 and all(map(is_number, values)) else None


@dataclass(frozen=True)
class Plan:
    """Which setting is where."""

    x: str
    """a setting, STEP or DOTS"""
    colour: Factor | None
    style: Factor | None
    panels: tuple[Factor, ...]
    rows: tuple[Factor, ...] = ()
    """of dots"""
    implied: tuple[str, ...] = ()
    """settings that vary too, and follow from those that are shown"""

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of everything that tells lines apart."""
        factors = [*filter(None, (self.colour, self.style)), *self.panels, *self.rows]
        own = () if self.x in (STEP, DOTS) else (self.x,)
        return tuple(dict.fromkeys([*own, *(name for factor in factors for name in factor.names)]))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def choose(
    lines: Sequence[Settings],
    sections: Mapping[str, str],
    checkpoints: int,
    said: Declaration | None = None,
    derived: Collection[str] = (),
) -> Plan:
    """The plan for these lines.

    `sections` gives the section of a name, `checkpoints` how many the shortest line has; `derived` are names that
    follow from others by definition. Raises UsageError for a declaration that cannot be met.
    """
    said = said or Declaration()
    vary = [name for name in varying(lines) if name not in derived]
    wanted = _wanted(said, vary)
    kept = needed(lines, vary, wanted)
    implied = tuple(name for name in vary if name not in kept)
    axes = [name for name in kept if name not in NO_AXIS and all(is_number(line.get(name)) for line in lines)]
    # an axis that nobody asked for is looked for among names that have no place yet
    x = said.x or _axis([name for name in axes if name not in wanted], kept, lines, checkpoints)
    if x not in (STEP, DOTS, *axes):
        raise UsageError(f"--x {x}: not every cell has a number for it", f"numbers: {', '.join([STEP, *axes])}")
    factors = _factors([name for name in kept if name != x], lines, sections, wanted)
    by_name = {name: factor for factor in factors for name in factor.names}
    colour, style = (by_name.get(name) for name in (said.colour, said.style))
    for option, factor, most in (("hue", colour, MOST_METHODS), ("style", style, MOST_STYLES)):
        if factor is not None and len(factor.levels) > most:
            message = f"--{option} {factor.names[0]}: {len(factor.levels)} values are more than {most}"
            raise UsageError(message, "--facet has room for more; --only picks cells")
    panels = [by_name[name] for name in said.panel]
    left = [factor for factor in factors if factor not in (colour, style, *panels)]
    estimators = by_name.get(ESTIMATOR)
    if style is None and estimators is not None and estimators in left and len(estimators.levels) <= MOST_STYLES:
        style = estimators
        left.remove(estimators)
    if x == DOTS:
        return _dots(left, colour, style, panels, lines, implied)
    if colour is None and (colour := _colour(left)):
        left.remove(colour)
    left.sort(key=lambda factor: len(factor.levels))
    while left and _count([*panels, *left], lines) > MOST_PANELS:
        if style is None and len(left[0].levels) <= MOST_STYLES:
            style = left.pop(0)
        elif said.x or said.panel:
            raise UsageError(f"{_count([*panels, *left], lines)} panels are too many", "--only picks cells")
        else:
            every = _factors([name for name in kept if name != ESTIMATOR], lines, sections, [])
            return Plan(DOTS, estimators, None, (), tuple(every), implied)
    return Plan(x, colour, style, (*panels, *left), (), implied)


def needed(lines: Sequence[Settings], names: Sequence[str], wanted: Sequence[str] = ()) -> list[str]:
    """As few of the names as it takes to tell lines apart that differ in any of them, in their order.

    Names are left out from the least important one: how runs are measured first, then numbers, then words, those with
    the fewest values first; budgets and the names of sections last. What is `wanted` stays, and so do the names of the
    algorithm and the problem.
    """
    count = {name: len({str(line.get(name)) for line in lines}) for name in names}
    words = {name for name in names if not _all_numbers(name, lines) and name not in LEAST_IMPORTANT}

    def importance(name: str) -> tuple[int, int]:
        if name in LEAST_IMPORTANT:
            return 0, -LEAST_IMPORTANT.index(name)
        if name in MOST_IMPORTANT or name.startswith("mu."):
            return 3, -[*MOST_IMPORTANT, name].index(name)
        return 1 + (name in words), count[name]

    def classes(chosen: Sequence[str]) -> int:
        return len({tuple(_key(line.get(name)) for name in chosen) for line in lines})

    kept = list(names)
    for name in sorted(names, key=importance):
        # a word says what was run: it goes only where other words imply it, not where it happens to go along with a
        # number
        among = [other for other in kept if name not in words or other in words]
        without = [other for other in among if other != name]
        if name not in (*wanted, "algorithm", "problem") and classes(without) == classes(among):
            kept.remove(name)
    return kept


def _all_numbers(name: str, lines: Sequence[Settings]) -> bool:
    return all(is_number(line[name]) for line in lines if line.get(name) is not None)


def _key(value: Any) -> tuple[bool, Any]:
    # True equals 1 in Python, and a noise that is on is no noise of 1
    return isinstance(value, bool), value


def _wanted(said: Declaration, vary: Sequence[str]) -> list[str]:
    """Settings that the declaration names, each once, and all of which vary."""
    found = []
    for option, name in (
        ("x", said.x),
        ("hue", said.colour),
        *(("facet", p) for p in said.panel),
        ("style", said.style),
    ):
        known = [*((STEP, DOTS) if option == "x" else ()), *vary]
        if name and name not in known:
            hint = f"{guess(name, known)}what varies: {', '.join(vary) or 'nothing'}"
            raise UsageError(f"--{option} {name}: it does not vary in these results", hint)
        found += [name] * (name in vary)
    if len(set(found)) < len(found):
        raise UsageError("--x, --hue, --style and --facet name one setting twice", "each setting has one place")
    return found


def _axis(axes: Sequence[str], kept: Sequence[str], lines: Sequence[Settings], checkpoints: int) -> str:
    """The number with the most values, where they make a curve in which nothing else changes; the step; or none."""
    least = SWEEP if checkpoints >= SWEEP else LEAST_CURVE
    found: dict[str, int] = {}
    for name in axes:
        curves: dict[tuple[Any, ...], set[float]] = {}
        for line in lines:
            # infinity is beyond the axis, and makes no curve
            if math.isfinite(line[name]):
                rest = tuple(_key(line.get(other)) for other in kept if other != name)
                curves.setdefault(rest, set()).add(float(line[name]))
        count = len(set().union(*curves.values()))
        if count >= least and max(map(len, curves.values()), default=0) >= LEAST_CURVE:
            found[name] = count
    if found:
        return max(found, key=lambda name: found[name])
    return STEP if checkpoints >= SWEEP else DOTS


def _factors(
    names: Sequence[str], lines: Sequence[Settings], sections: Mapping[str, str], wanted: Sequence[str]
) -> list[Factor]:
    """One factor a name, but for the parts of a method."""
    inside = [name for name in names if sections.get(name) in ("algorithm", "schedule") and name not in wanted]
    method = [name for name in inside if not _all_numbers(name, lines)]
    # more methods than a legend holds: their parts tell lines apart by themselves
    if len({tuple(line.get(name) for name in method) for line in lines}) > MOST_METHODS:
        method = []
    some = [name for name in inside if _all_numbers(name, lines) and any(line.get(name) is None for line in lines)]
    groups = [group for group in (method, some) if group] if len(method) > 1 or len(some) > 1 else []
    grouped = {name for group in groups for name in group}
    return [_factor(tuple(part), lines) for part in [*groups, *([name] for name in names if name not in grouped)]]


def _factor(names: tuple[str, ...], lines: Sequence[Settings]) -> Factor:
    """Numbers in their order, infinity last; words in the order of the config."""
    levels = list(dict.fromkeys(tuple(line.get(name) for name in names) for line in lines))
    if len(names) == 1:
        numbers = sorted(level for level in levels if is_number(level[0]))
        levels = [*numbers, *(level for level in levels if not is_number(level[0]))]
    return Factor(names, tuple(levels))


def _colour(factors: Sequence[Factor]) -> Factor | None:
    few = sorted((factor for factor in factors if len(factor.levels) <= MOST_COLOURS), key=lambda f: -len(f.levels))
    method = [factor for factor in few if "algorithm" in factor.names]
    budget = [factor for factor in few if factor.names[0].partition(".")[0] in ("mu", "eps")]
    return next(iter([*method, *budget, *few]), None)


def _count(factors: Sequence[Factor], lines: Sequence[Settings]) -> int:
    """Panels that these factors make."""
    return len({tuple(factor.of(line) for factor in factors) for line in lines})


def _dots(
    factors: list[Factor],
    colour: Factor | None,
    style: Factor | None,
    panels: list[Factor],
    lines: Sequence[Settings],
    implied: tuple[str, ...],
) -> Plan:
    """Rows of dots: what has the most values, in panels by the rest of it, or all of it where panels are too many."""
    # where nobody names a colour it tells estimators apart
    if colour is None:
        colour, style = style, None
    ordered = sorted(factors, key=lambda factor: len(factor.levels))
    if len(ordered) > 1 and _count([*panels, *ordered[:-1]], lines) <= MOST_DOT_PANELS:
        return Plan(DOTS, colour, style, (*panels, *ordered[:-1]), (ordered[-1],), implied)
    return Plan(DOTS, colour, style, tuple(panels), tuple(factors), implied)
