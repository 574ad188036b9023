"""`dpexp list`: experiments and their state, the registries, and the configs that come with dpexp."""

from __future__ import annotations

from collections import Counter
from contextlib import suppress
from pathlib import Path

from dpexp.commands.answer import RESULTS, Answer
from dpexp.config.cell_settings import identity
from dpexp.config.error_messages import listed
from dpexp.config.experiment_file import load_experiment
from dpexp.config.shipped import shipped as shipped_files
from dpexp.config.yamlfile import ConfigError, NotChecked
from dpexp.core.errors import ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.text import counted
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import registries
from dpexp.reporting.text_table import fitting_columns, in_lines
from dpexp.store import Folder, load_generation
from dpexp.store.documents import read_document
from dpexp.store.fingerprint import changed, code_of, plugins_missing
from dpexp.store.folder import experiments_in
from dpexp.store.generation import config_path
from dpexp.store.planning import plan


def inventory(*, configs: Path = Path("configs"), results: Path = RESULTS, shipped: bool = False) -> Answer:
    """Experiments and names. No code and no data that a config names are loaded: it may be anybody's."""
    from dpexp.papers import figures, papers, tables

    if shipped:
        return _shipped_configs()
    rows, cells, experiments = [], [], []
    for path in sorted(configs.glob("*.yaml")):
        if path.is_symlink() or not path.name.isprintable():
            continue
        try:
            experiment = load_experiment(path, trusted=False)
        # One config that is wrong must not hide the others.
        except ConfigError as error:
            state = f"invalid: {counted(len(error.issues), 'problem')}, see dpexp validate {path}"
            state = error.issues[0].message if isinstance(error, NotChecked) else state
            rows.append([path.stem, str(path), "", state])
            continue
        # Without solving for noise: a list is to answer at once.
        plans = plan(experiment, results)
        states = Counter(p.status for p in plans)
        remarks = [", ".join(f"{n} {status}" for status, n in states.items())]
        if states["current"] == len(plans):
            remarks.append(_remark(results, experiment.name))
        # Readers still show what no config gives any more, or say why they do not.
        elif states["current"] == 0 and Folder(results, experiment.name).summary.exists():
            remarks += ["but summaries are stored", _remark(results, experiment.name)]
        rows.append([experiment.name, str(path), str(len(plans)), ", ".join(filter(None, remarks))])
        old = [(p.file.code, p.cell) for p in plans if p.status in ("stale", "unconfirmed") and p.file is not None]
        files = sorted({name for code, cell in old for name in changed(code, code_of(cell))})
        experiments.append({"experiment": experiment.name, "config": str(path), "cells": len(plans),
                            "status": dict(states), "changed": files})  # fmt: skip
        cells += [
            {"experiment": experiment.name, **identity(p.cell), "status": p.status, "reason": p.reason} for p in plans
        ]
    known = {row[0] for row in rows}
    rows += [_stored(results, name) for name in experiments_in(results) if name not in known]
    rows.sort(key=lambda row: row[0])
    names = {**registries(), "figures": figures(), "tables": tables(), "claims of": papers()}
    document = {
        "cells": cells, "experiments": experiments,
        "registries": {kind: list(entries) for kind, entries in names.items()},
        "plugins": {plugin.name: str(plugin.typed) for plugin in LOADED.values()},
    }  # fmt: skip
    text = fitting_columns(rows, ["experiment", "config", "cells", "state"]) if rows else f"no configs in {configs}"
    if not configs.is_dir():
        text += "\n\nconfigs that come with dpexp: dpexp list --shipped; one to start from: dpexp init"
    lines = in_lines([(kind, listed(entries)) for kind, entries in names.items() if entries])
    return Answer(f"{text}\n\n{lines}", document)


def _shipped_configs() -> Answer:
    """The configs that come with dpexp."""
    from dpexp.reporting.page import about

    rows = [[f"@{name}", about(path.read_text(encoding="utf-8"))] for name, path in shipped_files().items()]
    text = fitting_columns(rows, ["config", "what it is"])
    text += "\n\nrun one: dpexp run @NAME\ncopy one to edit it: dpexp init --from NAME --out mine.yaml"
    return Answer(text, {"shipped": [{"name": row[0][1:], "config": row[0], "about": row[1]} for row in rows]})


def _remark(results: Path, experiment: str) -> str:
    """Why readers refuse stored summaries, or how they were confirmed; empty where they are shown as computed."""
    try:
        return load_generation(results, experiment).confirmed
    except ResultsMissing as error:
        return error.message.removeprefix(f"{Folder(results, experiment).root}: ")


def _stored(results: Path, name: str) -> list[str]:
    """The row of results whose config is not among those that are listed, by their manifest alone."""
    folder = Folder(results, name)
    with suppress(Damaged, OSError):
        manifest = read_document(folder.manifest)
        path, cells = config_path(manifest, folder), str(len(manifest["cells"]))
        state = _remark(results, name) or f"{cells} current"
        needs = [f"not checked: needs --plugin {file}" for file in plugins_missing(manifest["code"].values())]
        return [name, str(path or ""), cells, "; ".join([state, *needs])]
    return [name, "", "", "results whose config is not here"]
