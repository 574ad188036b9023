"""A config file becomes an Experiment: frozen, validated cells, or all mistakes of the file at once."""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dpexp.config.cells import POPULATION, SECTIONS, Experiment
from dpexp.config.error_messages import suggest
from dpexp.config.reader import Reader
from dpexp.config.sections import REPLACED
from dpexp.config.shipped import MARK, missing_hint, shipped
from dpexp.config.yamlfile import Position, Section, collected, config_error, parse_mapping, read_bytes, with_text
from dpexp.core.errors import UsageError
from dpexp.core.files import paths_from
from dpexp.core.text import yaml_in_line


def load_experiment(
    path: Path | str, overrides: Iterable[str] = (), replicates: int | None = None, profile: str = "paper"
) -> Experiment:
    """Read and validate a config: a file, or a shipped one as `@NAME`.

    `overrides` are `section.key=value` (value in YAML), `replicates` and `profile` ("paper", "smoke") those of the
    command line. Raises UsageError for an unknown profile, and ConfigError with all mistakes, each at its place.
    """
    path = located(path)
    return read_experiment(read_bytes(path, missing_hint(path)), str(path), overrides, replicates, profile)


def read_experiment(
    text: str | bytes, source: str, overrides: Iterable[str] = (), replicates: int | None = None, profile: str = "paper"
) -> Experiment:
    """An experiment from YAML text or the bytes of a file, which errors call `source`. Raises as `load_experiment`."""
    if profile not in ("smoke", "paper"):
        raise UsageError(f"--profile is smoke or paper, not {profile!r}")
    # before any data file is opened: what changes while it is read has changed since
    read_at, path = time.time_ns(), Path(source)
    root = parse_mapping(text, source, "a config", f"sections: {', '.join(SECTIONS)}")
    reader = Reader(root, path, profile)
    changes = {change: f"--set {change}" for change in overrides}
    if replicates is not None:
        # An option of its own is a change like any other, which messages call by its own name.
        changes[f"run.replicates={replicates}"] = f"--replicates {replicates}"
    for change, option in changes.items():
        with collected(reader.issues):
            reader.root = _changed(reader.root, change, Position(option))
    with paths_from(path.parent):
        experiment = reader.experiment()
    of_file = text.decode("utf-8-sig", "replace") if isinstance(text, bytes) else ""
    return replace(experiment, overrides=tuple(changes), read_at=read_at, text=of_file)


def located(path: Path | str) -> Path:
    """The file that a command line means: `@NAME` is a shipped config, anything else a path. Raises ConfigError."""
    written = str(path)
    # A file of the user's own that begins with the mark is the user's.
    if not written.startswith(MARK) or Path(written).exists():
        return Path(path)
    name = written.removeprefix(MARK).removesuffix(".yaml")
    if name not in shipped():
        raise config_error(Position(written), f"no shipped config is called '{name}'", suggest(name, shipped()))
    return shipped()[name]


def _changed(root: Section, text: str, where: Position) -> Section:
    """The file with `a.b=value` set. Raises ConfigError."""
    path, equals, value = text.partition("=")
    keys, known = tuple(path.strip().split(".")), ("experiment", *SECTIONS, POPULATION)
    if not equals or not all(keys):
        raise config_error(where, "must read section.key=value", "for instance --set run.n=3000")
    # Which keys a section has is not known before its name is read.
    if keys[0] not in known or (len(keys) > 2 and keys[0] != POPULATION):
        raise config_error(where, f"unknown key '{path}'", suggest(keys[0], known))
    if keys[0] == "privacy" and isinstance(privacy := root.get("privacy"), Section):
        # one kind of budget replaces the other, as in a case
        root = root.put(["privacy"], privacy.without(REPLACED.get(keys[-1], ())))
    return with_text(root, keys, value, where)


def resolved_yaml(experiment: Experiment) -> str:
    """YAML that reads back to the same cells, with every default: what all cells share, and cases with the rest."""
    cells = []
    for cell in experiment.cells:
        budget, problem = cell.privacy.mu.model_dump(), cell.problem.model_dump()
        sections = {"problem": problem, **{key: problem.pop(key) for key in [POPULATION] if key in problem}}
        privacy = budget if cell.privacy.eps is not None else {"mu": budget.get("mu", budget)}
        sections |= {"algorithm": cell.algorithm.model_dump(), "schedule": cell.schedule.model_dump()}
        cells.append(sections | {"privacy": privacy | {"deltas": cell.privacy.deltas}, "run": cell.run.model_dump()})
    shared = [section for section, own in cells[0].items() if all(cell.get(section) == own for cell in cells)]
    lines = [f"experiment: {experiment.name}"]
    lines += [f"plugins: {json.dumps(experiment.plugins)}"] if experiment.plugins else []
    for section in shared:
        lines += [f"{section}:", *(f"  {key}: {yaml_in_line(value)}" for key, value in cells[0][section].items())]
    if len(cells) > 1:
        cases = ({section: own for section, own in cell.items() if section not in shared} for cell in cells)
        lines += ["cases:", *(f"  - {yaml_in_line(case)}" for case in cases)]
    return "\n".join(lines) + "\n"
