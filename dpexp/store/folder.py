"""The results folder of an experiment: where everything lies, and who may write to it.

(a) Whether a folder is held the kernel alone says, which lets go of what a dead process held.
(b) The note beside the lock is for people. It is locked too: readers may ask for that lock, and are in nobody's way.
(c) Where a file system knows no locks, a mark stands for the lock. That of a killed process is taken away by a person.
(d) Nothing that is in the way is deleted: it is renamed, and kept beside what takes its place. Folders are entered for
writing only where they are real ones: a link would lead to the user's other files. Only names of ours are deleted or
moved in them.
(e) A release is one rename, that of a cell's folder `released/<cell>` to this name: before it nothing has left the run,
and after it everything has, and is brought to its places, by this run or by the next one.
"""

from __future__ import annotations

import fcntl
import itertools
import json
import os
import re
import shlex
import socket
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.files import Damaged, Held, clear_leftovers, held, opened, read_ordinary, settle
from dpexp.core.terminal import warn
from dpexp.store.files import SUBFOLDERS, read_document, read_sealed

LOCK, NOTE, MARK = ".lock", ".lock-holder.json", ".lock-mark"
"""what the kernel locks; what tells people who has done so; and what stands for the lock where there are none"""
CELL = r"[0-9a-f]{12}"
"""a cell's id"""

