"""One generation of an experiment's derived files, as it is read: all of it or nothing, and whether it still holds.

`manifest.json` is written last. It names the seals of `cells.parquet` and `summary.parquet`, and for every cell what
its rows were computed from (`dpexp.store.description`). (a) Files that do not belong together are refused, (b) but a
writer that is between two of them is waited for.

Why stored numbers are not what today's code, data and config give: (c) What a deployment released stays what it is, and
cannot be computed again. (d) Code and data are compared by their fingerprints. Where code has changed, one chunk that
is computed again may say that the numbers have not: they are unconfirmed, if a witness of them was kept and nothing
else speaks against them. (e) The config file is read as today's code reads it, also where its text is the same: a
default that it leaves open may be another one now. One that names the user's data is not read for that, since all of
them would be. (f) What is absent says nothing: numbers cannot be held against a config or a data file that is not
there. `run` asks the same questions of every cell (`dpexp.store.planning`), so it repairs whatever a reader refuses.
"""

from __future__ import annotations

import hashlib
import os
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.digests import digest, hash_of_data
from dpexp.core.files import MOST_OF_DOCUMENT, Damaged, State, read_ordinary, state_of
from dpexp.core.text import few
from dpexp.store.cell_files import Model, Stored, stored_cell_file, stored_model
from dpexp.store.files import Sealed, read_document, read_sealed
from dpexp.store.fingerprint import changed, closure, summary_code, what_changed
from dpexp.store.folder import Folder, deployments

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment

PATIENCE_S = 5.0
"""how long a reader waits for a writer that is between two files; a generation is put in place within milliseconds"""


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

    @property
    def deployed(self) -> dict[str, str]:
        """When deployments released cells, by cell id."""
        return deployments(self.manifest)

    def describes(self, description: dict[str, Any]) -> bool:
        """Whether this generation was computed from what the description says."""
        return {k: v for k, v in self.manifest.items() if k != "seals"} == description

    @property
    def confirmed(self) -> str:
        """How some of its cells were confirmed after code had changed, in words; empty where all were computed."""
        ways = {origin.get("confirmed") for origin in self.manifest["computed_from"].values()} - {"", None}
        return f"confirmed by {' and '.join(sorted(ways))}" if ways else ""


def read_generation(folder: Folder) -> Generation:
    """The stored generation. Raises FileNotFoundError where there is none, Damaged where files do not agree."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        try:
            return _read(folder.root, tuple(map(state_of, (folder.manifest, folder.cells, folder.summary))))
        except (Damaged, FileNotFoundError):
            # (b): without a writer nothing will change
            if not folder.is_held or time.monotonic() > deadline:
                raise
            time.sleep(0.05)


@lru_cache(maxsize=64)
def _read(root: Path, states: tuple[State, ...]) -> Generation:
    """`states` are those of the derived files."""
    # the states are part of the key: files that have changed are another question, whose answer is not kept yet
    folder = Folder(root.parent, root.name)
    manifest = read_document(folder.manifest)
    # (a)
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


def own_data(manifest: dict[str, Any]) -> set[str]:
    """The user's data files and folders that the numbers were computed from, by path."""
    return {name[5:] for code in manifest["code"].values() for name in code if name.startswith("file ")}


def config_path(manifest: dict[str, Any], folder: Folder) -> Path | None:
    """The config file that the results were made from, as seen from here; None where it is not there."""
    named = manifest["config"]["path"]
    if not named:
        return None
    path = Path(os.path.relpath(folder.root.resolve() / named))
    return path if path.is_file() else None


# --- whether it holds ---


