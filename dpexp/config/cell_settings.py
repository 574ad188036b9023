"""The settings of cells by the names of their columns: what varies, how values are spelled, and what `--only` selects.

Results keep the parameters of a cell as a tree of sections, which becomes one flat mapping here, `Settings`.
"""

from __future__ import annotations

import math
import shlex
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dpexp.config.cells import IMPLIED, Cell, Parameter, column_name, flat, shared_names
from dpexp.core.errors import UsageError
from dpexp.core.text import fraction, guess, scalar
from dpexp.problems.weights import WEIGHT_CAP

Settings = dict[str, Any]  # parameters of a cell by name, with all their digits
NON_PRIVATE = "non-private"
OF_POPULATION = "problem.population."
SHORT_FORM = {f"problem.{short}": OF_POPULATION + key
              for short, key in {"d": "d", "sigma_z": "design.sd", "beta": "coefficients"}.items()}  # fmt: skip
"""what problems without a population say of it, where others have one"""


def named(cells: Sequence[Settings], labels: Sequence[str]) -> tuple[list[Settings], dict[str, str]]:
    """Settings by place, as `flat` gives them, under the names of columns; and the section of every name.

    A target is `eps` and `delta`, a budget of all users `mu`. A law goes by its label, of the cells' `labels`, where
    these distinguish all laws, else by all its numbers: `mu.uniform`, `mu.list`, `mu.choice.values`.
    """
    cells = one_form(cells)
    budgets = [{place: v for place, v in cell.items() if place.startswith("budget.")} for cell in cells]
    # Labels may be rounded: where two laws have one label, the numbers of both have to be shown.
    laws = ["" if {"budget.mu", "budget.eps"} & budget.keys() else str(budget) for budget in budgets]
    of_laws = {(label, law) for label, law in zip(labels, laws, strict=True) if law}
    if len({label for label, _ in of_laws}) == len(of_laws):
        for k, (label, law) in enumerate(zip(labels, laws, strict=True)):
            others = {place: v for place, v in cells[k].items() if place not in budgets[k]}
            cells[k] = others | {"budget.mu": label} if law else cells[k]
    names = _names(cells)
    renamed = [{names[place][1]: v for place, v in cell.items()} for cell in cells]
    # JSON writes 2.0 as 2, and both are one budget.
    renamed = [own | {"mu": float(own["mu"])} if isinstance(own.get("mu"), int) else own for own in renamed]
    return renamed, {name: section for section, name in names.values()}


def one_form(cells: Sequence[Settings]) -> list[Settings]:
    """Parameters by place: where one cell has a population all have theirs, with its defaults for what others state."""
    if not any(f"{OF_POPULATION}d" in cell for cell in cells):
        return list(cells)
    places = [SHORT_FORM if "problem.sigma_z" in cell else {} for cell in cells]
    formed = [{own.get(key, key): v for key, v in cell.items()} for own, cell in zip(places, cells, strict=True)]
    stated = {place for own in formed for place in own}
    return [{place: v for place, v in _defaults(own).items() if place in stated} | own for own in formed]


def _defaults(own: Settings) -> Settings:
    """What a population implies, as far as it has it: rows by columns have no law."""
    population = {place.removeprefix(OF_POPULATION): v for place, v in own.items() if place.startswith(OF_POPULATION)}
    law, implied = population.get("design.law", "normal"), {**IMPLIED}
    if not {"design.columns", "design.rows"} & population.keys():
        implied |= {"design.law": law} | ({"design.mean": 0.0} if law == "normal" else {})
    implied |= {"errors.law": "normal"} if "problem.sigma" in own else {}
    implied |= {"weights.mallows.cap": WEIGHT_CAP} if population.get("weights", "mallows") == "mallows" else {}
    return {f"{OF_POPULATION}{key}": value for key, value in implied.items()} if population else {}


def _names(cells: Sequence[Settings]) -> dict[str, tuple[str, str]]:
    """Section and column of every place in the parameters of cells; a nested value is called by its name."""
    parameters = dict[str, tuple[Parameter, list[str]]]()
    for place in dict.fromkeys(place for cell in cells for place in cell):
        section, *keys = place.split(".")
        if section == "budget":  # which configs call privacy
            section, keys = "privacy", keys if keys[0] in ("mu", "eps", "delta") else ["mu", *keys]
        inside = keys[1:-1] if keys[-1] == "name" else keys[1:]
        parameters[place] = (section, keys[0]), inside
    shared = shared_names(parameter for parameter, _ in parameters.values())
    return {place: (p[0], ".".join([column_name(p, shared), *inside])) for place, (p, inside) in parameters.items()}


def varying(cells: Iterable[Settings]) -> list[str]:
    """Names in which these cells differ, a parameter that some of them lack among them."""
    cells = list(cells)
    names = dict.fromkeys(name for cell in cells for name in cell)
    # True is not 1 here
    return [n for n in names if len({(isinstance(cell.get(n), bool), cell.get(n)) for cell in cells}) > 1]


