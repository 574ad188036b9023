"""A config file becomes an Experiment: frozen, validated cells, or all mistakes of the file at once.

A list on a field that is not itself a list sweeps; several sweeps make the cartesian product, the first key of the file
varying slowest. `cases:` is an explicit list of partial overrides, which may sweep too. `--set section.key=...`
changes the file from the command line, and a resolved config is written as YAML that reads back to the same cells.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterable
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

from dpexp.config.cells import SECTIONS, Cell, Experiment
from dpexp.config.error_messages import suggest
from dpexp.config.populations import POPULATION, described
from dpexp.config.reader import Reader
from dpexp.config.shipped import MARK, missing_hint, shipped
from dpexp.config.yamlfile import ConfigError, Issue, Located, Position, config_error, parse, read_bytes
from dpexp.core.errors import UsageError
from dpexp.core.files import paths_from
from dpexp.core.text import yaml_in_line


def load_experiment(
    path: Path | str, overrides: Iterable[str] = (), replicates: int | None = None, profile: str = "paper",
    trusted: bool = True,
) -> Experiment:  # fmt: skip
    """Read and validate a config: a file, or a shipped one as `@NAME`.

    `overrides` are `section.key=value` (value in YAML), `replicates` and `profile` ("paper", "smoke") those of the
    command line. Of a config that is not `trusted` no plug-in is loaded and no data file opened. Raises UsageError for
    an unknown profile, ConfigError with all mistakes, each at its place, or NotChecked.
    """
    # Before the file is opened: what changes while it is read has changed since.
    read_at, path = time.time_ns(), located(path)
    data = read_bytes(path, missing_hint(path))
    experiment = read_experiment(data, str(path), overrides, replicates, profile, trusted)
    return replace(experiment, text=data.decode("utf-8-sig", "replace"), read_at=read_at)


def read_experiment(
    text: str | bytes, source: str, overrides: Iterable[str] = (), replicates: int | None = None,
    profile: str = "paper", trusted: bool = True,
) -> Experiment:  # fmt: skip
    """An experiment from YAML text instead of a file; `source` names it in errors. Raises as `load_experiment`."""
    if profile not in ("smoke", "paper"):
        raise UsageError(f"--profile is smoke or paper, not {profile!r}")
    read_at, root, path, issues = time.time_ns(), parse(text, source), Path(source), list[Issue]()
    changes = {text: f"--set {text}" for text in overrides}
    if replicates is not None:
        # An option of its own is a change like any other, which messages call by its own name.
        changes[f"run.replicates={replicates}"] = f"--replicates {replicates}"
    for change, option in changes.items():
        try:
            root = _changed(root, change, Position(option))
        except ConfigError as error:
            issues += error.issues
    with paths_from(path.parent if trusted else None):
        experiment = Reader(root, path, profile, issues, trusted).experiment()
    return replace(experiment, overrides=tuple(changes), read_at=read_at)


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


def _changed(root: Located, text: str, where: Position) -> Located:
    """The file with `a.b=value` set. Raises ConfigError."""
    path, equals, value = text.partition("=")
    keys, known = path.strip().split("."), ("experiment", *SECTIONS, POPULATION)
    if not equals or not all(keys) or not isinstance(root.value, dict):
        raise config_error(where, "must read section.key=value", "for instance --set run.n=3000")
    # Which keys a section has is not known before its name is read.
    if keys[0] not in known or (len(keys) > 2 and keys[0] != POPULATION):
        raise config_error(where, f"unknown key '{path}'", suggest(keys[0], known))
    try:
        return root.put(tuple(keys), parse(value, str(where)).value if value.strip() else None, where)
    except ConfigError as error:
        raise ConfigError([Issue(where, issue.message) for issue in error.issues]) from None


def resolved_yaml(experiment: Experiment) -> str:
    """The experiment with every default filled in; sweeps stay lists, `cases` stay cases.

    Comments at the end describe populations.
    """
    cells = [sections_of(cell) for cell in experiment.cells]
    swept = sorted(experiment.cells[0].swept, key=lambda parameter: SECTIONS.index(parameter[0]))
    texts = [{(s, k): yaml_in_line(v) for s, own in cell.items() for k, v in own.items()} for cell in cells]
    points = [tuple(map(text.get, swept)) for text in texts]
    levels = [list(dict.fromkeys(column)) for column in zip(*points, strict=True)]
    fixed = {place for place, value in texts[0].items() if all(text.get(place) == value for text in texts)}
    # numbers of steps, and deltas of targets, follow from what sweeps
    following = {("run", "n"), *[("privacy", "deltas")] * (("privacy", "delta") in swept)} - {*swept}
    lines = [f"experiment: {experiment.name}"]
    lines += [f"plugins: {json.dumps(experiment.plugins)}"] if experiment.plugins else []
    if points == list(product(*levels)) and all(
        text.keys() - fixed - following == set(swept) - fixed for text in texts
    ):
        own = {place: texts[0][place] for place in texts[0] if place in fixed}
        own |= {place: f"[{', '.join(map(str, values))}]" for place, values in zip(swept, levels, strict=True)}
        for section in cells[0]:
            lines += [f"{section}:", *(f"  {k}: {own[s, k]}" for s, k in texts[0] if s == section and (s, k) in own)]
    else:
        # Sections that all cells share are written once, and cases have the others.
        shared = [section for section, own in cells[0].items() if all(cell.get(section) == own for cell in cells)]
        for section in shared:
            lines += [f"{section}:", *(f"  {k}: {yaml_in_line(v)}" for k, v in cells[0][section].items())]
        cases = ({section: own for section, own in cell.items() if section not in shared} for cell in cells)
        lines += ["cases:", *(f"  - {yaml_in_line(case)}" for case in cases)]
    lines += [f"# population: {line}" for line in described(experiment.cells)]
    return "\n".join(lines) + "\n"


def sections_of(cell: Cell) -> dict[str, dict[str, Any]]:
    """The sections of a config that has this cell alone."""
    budget, problem = cell.privacy.mu.model_dump(), cell.problem.model_dump()
    population = problem.pop(POPULATION, None)
    privacy = budget if cell.privacy.eps is not None else {"mu": budget.get("mu", budget)}
    return {
        "problem": problem,
        **({} if population is None else {POPULATION: population}),
        "algorithm": cell.algorithm.model_dump(),
        "schedule": cell.schedule.model_dump(),
        "privacy": privacy | {"deltas": list(cell.privacy.deltas)},
        "run": cell.run.model_dump(),
    }
