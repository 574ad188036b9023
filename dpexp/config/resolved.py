"""A resolved config as YAML that reads back to the same cells."""

from __future__ import annotations

import json
from typing import Any

from dpexp.config.cells import Cell, Experiment
from dpexp.core.flow import flow


def resolved_yaml(experiment: Experiment) -> str:
    """The experiment with every default filled in; sweeps stay lists, `cases` stay cases."""
    first: dict[str, Any] = dict(_sections(experiment.cells[0]))
    if experiment.sweeps:
        for (section, key), values in experiment.sweeps.items():
            first[section][key] = list(values)
    elif len(experiment.cells) > 1:
        base = {s: v for s, v in first.items() if all(_sections(c)[s] == v for c in experiment.cells)}
        cases = [{s: v for s, v in _sections(c).items() if s not in base} for c in experiment.cells]
        first = base | {"cases": cases}
    lines = [f"experiment: {experiment.name}"]
    lines += [f"plugins: {json.dumps(experiment.plugins)}"] if experiment.plugins else []
    for section, value in first.items():
        if section == "cases":
            lines += ["cases:", *(f"  - {flow(case)}" for case in value)]
        else:
            lines += [f"{section}:", *(f"  {key}: {flow(v)}" for key, v in value.items())]
    return "\n".join(lines) + "\n"


def _sections(cell: Cell) -> dict[str, dict[str, Any]]:
    budget = cell.privacy.mu.model_dump()
    return {
        "problem": cell.problem.model_dump(),
        "algorithm": cell.algorithm.model_dump(),
        "schedule": cell.schedule.model_dump(),
        "privacy": (budget if cell.privacy.eps is not None else {"mu": budget.get("mu", budget)})
        | {"deltas": list(cell.privacy.deltas)},
        "run": cell.run.model_dump(),
    }