def why_stale(generation: Generation) -> str:
    """Why its numbers are not those of today; empty where nothing speaks against them."""
    m, kept = generation.manifest, generation.deployed
    # (c)
    if kept and len(kept) == len(m["cells"]):
        return ""
    # (d)
    origins = [origin for cell_id, origin in m["computed_from"].items() if cell_id not in kept]
    of_stages = {(one["code"], one.get("received") is not None) for one in origins}
    # a row comes from both stages, so that its code is followed without leaving the first one out
    of_stages |= {(one["statement"], False) for one in origins}
    files = [file for key, simulated in sorted(of_stages) for file in _stale_files(m["code"][key], simulated)]
    files += changed(m["summary_code"], summary_code())
    # (e), asked last: a config is read for it
    if not files:
        return _other_config(generation)
    witnessed = all(origin.get("witness") for origin in m["computed_from"].values())
    state = "unconfirmed" if witnessed and not own_data(m) and not _other_config(generation) else "stale"
    return f"{state}, {what_changed(files)} changed since: {few(list(dict.fromkeys(files)))}"


def changed_since(model: Model) -> list[str]:
    """Modules and data files that are not what a model was computed with any more."""
    return list(dict.fromkeys(_stale_files(dict(model.metadata["code"]), simulated=False)))


def absent(generation: Generation) -> list[str]:
    """The config and the user's data files that are no longer there."""
    path, m = config_path(generation.manifest, generation.folder), generation.manifest
    named = m["config"]["path"]
    gone = [os.path.relpath(generation.folder.root.resolve() / named)] if named and path is None else []
    if path is not None and _sha256(path) != m["config"]["sha256"]:
        today = _today(path, _sha256(path), tuple(m["config"]["set"]), m["profile"])
        if today is not None and today.name != m["experiment"]:
            gone = [f"the experiment '{m['experiment']}' in {path}"]
    return gone + sorted(path for path in own_data(m) if not _there(path))


def _stale_files(code: dict[str, str], simulated: bool) -> list[str]:
    """Modules and data files whose contents are not the recorded ones.

    `simulated` says that the code is that of the second stage alone.
    """
    now = closure(tuple(name for name in code if " " not in name), simulated=simulated)
    then = {name: digest for name, digest in code.items() if not name.startswith("file ")}
    paths = {name[5:]: digest for name, digest in code.items() if name.startswith("file ")}
    # (f)
    data = [path for path, digest in paths.items() if _there(path) and hash_of_data(path) != digest]
    return changed(then, now) + data


def _there(path: str) -> bool:
    """Whether a data file or folder that a config names is there now."""
    return os.path.exists(os.path.expanduser(path))


def _other_config(generation: Generation) -> str:
    """What the config file says today that it did not say when these results were made; empty for nothing."""
    m, path = generation.manifest, config_path(generation.manifest, generation.folder)
    # (f)
    if path is None:
        return ""
    sha256 = _sha256(path)
    same = sha256 == m["config"]["sha256"]
    # (e)
    if same and own_data(m):
        return ""
    since = "means something else to today's code" if same else "has changed since"
    # code that would no longer accept the same file has changed, which is said anyhow
    today = _today(path, sha256, tuple(m["config"]["set"]), m["profile"], same)
    if today is None:
        return f"stale, {path} {since}, and is not valid now"
    if today.name != m["experiment"]:
        return ""  # the file is used for another experiment now; `absent` says so
    if {cell.cell_id for cell in today.cells} != set(m["cells"]):
        return f"stale, {path} {since}: other settings"
    if list(today.deltas) != m["deltas"]:
        return f"stale, {path} {since}: other deltas"
    fewest = min((origin["replicates"] for origin in m["computed_from"].values()), default=0)
    if any(_other_release(cell, today.replicates, m["computed_from"]) for cell in today.cells):
        return f"stale, {path} {since}: other replicates are released"
    if today.replicates > fewest:
        return f"stale, {path} {since}: it asks for {today.replicates} replicates, {fewest} are stored"
    return ""


def _other_release(cell: Cell, replicates: int, origins: dict[str, Any]) -> bool:
    """Whether a config releases other replicates of a cell than those that are stored."""
    told = origins.get(cell.cell_id, {}).get("released")
    # (c)
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
