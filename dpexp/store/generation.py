"""One generation of an experiment's derived files: what its manifest says, how it is read, and whether it still holds.

(a) `manifest.json` is written last and has the SHA-256 of `cells.parquet` and `summary.parquet`: files that do not
belong together are refused. It has for each cell what its rows come from: the digest of the trajectory's numbers, the
replicates, the code, what it releases, and a witness, the digests of its first replicates and of their summary, by
which other code is proved (`dpexp.store.planning`). Nothing in it differs between two reproductions.
(b) Numbers are unconfirmed where code has changed, and stale where they come from a user's records, on which no proof
computes. What a deployment released stays what it is.
(c) A reader opens no config, no data and no plug-in that results name, and reports what it has not checked.
(d) `results/stamps.json` holds the hash of dpexp's code that was proved last, and the digest of every manifest that it
was proved for: an edit that moves no number changes this file alone.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.files import Damaged, State, digest, lock, state_of
from dpexp.core.text import counted, few
from dpexp.engine.result import CellData
from dpexp.plugins.loading import load_research
from dpexp.store.cell_files import ReleasedParameters, Stored, digest_of, model_of, stored_cell_file
from dpexp.store.fingerprint import Code, changed, code_of, plugins_missing, today
from dpexp.store.folder import SCHEMA_VERSION, Folder, TableFile, read_document, read_table, write_document
from dpexp.store.stats import CI_NAME, summary_columns

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment

Manifest = dict[str, Any]
STAMPS, LOCK, PATIENCE_S = "stamps.json", ".stamps.lock", 30.0
"""the file, its lock, and how long a run waits for another that writes it"""
_TYPES = {"O": "string", "i": "int64", "f": "double"}
"""of columns, by numpy's kinds, as the summary's file calls them"""


@dataclass(frozen=True, eq=False)
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

    def model(self, cell_id: str) -> ReleasedParameters:
        """The released parameters of a cell. Raises Damaged, FileNotFoundError."""
        return model_of(self.folder, cell_id, self.manifest["computed_from"].get(cell_id, {}).get("released") or {})

    @property
    def deployment(self) -> str:
        """When a deployment released it; empty for other results."""
        return str(self.manifest.get("deployment", ""))

    @property
    def _data(self) -> list[str]:
        """The user's data files and folders that the numbers were computed from, by path."""
        names = {name for code in self.manifest["code"].values() for name in code if name.startswith("file ")}
        return sorted(name.removeprefix("file ") for name in names)

    def why_stale(self) -> str:
        """(b) Why its numbers are not those of today; empty where nothing speaks against them."""
        codes = [] if self.deployment else self.manifest["code"].values()
        names = list(dict.fromkeys(name for code in codes for name in changed(code, today(code))))
        return f"{'stale' if self._data else 'unconfirmed'}: {few(names)} changed since" if names else ""

    def not_checked(self) -> list[str]:
        """(c) What these numbers come from apart from dpexp, and was not compared with what is there now."""
        missing = plugins_missing(self.manifest["code"].values())
        needs = [f"needs --plugin {name}" if name.endswith(".py") else f"needs the plug-in {name}" for name in missing]
        needs += [f"{path}, which dpexp run compares" for path in self._data]
        return [f"not checked: {need}" for need in needs]


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
        # (a)
        seals = manifest["seals"]
        cells = read_table(folder.cells, seals["cells.parquet"])
        summary = read_table(folder.summary, seals["summary.parquet"]) if seals["summary.parquet"] else None
    except (KeyError, TypeError, AttributeError) as error:
        raise Damaged(f"manifest.json is damaged ({type(error).__name__})") from None
    except FileNotFoundError as error:
        raise Damaged(f"{Path(str(error)).name} is missing") from None
    return Generation(folder, manifest, cells, summary)


def config_path(manifest: Manifest, folder: Folder) -> Path | None:
    """The config file that the results were made from, as seen from here; None where it is not there."""
    path = Path(os.path.relpath(folder.root.resolve() / manifest["config"]["path"]))
    return path if manifest["config"]["path"] and path.is_file() else None


# --- what a manifest says ---


def witness_of(cell: Cell, data: CellData) -> dict[str, Any]:
    """What proves a cell's numbers, from replicates that begin with the first: digests of them and of their summary."""
    count = min(cell.algorithm.witnesses, data.values.shape[-1])
    first = data._replace(values=np.ascontiguousarray(data.values[..., :count]))
    hashed = hashlib.sha256()
    for name, column in summary_columns(cell, first).items():
        hashed.update(f"{name} {_TYPES[column.dtype.kind]}".encode())
        hashed.update("\n".join(column).encode() if column.dtype == object else np.ascontiguousarray(column).data)
    return {"replicates": count, "numbers": digest_of(first), "summary": hashed.hexdigest()[:32]}


