"""Why stored numbers are not what today's code, data and config give.

(a) What a deployment released stays what it is, and cannot be computed again.
(b) Code and data are compared by their fingerprints. Where code has changed, one chunk that is computed again may say
that the numbers have not: they are unconfirmed, if a witness of them was kept and nothing else speaks against them.
(c) The config file is read as today's code reads it, also where its text is the same: a default that it leaves open may
be another one now. One that names the user's data is not read for that, since all of them would be.
(d) What is absent says nothing: numbers cannot be held against a config or a data file that is not there.

`run` asks the same questions of every cell (`dpexp.store.planning`), so it repairs whatever a reader refuses.
"""

from __future__ import annotations

import hashlib
import os
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp.core.files import MOST_OF_DOCUMENT, read_ordinary
from dpexp.core.text import few
from dpexp.store.fingerprint import changed, what_changed
from dpexp.store.fingerprint import today as today_of
from dpexp.store.generation import Generation, config_path, own_data

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment
    from dpexp.store.cell_files import Model


def why_stale(generation: Generation) -> str:
    """Why its numbers are not those of today; empty where nothing speaks against them."""
    m, kept = generation.manifest, generation.deployed
    # (a)
    if kept and len(kept) == len(m["cells"]):
        return ""
    # (b)
    keys = {one["code"] for cell_id, one in m["computed_from"].items() if cell_id not in kept}
    files = [name for key in sorted(keys) for name in changed(m["code"][key], today_of(m["code"][key]))]
    # (c), asked last: a config is read for it
    if not files:
        return _other_config(generation)
    state = "unconfirmed" if not own_data(m) and not _other_config(generation) else "stale"
    return f"{state}, {what_changed(files)} changed since: {few(list(dict.fromkeys(files)))}"


def changed_since(model: Model) -> list[str]:
    """Modules and data files that are not what a model was computed with any more."""
    return changed(dict(model.metadata["code"]), today_of(dict(model.metadata["code"])))


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


def _there(path: str) -> bool:
    """Whether a data file or folder that a config names is there now."""
    return os.path.exists(os.path.expanduser(path))


def _other_config(generation: Generation) -> str:
    """What the config file says today that it did not say when these results were made; empty for nothing."""
    m, path = generation.manifest, config_path(generation.manifest, generation.folder)
    # (d)
    if path is None:
        return ""
    sha256 = _sha256(path)
    same = sha256 == m["config"]["sha256"]
    # (c)
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
    # (a)
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
