"""`dpexp list`: experiments and their state, the registries, and the configs that come with dpexp."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpexp.config.experiment_file import load_experiment
from dpexp.config.messages import listed
from dpexp.config.settings import identity
from dpexp.config.shipped import shipped as shipped_files
from dpexp.config.yamlfile import ConfigError, NotChecked
from dpexp.core.errors import ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.text import counted
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import registries
from dpexp.reporting.table import fitting_columns, in_lines
from dpexp.store import Folder, load_generation
from dpexp.store.files import read_document
from dpexp.store.fingerprint import changed, code_of, plugins_missing
from dpexp.store.folder import experiments_in
from dpexp.store.generation import config_path
from dpexp.store.planning import CellPlan, plan


def command(results: Path, configs: Path, shipped: bool) -> tuple[dict[str, Any], str]:
    """Document and text."""
    return shipped_configs() if shipped else inventory(configs, results)


def shipped_configs() -> tuple[dict[str, Any], str]:
    """The configs that come with dpexp: document and text."""
    from dpexp.reporting.page import about

    rows = [
        {"name": name, "config": f"@{name}", "about": about(path.read_text(encoding="utf-8"))}
        for name, path in shipped_files().items()
    ]
    text = fitting_columns([[row["config"], row["about"]] for row in rows], ["config", "what it is"])
    text += "\n\nrun one: dpexp run @NAME\ncopy one to edit it: dpexp init --from NAME --out mine.yaml"
    return {"shipped": rows}, text


def names_in_use() -> dict[str, Iterable[str]]:
    """Everything that a config or command can name."""
    from dpexp.papers import figures, papers, tables

    return {**registries(), "figures": figures(), "tables": tables(), "claims of": papers()}


def _trouble(results: Path, experiment: str) -> str:
    """What readers say against stored summaries, or how they were confirmed; empty where they are shown as computed."""
    try:
        state = load_generation(results, experiment).confirmed
    except ResultsMissing as error:
        state = error.message.removeprefix(f"{Folder(results, experiment).root}: ")
    return f", {state}" if state else ""


def _stored(results: Path, name: str) -> list[str]:
    """The row of results whose config is not among those that are listed, by their manifest alone."""
    folder = Folder(results, name)
    with suppress(Damaged, OSError):
        manifest = read_document(folder.manifest)
        path, cells = config_path(manifest, folder), str(len(manifest["cells"]))
        state = _trouble(results, name).removeprefix(", ") or f"{cells} current"
        needs = [f"not checked: needs --plugin {file}" for file in plugins_missing(manifest["code"].values())]
        return [name, str(path or ""), cells, "; ".join([state, *needs])]
    return [name, "", "", "results whose config is not here"]


def changed_files(plans: Iterable[CellPlan]) -> list[str]:
    """All files that changed since stale cells were computed, of which a message names the first few."""
    stale = [(p.file.code, p.cell) for p in plans if p.status in ("stale", "unconfirmed") and p.file is not None]
    return sorted({name for code, cell in stale for name in changed(code, code_of(cell))})


def inventory(configs: Path, results: Path) -> tuple[dict[str, Any], str]:
    """Document and text. No code and no data that a config names are loaded: it may be anybody's."""
    rows, cells, experiments = [], [], []
    for path in sorted(configs.glob("*.yaml")):
        if path.is_symlink() or not path.name.isprintable():
            continue
        try:
            experiment = load_experiment(path, trusted=False)
        except NotChecked as error:
            rows.append([path.stem, str(path), "", error.issues[0].message])
            continue
        # One config that is wrong must not hide the others.
        except ConfigError as error:
            problems = counted(len(error.issues), "problem")
            rows.append([path.stem, str(path), "", f"invalid: {problems}, see dpexp validate {path}"])
            continue
        # Without solving for noise: a list is to answer at once.
        plans = plan(experiment, results)
        states = Counter(p.status for p in plans)
        state = ", ".join(f"{n} {status}" for status, n in states.items())
        stored = Folder(results, experiment.name)
        if states["current"] == len(plans):
            state += _trouble(results, experiment.name)
        # Readers still show what no config gives any more, or say why they do not.
        elif states["current"] == 0 and stored.summary.exists():
            state += f" (but summaries are stored{_trouble(results, experiment.name)})"
        rows.append([experiment.name, str(path), str(len(plans)), state])
        experiments.append(
            {
                "experiment": experiment.name,
                "config": str(path),
                "cells": len(plans),
                "status": dict(states),
                "changed": changed_files(plans),
            }
        )
        for p in plans:
            named = {"experiment": experiment.name, **identity(p.cell)}
            cells.append({**named, "status": p.status, "reason": p.reason})
    listed_here = {row[0] for row in rows}
    rows += [_stored(results, name) for name in experiments_in(results) if name not in listed_here]
    rows.sort(key=lambda row: row[0])
    names = names_in_use()
    document = {
        "cells": cells,
        "experiments": experiments,
        "registries": {kind: list(entries) for kind, entries in names.items()},
        "plugins": {plugin.name: str(plugin.shown) for plugin in LOADED.values()},
    }
    text = fitting_columns(rows, ["experiment", "config", "cells", "state"]) if rows else f"no configs in {configs}"
    if not configs.is_dir():
        text += "\n\nconfigs that come with dpexp: dpexp list --shipped; one to start from: dpexp init"
    return document, f"{text}\n\n{in_lines([(kind, listed(entries)) for kind, entries in names.items() if entries])}"
