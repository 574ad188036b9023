"""The results folder of an experiment: where everything is, and who may write to it.

(a) Who writes to a folder is decided by the lock of a file, which ends with the process.
(b) Folders are entered for writing only where they are real ones: a link would lead to the user's other files. Only
names of ours are written or deleted.
(c) A deployment is a folder of its own, `<experiment>.deployed-<time>`: it becomes whole under a hidden name, has its
own by one rename, and is never written to again.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.files import Held, lock
from dpexp.store.documents import SUBFOLDERS

LOCK = ".lock"
DEPLOYED = r".+\.deployed-\d{8}T\d{6}Z"
"""the name of a deployment's folder: no experiment is called so"""


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

    def remove_partial(self) -> None:
        """Delete the chunks of a run that has ended well, and their folder where nothing else is in it."""
        for path in self.partial.glob("[0-9a-f]" * 20 + ".chunk"):
            path.unlink(missing_ok=True)
        with suppress(OSError):
            self.partial.rmdir()

    def require_real(self) -> None:
        """Raises UsageError where the folder, or what is ours in it, is a link."""
        # (b)
        for path in (self.root, *(self.root / name for name in (*SUBFOLDERS, LOCK))):
            if path.is_symlink():
                message = f"{path} is a link, and dpexp writes only into real folders"
                raise UsageError(message, "remove the link, or use --results DIR for another folder")

    @contextmanager
    def locked(self) -> Iterator[None]:
        """Lock the folder for writing. Raises DpexpError where another process writes, UsageError where nobody can."""
        self.require_real()
        hint = "use --results DIR for another folder"
        with ExitStack() as stack:
            try:
                self.root.mkdir(parents=True, exist_ok=True)
                # (a)
                stack.enter_context(lock(self.root / LOCK))
            except Held:
                message = f"{self.root} is being written by another process"
                raise DpexpError(message, f"wait for it, or {hint}") from None
            except OSError as error:
                raise UsageError(f"{self.root} cannot be written: {error.strerror}", hint) from None
            yield


def own_folders(results: Path) -> list[Path]:
    """The folders in a results folder, sorted, but for links."""
    if not results.is_dir():
        return []
    names = (path for path in results.iterdir() if path.name.isprintable() and not path.name.startswith("."))
    return sorted(path for path in names if path.is_dir() and not path.is_symlink())


def holds_results(path: Path) -> bool:
    """Whether a folder looks like the results of an experiment, whole or not."""
    return any((path / name).exists() for name in ("manifest.json", "cells.parquet", "trajectories"))


def experiments_in(results: Path) -> list[str]:
    """Names of the experiments that have results in a folder, whole or not."""
    return [path.name for path in own_folders(results) if holds_results(path)]
