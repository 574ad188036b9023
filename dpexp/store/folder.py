"""The results folder of an experiment: where everything lies, and who may write to it."""

from __future__ import annotations

import json
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

from dpexp.errors import DpexpError
from dpexp.store.files import clear_leftovers, is_alive


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

    def orphan(self, cell_id: str) -> Path:
        return self.root / "orphaned" / f"{cell_id}.parquet"

    def set_aside(self, cell_id: str) -> None:
        """Rename a damaged trajectory file: nothing is deleted, and the cell counts as not computed."""
        path = self.trajectory(cell_id)
        path.replace(path.with_suffix(".damaged"))

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Hold the folder for writing; leftovers of killed processes are cleared.

        Raises DpexpError where another process holds it, NotWritable where nothing can be written.
        """
        from filelock import FileLock, Timeout

        holder = self.root / ".lock-holder.json"
        lock = FileLock(self.root / ".lock")
        try:
            self.root.mkdir(parents=True, exist_ok=True)
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
            for place in (self.root, *(p for p in self.root.iterdir() if p.is_dir())):
                clear_leftovers(place)
            since = datetime.now(UTC).isoformat(timespec="seconds")
            try:
                holder.write_text(json.dumps({"pid": os.getpid(), "host": socket.gethostname(), "since": since}))
            except OSError as error:
                raise NotWritable(
                    f"{self.root} cannot be written: {error.strerror}", "use --results DIR for another folder"
                ) from None
            yield
        finally:
            holder.unlink(missing_ok=True)
            lock.release()

    @property
    def is_held(self) -> bool:
        """Whether another process seems to be writing here; a hint for readers, never a promise."""
        try:
            by = json.loads((self.root / ".lock-holder.json").read_text())
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
