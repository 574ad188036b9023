"""The results folder of an experiment: where everything lies, and who may write to it.

(a) Who holds a folder is decided by the lock of a file, which ends with the process.
(b) A file of somebody else under a name of ours is renamed, and kept beside what takes its place. Folders are entered
for writing only where they are real ones: a link would lead to the user's other files. Only names of ours are deleted.
(c) A deployment is a folder of its own, `<experiment>.deployed-<time>`: it becomes whole under a hidden name, has its
own by one rename, and nothing is ever written in it again.
"""

from __future__ import annotations

import itertools
import os
import shlex
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from functools import lru_cache
from pathlib import Path

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.files import Damaged, Held, State, clear_leftovers, lock, state_of
from dpexp.core.terminal import warn
from dpexp.store.files import SUBFOLDERS, read_document, read_table

LOCK = ".lock"
CELL = r"[0-9a-f]{12}"
"""a cell's id"""
DEPLOYED = r".+\.deployed-\d{8}T\d{6}Z"
"""the name of a deployment's folder: no experiment is called so"""
HELD: dict[Path, os.stat_result] = {}
"""folders that this process holds"""


class NotWritable(UsageError):
    """A results folder on a disk or in a directory that this user cannot write to."""


class Folder:
    """results/<experiment>/."""

    def __init__(self, results: Path, experiment: str) -> None:
        self.root = results / experiment
        self.experiment = experiment
        self.cells = self.root / "cells.parquet"
        self.summary = self.root / "summary.parquet"
        self.manifest = self.root / "manifest.json"
        self.provenance = self.root / "provenance.json"
        self.partial = self.root / "partial"

    def trajectory(self, cell_id: str) -> Path:
        return self.root / "trajectories" / f"{cell_id}.parquet"

    def model(self, cell_id: str) -> Path:
        return self.root / "models" / f"{cell_id}.parquet"

    @property
    def deployed(self) -> dict[str, str]:
        """When a deployment released each cell, by the manifest alone; empty where that cannot be read."""
        try:
            return deployments(read_document(self.manifest))
        except (FileNotFoundError, Damaged):
            return {}

    def hash_of_trajectory(self, cell_id: str) -> str:
        """The SHA-256 that a trajectory file had when it was published last; empty where that is not known."""
        return _hashes_of_trajectories(self.provenance, state_of(self.provenance)).get(cell_id, "")

    def remove_partial(self) -> None:
        """Delete the chunks of a run that has ended well, and their folder where nothing else is in it."""
        for path in self.partial.glob("[0-9a-f]" * 20 + ".chunk"):
            path.unlink(missing_ok=True)
        clear_leftovers(self.partial)
        with suppress(OSError):
            self.partial.rmdir()

    def require_real(self) -> None:
        """Raises UsageError where the folder, or what is ours in it, is a link: what it leads to is not ours."""
        for path in (self.root, *(self.root / name for name in (*SUBFOLDERS, LOCK))):
            if path.is_symlink():
                raise UsageError(
                    f"{path} is a link to {os.readlink(path)}, and dpexp writes only into real folders",
                    f"remove the link: rm {shlex.quote(str(path))}; or use --results DIR for another folder",
                )

    def _set_aside(self) -> None:
        """Rename what cannot be read under a name of ours. Without a manifest of ours it may be anybody's."""
        # (b)
        with suppress(FileNotFoundError, Damaged):
            read_document(self.manifest)
            return
        for path in (self.manifest, self.cells, self.summary, self.provenance):
            try:
                read_document(path) if path.suffix == ".json" else read_table(path)
            except FileNotFoundError:
                continue
            except Damaged as error:
                names = (path.with_name(f"{path.name}.damaged{k or ''}") for k in itertools.count())
                place = path.rename(next(name for name in names if not os.path.lexists(name)))
                warn(f"{path}: {error}; renamed to {place.name}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for writing; leftovers of killed processes are cleared.

        Raises DpexpError where another process holds it, NotWritable where nothing can be written.
        """
        self.require_real()
        with ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                # (a); all that follows is done by the one who holds it
                stack.enter_context(lock(self.root / LOCK))
                HELD[self.root.absolute()] = self.root.stat()
                stack.callback(HELD.pop, self.root.absolute())
                self._set_aside()
                for folder in (self.root, *(self.root / name for name in SUBFOLDERS)):
                    clear_leftovers(folder)
            except Held:
                hint = "wait for it, or use --results DIR"
                raise DpexpError(f"{self.root} is being written by another process", hint) from None
            except OSError as error:
                hint = "use --results DIR for another folder"
                raise NotWritable(f"{self.root} cannot be written: {error.strerror}", hint) from None
            yield

    def require_held(self) -> None:
        """Raises DpexpError where the folder that is held here is not under its name any more: another one is there, or
        can be at any time, and somebody else may hold that; or where a link has taken the place of a folder in it."""
        self.require_real()
        with suppress(OSError):
            if os.path.samestat(HELD[self.root.absolute()], self.root.stat()) and (self.root / LOCK).is_file():
                return
        raise DpexpError(f"{self.root} was moved or taken away while it was in use", "run again")


@lru_cache(maxsize=8)
def _hashes_of_trajectories(provenance: Path, state: State) -> dict[str, str]:
    """By cell id; `state` is that of the file."""
    with suppress(FileNotFoundError, Damaged, KeyError, TypeError, AttributeError):
        return {cell_id: str(one["trajectory"]) for cell_id, one in read_document(provenance)["cells"].items()}
    return {}


def deployments(manifest: dict[str, object]) -> dict[str, str]:
    """When a deployment released each cell; empty for other results."""
    at, cells = str(manifest.get("deployment", "")), manifest["computed_from"]
    return dict.fromkeys(cells, at) if at and isinstance(cells, dict) else {}


def own_folders(results: Path) -> list[Path]:
    """The folders in a results folder, sorted; links lead elsewhere."""
    if not results.is_dir():
        return []
    names = (path for path in results.iterdir() if path.name.isprintable() and not path.name.startswith("."))
    return sorted(path for path in names if path.is_dir() and not path.is_symlink())


def holds_results(path: Path) -> bool:
    """Whether a folder looks like the results of an experiment, whole or not."""
    return any((path / name).exists() for name in ("manifest.json", "cells.parquet", "trajectories"))


def experiments_in(results: Path) -> list[str]:
    """Names of the experiments that have results in a folder, whole or not; links lead elsewhere."""
    return [path.name for path in own_folders(results) if holds_results(path)]
