"""A figure as data, and what its declaration leaves open: the horizontal axis, and what is colour, style or panel.

A *line* is one estimator of one cell; its settings are a mapping from names to values. Settings that follow from others
are left out. A number with at least `SWEEP` finite values (`LEAST_CURVE` where there are few checkpoints) is the
horizontal axis, with final values; else the step, if there are at least `SWEEP` checkpoints; else there are rows.
Colour is the method (what belongs to algorithm and schedule and is a word, or only some lines have) where the algorithm
varies, else the budget, else what has the most values. The line style, or the marker, is the estimator. Everything else
makes panels; rows where these are too many.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dpexp.config.cell_settings import Settings, varying
from dpexp.core.errors import UsageError
from dpexp.core.text import guess

STEP, DOTS = "step", "dots"
"""horizontal axes that are no setting: the step, and rows of final values"""
ESTIMATOR, TERM, FROM = "estimator", "term", "result"
"""settings that are no parameters: of a line, of a recorded parameter, and of runs of several results"""
SWEEP, LEAST_CURVE = 5, 3
MOST_COLOURS, MOST_STYLES, MOST_PANELS, LONGEST_TITLE = 12, 4, 24, 80  # the last one in characters
LEAST_IMPORTANT = (FROM, "diverged_above", "checkpoints", "seed", "n")
"""in a figure only where nothing else distinguishes lines"""
MOST_IMPORTANT = ("mu", "eps", "algorithm", "problem", "schedule", ESTIMATOR)
NO_AXIS = ("seed", "checkpoints", "diverged_above")
"""numbers that mean nothing along an axis"""
KEYS = {"y": "metric", "colour": "hue", "panel": "facet", "estimators": "estimator", "where": "only"}
"""keys of a figure in a `paper.yaml` that are not called as the option is"""


@dataclass(frozen=True)
class Declaration:
    """The options of `dpexp plot`; `choose` fills in what is empty. Raises UsageError for what no figure has."""

    metric: str = ""
    x: str = ""
    """STEP, DOTS or a setting that is a number"""
    hue: str = ""
    facet: tuple[str, ...] = ()
    style: str = ""
    estimator: tuple[str, ...] = ()
    only: str = ""
    statistic: str = "mean"
    """of the replicates: a name of `metrics.STATISTICS`"""
    kind: str = "line"
    """line, or box: final values of the replicates as boxes, a row for each setting"""
    theory: bool = False
    title: str = ""

    def __post_init__(self) -> None:
        if self.kind not in ("line", "box"):
            raise UsageError(f"--kind is line or box, not {self.kind!r}")
        if self.statistic != "mean" and self.theory and self.kind != "box":
            raise UsageError(f"--statistic {self.statistic}: theory is of means", "leave out --theory")


def declaration(**options: Any) -> Declaration:
    """That of these options, None for one that is left out; a list may be one word."""
    given = {name: value for name, value in options.items() if value is not None}
    for name in {"facet", "estimator"} & given.keys():
        given[name] = (given[name],) if isinstance(given[name], str) else tuple(given[name])
    return Declaration(**given)


@dataclass(frozen=True)
class Factor:
    """Settings that are one colour, style, panel or row together."""

    names: tuple[str, ...]
    levels: tuple[tuple[Any, ...], ...]
    """values of `names`: numbers in their order, infinity last, and words in that of the config; one without names"""
    codes: tuple[int, ...]
    """the level of every line"""

    @classmethod
    def of(cls, names: Sequence[str], lines: Sequence[Settings]) -> Factor:
        values = [tuple(map(line.get, names)) for line in lines]
        orders = [list(dict.fromkeys(column)) for column in zip(*values, strict=True)]

        def place(level: tuple[Any, ...]) -> list[tuple[int, Any]]:
            pairs = zip(level, orders, strict=True)
            return [(0, value) if is_number(value) else (1, order.index(value)) for value, order in pairs]

        levels = sorted(dict.fromkeys(values), key=place)
        return cls(tuple(names), tuple(levels), tuple(map(levels.index, values)))


@dataclass(frozen=True)
class Plan:
    """Which setting is where; `x` is a setting, STEP, or DOTS for final values in rows."""

    x: str
    colour: Factor
    style: Factor
    panel: Factor
    row: Factor
    names: tuple[str, ...]
    """all settings that vary, those that follow from others last"""


def is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def choose(
    lines: Sequence[Settings], sections: Mapping[str, str], checkpoints: int, declared: Declaration | None = None
) -> Plan:
    """The plan for these lines.

    `sections` gives the section of a name, `checkpoints` how many the shortest line has. Raises UsageError for a
    declaration that cannot be met.
    """
    declared, vary = declared or Declaration(), varying(lines)
    reserved = _reserved(declared, vary)
    names = needed(lines, vary, reserved)
    axes = [name for name in names if name not in NO_AXIS and all(is_number(line.get(name)) for line in lines)]
    usual, least = (STEP, SWEEP) if checkpoints >= SWEEP else (DOTS, LEAST_CURVE)
    counts = {name: len({line[name] for line in lines} - {math.inf}) for name in axes if name not in reserved}
    x = declared.x or max((n for n in counts if counts[n] >= least), key=counts.__getitem__, default=usual)
    if x not in (STEP, DOTS, *axes):
        raise UsageError(f"--x {x}: not every cell has a number for it", f"numbers: {', '.join([STEP, *axes])}")
    free = [name for name in names if name not in (x, *reserved)]
    few_estimators = ESTIMATOR in free and len({line[ESTIMATOR] for line in lines}) <= MOST_STYLES
    style = [declared.style] if declared.style else [ESTIMATOR] if few_estimators else []
    free = [name for name in free if name not in style]
    colour = [declared.hue] if declared.hue else _colour(free, lines, sections)
    panel, row = [*declared.facet, *(name for name in free if name not in colour)], list[str]()
    chosen, titles = bool(declared.x or declared.facet), Factor.of(panel, lines).levels
    long = len(titles) > LEAST_CURVE and max(sum(map(len, map(str, title))) for title in titles) > LONGEST_TITLE
    if x != DOTS and (len(titles) > MOST_PANELS or (long and not chosen)):
        if chosen:
            raise UsageError(f"{len(titles)} panels are too many", "--only picks cells")
        x, free = DOTS, [name for name in names if name not in (*reserved, *style)]
    if x == DOTS:
        colour, style = ([declared.hue], style) if declared.hue else (style, [])
        panel, row = list(declared.facet), free
    hue, dashes, panels, rows = (Factor.of(own, lines) for own in (colour, style, panel, row))
    for option, factor, limit in (("hue", hue, MOST_COLOURS), ("style", dashes, MOST_STYLES)):
        if len(factor.levels) > limit:
            message = f"--{option} {factor.names[0]}: {len(factor.levels)} values are more than {limit}"
            raise UsageError(message, "--facet has room for more; --only picks cells")
    placed = [*([x] if x in names else []), *colour, *style, *panel, *row]
    return Plan(x, hue, dashes, panels, rows, tuple(dict.fromkeys([*placed, *vary])))


def needed(lines: Sequence[Settings], names: Sequence[str], reserved: Sequence[str] = ()) -> list[str]:
    """As few of the names as it takes to distinguish lines that differ in any of them, in their order.

    The first to be left out is the least important: how runs are measured, then numbers, then words, those with the
    fewest values first; budgets and the names of sections last. `reserved` names stay, and so do those of the algorithm
    and the problem.
    """

    def importance(name: str) -> tuple[int, int]:
        if name in LEAST_IMPORTANT:
            return 0, -LEAST_IMPORTANT.index(name)
        if name in MOST_IMPORTANT or name.startswith("mu."):
            return 3, -[*MOST_IMPORTANT, name].index(name)
        word = any(not is_number(line[name]) for line in lines if line.get(name) is not None)
        return 1 + word, len({str(line.get(name)) for line in lines})

    def distinct(subset: Sequence[str]) -> int:
        # True equals 1 in Python, and a noise that is on is no noise of 1
        return len({tuple((isinstance(v := line.get(name), bool), v) for name in subset) for line in lines})

    remaining = list(names)
    for name in sorted(set(names) - {*reserved, "algorithm", "problem"}, key=importance):
        without = [other for other in remaining if other != name]
        remaining = without if distinct(without) == distinct(remaining) else remaining
    return remaining


def _reserved(declared: Declaration, vary: Sequence[str]) -> list[str]:
    """Settings that the declaration names, each once; all of them vary."""
    options = {"x": [declared.x], "hue": [declared.hue], "facet": declared.facet, "style": [declared.style]}
    pairs = [(key, name) for key, names in options.items() for name in names if name not in ("", STEP, DOTS)]
    for option, name in pairs:
        if name not in vary:
            hint = f"{guess(name, vary)}what varies: {', '.join(vary) or 'nothing'}"
            raise UsageError(f"--{option} {name}: it does not vary in these results", hint)
    reserved = [name for _, name in pairs]
    if len(set(reserved)) < len(reserved):
        raise UsageError("--x, --hue, --style and --facet name one setting twice", "each setting has one place")
    return reserved


def _colour(free: Sequence[str], lines: Sequence[Settings], sections: Mapping[str, str]) -> list[str]:
    """The names that make colours."""
    inside = [name for name in free if sections.get(name) in ("algorithm", "schedule")]
    method = [name for name in inside if not all(is_number(line.get(name)) for line in lines)]

    def count(group: Sequence[str]) -> int:
        return len(Factor.of(group, lines).levels)

    def rank(group: Sequence[str]) -> tuple[bool, bool, int]:
        return "algorithm" in group, group[0].partition(".")[0] in ("mu", "eps"), count(group)

    # a part of the method has no more levels than all of it, which comes first
    groups = [method, *([name] for name in free)]
    return max((group for group in groups if group and count(group) <= MOST_COLOURS), key=rank, default=[])
