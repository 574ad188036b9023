"""What a figure of any result shows where: pure, from the settings of its lines to axis, colour, style and panels.

A *line* is one estimator of one cell. Its settings are a mapping from names to values. The rules, in order:

1. Names in which all lines agree are constant: they stand in the caption. Of those that vary as few are kept as it
   takes to tell all lines apart (`needed`); the others follow from them, and are named in the caption.
2. What belongs to the method (the algorithm, the schedule, and those of their parameters that are words or that only
   some lines have) is one factor, as long as there are at most `MOST_METHODS` of it. Numbers that only some lines have
   are another one.
3. A number with at least `SWEEP` finite values (`LEAST_CURVE` where there are few checkpoints) is the horizontal axis,
   the final value against it, if some curve has `LEAST_CURVE` of them. Else it is the step, if there are at least
   `SWEEP` checkpoints. Else lines are rows of dots.
4. Colour is the method where the algorithm varies, else the budget, else what has the most values, of what has at most
   `MOST_COLOURS`. The line style, or the marker, is the estimator.
5. What is left makes the panels, one for every combination that was run. Where that is too many, the smallest of it
   takes the line style, if this is free, and else all lines become rows of dots.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpexp.config.settings import Settings, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import guess

STEP, DOTS = "step", "dots"
ESTIMATOR = "estimator"
SWEEP = 5
"""values of a number from which it is the horizontal axis: fewer are told apart better by colours or panels"""
LEAST_CURVE = 3
"""values that a curve has at least"""
MOST_METHODS, MOST_COLOURS, MOST_STYLES, MOST_PANELS = 12, 8, 4, 24
MOST_NAMED_COLOURS = 12
"""where colour is asked for by name, and shades of one map may serve"""
MOST_DOT_PANELS = 6
MOST_ROWS = 200
LEAST_IMPORTANT = ("result", "diverged_above", "checkpoints", "seed", "n")
"""kept only where nothing else tells lines apart"""
MOST_IMPORTANT = ("mu", "eps", "algorithm", "problem", "schedule", ESTIMATOR)
ALWAYS = ("algorithm", "problem")
"""said wherever they vary, whatever else goes along with them"""
NO_AXIS = ("seed", "checkpoints", "diverged_above")
"""numbers that mean nothing along an axis"""


@dataclass(frozen=True)
class Factor:
    """What one look of a figure tells apart: a setting, or several that belong together."""

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
class Wishes:
    """What the command line says; empty where the rules decide."""

    x: str = ""
    hue: str = ""
    facet: tuple[str, ...] = ()
    style: str = ""


@dataclass(frozen=True)
class Plan:
    """Who is where."""

    x: str
    """a setting's name, STEP or DOTS"""
    hue: Factor | None
    style: Factor | None
    facets: tuple[Factor, ...]
    rows: tuple[Factor, ...] = ()
    """what the rows of dots tell apart"""
    implied: tuple[str, ...] = ()
    """settings that vary too, but follow from those that are shown"""

    @property
    def shown(self) -> tuple[str, ...]:
        """Names of everything that tells lines apart."""
        factors = [*filter(None, (self.hue, self.style)), *self.facets, *self.rows]
        own = () if self.x in (STEP, DOTS) else (self.x,)
        return tuple(dict.fromkeys([*own, *(name for factor in factors for name in factor.names)]))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def choose(
    lines: Sequence[Settings],
    sections: Mapping[str, str],
    checkpoints: int,
    wishes: Wishes | None = None,
    derived: Collection[str] = (),
) -> Plan:
    """The plan for these lines.

    `sections` gives the section of a name, `checkpoints` how many the shortest line has; `derived` are names that
    follow from others by definition. Raises UsageError for wishes that cannot be met.
    """
    wishes = wishes or Wishes()
    vary = [name for name in varying(lines) if name not in derived]
    _require_known(wishes, vary)
    wanted = [name for name in (wishes.x, wishes.hue, *wishes.facet, wishes.style) if name in vary]
    # 1: as few names as tell all lines apart
    kept = needed(lines, vary, wanted)
    implied = tuple(name for name in vary if name not in kept)
    values = {name: [line.get(name) for line in lines] for name in kept}
    # 3: an axis that nobody asked for is looked for among names that have no place yet
    x = wishes.x or _axis(_axes(values), kept, lines, checkpoints, {wishes.hue, *wishes.facet, wishes.style})
    if x not in (STEP, DOTS) and not all(map(is_number, values[x])):
        raise UsageError(
            f"--x {x}: not every cell has a number for it", f"numbers: {', '.join([STEP, *_axes(values)])}"
        )
    # 2: the parts of a method are one factor
    factors = _factors([name for name in kept if name != x], lines, sections, wanted)
    named = {name: factor for factor in factors for name in factor.names}
    hue = named[wishes.hue] if wishes.hue else None
    if hue is not None and len(hue.levels) > MOST_NAMED_COLOURS:
        raise UsageError(
            f"--hue {wishes.hue}: {len(hue.levels)} values are more than {MOST_NAMED_COLOURS} colours",
            "--facet has room for more; --only picks cells",
        )
    facets = [named[name] for name in wishes.facet]
    left = [factor for factor in factors if factor not in (hue, *facets)]
    estimators = next((factor for factor in left if factor.names == (ESTIMATOR,)), None)
    style = estimators if estimators and len(estimators.levels) <= MOST_STYLES else None
    if wishes.style:
        style = named[wishes.style]
        if len(style.levels) > MOST_STYLES:
            raise UsageError(
                f"--style {wishes.style}: {len(style.levels)} values are more than {MOST_STYLES} styles", ""
            )
    left = [factor for factor in left if factor != style]
    if x == DOTS:
        return _dots(left, hue, style, facets, lines, implied)
    # 4: colour; the style went to the estimator
    hue = hue or _hue(left)
    # 5: what is left makes panels; where they are too many the smallest factor takes the style
    left = sorted((factor for factor in left if factor != hue), key=lambda factor: len(factor.levels))
    while left and _panels([*facets, *left], lines) > MOST_PANELS:
        if style is None and len(left[0].levels) <= MOST_STYLES:
            style = left.pop(0)
        elif wishes.x or wishes.facet:
            raise UsageError(f"{_panels([*facets, *left], lines)} panels are too many", "--only picks cells")
        else:
            every = _factors([name for name in kept if name != ESTIMATOR], lines, sections, [])
            return Plan(DOTS, estimators, None, (), tuple(every), implied)
    return Plan(x, hue, style, (*facets, *left), (), implied)


