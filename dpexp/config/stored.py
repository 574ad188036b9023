"""From the parameters that results keep of a cell back to the cell."""

from __future__ import annotations

import math
from typing import Any

from dpexp.config.cells import Cell, RunSettings
from dpexp.privacy.settings import PrivacySettings


def stored_cell(experiment: str, parameters: dict[str, Any]) -> Cell:
    """The cell whose `parameters` these are. Raises KeyError or ValueError where this version does not know them."""
    from dpexp.algorithms import ALGORITHMS
    from dpexp.privacy.budgets import BUDGETS, Budget
    from dpexp.privacy.targets import Target
    from dpexp.problems import PROBLEMS
    from dpexp.schedules import SCHEDULES

    values = _numbers(parameters)
    problem, algorithm, schedule = (values[section] for section in ("problem", "algorithm", "schedule"))
    kinds: list[type[Budget]] = [*BUDGETS.values(), Target]
    (kind,) = [kind for kind in kinds if set(kind.model_fields) == set(values["budget"])]
    return Cell(
        experiment,
        PROBLEMS[problem["name"]](**problem),
        ALGORITHMS[algorithm["name"]](**algorithm),
        SCHEDULES[schedule["name"]](**schedule),
        PrivacySettings(mu=kind(**values["budget"])),
        RunSettings(**values["run"]),
    )


def _numbers(value: Any) -> Any:
    """Infinity is stored as the word inf, and tuples as lists."""
    if isinstance(value, dict):
        return {k: _numbers(v) for k, v in value.items()}
    if isinstance(value, list):
        return tuple(_numbers(v) for v in value)
    return math.inf if value == "inf" else value
