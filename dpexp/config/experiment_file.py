"""A config file becomes an Experiment: frozen, validated cells, or all that is wrong with the file at once.

A list on a field that is not itself a list sweeps; several sweeps make the cartesian product, the first key of the file
varying slowest. `cases:` is an explicit list of partial overrides, each of which may sweep too.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

from dpexp.config.cells import Experiment
from dpexp.config.overrides import override
from dpexp.config.reader import Reader
from dpexp.config.shipped import MARK, shipped
from dpexp.config.words import suggest
from dpexp.config.yamlfile import ConfigError, Issue, Located, Position, YamlErrors, decode, parse, read_bytes


def load_experiment(
    path: Path | str, overrides: Iterable[str] = (), replicates: int | None = None, profile: str = "paper"
) -> Experiment:
    """Read and validate a config: a file, or a shipped one as `@NAME`.

    `overrides` are `section.key=value` (value in YAML), `replicates` and `profile` ("paper", "smoke") those of the
    command line. Raises ConfigError with every problem found, each at its place.
    """
    read_at = time.time_ns()
    try:
        path = located(path)
        data = read_bytes(path)
        root = decode(data, path)
    except YamlErrors as error:
        raise ConfigError(error.issues) from None
    experiment = _resolve(root, path, overrides, replicates, profile)
    return replace(experiment, sha256=hashlib.sha256(data).hexdigest(), read_at=read_at)


def read_experiment(
    text: str, source: str, overrides: Iterable[str] = (), replicates: int | None = None, profile: str = "paper"
) -> Experiment:
    """An experiment from YAML text instead of a file; `source` names it in errors. Raises ConfigError."""
    try:
        root = parse(text, source)
    except YamlErrors as error:
        raise ConfigError(error.issues) from None
    return _resolve(root, Path(source), overrides, replicates, profile)


def located(path: Path | str) -> Path:
    """The file that a command line means: `@NAME` is a shipped config, anything else a path.

    Raises YamlErrors for a name that is not shipped.
    """
    written = str(path)
    if not written.startswith(MARK) or Path(written).exists():
        return Path(path)
    name = written.removeprefix(MARK).removesuffix(".yaml")
    if name not in shipped():
        message = f"no shipped config is called '{name}'"
        raise YamlErrors([Issue(Position(written), message, suggest(name, shipped()))])
    return shipped()[name]


def _resolve(root: Located, path: Path, overrides: Iterable[str], replicates: int | None, profile: str) -> Experiment:
    issues: list[Issue] = []
    shown = dict.fromkeys(overrides, "")
    if replicates is not None:
        shown[f"run.replicates={replicates}"] = f"--replicates {replicates}"
    for text, source in shown.items():
        root = override(root, text, issues, source)
    return replace(Reader(path, profile, issues).experiment(root), overrides=tuple(shown))
