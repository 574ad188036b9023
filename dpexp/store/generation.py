"""One generation of an experiment's derived files, as it is read: all of it or nothing, and whether it still holds.

(a) `manifest.json` is written last and has the SHA-256 of `cells.parquet` and `summary.parquet`: files that do not
belong together are refused.
(b) Numbers are unconfirmed where code has changed, and stale where they come from a user's records, on which nothing is
computed to prove something. What a deployment released stays what it is.
(c) A reader opens no config, no data and no plug-in that results name, since anybody may have written them: it reports
what it has not checked. `run`, which is given the config, checks that.
"""

from __future__ import annotations

import os
import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, State, state_of
from dpexp.core.text import few
from dpexp.plugins.loading import load_research
from dpexp.store.cell_files import Model, Stored, model_of, stored_cell_file
from dpexp.store.documents import TableFile, read_table
from dpexp.store.fingerprint import changed, plugins_missing, today, what_changed
from dpexp.store.folder import Folder
from dpexp.store.manifest import STAMPS, Manifest, read_manifest


@dataclass(frozen=True)
class Generation:
    """Derived files that belong together, every byte of them checked."""

    folder: Folder
    manifest: Manifest
    cells: TableFile
    summary: TableFile | None
    """None where no cell could be computed"""

    def trajectory(self, cell_id: str) -> Stored:
        """The trajectory file that the derived rows of a cell come from. Raises Damaged, FileNotFoundError."""
        stored = stored_cell_file(self.folder, cell_id)
        origin = self.manifest["computed_from"].get(cell_id, {})
        if (stored.numbers, stored.replicates) != (origin.get("numbers"), origin.get("replicates")):
            raise Damaged(f"trajectories/{cell_id}.parquet is not what the summary was computed from")
        return stored

    def model(self, cell_id: str) -> Model:
        """The released parameters of a cell. Raises Damaged, FileNotFoundError."""
        return model_of(self.folder, cell_id, self.manifest["computed_from"].get(cell_id, {}).get("released") or {})

    @property
    def deployment(self) -> str:
        """When a deployment released it; empty for other results."""
        return str(self.manifest.get("deployment", ""))

    @property
    def confirmed(self) -> str:
        """How some of its cells were proved after code had changed, in words; empty where all were computed."""
        ways = {origin["confirmed"] for origin in self.manifest["computed_from"].values()} - {""}
        return f"confirmed by {' and '.join(sorted(ways))}" if ways else ""

    @property
    def own_data(self) -> list[str]:
        """The user's data files and folders that the numbers were computed from, by path."""
        names = {name for code in self.manifest["code"].values() for name in code}
        return sorted(name.removeprefix("file ") for name in names if name.startswith("file "))

    def why_stale(self) -> str:
        """Why its numbers are not those of today; empty where nothing speaks against them."""
        # (b)
        codes = [] if self.deployment else [*self.manifest["code"].values()]
        names = list(dict.fromkeys(name for code in codes for name in changed(code, today(code))))
        state = "stale" if self.own_data else "unconfirmed"
        return f"{state}, {what_changed(names)} changed since: {few(names)}" if names else ""

    def not_checked(self) -> list[str]:
        """What these numbers come from beside dpexp, and was not compared with what is there now."""
        # (c)
        missing = plugins_missing(self.manifest["code"].values())
        needs = [f"needs --plugin {name}" if name.endswith(".py") else f"needs the plug-in {name}" for name in missing]
        needs += [f"{path}, which dpexp run compares" for path in self.own_data]
        return [f"not checked: {what}" for what in needs]


def identity_of(manifest: Manifest) -> str:
    """Which numbers a generation holds: the settings, the trajectories and the derived files, and no code or config."""
    origins = manifest["computed_from"].items()
    numbers = {cell: [origin["numbers"], origin["replicates"]] for cell, origin in origins}
    return digest([manifest["experiment"], manifest["cells"], numbers, manifest["seals"]])


def read_generation(folder: Folder) -> Generation:
    """The stored generation. Raises FileNotFoundError where there is none, Damaged where files do not agree."""
    files = (folder.manifest, folder.cells, folder.summary, folder.root.parent / STAMPS)
    generation = _read(folder.root, tuple(map(state_of, files)))
    load_research(plugins_missing(generation.manifest["code"].values()))
    return generation


@lru_cache(maxsize=64)
def _read(root: Path, states: tuple[State, ...]) -> Generation:
    """`states` are those of the derived files and of the stamps: files that have changed are read anew."""
    folder = Folder(root.parent, root.name)
    manifest = read_manifest(folder)
    try:
        if not _is_plain(manifest):
            raise Damaged("manifest.json names what is no cell or cannot be printed")
        # (a)
        tables = {path.name: manifest["seals"][path.name] for path in (folder.cells, folder.summary)}
        cells, summary = (read_table(root / name, seal) if seal else None for name, seal in tables.items())
    except (KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"manifest.json is damaged ({type(error).__name__})") from None
    except FileNotFoundError as error:
        raise Damaged(f"{Path(str(error)).name} is missing") from None
    if cells is None:
        raise Damaged("manifest.json is damaged (no hash of cells.parquet)")
    return Generation(folder, manifest, cells, summary)


def _is_plain(manifest: Manifest) -> bool:
    """Whether names in a manifest, which may be anybody's, lead nowhere else and write nothing to the terminal."""
    config, code = manifest["config"], [name for names in manifest["code"].values() for name in names]
    words = [manifest["experiment"], manifest["profile"], config["path"], *config["set"], *code]
    cells = [*manifest["cells"], *manifest["computed_from"]]
    return all(word.isprintable() for word in words) and all(re.fullmatch("[0-9a-f]{12}", cell) for cell in cells)


def config_path(manifest: Manifest, folder: Folder) -> Path | None:
    """The config file that the results were made from, as seen from here; None where it is not there."""
    path = Path(os.path.relpath(folder.root.resolve() / manifest["config"]["path"]))
    return path if manifest["config"]["path"] and path.is_file() else None
