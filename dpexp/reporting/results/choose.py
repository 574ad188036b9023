"""Which setting of some lines is on the horizontal axis, which is colour, line style or panel, unless it is declared.

A *line* is one estimator of one cell; its settings are a mapping from names to values. The rules, in order:

(a) Settings in which all lines agree are left out, and so are those that follow from others (`needed`).
(b) What belongs to the method (the algorithm, the schedule, and those of their parameters that are words or that only
    some lines have) is one factor, of at most `MOST_METHODS` levels.
(c) A number with at least `SWEEP` finite values (`LEAST_CURVE` where there are few checkpoints) is the horizontal axis,
    with final values. Else it is the step, if there are at least `SWEEP` checkpoints. Else the factor with the most
    values makes rows.
(d) Colour is the method where the algorithm varies, else the budget, else what has the most values, at most
    `MOST_COLOURS`. The line style, or the marker, is the estimator.
(e) The other factors make the panels. Where these are too many, all of them make rows.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpexp.config.cell_settings import Settings, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import guess
from dpexp.reporting.results.declaration import DOTS, STEP, Declaration

ESTIMATOR = "estimator"
SWEEP, LEAST_CURVE = 5, 3
MOST_METHODS, MOST_COLOURS, MOST_STYLES, MOST_PANELS, MOST_PANELS_OF_ROWS = 12, 8, 4, 24, 6
LEAST_IMPORTANT = ("result", "diverged_above", "checkpoints", "seed", "n")
"""in a figure only where nothing else distinguishes lines"""
MOST_IMPORTANT = ("mu", "eps", "algorithm", "problem", "schedule", ESTIMATOR)
NO_AXIS = ("seed", "checkpoints", "diverged_above")
"""numbers that mean nothing along an axis"""


@dataclass(frozen=True)
class Factor:
    """A setting, or several that belong together, with the values of `names` in the order in which they are drawn."""

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]

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
    """Which setting is where; `x` is a setting, STEP, or DOTS for final values in rows."""

    x: str
    colour: Factor | None
    style: Factor | None
    panels: tuple[Factor, ...]
    rows: Factor | None = None
    implied: tuple[str, ...] = ()
    """settings that vary too, and follow from those in the figure"""

    @property
    def names(self) -> tuple[str, ...]:
        """Names of everything that distinguishes lines."""
        factors = filter(None, (self.colour, self.style, *self.panels, self.rows))
        own = () if self.x in (STEP, DOTS) else (self.x,)
        return tuple(dict.fromkeys([*own, *(name for factor in factors for name in factor.names)]))


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def choose(
    lines: Sequence[Settings], sections: Mapping[str, str], checkpoints: int, declared: Declaration | None = None
) -> Plan:
    """The plan for these lines.

    `sections` gives the section of a name, `checkpoints` how many the shortest line has. Raises UsageError for a
    declaration that cannot be met.
    """
    declared = declared or Declaration()
    vary = varying(lines)
    reserved = _reserved(declared, vary)
    names = needed(lines, vary, reserved)
    implied = tuple(name for name in vary if name not in names)
    axes = [name for name in names if name not in NO_AXIS and all(is_number(line.get(name)) for line in lines)]
    x = declared.x or _axis([name for name in axes if name not in reserved], names, lines, checkpoints)
    if x not in (STEP, DOTS, *axes):
        raise UsageError(f"--x {x}: not every cell has a number for it", f"numbers: {', '.join([STEP, *axes])}")
    factors = _factors([name for name in names if name != x], lines, sections, reserved)
    by_name = {name: factor for factor in factors for name in factor.names}
    colour, style = by_name.get(declared.colour), by_name.get(declared.style)
    for option, factor, limit in (("hue", colour, MOST_METHODS), ("style", style, MOST_STYLES)):
        if factor is not None and len(factor.levels) > limit:
            message = f"--{option} {factor.names[0]}: {len(factor.levels)} values are more than {limit}"
            raise UsageError(message, "--facet has room for more; --only picks cells")
    estimators = by_name.get(ESTIMATOR)
    placed = style is not None or estimators is colour or ESTIMATOR in declared.panel
    if estimators is not None and not placed and len(estimators.levels) <= MOST_STYLES:
        style = estimators
    panels = [by_name[name] for name in declared.panel]
    rest = sorted((f for f in factors if f not in (colour, style, *panels)), key=lambda factor: len(factor.levels))
    if x != DOTS:
        hue = colour or _colour(rest)
        facets = (*panels, *(factor for factor in rest if factor is not hue))
        if (count := _count(facets, lines)) <= MOST_PANELS:
            return Plan(x, hue, style, facets, None, implied)
        if declared.x or declared.panel:
            raise UsageError(f"{count} panels are too many", "--only picks cells")
    colour, style = (colour, style) if colour else (style, None)
    facets, rows = (*panels, *rest[:-1]), rest[-1] if rest else None
    if rows is not None and _count(facets, lines) > MOST_PANELS_OF_ROWS:
        facets, rows = tuple(panels), _factor([name for factor in rest for name in factor.names], lines)
    return Plan(DOTS, colour, style, facets, rows, implied)


def needed(lines: Sequence[Settings], names: Sequence[str], reserved: Sequence[str] = ()) -> list[str]:
    """As few of the names as it takes to distinguish lines that differ in any of them, in their order.

    Names are left out from the least important one: how runs are measured first, then numbers, then words, those with
    the fewest values first; budgets and the names of sections last. `reserved` names stay, and so do those of the
    algorithm and the problem.
    """
    words = {name for name in names if not _all_numbers(name, lines) and name not in LEAST_IMPORTANT}

    def importance(name: str) -> tuple[int, int]:
        if name in LEAST_IMPORTANT:
            return 0, -LEAST_IMPORTANT.index(name)
        if name in MOST_IMPORTANT or name.startswith("mu."):
            return 3, -[*MOST_IMPORTANT, name].index(name)
        return 1 + (name in words), len({str(line.get(name)) for line in lines})

    remaining = list(names)
    for name in sorted(set(names) - {*reserved, "algorithm", "problem"}, key=importance):
        # a word goes only where other words imply it, not where it happens to go along with a number
        among = [other for other in remaining if name not in words or other in words]
        without = [other for other in among if other != name]
        if len({_key(line, without) for line in lines}) == len({_key(line, among) for line in lines}):
            remaining.remove(name)
    return remaining


def _all_numbers(name: str, lines: Sequence[Settings]) -> bool:
    return all(is_number(line[name]) for line in lines if line.get(name) is not None)


def _key(line: Settings, names: Sequence[str]) -> tuple[tuple[bool, Any], ...]:
    # True equals 1 in Python, and a noise that is on is no noise of 1
    return tuple((isinstance(value := line.get(name), bool), value) for name in names)


def _reserved(declared: Declaration, vary: Sequence[str]) -> list[str]:
    """Settings that the declaration names, each once; all of them vary."""
    options = [("x", declared.x), ("hue", declared.colour), *(("facet", name) for name in declared.panel)]
    options = [(option, name) for option, name in [*options, ("style", declared.style)] if name]
    for option, name in options:
        if name not in vary and not (option == "x" and name in (STEP, DOTS)):
            hint = f"{guess(name, vary)}what varies: {', '.join(vary) or 'nothing'}"
            raise UsageError(f"--{option} {name}: it does not vary in these results", hint)
    names = [name for _, name in options if name in vary]
    if len(set(names)) < len(names):
        raise UsageError("--x, --hue, --style and --facet name one setting twice", "each setting has one place")
    return names


def _axis(axes: Sequence[str], names: Sequence[str], lines: Sequence[Settings], checkpoints: int) -> str:
    """The number with the longest curve along which nothing else changes; the step; or none."""
    lengths: dict[str, int] = {}
    for name in axes:
        curves: dict[tuple[Any, ...], set[float]] = {}
        # infinity is beyond the axis, and makes no curve
        for line in (line for line in lines if math.isfinite(line[name])):
            curves.setdefault(_key(line, [other for other in names if other != name]), set()).add(float(line[name]))
        lengths[name] = max(map(len, curves.values()), default=0)
    longest = max(lengths, key=lengths.__getitem__, default="")
    if longest and lengths[longest] >= (SWEEP if checkpoints >= SWEEP else LEAST_CURVE):
        return longest
    return STEP if checkpoints >= SWEEP else DOTS


def _factors(
    names: Sequence[str], lines: Sequence[Settings], sections: Mapping[str, str], reserved: Sequence[str]
) -> list[Factor]:
    """A factor for each name, but for the parts of a method."""
    inside = [name for name in names if sections.get(name) in ("algorithm", "schedule") and name not in reserved]
    method = [name for name in inside if not _all_numbers(name, lines) or any(line.get(name) is None for line in lines)]
    # more methods than a legend holds are factors by their parts
    if len({tuple(line.get(name) for name in method) for line in lines}) > MOST_METHODS:
        method = []
    others = [[name] for name in names if name not in method]
    return [_factor(part, lines) for part in ([method, *others] if method else others)]


def _factor(names: Sequence[str], lines: Sequence[Settings]) -> Factor:
    """Numbers in their order, infinity last; words in the order of the config."""
    levels = list(dict.fromkeys(tuple(line.get(name) for name in names) for line in lines))
    if len(names) == 1:
        levels.sort(key=lambda level: (0, level[0]) if is_number(level[0]) else (1, 0))
    return Factor(tuple(names), tuple(levels))


def _colour(factors: Sequence[Factor]) -> Factor | None:
    """The method where the algorithm varies, else the budget, else what has the most values."""

    def rank(factor: Factor) -> tuple[int, int]:
        budget = factor.names[0].partition(".")[0] in ("mu", "eps")
        return 0 if "algorithm" in factor.names else 1 if budget else 2, -len(factor.levels)

    return min((factor for factor in factors if len(factor.levels) <= MOST_COLOURS), key=rank, default=None)


def _count(factors: Sequence[Factor], lines: Sequence[Settings]) -> int:
    """Panels that these factors make."""
    return len({tuple(factor.of(line) for factor in factors) for line in lines})
