"""One generation of an experiment's derived files: what belongs together, what it was computed from, if it still holds.

`manifest.json` is written last. It names the seals of `cells.parquet` and `summary.parquet`, and for every cell what
its rows were computed from: the digest of the trajectory's numbers, the replicates, the code and the data. Whoever
reads takes all of it or nothing: files that do not belong together, or to today's code, data and config, are refused.
`run` asks the same questions, so it repairs whatever a reader refuses.
"""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.digests import digest, hash_of_data
from dpexp.core.files import MOST_OF_DOCUMENT, Damaged, State, read_ordinary, state_of
from dpexp.core.text import few
from dpexp.store.cell_files import Due, Model, Stored, due, model_if_whole, stored_cell_file, stored_model
from dpexp.store.files import SCHEMA_VERSION, Sealed, read_document, read_sealed
from dpexp.store.fingerprint import changed, closure, statement_of
from dpexp.store.folder import Folder
from dpexp.store.stamps import stamp_of
from dpexp.store.stats import CI_NAME

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment

PATIENCE_S = 5.0
"""how long a reader waits for a writer that is between two files; a generation is put in place within milliseconds"""


def summary_code() -> dict[str, str]:
    """Hashes of the modules that make summary.parquet from trajectories."""
    return closure(("dpexp.store.stats",))


def describe(
    experiment: Experiment, folder: Folder, stored: dict[str, Stored], old: Generation | None
) -> dict[str, Any]:
    """What a generation for today's config and code would say of itself, without the seals of its files.

    `stored` has the checked trajectory files by cell id, and `old` knows what was confirmed of them. Two descriptions
    are equal exactly where the derived files would be computed from the same things in the same way.
    """
    codes: dict[str, dict[str, str]] = {}

    def key(code: dict[str, str]) -> str:
        name = digest(code, 12)
        codes[name] = code
        return name

    origins = {}
    for cell in experiment.cells:
        if (file := stored.get(cell.cell_id)) is None:
            continue
        stamp = stamp_of(cell, file, None if old is None else old.manifest)
        origins[cell.cell_id] = {
            "numbers": file.numbers,
            "replicates": file.replicates,
            "code": key(stamp.code),
            "statement": key(file.code if file.deployment else statement_of(cell)),  # a deployment's row is kept
            "received": stamp.received,
            "witness": stamp.witness,
            "confirmed": stamp.confirmed,
            **_released(cell, experiment.replicates, folder, file),
        }
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment.name,
        "profile": experiment.profile,
        "replicates": experiment.replicates,
        "deltas": list(experiment.deltas),
        "confidence_interval": CI_NAME,
        "seeds": sorted({cell.run.seed for cell in experiment.cells}),
        "config": config_today(experiment, folder),
        "cells": {cell.cell_id: cell.parameters for cell in experiment.cells},
        "computed_from": origins,
        "code": dict(sorted(codes.items())),
        "summary_code": summary_code(),
    }


def _released(cell: Cell, replicates: int, folder: Folder, stored: Stored) -> dict[str, Any]:
    """What a cell on a user's own records releases, and when a deployment did so; nothing of other cells."""
    if not cell.problem.files():
        return {}
    model = model_if_whole(folder, cell.cell_id)
    wanted = due(cell, replicates, model)
    if stored.deployment and model is not None:  # what is out is out, whatever today's config asks for
        wanted = Due(model.estimators, model.values.shape[1])
    told = None if model is None or not wanted.estimators else model.of_first(wanted.replicates)
    return {
        "released": {"estimators": list(wanted.estimators), "replicates": wanted.replicates, "digest": told},
        "deployment": stored.deployment.get("at"),
    }


def config_today(experiment: Experiment, folder: Folder) -> dict[str, Any]:
    """The config as it was read, by its path from the results folder, so that both can move together."""
    content, path = experiment.sha256, ""
    try:
        path = os.path.relpath(experiment.path.resolve(), folder.root.resolve()) if content else ""
    except (OSError, ValueError):  # it lies on another drive
        content = ""
    return {"path": Path(path).as_posix() if path else "", "sha256": content, "set": list(experiment.overrides)}


def identity_of(manifest: dict[str, Any]) -> str:
    """Which numbers a generation holds: the settings, the trajectories and the derived files, and no code or config.

    Two generations of one identity are the same to whoever reads them; one may have been computed by older code.
    """
    numbers = {cell: [one["numbers"], one["replicates"]] for cell, one in manifest["computed_from"].items()}
    return digest([manifest["experiment"], manifest["cells"], numbers, manifest["seals"]])


