"""`dpexp privacy`, `show` and `validate`: what a config says, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.config import ConfigError, Experiment, load_experiment
from dpexp.config.resolved import resolved_yaml
from dpexp.config.resources import require_room
from dpexp.errors import UsageError


def privacy(path: Path, sets: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The privacy statement of a config's mechanisms, each once: document and text."""
    from dpexp.privacy import local_gaussian, stated

    experiment = load_experiment(path, sets)
    labels: dict[Any, str] = {}
    for cell in experiment.cells:
        mechanism = cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        labels.setdefault(mechanism, f"{cell.algorithm.name} on {cell.problem.name}, {cell.privacy.mu.label}")
    local = [m for m in labels if isinstance(m, local_gaussian.LocalGaussian)]
    if len(local) == len(labels):
        return local_gaussian.document(local, experiment.deltas), local_gaussian.text(local, experiment.deltas)
    named = [(label, mechanism) for mechanism, label in labels.items()]
    document, text = stated.document(named, experiment.deltas), stated.text(named, experiment.deltas)
    data = notices(experiment)
    return {**document, "data": data}, "\n\n".join([text, *(f"Data: {notice}" for notice in data)])


def notices(experiment: Experiment, own: bool = False) -> list[str]:
    """What is said of the data of a config: their encoding and what is not private; or only of a user's own."""
    problems = [cell.problem for cell in experiment.cells if hasattr(cell.problem, "notice")]
    return list(dict.fromkeys(problem.notice for problem in problems if problem.contents or not own))


def show(path: Path, sets: Sequence[str], replicates: int | None, profile: str) -> str:
    """The resolved config."""
    return resolved_yaml(load_experiment(path, sets, replicates, _known(profile)))


def validate(paths: Sequence[Path], sets: Sequence[str], profile: str) -> tuple[list[str], list[str]]:
    """A line for every valid config, and everything that is wrong with the others."""
    lines: list[str] = []
    issues: list[str] = []
    for path in paths:
        try:
            experiment = load_experiment(path, sets, profile=_known(profile))
            require_room(experiment)
        except ConfigError as error:
            issues += [str(issue) for issue in error.issues]
        else:
            lines.append(f"ok {path} ({len(experiment.cells)} cells)")
            lines += [f"    {notice}" for notice in notices(experiment, own=True)]
    return lines, issues


def _known(profile: str) -> str:
    if profile not in ("smoke", "paper"):
        raise UsageError(f"--profile is smoke or paper, not {profile!r}")
    return profile
