"""`dpexp privacy`, `show` and `validate`: what a config says, without running it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from dpexp.commands.sharing import cautions
from dpexp.config import Cell, ConfigError, Experiment, load_experiment
from dpexp.config.resolved import resolved_yaml
from dpexp.config.resources import require_room
from dpexp.core.errors import UsageError
from dpexp.core.text import short


def privacy(path: Path, sets: Sequence[str]) -> tuple[dict[str, Any], str]:
    """The privacy statement of a config's mechanisms, each once: document and text."""
    from dpexp.privacy.mechanisms import local_users as local_gaussian
    from dpexp.privacy.mechanisms import stated

    experiment = load_experiment(path, sets)
    deltas = experiment.deltas
    labels = _labels(experiment)
    local = [m for m in labels if isinstance(m, local_gaussian.LocalGaussian)]
    if len(local) == len(labels):
        return local_gaussian.document(local, deltas), local_gaussian.text(local, deltas)
    central = [(label, m) for m, label in labels.items() if not isinstance(m, local_gaussian.LocalGaussian)]
    document, pages = stated.document(central, deltas), [stated.text(central, deltas)]
    if local:
        document = _mixed(local_gaussian.document(local, deltas), document)
        pages.insert(0, local_gaussian.text(local, deltas))
    data, together = notices(experiment), cautions(experiment)
    text = "\n\n".join([*pages, *(f"Data: {notice}" for notice in data), *together])
    return {**document, "data": data, "cautions": together}, text


def _labels(experiment: Experiment) -> dict[Any, str]:
    """Every mechanism once, with a name of its own: algorithm, problem, budget, and what else tells it from others."""
    cells: dict[Any, Cell] = {}
    for cell in experiment.cells:
        cells.setdefault(cell.algorithm.mechanism(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n), cell)
    alike: dict[str, list[Any]] = {}
    for mechanism, cell in cells.items():
        name = f"{cell.algorithm.name} on {cell.problem.name}, {cell.privacy.mu.label}"
        alike.setdefault(name, []).append(mechanism)
    labels: dict[Any, str] = {}
    for name, mechanisms in alike.items():
        columns = [{k: short(v) for k, v in cells[m].columns().items()} for m in mechanisms]
        telling = [k for k in columns[0] if len({own.get(k) for own in columns}) > 1]
        for mechanism, own in zip(mechanisms, columns, strict=True):
            label = ", ".join([name, *(f"{k} = {own.get(k)}" for k in telling)])
            labels[mechanism] = label if label not in labels.values() else f"{label} ({len(labels) + 1})"
    return {mechanism: labels[mechanism] for mechanism in cells}


def _mixed(local: dict[str, Any], central: dict[str, Any]) -> dict[str, Any]:
    """One document of local and central mechanisms; every statement and every best names its mechanism."""
    name = local["mechanism"]
    return {
        **{
            key: ", ".join(dict.fromkeys((local[key], central[key])))
            for key in ("mechanism", "neighboring_relation", "sampling")
        },
        "statements": [*({"mechanism": name, **s} for s in local["statements"]), *central["statements"]],
        "best": {f"{name}, {budget}": best for budget, best in local["best"].items()} | central["best"],
    }


def notices(experiment: Experiment, own: bool = False) -> list[str]:
    """What is said of the data of a config: their encoding and what is not private; or only of a user's own."""
    problems = [cell.problem for cell in experiment.cells]
    spoken = [problem.notices() for problem in problems if problem.files() or not own]
    return list(dict.fromkeys(notice for notices in spoken for notice in notices))


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