@dataclass(frozen=True)
class Generation:
    """Derived files that belong together, every byte of them checked."""

    folder: Folder
    manifest: dict[str, Any]
    cells: Sealed
    summary: Sealed | None
    """None where no cell could be computed"""

    def trajectory(self, cell_id: str) -> Stored:
        """The trajectory file that the derived rows of a cell come from. Raises Damaged, FileNotFoundError."""
        stored, origin = stored_cell_file(self.folder, cell_id), self.manifest["computed_from"].get(cell_id)
        if origin is None or (stored.numbers, stored.replicates) != (origin["numbers"], origin["replicates"]):
            raise Damaged(f"trajectories/{cell_id}.parquet is not what the summary was computed from")
        return stored

    def model(self, cell_id: str) -> Model:
        """The released parameters of a cell. Raises Damaged, FileNotFoundError."""
        model, origin = stored_model(self.folder, cell_id), self.manifest["computed_from"].get(cell_id, {})
        told = origin.get("released")
        if not told or model.metadata["numbers"] != origin["numbers"]:
            raise Damaged(f"models/{cell_id}.parquet is not of the run that the summary was computed from")
        if model.of_first(model.values.shape[1]) != told["digest"]:
            raise Damaged(f"models/{cell_id}.parquet does not belong to manifest.json")
        return model

    def changed_since(self, model: Model) -> list[str]:
        """Modules and data files that are not what a model was computed with any more."""
        return list(dict.fromkeys(_stale_files(dict(model.metadata["code"]), simulated=False)))

    @property
    def deployed(self) -> dict[str, str]:
        """When deployments released cells, by cell id."""
        return _deployed(self.manifest)

    def describes(self, description: dict[str, Any]) -> bool:
        """Whether this generation was computed from what the description says."""
        return {k: v for k, v in self.manifest.items() if k != "seals"} == description

    def what_is_stale(self) -> str:
        """Why its numbers are not what today's code, data and config give; empty where nothing speaks against them."""
        m = self.manifest
        kept = self.deployed
        if kept and len(kept) == len(m["cells"]):
            return ""  # what was released by a deployment stays what it is, and cannot be computed again
        origins = [origin for cell_id, origin in m["computed_from"].items() if cell_id not in kept]
        of_stages = {(one["code"], one.get("received") is not None) for one in origins}
        # a row comes from both stages, so that its code is followed without leaving the first one out
        of_stages |= {(one["statement"], False) for one in origins}
        files = [file for key, simulated in sorted(of_stages) for file in _stale_files(m["code"][key], simulated)]
        files += changed(m["summary_code"], summary_code())
        if files:
            state = "unconfirmed" if self.can_be_confirmed else "stale"
            return f"{state}, {what_changed(files)} changed since: {few(list(dict.fromkeys(files)))}"
        return _config_change(m, self.folder)

    @property
    def can_be_confirmed(self) -> bool:
        """Whether `dpexp run --confirm` can tell, where code has changed, that numbers have not."""
        own = any(name.startswith("file ") for code in self.manifest["code"].values() for name in code)
        witnessed = all(origin.get("witness") for origin in self.manifest["computed_from"].values())
        return witnessed and not own and not _config_change(self.manifest, self.folder)

    @property
    def confirmed(self) -> str:
        """How some of its cells were confirmed after code had changed, in words; empty where all were computed."""
        ways = {origin.get("confirmed") for origin in self.manifest["computed_from"].values()} - {"", None}
        return f"confirmed by {' and '.join(sorted(ways))}" if ways else ""

    @property
    def absent(self) -> list[str]:
        """The config and the user's data files that are no longer there: the numbers cannot be held against them."""
        path, m = config_path(self.manifest, self.folder), self.manifest
        named = m["config"]["path"]
        gone = [os.path.relpath(self.folder.root.resolve() / named)] if named and path is None else []
        if path is not None and _sha256(path) != m["config"]["sha256"]:
            today = _today(path, _sha256(path), tuple(m["config"]["set"]), m["profile"])
            if today is not None and today.name != m["experiment"]:
                gone = [f"the experiment '{m['experiment']}' in {path}"]
        names = {name for code in self.manifest["code"].values() for name in code if name.startswith("file ")}
        return gone + sorted(path for name in names if not _there(path := name.removeprefix("file ")))