def needed(lines: Sequence[Settings], names: Sequence[str], wanted: Sequence[str] = ()) -> list[str]:
    """As few of the names as it takes to tell lines apart that differ in any of them, in their order.

    Names are left out from the least important one: how runs are measured first, then numbers, then words, those with
    the fewest values first; budgets and the names of sections last. What is `wanted` stays, and
    so do the names of the algorithm and the problem.
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
        if name not in (*wanted, *ALWAYS) and classes(without) == classes(among):
            kept.remove(name)
    return kept


def _all_numbers(name: str, lines: Sequence[Settings]) -> bool:
    return all(is_number(line[name]) for line in lines if line.get(name) is not None)


def _key(value: Any) -> tuple[bool, Any]:
    # True equals 1 in Python, and a noise that is on is no noise of 1
    return isinstance(value, bool), value


def _require_known(wishes: Wishes, vary: Sequence[str]) -> None:
    for option, name in (
        ("x", wishes.x),
        ("hue", wishes.hue),
        *(("facet", name) for name in wishes.facet),
        ("style", wishes.style),
    ):
        special = (STEP, DOTS) if option == "x" else ()
        if name and name not in (*vary, *special):
            known = [*special, *vary]
            hint = f"{guess(name, known)}what varies: {', '.join(vary) or 'nothing'}"
            raise UsageError(f"--{option} {name}: it does not vary in these results", hint)
    used = [name for name in (wishes.x, wishes.hue, *wishes.facet, wishes.style) if name]
    if len(set(used)) < len(used):
        raise UsageError("--x, --hue, --style and --facet name one setting twice", "each setting has one place")


def _axes(values: Mapping[str, Sequence[Any]]) -> list[str]:
    """The names that can be a horizontal axis: every line has a number for it."""
    return [name for name, own in values.items() if name not in NO_AXIS and all(map(is_number, own))]


def _axis(
    axes: Sequence[str], kept: Sequence[str], lines: Sequence[Settings], checkpoints: int, taken: set[str]
) -> str:
    """The number with the most values, where they make a curve in which nothing else changes; the step; or none."""
    least = SWEEP if checkpoints >= SWEEP else LEAST_CURVE
    found: dict[str, int] = {}
    for name in axes:
        curves: dict[tuple[Any, ...], set[float]] = {}
        for line in lines:
            # infinity stands beyond the axis, and makes no curve
            if math.isfinite(line[name]):
                rest = tuple(_key(line.get(other)) for other in kept if other != name)
                curves.setdefault(rest, set()).add(float(line[name]))
        count = len(set().union(*curves.values()))
        if name not in taken and count >= least and max(map(len, curves.values()), default=0) >= LEAST_CURVE:
            found[name] = count
    if found:
        return max(found, key=lambda name: found[name])
    return STEP if checkpoints >= SWEEP else DOTS


def _factors(
    names: Sequence[str], lines: Sequence[Settings], sections: Mapping[str, str], wanted: Sequence[str]
) -> list[Factor]:
    """One factor a name, but for the parts of a method."""
    partial = [name for name in names if any(line.get(name) is None for line in lines)]
    inside = [name for name in names if sections.get(name) in ("algorithm", "schedule") and name not in wanted]
    numbers = [name for name in names if _all_numbers(name, lines)]
    method = [name for name in inside if name not in numbers]
    # more methods than a legend holds: their parts tell lines apart by themselves
    if len({tuple(line.get(name) for name in method) for line in lines}) > MOST_METHODS:
        method = []
    some = [name for name in inside if name in numbers and name in partial]
    groups = [method, some] if len(method) > 1 or len(some) > 1 else []
    grouped = {name for group in groups for name in group}
    parts = [tuple(group) for group in groups if group] + [(name,) for name in names if name not in grouped]
    return [_factor(part, lines) for part in parts]


def _factor(names: tuple[str, ...], lines: Sequence[Settings]) -> Factor:
    """Numbers in their order, infinity last; words in the order of the config."""
    levels = list(dict.fromkeys(tuple(line.get(name) for name in names) for line in lines))
    if len(names) == 1:
        numbers = sorted(level for level in levels if is_number(level[0]))
        levels = [*numbers, *(level for level in levels if not is_number(level[0]))]
    return Factor(names, tuple(levels))


def _hue(factors: Sequence[Factor]) -> Factor | None:
    few = [factor for factor in factors if len(factor.levels) <= MOST_COLOURS]
    budget = [factor for factor in few if factor.names[0].partition(".")[0] in ("mu", "eps")]
    method = [factor for factor in few if "algorithm" in factor.names]
    return next(iter([*method, *budget, *sorted(few, key=lambda factor: -len(factor.levels))]), None)


def _panels(factors: Sequence[Factor], lines: Sequence[Settings]) -> int:
    return len({tuple(factor.of(line) for factor in factors) for line in lines})


def _dots(
    factors: list[Factor],
    hue: Factor | None,
    style: Factor | None,
    facets: list[Factor],
    lines: Sequence[Settings],
    implied: tuple[str, ...],
) -> Plan:
    """Rows of dots: what has the most values, in panels by the rest of it, or all of it where panels are too many."""
    # without another wish colour tells the estimators apart
    if hue is None:
        hue, style = style, None
    ordered = sorted(factors, key=lambda factor: len(factor.levels))
    panels = [*facets, *ordered[:-1]]
    if len(ordered) > 1 and _panels(panels, lines) <= MOST_DOT_PANELS:
        return Plan(DOTS, hue, style, tuple(panels), (ordered[-1],), implied)
    return Plan(DOTS, hue, style, tuple(facets), tuple(factors), implied)
