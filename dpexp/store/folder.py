"""The results folder of an experiment: where everything lies, and who may write to it."""

from __future__ import annotations

import itertools
import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

from dpexp.core.errors import DpexpError
from dpexp.core.files import clear_leftovers, is_alive

HOLDER = ".lock-holder.json"
"""says which process holds the folder"""


class NotWritable(DpexpError):
    """A results folder on a disk or in a directory that this user cannot write to."""


class Folder:
    """results/<experiment>/."""

    def __init__(self, results: Path, experiment: str) -> None:
        self.root = results / experiment
        self.experiment = experiment

    @property
    def cells(self) -> Path:
        return self.root / "cells.parquet"

    @property
    def summary(self) -> Path:
        return self.root / "summary.parquet"

    @property
    def manifest(self) -> Path:
        return self.root / "manifest.json"

    @property
    def provenance(self) -> Path:
        return self.root / "provenance.json"

    @property
    def partial(self) -> Path:
        return self.root / "partial"

    def trajectory(self, cell_id: str) -> Path:
        return self.root / "trajectories" / f"{cell_id}.parquet"

    def model(self, cell_id: str) -> Path:
        return self.root / "models" / f"{cell_id}.parquet"

    def orphan(self, cell_id: str) -> Path:
        return self.root / "orphaned" / f"{cell_id}.parquet"

    def _make_room(self) -> None:
        """Rename what stands where a file or folder of ours belongs and is the other of the two; nothing is deleted."""
        folders = [self.root / name for name in ("trajectories", "models", "orphaned", "partial")]
        for path in folders:
            if os.path.lexists(path) and not path.is_dir():
                _set_aside(path)
        files = [self.manifest, self.cells, self.summary, self.provenance, self.root / HOLDER]
        files += [
            p for folder in folders if folder.is_dir() for p in folder.iterdir() if p.suffix in (".parquet", ".chunk")
        ]
        for path in files:
            if path.is_dir():
                _set_aside(path)

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for writing; leftovers of killed processes are cleared.

        Raises DpexpError where another process holds it, NotWritable where nothing can be written.
        """
        from filelock import FileLock, Timeout

        holder = self.root / HOLDER
        lock = FileLock(self.root / ".lock")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
            if (self.root / ".lock").is_dir():
                _set_aside(self.root / ".lock")
            try:
                lock.acquire(timeout=0)
            except Timeout:
                if not self._left_behind(holder):
                    raise
                (self.root / ".lock").unlink(missing_ok=True)
                lock.acquire(timeout=0)
        except Timeout:
            raise DpexpError(
                f"{self.root} is being written by {self._holder(holder)}",
                f"wait for it, or use --results DIR; if no such process exists any more, delete {self.root / '.lock'}",
            ) from None
        except OSError as error:
            raise NotWritable(
                f"{self.root} cannot be written: {error.strerror}", "use --results DIR for another folder"
            ) from None
        try:
            since = datetime.now(UTC).isoformat(timespec="seconds")
            try:
                self._make_room()
                for place in (self.root, *(p for p in self.root.iterdir() if p.is_dir())):
                    clear_leftovers(place)
                holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}))
            except OSError as error:
                raise NotWritable(
                    f"{self.root} cannot be written: {error.strerror}", "use --results DIR for another folder"
                ) from None
            yield
        finally:
            with suppress(OSError):
                holder.unlink(missing_ok=True)
            lock.release()

    @property
    def is_held(self) -> bool:
        """Whether another process seems to be writing here; a hint for readers, never a promise."""
        try:
            by = json.loads((self.root / HOLDER).read_text())
            here = by["host"] == socket.gethostname()
            return not here or (int(by["pid"]) != os.getpid() and is_alive(int(by["pid"])))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _left_behind(self, holder: Path) -> bool:
        """Whether the lock is that of a dead process of this machine.

        Where the file system knows no locks the lock file itself is the lock, and a killed process leaves it behind.
        """
        try:
            by = json.loads(holder.read_text())
            return bool(by["host"] == socket.gethostname() and not is_alive(int(by["pid"])))
        except (OSError, ValueError, KeyError, TypeError):
            return False

    def _holder(self, holder: Path) -> str:
        try:
            by = json.loads(holder.read_text())
            return f"process {by['pid']} on {by['host']} since {by['since']}"
        except (OSError, ValueError, KeyError, TypeError):
            return "another process"


def _set_aside(path: Path) -> None:
    """Rename a file or folder to one beside it that is not there yet, `.damaged` at its end."""
    names = (path.with_name(f"{path.name}.damaged{k or ''}") for k in itertools.count())
    path.rename(next(name for name in names if not os.path.lexists(name)))


def holds_results(path: Path) -> bool:
    """Whether a folder looks like the results of an experiment, whole or not."""
    return any((path / name).exists() for name in ("manifest.json", "cells.parquet", "trajectories"))


def experiments_in(results: Path) -> list[str]:
    """Names of the experiments that have results in a folder, whole or not."""
    return sorted(path.name for path in results.iterdir() if holds_results(path)) if results.is_dir() else []
