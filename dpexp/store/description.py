"""What a generation of derived files says of itself in `manifest.json`: what every cell's rows were computed from.

That is the digest of the trajectory's numbers, the replicates, the code of both stages, what a run received, the
witness by which it can be confirmed, and what it releases. Nothing in it differs between two reproductions.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.digests import digest
from dpexp.store.cell_files import Due, Stored, due, model_if_whole
from dpexp.store.files import SCHEMA_VERSION
from dpexp.store.fingerprint import statement_of, summary_code
from dpexp.store.folder import Folder
from dpexp.store.stamps import stamp_of
from dpexp.store.stats import CI_NAME

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment
    from dpexp.store.generation import Generation


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
