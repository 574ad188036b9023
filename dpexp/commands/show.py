"""`dpexp show`: a config with every default filled in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.config.experiment_file import load_experiment, resolved_yaml
from dpexp.config.settings import setting


def show(path: Path, sets: Sequence[str], replicates: int | None, profile: str) -> str:
    """The resolved config."""
    return resolved_yaml(load_experiment(path, sets, replicates, profile))


def document(path: Path, sets: Sequence[str], replicates: int | None, profile: str) -> dict[str, Any]:
    """The same for programs: every cell with its id and all its parameters, by section."""
    experiment = load_experiment(path, sets, replicates, profile)
    cells = [{"cell_id": cell.cell_id, "setting": setting(cell), **cell.parameters} for cell in experiment.cells]
    return {"experiment": experiment.name, "replicates": experiment.replicates, "cells": cells}