def read_generation(folder: Folder) -> Generation:
    """The stored generation. Raises FileNotFoundError where there is none, Damaged where files do not agree."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _read(folder.root, tuple(map(state_of, (folder.manifest, folder.cells, folder.summary))))
        except (Damaged, FileNotFoundError):
            # what does not fit may be a writer between two files; without one nothing will change
            if not folder.is_held or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@lru_cache(maxsize=64)
def _read(root: Path, states: tuple[State, ...]) -> Generation:
    """`states` are those of the derived files."""
    # the states are part of the key: files that have changed are another question, whose answer is not kept yet
    folder = Folder(root.parent, root.name)
    manifest = read_document(folder.manifest)
    cells = _sealed(folder.cells, manifest)
    summary = _sealed(folder.summary, manifest) if manifest["seals"]["summary.parquet"] else None
    return Generation(folder, manifest, cells, summary)


def _sealed(path: Path, manifest: dict[str, Any]) -> Sealed:
    try:
        sealed = read_sealed(path)
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None
    if sealed.seal != manifest["seals"][path.name]:
        raise Damaged(f"{path.name} does not belong to manifest.json: a run was interrupted while it wrote them")
    return sealed


def deployed_in(folder: Folder) -> dict[str, str]:
    """When deployments released cells, by cell id, by the manifest alone; empty where that cannot be read."""
    try:
        return _deployed(read_document(folder.manifest))
    except (FileNotFoundError, Damaged):
        return {}


def _deployed(manifest: dict[str, Any]) -> dict[str, str]:
    origins = manifest["computed_from"].items()
    return {cell_id: str(origin["deployment"]) for cell_id, origin in origins if origin.get("deployment")}


def _stale_files(code: dict[str, str], simulated: bool) -> list[str]:
    """Modules and data files whose contents are not the recorded ones; absent data files do not count.

    `simulated` says that the code is that of the second stage alone.
    """
    now = closure(tuple(name for name in code if " " not in name), simulated=simulated)
    then = {name: digest for name, digest in code.items() if not name.startswith("file ")}
    paths = {name[5:]: digest for name, digest in code.items() if name.startswith("file ")}
    data = [path for path, digest in paths.items() if _there(path) and hash_of_data(path) != digest]
    return changed(then, now) + data


def _there(path: str) -> bool:
    """Whether a data file or folder that a config names is there now."""
    return os.path.exists(os.path.expanduser(path))


def what_changed(files: Iterable[str]) -> str:
    """Whether files are code, data or both, in a word."""
    data = [not name.endswith(".py") for name in files]
    return "data" if all(data) else "code and data" if any(data) else "code"


def _config_change(manifest: dict[str, Any], folder: Folder) -> str:
    """What the config file says today that it did not say when these results were made; empty for nothing.

    A file that is the same is read too: defaults that it leaves open may be others in today's code. Only one that names
    the user's data is not, since that would read all of them, also where they are not there any more.
    """
    path = config_path(manifest, folder)
    if path is None:
        return ""
    sha256 = _sha256(path)
    same = sha256 == manifest["config"]["sha256"]
    if same and any(name.startswith("file ") for code in manifest["code"].values() for name in code):
        return ""
    since = "means something else to today's code" if same else "has changed since"
    # code that would no longer accept the same file has changed, which is said anyhow
    today = _today(path, sha256, tuple(manifest["config"]["set"]), manifest["profile"], same)
    if today is None:
        return f"stale, {path} {since}, and is not valid now"
    if today.name != manifest["experiment"]:
        return ""  # the file is used for another experiment now; `absent` says so
    if {cell.cell_id for cell in today.cells} != set(manifest["cells"]):
        return f"stale, {path} {since}: other settings"
    if list(today.deltas) != manifest["deltas"]:
        return f"stale, {path} {since}: other deltas"
    fewest = min((origin["replicates"] for origin in manifest["computed_from"].values()), default=0)
    if any(_other_release(cell, today.replicates, manifest["computed_from"]) for cell in today.cells):
        return f"stale, {path} {since}: other replicates are released"
    if today.replicates > fewest:
        return f"stale, {path} {since}: it asks for {today.replicates} replicates, {fewest} are stored"
    return ""


def _other_release(cell: Cell, replicates: int, origins: dict[str, Any]) -> bool:
    """Whether a config releases other replicates of a cell than those that are stored."""
    told = origins.get(cell.cell_id, {}).get("released")
    if not told or not told["estimators"] or origins[cell.cell_id]["deployment"]:
        return False
    return bool(told["replicates"] != (replicates if cell.run.release == "all" else 1))


def _sha256(path: Path) -> str:
    try:
        return hashlib.sha256(read_ordinary(path, MOST_OF_DOCUMENT)).hexdigest()
    except OSError:
        return ""  # reading it as a config says what is wrong


@lru_cache(maxsize=64)
def _today(
    path: Path, sha256: str, overrides: tuple[str, ...], profile: str, accepted: bool = False
) -> Experiment | None:
    """What a config file with this content, `accepted` before or not, means today; None where it is not valid."""
    from dpexp.config.experiment_file import load_experiment
    from dpexp.config.yamlfile import ConfigError

    try:
        return load_experiment(path, overrides, profile=profile, accepted=accepted)
    except ConfigError:
        return None


def config_path(manifest: dict[str, Any], folder: Folder) -> Path | None:
    """The config file that the results were made from, as seen from here; None where it is not there."""
    named = manifest["config"]["path"]
    if not named:
        return None
    path = Path(os.path.relpath(folder.root.resolve() / named))
    return path if path.is_file() else None
