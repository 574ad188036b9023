"""The settings of cells by the names of their columns, and what varies between them.

Results keep the parameters of a cell as a tree of sections. Here a tree becomes one flat mapping, `Settings`, in which
every parameter has the name that columns, lists and JSON give it, and every number all its digits. Comparisons, figures
and tables of any result find out from these mappings in what cells differ.
"""

from __future__ import annotations

import math
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from dpexp.config.cells import IMPLIED, NAMED, Cell, Parameter, column_name, shared_names
from dpexp.core.text import short

Settings = dict[str, Any]
"""parameters of a cell by name, with all their digits"""
Tree = Mapping[str, Any]
"""the parameters of a cell by section, as `Cell.parameters` and manifests have them"""


def flat(tree: Tree, prefix: str = "") -> Settings:
    """Parameters by their place, such as problem.data.name; values that compare, lists as text, infinity as a number.

    A whole number is an int where it was one in the tree; JSON spells 2.0 so.
    """
    settings: Settings = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            settings |= flat(value, f"{prefix}{name}.")
        else:
            settings[prefix + name] = str(value) if isinstance(value, list) else math.inf if value == "inf" else value
    return settings


def named(cells: Sequence[Settings], labels: Sequence[str]) -> list[Settings]:
    """Settings by place, as `flat` gives them, under the names of columns.

    A target is `eps` and `delta`, a budget of all users `mu`. A law goes by its label where labels tell all laws apart,
    else every number of it counts: `mu.uniform`, `mu.list`, `mu.choice.values`. `labels` are those of the cells'
    budgets.
    """
    # Labels may be rounded: where two laws have one label, the numbers of both have to be shown.
    laws = {tuple((k, str(v)) for k, v in cell.items() if k.startswith("budget.")) for cell in cells if _is_law(cell)}
    law_labels = {label for cell, label in zip(cells, labels, strict=True) if _is_law(cell)}
    shared = shared_names({_parameter(place) for cell in cells for place in cell})
    renamed = []
    for cell, label in zip(cells, labels, strict=True):
        own = {_name(place, shared): value for place, value in cell.items()}
        if _is_law(cell) and len(law_labels) == len(laws):
            own = {name: value for name, value in own.items() if name.partition(".")[0] != "mu"} | {"mu": label}
        # JSON writes 2.0 as 2, and both are one budget.
        if isinstance(own.get("mu"), int):
            own["mu"] = float(own["mu"])
        renamed.append(own)
    # a population that says nothing of a key has its default
    implied = {f"population.{key}": value for key, value in IMPLIED.items()}
    said = implied.keys() & {name for own in renamed for name in own}
    return [{**{name: implied[name] for name in said}, **own} for own in renamed]


def _is_law(cell: Settings) -> bool:
    """Whether the budgets of users differ, or may differ."""
    return not any(place in cell for place in ("budget.mu", "budget.eps"))


def _parameter(place: str) -> Parameter:
    """Section and key of a place in a cell's parameters; the section that configs call privacy is stored as budget."""
    section, _, rest = place.partition(".")
    key = rest.partition(".")[0]
    if section == "budget":
        return "privacy", key if key in ("eps", "delta") else "mu"
    return section, key


def _name(place: str, shared: Container[str]) -> str:
    """The column's name, and what is inside it; a nested value is called by its name."""
    parameter = _parameter(place)
    inside = place.split(".")[1 if place.startswith("budget.") and parameter[1] == "mu" else 2 :]
    inside = [] if place == "budget.mu" else inside[:-1] if inside[-1:] == ["name"] else inside
    return ".".join([column_name(parameter, shared), *inside])


def sections(cells: Sequence[Settings]) -> dict[str, str]:
    """The section of every name that `named` gives these cells."""
    shared = shared_names({_parameter(place) for cell in cells for place in cell})
    by_name = {_name(place, shared): _parameter(place)[0] for cell in cells for place in cell}
    return {**by_name, "mu": "privacy"}


def varying(cells: Iterable[Settings]) -> list[str]:
    """Names in which these cells differ, a parameter that some of them lack among them."""
    cells = list(cells)
    names = dict.fromkeys(name for cell in cells for name in cell)
    return [name for name in names if len({_comparable(cell.get(name)) for cell in cells}) > 1]


