"""`dpexp validate`: check configs without running them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.notices import notices
from dpexp.commands.profiles import known_profile
from dpexp.config import ConfigError, load_experiment
from dpexp.config.resources import require_room
from dpexp.core.text import counted


def validate(paths: Sequence[Path], sets: Sequence[str], profile: str) -> tuple[list[str], list[str]]:
    """A line for every valid config, and everything that is wrong with the others."""
    lines: list[str] = []
    issues: list[str] = []
    for path in paths:
        try:
            experiment = load_experiment(path, sets, profile=known_profile(profile))
            require_room(experiment)
        except ConfigError as error:
            issues += [str(issue) for issue in error.issues]
        else:
            lines.append(f"ok {path} ({counted(len(experiment.cells), 'cell')})")
            lines += [f"    {notice}" for notice in notices(experiment, own=True)]
    return lines, issues