OURS: dict[Path, os.stat_result] = {}
"""folders that this process holds, and the locks in them"""


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
        self.released = self.root / "released"
        """where what a deployment releases becomes whole: a folder of this name for every cell, for a moment"""

    def trajectory(self, cell_id: str) -> Path:
        return self.root / "trajectories" / f"{cell_id}.parquet"

    def model(self, cell_id: str) -> Path:
        return self.root / "models" / f"{cell_id}.parquet"

    def orphan(self, cell_id: str) -> Path:
        return self.root / "orphaned" / f"{cell_id}.parquet"

    @property
    def deployed(self) -> dict[str, str]:
        """When deployments released cells, by cell id, by the manifest alone; empty where that cannot be read."""
        try:
            return deployments(read_document(self.manifest))
        except (FileNotFoundError, Damaged):
            return {}

    def finish_releases(self) -> None:
        """Put what deployments have released into its places."""
        # (e)
        for cell in _named(self.released, rf"\.?{CELL}"):
            if cell.is_symlink() or not cell.is_dir():
                continue
            # of a run that ended before its rename: nothing of it has been released
            if cell.name.startswith("."):
                _remove(cell, r"(model|trajectory)\.parquet")
                continue
            for name, place in (("model", self.model(cell.name)), ("trajectory", self.trajectory(cell.name))):
                place.parent.mkdir(parents=True, exist_ok=True)
                with suppress(FileNotFoundError):  # that one is in its place already
                    os.replace(cell / f"{name}.parquet", place)
                settle(place.parent, self.root)
            with suppress(OSError):  # somebody else's files are in it
                cell.rmdir()

    def stored_in(self, name: str) -> list[Path]:
        """The trajectory files in a subfolder of ours."""
        return list(_named(self.root / name, rf"{CELL}\.parquet"))

    def remove_partial(self) -> None:
        """Delete the chunks of a run that has ended well."""
        _remove(self.partial, r"[0-9a-f]{20}\.chunk")

    def require_real(self) -> None:
        """Raises UsageError where the folder, or one of ours in it, is a link: what it leads to is not ours."""
        for path in (self.root, *(self.root / name for name in SUBFOLDERS)):
            if path.is_symlink():
                raise UsageError(
                    f"{path} is a link to {os.readlink(path)}, and dpexp writes only into real folders",
                    f"remove the link: rm {shlex.quote(str(path))}; or use --results DIR for another folder",
                )

    def _make_room(self) -> None:
        """Rename what is in the place of a file or folder of ours: the other of the two, or a file of somebody."""
        # (d)
        folders = [self.root / name for name in SUBFOLDERS]
        for path in folders:
            if os.path.lexists(path) and not path.is_dir():
                _set_aside(path)
        inside = (path for folder in folders for path in _named(folder, r"[0-9a-f]+\.(parquet|chunk)"))
        for path in (self.manifest, self.cells, self.summary, self.provenance, *inside):
            if path.is_dir() and not path.is_symlink():
                _set_aside(path)
        # without a manifest of ours the others may be anybody's too
        with suppress(FileNotFoundError, Damaged):
            read_document(self.manifest)
            return
        readers = {self.manifest: read_document, self.cells: read_sealed, self.summary: read_sealed}
        for path, read in {**readers, self.provenance: read_document}.items():
            try:
                read(path)
            except FileNotFoundError:
                continue
            except Damaged as error:
                warn(f"{path}: {error}; renamed to {_set_aside(path).name}")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for writing; leftovers of killed processes are cleared, and what a deployment began is ended.

        Raises DpexpError where another process holds it, NotWritable where nothing can be written.
        """
        with ExitStack() as stack:
            try:
                self.require_real()
                self.root.mkdir(parents=True, exist_ok=True)
                # a link would let us write elsewhere
                for path in (self.root / name for name in (LOCK, NOTE, MARK)):
                    if os.path.lexists(path) and (path.is_symlink() or not path.is_file()):  # not ours to write to
                        _set_aside(path)
                # (a); all that follows is done by the one who holds it
                stack.enter_context(held(self.root / LOCK, self.root / MARK))
                self._make_room()
                for place in (self.root, *(self.root / name for name in SUBFOLDERS)):
                    clear_leftovers(place)
                self.finish_releases()
                stack.enter_context(self._noted())
            except Held:
                marked = "; if no such process exists any more: dpexp run --unlock" * (self.root / MARK).exists()
                hint = f"wait for it, or use --results DIR{marked}"
                raise DpexpError(f"{self.root} is being written by {self._holder()}", hint) from None
            except OSError as error:
                hint = "use --results DIR for another folder"
                raise NotWritable(f"{self.root} cannot be written: {error.strerror}", hint) from None
            yield

    @contextmanager
    def _noted(self) -> Iterator[None]:
        """A note that says who holds the folder."""
        with (self.root / NOTE).open("w") as note:
            # (b); where there are no locks, readers do not wait
            with suppress(OSError):
                fcntl.flock(note, fcntl.LOCK_EX)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            json.dump({"pid": os.getpid(), "host": socket.gethostname(), "since": since}, note)
            note.flush()
            OURS[self.root.absolute()] = (self.root / LOCK).stat()
            try:
                yield
            finally:
                del OURS[self.root.absolute()]
                with suppress(OSError):
                    (self.root / NOTE).unlink(missing_ok=True)

    def require_held(self) -> None:
        """Raises DpexpError where the folder that is held here is not under its name any more: another one is there, or
        can be at any time, and somebody else may hold that; or where a link has taken the place of a folder in it."""
        self.require_real()
        with suppress(OSError):
            if os.path.samestat(OURS[self.root.absolute()], (self.root / LOCK).stat()):
                return
        raise DpexpError(f"{self.root} was moved or taken away while it was in use", "run again")

    @property
    def is_held(self) -> bool:
        """Whether another process is writing here; a hint for readers, never a promise."""
        if self.root.absolute() in OURS or (self.root / NOTE).is_symlink():
            return False
        try:
            with opened(self.root / NOTE) as note:
                fcntl.flock(note, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except OSError as error:
            return isinstance(error, BlockingIOError)
        return False

    def unlock(self) -> str:
        """Take away the mark of a process that was killed where the file system knows no locks; what was done.

        A person says that the process is gone: nothing here can know it. Raises DpexpError where the kernel says that
        the folder is held: that process has to end.
        """
        self.require_real()
        # (a) goes before (c)
        try:
            with held(self.root / LOCK):
                pass
        except Held:
            hint = "end that process: its lock ends with it"
            raise DpexpError(f"{self.root} is being written by {self._holder()}", hint) from None
        except OSError:
            pass  # no such folder, or no locks in it
        if not (self.root / MARK).exists():
            return f"{self.root}: nobody holds it"
        by = self._holder()
        (self.root / MARK).unlink(missing_ok=True)
        return f"{self.root}: unlocked; it was held by {by}"

    def _holder(self) -> str:
        """What the note says."""
        try:
            by = json.loads(read_ordinary(self.root / NOTE))
            return f"process {by['pid']} on {by['host']} since {by['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


def deployments(manifest: dict[str, Any]) -> dict[str, str]:
    """When deployments released cells, by cell id."""
    origins = manifest["computed_from"].items()
    return {cell_id: str(origin["deployment"]) for cell_id, origin in origins if origin.get("deployment")}


def _named(folder: Path, pattern: str) -> Iterable[Path]:
    """What a folder holds under names of a pattern; nothing where it is a link, or not there."""
    if folder.is_symlink() or not folder.is_dir():
        return ()
    return (path for path in list(folder.iterdir()) if re.fullmatch(pattern, path.name))


def _remove(folder: Path, pattern: str) -> None:
    """Delete the files of these names in a real folder, and the folder where nothing else is in it."""
    if folder.is_symlink():
        return
    for path in _named(folder, pattern):
        if path.is_symlink() or not path.is_dir():
            path.unlink(missing_ok=True)
    clear_leftovers(folder)
    with suppress(OSError):
        folder.rmdir()


def _set_aside(path: Path) -> Path:
    """Rename a file or folder to one beside it that is not there yet, `.damaged` at its end: its new path."""
    names = (path.with_name(f"{path.name}.damaged{k or ''}") for k in itertools.count())
    return path.rename(next(name for name in names if not os.path.lexists(name)))


def own_folders(results: Path) -> list[Path]:
    """The folders in a results folder, sorted; links lead elsewhere."""
    if not results.is_dir():
        return []
    found = (path for path in results.iterdir() if path.name.isprintable() and not path.is_symlink())
    return sorted(path for path in found if path.is_dir())


def holds_results(path: Path) -> bool:
    """Whether a folder looks like the results of an experiment, whole or not."""
    return any((path / name).exists() for name in ("manifest.json", "cells.parquet", "trajectories"))


def experiments_in(results: Path) -> list[str]:
    """Names of the experiments that have results in a folder, whole or not; links lead elsewhere."""
    return [path.name for path in own_folders(results) if holds_results(path)]