def differences(cells: Sequence[Cell]) -> tuple[Parameter, ...]:
    """Parameters in which some of these cells differ, by which they are distinguished; those of the budget last."""
    formed = one_form([{".".join(parameter): value for parameter, value in cell.values.items()} for cell in cells])
    # As texts, since NaN is not equal to itself.
    texts = [{place: None if v is None else str(v) for place, v in cell.items()} for cell in formed]
    differing = varying(texts)
    # the number of steps is left out where it follows from the other parameters
    others = [place for place in differing if place != "run.n"]
    steps = [cell.algorithm.steps(cell.problem, cell.schedule, cell.privacy.mu) for cell in cells]
    if None not in steps and len({tuple(map(cell.get, others)) for cell in texts}) == len(cells):
        differing = others
    parameters = ((section, key) for section, _, key in (place.partition(".") for place in differing))
    return tuple(sorted(parameters, key=lambda parameter: parameter[0] == "privacy"))


def columns_of(cells: Sequence[Cell]) -> dict[str, Settings]:
    """By id what `select` is about: the columns of a cell, and what comparisons with the others call its settings."""
    several, _ = named([flat(cell.parameters) for cell in cells], [""] * len(cells))
    return {cell.cell_id: own | cell.columns() for cell, own in zip(cells, several, strict=True)}


def label(cell: Cell) -> str:
    """`name=value` of what distinguishes the cell; what it does not have is left out."""
    return " ".join(f"{name}={spelled(name, v)}" for name, v in cell.setting().items() if v is not None)


class Words:
    """Values of settings as they are shown: short, but never two alike."""

    def __init__(self, cells: Iterable[Settings]) -> None:
        numbers: dict[str, set[float]] = {}
        for name, value in (item for cell in cells for item in cell.items()):
            if isinstance(value, float):
                numbers.setdefault(name, set()).add(value)
        self.exact = {name for name, several in numbers.items() if len(set(map(_short, several))) < len(several)}

    def value(self, name: str, value: Any) -> str:
        """A value in words."""
        return spelled(name, value, name in self.exact)

    def pair(self, name: str, value: Any) -> str:
        """`name=value`."""
        return f"{name}={self.value(name, value)}"

    def setting(self, names: Sequence[str], settings: Settings) -> str:
        """`name=value` of these names, those left out that the cell does not have."""
        return " ".join(self.pair(name, settings[name]) for name in names if settings.get(name) is not None)


def spelled(name: str, value: Any, exact: bool = False) -> str:
    """A value in short: 0.2, 1/3 or, if `exact`, all its digits; non-private for an infinite mu, a dash for None."""
    if not isinstance(value, float):
        return "-" if value is None else str(value).lower() if isinstance(value, bool) else str(value)
    return NON_PRIVATE if name == "mu" and math.isinf(value) else repr(value) if exact else _short(value)


def _short(value: float) -> str:
    decimal = f"{value:g}"
    return decimal if float(decimal) == value else fraction(value)


def select(conditions: str, cells: Sequence[Mapping[str, Mapping[str, Any]]]) -> list[frozenset[str]]:
    """The ids of the cells of every experiment that fulfil all conditions `KEY=VALUE,VALUE`; `cells` are columns by id.

    A cell that lacks a column fulfils no condition on it. Raises UsageError for what is no condition, and for a column
    or a value that no cell of any experiment has.
    """
    try:
        pairs = [word.replace("==", "=").partition("=") for word in shlex.split(conditions)]
    except ValueError:
        pairs = []
    if not pairs or not all(key and values for key, _, values in pairs):
        hint = "for instance --only 'alpha=1/2,1 mu=inf'; names are columns of cells.parquet"
        raise UsageError(f"--only {conditions!r} is not KEY=VALUE,VALUE", hint)
    rows = {(k, cell_id): row for k, own in enumerate(cells) for cell_id, row in own.items()}
    columns, selected = dict.fromkeys(name for row in rows.values() for name in row), {*rows}
    for key, _, values in pairs:
        if key not in columns:
            raise UsageError(f"--only: no column '{key}'", f"{guess(key, columns)}columns: {', '.join(columns)}")
        matches = {value: {place for place, row in rows.items() if _is(row, key, value)} for value in values.split(",")}
        if wrong := [value for value, places in matches.items() if not places]:
            hint = "a space is between conditions" if "=" in wrong[0] else "dpexp validate --show CONFIG lists them"
            raise UsageError(f"--only {key}={wrong[0]} matches no cell", hint)
        selected = selected & set().union(*matches.values())
    if not selected:
        raise UsageError(f"--only {conditions!r} matches no cell", "each condition alone matches some")
    return [frozenset(i for i in own if (k, i) in selected) for k, own in enumerate(cells)]


def _is(row: Mapping[str, Any], key: str, text: str) -> bool:
    """Whether a column has the value that is written, as a number or as it is printed."""
    value, number = row.get(key), math.inf if text == NON_PRIVATE else scalar(text)
    numbers = [v for v in (value, number) if isinstance(v, int | float) and not isinstance(v, bool)]
    if len(numbers) == 2:
        # 1/3 is typed and read as a fraction, and stored as a double
        return math.isclose(*numbers, rel_tol=1e-9)
    label = row.get("budget") if key == "mu" else None
    return value is not None and text in (label, str(value), spelled("", value))
