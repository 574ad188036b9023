"""From the parameters that results keep of a cell back to the cell."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, TypeVar

from dpexp.config.cells import Cell, RunSettings
from dpexp.core.errors import ResultsMissing
from dpexp.privacy.budgets import PrivacySettings

T = TypeVar("T")


def stored_cell(experiment: str, parameters: dict[str, Any]) -> Cell:
    """The cell whose `parameters` these are.

    Raises ResultsMissing where they name something that is not there, as after a plug-in has lost it, and ValueError
    where this version does not take them.
    """
    from dpexp.algorithms import ALGORITHMS
    from dpexp.algorithms.schedules import SCHEDULES
    from dpexp.privacy.budgets import BUDGETS, Budget, Target
    from dpexp.problems import PROBLEMS

    values = _numbers(parameters)
    problem, algorithm, schedule = (values[section] for section in ("problem", "algorithm", "schedule"))
    kinds: list[type[Budget]] = [*BUDGETS.values(), Target]
    budgets = {" and ".join(sorted(kind.model_fields)): kind for kind in kinds}
    budget = _known(experiment, "law of budgets", " and ".join(sorted(values["budget"])), budgets)
    return Cell(
        experiment,
        _known(experiment, "problem", problem["name"], PROBLEMS)(**problem),
        _known(experiment, "algorithm", algorithm["name"], ALGORITHMS)(**algorithm),
        _known(experiment, "schedule", schedule["name"], SCHEDULES)(**schedule),
        PrivacySettings(mu=budget(**values["budget"])),
        RunSettings(**values["run"]),
    )


def _known(experiment: str, section: str, name: str, there: Mapping[str, type[T]]) -> type[T]:
    if name in there:
        return there[name]
    hint = "load the plug-in that defines it: --plugin FILE.py"
    raise ResultsMissing(f"{experiment}: the {section} '{name}' of these results is not there", hint)


def _numbers(value: Any) -> Any:
    """Infinity is stored as the word inf, and tuples as lists."""
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return tuple(_numbers(v) for v in value)
    return math.inf if value == "inf" else value
