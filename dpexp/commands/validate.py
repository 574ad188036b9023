"""What config files say: `dpexp validate` checks them, with --show it prints them with every default."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.config.experiment_file import load_experiment, resolved_yaml
from dpexp.config.resources import require_room
from dpexp.config.yamlfile import ConfigError, Issue
from dpexp.core.errors import USAGE, UsageError
from dpexp.core.standard_json import standard_json
from dpexp.core.terminal import warn
from dpexp.core.text import counted


class Checked(NamedTuple):
    """One config: its cells and the notices on its data, or everything that is wrong."""

    path: Path
    cells: int
    notices: tuple[str, ...]
    issues: tuple[Issue, ...]

    @property
    def lines(self) -> list[str]:
        """For people: that it is valid, and the notices."""
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


def command(
    configs: Sequence[Path], sets: Sequence[str], replicates: int | None, profile: str, show: bool, schema: bool
) -> tuple[Any, ...]:
    """Document, text and exit code, as the command line has it; what is wrong goes to stderr with the text."""
    if schema:
        from dpexp.config.schema import json_schema

        return json_schema(), standard_json(json_schema())
    if not configs:
        raise UsageError("no config is named", "dpexp validate CONFIG, or --schema for the schema of configs")
    if show:
        return _show(configs, sets, replicates, profile)
    checked = validate(configs, sets, profile)

    def text() -> str:
        for issue in [issue for one in checked for issue in one.issues]:
            warn(issue)
        return "\n".join(line for one in checked for line in one.lines)

    return [one.document for one in checked], text, USAGE if any(one.issues for one in checked) else 0


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


def _show(paths: Sequence[Path], sets: Sequence[str], replicates: int | None, profile: str) -> tuple[Any, str]:
    """Configs with every default: a document with every cell of each, in a list if they are several, and YAML."""
    experiments = [load_experiment(path, sets, replicates, profile) for path in paths]
    documents = [
        {"experiment": one.name, "replicates": one.replicates,
         "cells": [{"cell_id": c.cell_id, "setting": c.setting(), **c.parameters} for c in one.cells]}
        for one in experiments
    ]  # fmt: skip
    text = "".join(map(resolved_yaml, experiments)).rstrip("\n")
    return documents if len(documents) > 1 else documents[0], text
