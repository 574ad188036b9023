"""Where the paths of a config start: at its own folder, wherever it is run; those of stored results lead nowhere."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path

FOLDER: ContextVar[Path | None] = ContextVar("folder", default=Path())
"""the folder of the config that is read now; None where stored results are, whose data files are not opened"""


@contextmanager
def paths_from(folder: Path | None) -> Iterator[None]:
    """Paths of data that are read inside the `with` block start at this folder."""
    before = FOLDER.set(folder)
    try:
        yield
    finally:
        FOLDER.reset(before)


def place_of(path: str, folder: Path) -> Path:
    """Where a path of a config in this folder leads, as seen from the working directory."""
    return Path(os.path.normpath(folder / os.path.expanduser(path)))


def as_named(path: str, folder: Path, typed: bool = False) -> str:
    """A path as the cells of a config in this folder name it: from there, however it is spelled.

    One that was `typed` on the command line starts where that is run. A home stays a home.
    """
    if path.startswith("~") or not path:
        return path
    if not typed and not os.path.isabs(path):
        folder = Path(os.path.abspath(folder))
        return os.path.relpath(os.path.normpath(folder / path), folder)
    head, name = os.path.split(os.path.abspath(path))
    return os.path.relpath(os.path.join(os.path.realpath(head), name), os.path.realpath(folder))
