"""`results/stamps.json`: which code was confirmed to give stored numbers, for all experiments in one file.

An edit of code that moves no number changes this file and no manifest. It holds the hash of dpexp's code, by what that
was confirmed, and the digest of each manifest for which it was: of one that was written since it says nothing. A
manifest is read through `stamped`, as if it had been computed with the code that was confirmed.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

from dpexp.core.digests import digest
from dpexp.core.files import Damaged, lock
from dpexp.core.text import counted
from dpexp.store.files import SCHEMA_VERSION, read_document, write_document
from dpexp.store.folder import Folder

FILE = "stamps.json"
LOCK = ".stamps.lock"
PATIENCE_S = 30.0
"""how long a run waits for another that writes the file"""


def confirmed_by(witness: Mapping[str, Any]) -> str:
    """How a cell was confirmed, in words."""
    return f"one chunk of {counted(witness['replicates'], 'replicate')}"


def stamped(folder: Folder) -> dict[str, Any]:
    """The manifest of a folder, with the code that was last confirmed. Raises Damaged, FileNotFoundError."""
    manifest = read_document(folder.manifest)
    stamps = _read(folder.root.parent / FILE)
    if folder.root.name in stamps["manifests"] and stamps["manifests"][folder.root.name] == digest(manifest, 64):
        codes = {key: {**code, "dpexp": stamps["code"]} for key, code in manifest["code"].items()}
        names = {key: digest(code, 12) for key, code in codes.items()}
        manifest["code"] = dict(sorted((names[key], code) for key, code in codes.items()))
        for cell_id, origin in manifest["computed_from"].items():
            renamed = {"code": names[origin["code"]], "confirmed": confirmed_by(origin["witness"])}
            manifest["computed_from"][cell_id] = {**origin, **renamed}
    return manifest


def stamp(folder: Folder, code: str) -> None:
    """Say that this code gives what the manifest of a folder, as it is there now, holds. Raises OSError."""
    path = folder.root.parent / FILE
    with lock(folder.root.parent / LOCK, PATIENCE_S):
        before = _read(path)
        others = before["manifests"] if before["code"] == code else {}
        # what was confirmed for other code says nothing of this one
        manifests = {**others, folder.root.name: digest(read_document(folder.manifest), 64)}
        document = {"schema_version": SCHEMA_VERSION, "code": code, "confirmed": "one chunk of every pass"}
        write_document(path, {**document, "manifests": dict(sorted(manifests.items()))})


def _read(path: Path) -> dict[str, Any]:
    # a file that is damaged confirms nothing
    with suppress(FileNotFoundError, Damaged):
        if not path.is_symlink():
            return read_document(path)
    return {"code": "", "manifests": {}}
