"""Experiments and their state, and the registries: what `dpexp list` shows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from dpexp.config.experiment_file import load_experiment
from dpexp.config.messages import listed
from dpexp.config.settings import identity
from dpexp.config.yamlfile import ConfigError
from dpexp.core.errors import ResultsMissing
from dpexp.core.files import Damaged
from dpexp.core.text import counted
from dpexp.plugins.loaded import LOADED
from dpexp.plugins.loading import registries
from dpexp.store import Folder, load_generation
from dpexp.store.files import read_document
from dpexp.store.fingerprint import changed, code_of, plugins_missing
from dpexp.store.folder import experiments_in
from dpexp.store.generation import config_path, read_generation
from dpexp.store.planning import CellPlan, derived_state, plan


def names_in_use() -> dict[str, Iterable[str]]:
    """Everything that a config or command can name."""
    from dpexp.papers import figures, papers, tables

    return {**registries(), "figures": figures(), "tables": tables(), "claims of": papers()}


def _trouble(results: Path, experiment: str) -> str:
    """What readers say against stored summaries, or how they were confirmed; empty where they are shown as computed."""
    try:
        told = load_generation(results, experiment).confirmed
    except ResultsMissing as error:
        told = error.message.removeprefix(f"{Folder(results, experiment).root}: ")
    return f", {told}" if told else ""


class Named(NamedTuple):
    """A config file, and how it was run: what the command line changed, and the size."""

    path: Path
    sets: tuple[str, ...] = ()
    profile: str = "paper"


def _named(folder: Folder) -> Named | None:
    """The config that stored results name; None where it is not there, they cannot be read, or plug-ins are missing."""
    with suppress(Damaged, OSError):
        manifest = read_document(folder.manifest)
        # whoever lists results has not asked to run the code of their plug-ins
        if (path := config_path(manifest, folder)) and not plugins_missing(manifest["code"].values()):
            return Named(path, tuple(manifest["config"]["set"]), manifest["profile"])
    return None


def _needs(folder: Folder) -> str:
    """Which plug-ins stored results need that are not loaded; empty where there are none."""
    try:
        codes = read_document(folder.manifest)["code"].values()
    except (Damaged, OSError):
        return ""
    names = plugins_missing(codes)
    return f"computed with {', '.join(names)}, not loaded here" if names else ""


def changed_files(plans: Iterable[CellPlan]) -> list[str]:
    """All files that changed since stale cells were computed, of which a message names the first few."""
    stale = [(p.file.code, p.cell) for p in plans if p.status in ("stale", "unconfirmed") and p.file is not None]
    return sorted({name for code, cell in stale for name in changed(code, code_of(cell))})


def inventory(configs: Path, results: Path) -> dict[str, Any]:
    """`rows` and `names` to show, the `document`, and which data of the user they follow from, as paths in `own`.

    They follow from more than files where configs are `refused`, which are there with the numbers of their problems.
    """
    rows, cells, experiments = [], [], []
    own: dict[str, None] = {}
    refused: dict[str, int] = {}
    known = [Named(path) for path in sorted(configs.glob("*.yaml"))]
    # a result knows its config, which need not lie in that folder
    by_name = {name: _named(Folder(results, name)) for name in experiments_in(results)}
    here = {one.path.resolve() for one in known}
    elsewhere = [one for one in by_name.values() if one and one.path.resolve() not in here]
    own |= dict.fromkeys(str(one.path) for one in elsewhere)
    for path, sets, profile in (*known, *elsewhere):
        try:
            experiment = load_experiment(path, sets, profile=profile)
        # One config that is wrong must not hide the others.
        except ConfigError as error:
            problems = counted(len(error.issues), "problem")
            rows.append([path.stem, str(path), "", f"invalid: {problems}, see dpexp validate {path}"])
            refused[str(path)] = len(error.issues)
            continue
        # Without solving for noise: a list is to answer at once.
        plans = plan(experiment, results)
        states = Counter(p.status for p in plans)
        state = ", ".join(f"{n} {status}" for status, n in states.items())
        stored = Folder(results, experiment.name)
        if states["current"] == len(plans):
            why = derived_state(experiment, stored, plans)
            confirmed = "" if why else read_generation(stored).confirmed
            state += f"; summaries to write again: {why}" if why else f", {confirmed}" if confirmed else ""
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
            # A list that is kept has to notice edits of these too.
            own |= dict.fromkeys(p.cell.problem.files())
    shown = {row[0] for row in rows}
    for name in by_name.keys() - shown:
        rows.append([name, "", "", _needs(Folder(results, name)) or "results whose config is not here"])
    rows.sort(key=lambda row: row[0])
    names = names_in_use()
    loaded = {one.name: str(one.shown) for one in LOADED.values()}
    registered = {kind: list(entries) for kind, entries in names.items()}
    document = {"cells": cells, "experiments": experiments, "registries": registered, "plugins": loaded}
    listing = {kind: listed(entries) for kind, entries in names.items()}
    return {"rows": rows, "names": listing, "document": document, "own": list(own), "refused": refused}
