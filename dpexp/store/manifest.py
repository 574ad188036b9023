"""What `manifest.json` says of stored numbers, and `stamps.json` of the code that was proved to give them.

A manifest has for each cell what its rows come from: the digest of the trajectory's numbers, the replicates, the code,
what it releases, and a witness, the digests of its first replicates and of their summary. A process without
trajectories can compute these again and prove that other code gives the same numbers (`dpexp.store.confirming`).
Nothing in a manifest differs between two reproductions.

`results/stamps.json` holds the hash of dpexp's code that was proved last, and the digest of every manifest that it was
proved for. An edit that moves no number changes this file alone.
"""

from __future__ import annotations

import hashlib
import os
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, lock
from dpexp.core.text import counted
from dpexp.engine.result import CellData
from dpexp.store.cell_files import Stored, digest_of
from dpexp.store.documents import SCHEMA_VERSION, read_document, write_document
from dpexp.store.fingerprint import Code, changed, code_of
from dpexp.store.folder import Folder
from dpexp.store.stats import CI_NAME, summary_columns

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment

Manifest = dict[str, Any]
STAMPS, LOCK = "stamps.json", ".stamps.lock"
PATIENCE_S = 30.0
"""how long a run waits for another that writes the stamps"""
_TYPES = {"O": "string", "i": "int64", "f": "double"}
"""of columns, by numpy's kinds, as the summary's file calls them"""


def witness_of(cell: Cell, data: CellData) -> dict[str, Any]:
    """What proves a cell's numbers, from replicates that begin with the first: digests of them and of their summary."""
    count = min(cell.algorithm.witnesses, data.values.shape[-1])
    first = data._replace(values=np.ascontiguousarray(data.values[..., :count]))
    hashed = hashlib.sha256()
    for name, column in summary_columns(cell, first).items():
        hashed.update(f"{name} {_TYPES[column.dtype.kind]}".encode())
        hashed.update("\n".join(column).encode() if column.dtype == object else np.ascontiguousarray(column).data)
    return {"replicates": count, "numbers": digest_of(first), "summary": hashed.hexdigest()[:32]}


def proof_by(witness: Manifest) -> str:
    """How a cell was proved, in words."""
    return f"one chunk of {counted(witness['replicates'], 'replicate')}"


def describe(
    experiment: Experiment, folder: Folder, stored: dict[str, Stored], old: Manifest | None, deployment: str = ""
) -> Manifest:
    """What a manifest for today's config and code would say, without the hashes of its files.

    `stored` has the trajectory files by cell id, `old` says what was proved of them, and `deployment` is when one
    released them. The derived files of equal descriptions are computed from the same things in the same way.
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
    path = ""
    with suppress(OSError, ValueError):  # on another drive
        path = os.path.relpath(experiment.path.resolve(), folder.root.resolve()) if experiment.text else ""
    return {
        "schema_version": SCHEMA_VERSION,
        "experiment": experiment.name,
        "profile": experiment.profile,
        "replicates": experiment.replicates,
        "deltas": list(experiment.deltas),
        "confidence_interval": CI_NAME,
        "seeds": sorted({cell.run.seed for cell in experiment.cells}),
        # readers open no config; its path, from the folder so that both can move together, is for commands
        "config": {"path": Path(path).as_posix() if path else "", "text": experiment.text,
                   "set": list(experiment.overrides)},
        "cells": {cell.cell_id: cell.parameters for cell in experiment.cells},
        "computed_from": origins,
        "code": dict(sorted(codes.items())),
        **({"deployment": deployment} if deployment else {}),
    }  # fmt: skip


def code_and_proof(cell: Cell, file: Stored | None, manifest: Manifest | None) -> tuple[Code, str]:
    """The code that gives a cell's stored numbers, and how that was proved; empty where it computed them.

    Without a trajectory file they are those of the manifest's summaries.
    """
    origin = {} if manifest is None else manifest["computed_from"].get(cell.cell_id, {})
    if file is not None:
        same = (origin.get("numbers"), origin.get("replicates")) == (file.numbers, file.replicates)
        if not same or not changed(file.code, code_of(cell)):
            return file.code, ""
    assert manifest is not None
    return manifest["code"][origin["code"]], origin["confirmed"]


# --- stamps ---


def read_manifest(folder: Folder) -> Manifest:
    """The manifest of a folder, with the code that was proved last. Raises Damaged, FileNotFoundError."""
    manifest = read_document(folder.manifest)
    stamps = _stamps(folder.root.parent / STAMPS)
    if stamps["manifests"].get(folder.root.name) == digest(manifest, 64):
        codes = {key: {**code, "dpexp": stamps["code"]} for key, code in manifest["code"].items()}
        names = {key: digest(code, 12) for key, code in codes.items()}
        manifest["code"] = dict(sorted((names[key], code) for key, code in codes.items()))
        for origin in manifest["computed_from"].values():
            origin |= {"code": names[origin["code"]], "confirmed": proof_by(origin["witness"])}
    return manifest


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
    # a file that is damaged confirms nothing
    with suppress(FileNotFoundError, Damaged):
        if not path.is_symlink():
            return read_document(path)
    return {"code": "", "manifests": {}}
