"""One generation of an experiment's derived files, as it is read: all of it, or nothing.

`manifest.json` is written last. It has the SHA-256 of `cells.parquet` and `summary.parquet`, and for every cell what
its rows were computed from (`dpexp.store.description`). (a) Files that do not belong together are refused, (b) but a
writer that may be between two of them is waited for. Whether a generation still holds `dpexp.store.staleness` says.
"""

from __future__ import annotations

import os
import re
import time
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, State, state_of
from dpexp.plugins.loading import load_research
from dpexp.store.cell_files import Model, Stored, stored_cell_file, stored_model
from dpexp.store.files import TableFile, read_table
from dpexp.store.fingerprint import plugins_missing
from dpexp.store.folder import CELL, HELD, LOCK, Folder, deployments
from dpexp.store.stamps import FILE as STAMPS
from dpexp.store.stamps import stamped

PATIENCE_S = 0.5
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
    cells: TableFile
    summary: TableFile | None
    """None where no cell could be computed"""

    def trajectory(self, cell_id: str) -> Stored:
        """The trajectory file that the derived rows of a cell come from. Raises Damaged, FileNotFoundError."""
        stored = stored_cell_file(self.folder, cell_id, with_content=True)
        origin = self.manifest["computed_from"].get(cell_id)
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
        """When a deployment released each cell; empty for other results."""
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
    deadline, stamps = time.monotonic() + PATIENCE_S, folder.root.parent / STAMPS
    while True:
        try:
            files = (folder.manifest, folder.cells, folder.summary, stamps)
            generation = _read(folder.root, tuple(map(state_of, files)))
        except Damaged:
            # (b): nobody is at work where this process is, or there is no lock
            if time.monotonic() > deadline or folder.root.absolute() in HELD or not (folder.root / LOCK).exists():
                raise
            time.sleep(0.05)
        else:
            load_research(plugins_missing(generation.manifest["code"].values()))
            return generation


@lru_cache(maxsize=64)
def _read(root: Path, states: tuple[State, ...]) -> Generation:
    """`states` are those of the derived files and of the stamps."""
    # the states are part of the key: files that have changed are another question, whose answer is not kept yet
    folder = Folder(root.parent, root.name)
    manifest = stamped(folder)
    _require_plain(manifest)
    # (a)
    cells = _table(folder.cells, manifest)
    summary = _table(folder.summary, manifest) if manifest["seals"]["summary.parquet"] else None
    return Generation(folder, manifest, cells, summary)


def _require_plain(manifest: dict[str, Any]) -> None:
    """Raises Damaged where a manifest names what leads out of its folder, or would write to the terminal.

    A manifest may be anybody's: names in it become paths and words of messages.
    """
    try:
        config, code = manifest["config"], [name for one in manifest["code"].values() for name in one]
        words = [manifest["experiment"], manifest["profile"], config["path"], *config["set"], *code]
        cells = [*manifest["cells"], *manifest["computed_from"]]
        if not all(word.isprintable() for word in words):
            raise Damaged("manifest.json holds words that cannot be printed")
        if not all(re.fullmatch(CELL, cell_id) for cell_id in cells):
            raise Damaged("manifest.json names cells that are none")
    except (KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"manifest.json is damaged ({type(error).__name__})") from None


def _table(path: Path, manifest: dict[str, Any]) -> TableFile:
    try:
        return read_table(path, manifest["seals"][path.name])
    except FileNotFoundError:
        raise Damaged(f"{path.name} is missing") from None


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
