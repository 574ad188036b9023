"""What config files say: `dpexp validate` checks them, with --show it prints them with every default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.config.experiment_file import load_experiment, resolved_yaml
from dpexp.config.resources import require_room
from dpexp.config.settings import setting
from dpexp.config.yamlfile import ConfigError, Issue
from dpexp.core.text import counted


class Checked(NamedTuple):
    """What was found in one config: its cells and what is said of its data, or everything that is wrong."""

    path: Path
    cells: int
    notices: tuple[str, ...]
    issues: tuple[Issue, ...]

    @property
    def lines(self) -> list[str]:
        """For people: that it is valid, and what is to be known about it."""
        if self.issues:
            return []
        return [f"ok {self.path} ({counted(self.cells, 'cell')})", *(f"    {notice}" for notice in self.notices)]

    @property
    def document(self) -> dict[str, Any]:
        """For programs."""
        issues = [
            {"where": str(i.where), "line": i.where.line or None, "message": i.message, "hint": i.hint or None}
            for i in self.issues
        ]
        return {"config": str(self.path), "valid": not issues, "cells": self.cells, "issues": issues}


def validate(paths: Sequence[Path], sets: Sequence[str], profile: str) -> list[Checked]:
    """Configs, and what is wrong with each."""
    return [_check(path, sets, profile) for path in paths]


def _check(path: Path, sets: Sequence[str], profile: str) -> Checked:
    try:
        experiment = load_experiment(path, sets, profile=profile)
        # What is too large for this machine is refused before it is run.
        require_room(experiment)
    except ConfigError as error:
        return Checked(path, 0, (), tuple(error.issues))
    experiment.require_records()
    notices = (*experiment.notices(own=True), *experiment.remarks())
    return Checked(path, len(experiment.cells), notices, ())


def show(path: Path, sets: Sequence[str], replicates: int | None, profile: str) -> str:
    """The resolved config."""
    return resolved_yaml(load_experiment(path, sets, replicates, profile))


def shown(path: Path, sets: Sequence[str], replicates: int | None, profile: str) -> dict[str, Any]:
    """The same for programs: every cell with its id and all its parameters, by section."""
    experiment = load_experiment(path, sets, replicates, profile)
    cells = [{"cell_id": cell.cell_id, "setting": setting(cell), **cell.parameters} for cell in experiment.cells]
    return {"experiment": experiment.name, "replicates": experiment.replicates, "cells": cells}
