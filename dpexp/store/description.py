"""What `manifest.json` says of stored numbers: which code gives them, what witnesses it, and what their rows come from.

A trajectory file says what it was computed with. The manifest can say more: that other code was confirmed to give the
same numbers. For that it holds a witness of every cell, the digests of its first replicates and of their summary. A
process without trajectories can then compute these replicates again and compare (`dpexp.store.confirming`).

A generation of derived files says what every cell's rows were computed from: the digest of the trajectory's numbers,
the replicates, the code, the witness, and what it releases. Nothing in it differs between two reproductions.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from dpexp.core.digests import digest
from dpexp.engine.result import CellData
from dpexp.store.cell_files import Stored, digest_of, due, model_if_whole
from dpexp.store.files import SCHEMA_VERSION
from dpexp.store.fingerprint import changed, code_of
from dpexp.store.folder import Folder
from dpexp.store.stats import CI_NAME, summary_columns

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment
    from dpexp.store.generation import Generation


class Stamp(NamedTuple):
    """What a cell's numbers are known to come from."""

    code: dict[str, str]
    witness: dict[str, Any]
    confirmed: str = ""
    """how it was found that this code gives these numbers; empty where it computed them"""


SAID = (
    *("schema_version", "experiment", "profile", "replicates", "deltas", "confidence_interval", "seeds", "config"),
    *("cells", "computed_from", "code", "deployment", "seals"),
)
"""what a manifest says"""
ORIGIN = ("numbers", "replicates", "code", "witness", "confirmed", "released")
"""what it says of a cell under `computed_from`"""
_TYPES = {"O": "string", "i": "int64", "f": "double"}
"""of columns, by numpy's kinds, as the summary's file calls them"""


def witness_of(cell: Cell, data: CellData) -> dict[str, Any]:
    """What proves a cell's numbers, from replicates that begin with the first: digests of them and of their summary."""
    count = min(cell.algorithm.witnesses, data.values.shape[-1])
    few = data._replace(values=np.ascontiguousarray(data.values[..., :count]))
    hashed = hashlib.sha256()
    for name, column in summary_columns(cell, few).items():
        hashed.update(f"{name} {_TYPES[column.dtype.kind]}".encode())
        hashed.update("\n".join(column).encode() if column.dtype == object else np.ascontiguousarray(column).data)
    return {"replicates": count, "numbers": digest_of(few), "summary": hashed.hexdigest()[:32]}


def stamp_in(manifest: Mapping[str, Any], cell_id: str) -> Stamp:
    """What a manifest says of a cell that it holds."""
    origin = manifest["computed_from"][cell_id]
    return Stamp(manifest["code"][origin["code"]], origin["witness"], origin.get("confirmed", ""))


def stamp_of(cell: Cell, file: Stored, manifest: Mapping[str, Any] | None) -> Stamp:
    """What is known of a trajectory file: by the manifest, where it speaks of these numbers and the file is not new."""
    origin = {} if manifest is None else manifest["computed_from"].get(cell.cell_id, {})
    told = (origin.get("numbers"), origin.get("replicates")) == (file.numbers, file.replicates)
    if manifest is None or not told or not changed(file.code, code_of(cell)):
        return Stamp(file.code, file.metadata["witness"])
    return stamp_in(manifest, cell.cell_id)


def describe(
    experiment: Experiment, folder: Folder, stored: dict[str, Stored], old: Generation | None, deployment: str = ""
) -> dict[str, Any]:
    """What a generation for today's config and code would say of itself, without the hashes of its files.

    `stored` has the checked trajectory files by cell id, `old` knows what was confirmed of them, and `deployment` is
    when one released them. Two descriptions are equal exactly where the derived files would be computed from the same
    things in the same way.
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
            "witness": stamp.witness,
            "confirmed": stamp.confirmed,
            **_released(cell, experiment.replicates, folder),
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
        **({"deployment": deployment} if deployment else {}),
    }


def _released(cell: Cell, replicates: int, folder: Folder) -> dict[str, Any]:
    """What a cell on a user's own records releases; nothing of other cells."""
    if not cell.problem.files():
        return {}
    model = model_if_whole(folder, cell.cell_id)
    wanted = due(cell, replicates, model)
    told = None if model is None or not wanted.estimators else model.of_first(wanted.replicates)
    return {"released": {"estimators": list(wanted.estimators), "replicates": wanted.replicates, "digest": told}}


def config_today(experiment: Experiment, folder: Folder) -> dict[str, Any]:
    """The text of the config, so that no reader opens one, and for commands that are shown its path from the results
    folder, so that both can move together."""
    path = ""
    with suppress(OSError, ValueError):  # it lies on another drive
        path = os.path.relpath(experiment.path.resolve(), folder.root.resolve()) if experiment.text else ""
    return {"path": Path(path).as_posix() if path else "", "text": experiment.text, "set": list(experiment.overrides)}