def describe(
    experiment: Experiment, folder: Folder, stored: dict[str, Stored], old: Manifest | None, deployment: str = ""
) -> Manifest:
    """What a manifest for today's config and code would say, without the hashes of its files.

    `stored` has the trajectory files by cell id, `old` has their proofs, and `deployment` is when one released them.
    """
    codes, origins = dict[str, Code](), {}
    for cell in experiment.cells:
        if (file := stored.get(cell.cell_id)) is not None:
            code, proof = code_and_proof(cell, file, old)
            codes[key := digest(code, 12)] = code
            origins[cell.cell_id] = {
                "numbers": file.numbers,
                "replicates": file.replicates,
                "code": key,
                "witness": file.witness,
                "confirmed": proof,
                **({"released": file.released} if file.released else {}),
            }
    # readers open no config; its path, from the folder so that both can move together, is for commands
    path = os.path.relpath(experiment.path.resolve(), folder.root.resolve()) if experiment.text else ""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment.name,
        "profile": experiment.profile,
        "replicates": experiment.replicates,
        "deltas": list(experiment.deltas),
        "confidence_interval": CI_NAME,
        "seeds": sorted({cell.run.seed for cell in experiment.cells}),
        "config": {"path": path, "text": experiment.text, "set": list(experiment.overrides)},
        "cells": {cell.cell_id: cell.parameters for cell in experiment.cells},
        "computed_from": origins,
        "code": dict(sorted(codes.items())),
        **({"deployment": deployment} if deployment else {}),
    }


def code_and_proof(cell: Cell, file: Stored, manifest: Manifest | None) -> tuple[Code, str]:
    """The code that gives a cell's stored numbers, and how that was proved; empty where it computed them."""
    origin = {} if manifest is None else manifest["computed_from"].get(cell.cell_id, {})
    same = (origin.get("numbers"), origin.get("replicates")) == (file.numbers, file.replicates)
    if manifest is None or not same or not changed(file.code, code_of(cell)):
        return file.code, ""
    return manifest["code"][origin["code"]], origin["confirmed"]


# --- stamps ---


def read_manifest(folder: Folder) -> Manifest:
    """The manifest of a folder, with the code that was proved last. Raises Damaged, FileNotFoundError."""
    manifest = read_document(folder.manifest)
    stamps = _stamps(folder.root.parent / STAMPS)
    if stamps["manifests"].get(folder.root.name) == digest(manifest, 64):
        codes = {cell: manifest["code"][origin["code"]] for cell, origin in manifest["computed_from"].items()}
        record_proof(manifest, {cell: {**code, "dpexp": stamps["code"]} for cell, code in codes.items()})
    return manifest


def record_proof(manifest: Manifest, proved: Mapping[str, Code]) -> None:
    """Enter the code that was proved to give the numbers of some cells, by their ids."""
    codes, origins = manifest["code"], manifest["computed_from"]
    for cell, code in proved.items():
        codes[key := digest(code, 12)] = code
        proof = f"one chunk of {counted(origins[cell]['witness']['replicates'], 'replicate')}"
        origins[cell] |= {"code": key, "confirmed": proof}
    manifest["code"] = {key: codes[key] for key in sorted({origin["code"] for origin in origins.values()})}


def stamp(folder: Folder, code: str) -> None:
    """Record that this code gives what the manifest of a folder, as it is there now, holds. Raises OSError."""
    path = folder.root.parent / STAMPS
    with lock(folder.root.parent / LOCK, PATIENCE_S):
        before = _stamps(path)
        # what was proved for other code proves nothing for this code
        others = before["manifests"] if before["code"] == code else {}
        manifests = {**others, folder.root.name: digest(read_document(folder.manifest), 64)}
        document = {"schema_version": SCHEMA_VERSION, "code": code, "confirmed": "one chunk of every pass"}
        write_document(path, {**document, "manifests": dict(sorted(manifests.items()))})


def _stamps(path: Path) -> dict[str, Any]:
    # (d): a file that is damaged confirms nothing
    with suppress(FileNotFoundError, Damaged):
        return read_document(path)
    return {"code": "", "manifests": {}}
