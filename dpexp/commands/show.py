"""`dpexp show`: a config with every default filled in."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from dpexp.commands.profiles import known_profile
from dpexp.config import load_experiment
from dpexp.config.resolved import resolved_yaml


def show(path: Path, sets: Sequence[str], replicates: int | None, profile: str) -> str:
    """The resolved config."""
    return resolved_yaml(load_experiment(path, sets, replicates, known_profile(profile)))