def _comparable(value: Any) -> tuple[bool, Any]:
    """True is not 1 here."""
    return isinstance(value, bool), value


def differences(cells: Sequence[Cell]) -> tuple[Parameter, ...]:
    """Parameters in which some of these cells differ, by which `cases` are distinguished."""
    columns = [cell.columns() for cell in cells]
    own = dict.fromkeys(parameter for cell in cells for parameter in cell.own_parameters)
    # the number of steps is left out where every algorithm knows it from the other parameters
    derived = all(c.algorithm.steps(c.problem, c.schedule, c.privacy.mu) is not None for c in cells)
    differing = []
    for parameter in [*((section, "name") for section in NAMED), *own]:
        names = {cell.name_of(parameter) for cell in cells}
        if parameter == ("run", "n") and derived:
            continue
        # As texts, since NaN is not equal to itself.
        if len({str([row.get(name) for name in names]) for row in columns}) > 1:
            differing.append(parameter)
    budgets: list[tuple[Parameter, list[Any]]] = [
        (("privacy", "mu"), [cell.privacy.mu.label if cell.privacy.eps is None else None for cell in cells]),
        (("privacy", "eps"), [cell.privacy.eps for cell in cells]),
        (("privacy", "delta"), [cell.privacy.delta for cell in cells]),
    ]
    return (*differing, *(parameter for parameter, values in budgets if len(set(values)) > 1))


def setting(cell: Cell) -> Settings:
    """What distinguishes a cell of an experiment, by the names of columns; a target has no mu, a budget no eps."""
    values = cell.setting()
    if cell.privacy.eps is not None:
        values.pop("mu", None)
    return values


def identity(cell: Cell) -> Settings:
    """What a cell is called in lists: its id and what is swept."""
    return {"cell_id": cell.cell_id, **setting(cell)}


def label(cell: Cell) -> str:
    """`name=value` of what distinguishes the cell; what it does not have is left out."""
    return " ".join(f"{name}={spelled(name, value)}" for name, value in setting(cell).items() if value is not None)


NON_PRIVATE = "non-private"


class Words:
    """Values of settings as they are shown: short, but never two alike."""

    def __init__(self, cells: Iterable[Settings]) -> None:
        self.values: dict[str, set[Any]] = {}
        for cell in cells:
            for name, value in cell.items():
                self.values.setdefault(name, set()).add(value)
        self._digits: dict[str, int] = {}

    def value(self, name: str, value: Any) -> str:
        among = self.values.get(name, set())
        if value not in among:
            return spelled(name, value, digits_of([*among, value]))
        if name not in self._digits:  # once for all values of a name: else a table would be quadratic in its rows
            self._digits[name] = digits_of(among)
        return spelled(name, value, self._digits[name])

    def pair(self, name: str, value: Any) -> str:
        return f"{name}={self.value(name, value)}"

    def setting(self, names: Sequence[str], settings: Settings) -> str:
        """`name=value` of these names, those left out that the cell does not have."""
        return " ".join(self.pair(name, settings[name]) for name in names if settings.get(name) is not None)


def spelled(name: str, value: Any, digits: int = 0) -> str:
    """A value in short: 0.2, 1/3, true, non-private for an infinite mu, a dash where a cell has no such parameter.

    A decimal of at most six digits is written as such, another number as the fraction that it is. Short words may be
    those of two numbers: with `digits` a number has as many as distinguish it.
    """
    if value is None:
        return "-"
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    if name == "mu" and math.isinf(value):
        return NON_PRIVATE
    return _short(value) if digits == 0 else repr(value) if digits == 17 else f"{value:.{digits}g}"


def digits_of(values: Iterable[Any]) -> int:
    """The significant digits that distinguish all these numbers: 0 where their short words do, 17 where all count."""
    numbers = {value for value in values if isinstance(value, float)}
    if len({_short(number) for number in numbers}) == len(numbers):
        return 0
    # Seventeen digits distinguish any two doubles.
    return next((n for n in range(7, 17) if len({f"{number:.{n}g}" for number in numbers}) == len(numbers)), 17)


def _short(value: float) -> str:
    decimal = f"{value:g}"
    return decimal if float(decimal) == value else short(value)
