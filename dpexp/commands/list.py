"""`dpexp list`: experiments and their state, the registries, and the configs that come with dpexp."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from textwrap import shorten

from dpexp.commands.command_answer import RESULTS, Answer
from dpexp.config.error_messages import listed
from dpexp.config.experiment_file import load_experiment
from dpexp.config.shipped import shipped as shipped_files
from dpexp.config.yamlfile import ConfigError, NotChecked
from dpexp.core.errors import ResultsMissing
from dpexp.core.text import columns, counted
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import registries
from dpexp.reporting.text_table import fitting_columns
from dpexp.store.folder import Folder, experiments_in
from dpexp.store.generation import config_path
from dpexp.store.planning import plan
from dpexp.store.reading import load_generation

LONGEST = 90
"""letters of what a config is"""
COLUMNS = ("experiment", "config", "cells", "state")


def inventory(*, configs: Path = Path("configs"), results: Path = RESULTS, shipped: bool = False) -> Answer:
    """Experiments and names. No code and no data that a config names are loaded: it may be anybody's."""
    from dpexp.papers import figures, papers, tables

    if shipped:
        return _shipped_configs()
    paths = [path for path in sorted(configs.glob("*.yaml")) if not path.is_symlink() and path.name.isprintable()]
    rows = [_configured(path, results) for path in paths]
    rows += [_stored(results, name) for name in experiments_in(results) if name not in {row[0] for row in rows}]
    rows.sort()
    names = {**registries(), "figures": figures(), "tables": tables(), "claims of": papers()}
    document = {
        "experiments": [dict(zip(COLUMNS, row, strict=True)) for row in rows],
        "registries": {kind: list(entries) for kind, entries in names.items()},
        "plugins": {plugin.name: str(plugin.typed) for plugin in LOADED.values()},
    }  # fmt: skip
    text = fitting_columns(rows, COLUMNS) if rows else f"no configs in {configs}"
    if not configs.is_dir():
        text += "\n\nconfigs that come with dpexp: dpexp list --shipped; one to start from: dpexp init"
    lines = columns([(kind, listed(entries)) for kind, entries in names.items() if entries])
    return Answer(f"{text}\n\n{lines}", document)


def _configured(path: Path, results: Path) -> list[str]:
    """The row of a config."""
    try:
        experiment = load_experiment(path, trusted=False)
    # One config that is wrong must not hide the others.
    except ConfigError as error:
        invalid = f"invalid: {counted(len(error.issues), 'problem')}, see dpexp validate {path}"
        return [path.stem, str(path), "", invalid]
    except NotChecked as error:
        return [path.stem, str(path), "", error.message]
    # Without solving for noise: a list is to answer at once.
    states = Counter(p.status for p in plan(experiment, results))
    state = ", ".join(f"{n} {status}" for status, n in states.items())
    return [experiment.name, str(path), str(len(experiment.cells)), state]


def _stored(results: Path, name: str) -> list[str]:
    """The row of results whose config is not among those that are listed, by their manifest alone."""
    folder = Folder(results, name)
    try:
        generation = load_generation(results, name)
    except ResultsMissing as error:
        return [name, "", "", error.message.removeprefix(f"{folder.root}: ")]
    cells = str(len(generation.manifest["cells"]))
    return [name, str(config_path(generation.manifest, folder) or ""), cells, f"{cells} current"]


def _shipped_configs() -> Answer:
    """The configs that come with dpexp."""
    from dpexp.reporting.page import about

    texts = {name: about(path.read_text(encoding="utf-8")) for name, path in shipped_files().items()}
    rows = [[f"@{name}", shorten(text.partition(". ")[0], LONGEST, placeholder="...")] for name, text in texts.items()]
    table = fitting_columns(rows, ["config", "what it is"])
    table += "\n\nrun one: dpexp run @NAME\ncopy one to edit it: dpexp init --from NAME --out mine.yaml"
    return Answer(table, {"shipped": [{"name": k, "config": f"@{k}", "about": text} for k, text in texts.items()]})
