"""Which plug-ins this process has loaded, where their code lies, and which of their lines an error comes from.

The loading itself is in `dpexp.plugins.loading`.
"""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from dpexp.core.digests import files_below
from dpexp.core.errors import DpexpError, UsageError
from dpexp.plugins import Plugin
from dpexp.plugins.research import is_research


@dataclass(frozen=True)
class Loaded:
    """A plug-in that was loaded, and where its code lies."""

    name: str
    """what results and messages call it: the name of its file, or the module that an installed package offers"""
    plugin: Plugin
    file: Path
    shown: Path
    """the file as the user wrote it"""
    files: tuple[Path, ...]
    """the Python files that count as its code"""
    installed: bool
    """found through an entry point, not by its path"""
    read_at: int
    """when reading its code began: nanoseconds since 1970"""

    @property
    def root(self) -> Path:
        """The folder of its files, from which they have their names."""
        return Path(os.path.commonpath([file.parent for file in self.files]))

    def inputs(self) -> list[Path]:
        """The files that it says it reads. Raises UsageError where a pattern fits none."""
        found = []
        for pattern in self.plugin.inputs:
            places = sorted(self.file.parent.glob(pattern))
            if not places:
                hint = "inputs are paths or patterns from the folder of the plug-in"
                raise UsageError(f"{self.shown}: no file fits '{pattern}' of its inputs", hint)
            found += [file for place in places for file in files_below(place)]
        return found

    def holds(self, module: str) -> bool:
        """Whether a module that Python knows by this name is one of its files."""
        file = getattr(sys.modules.get(module), "__file__", None)
        return file is not None and Path(file) in self.files

    def shown_as(self, file: Path) -> str:
        """A file of the plug-in as the user would write it."""
        return str(self.shown.parent / os.path.relpath(file, self.file.parent))


LOADED: dict[str, Loaded] = {}
"""the plug-ins of this process by name; filled by `dpexp.plugins` alone"""


def owners_of(kind: type) -> list[Loaded]:
    """The plug-ins in whose folder a class is written."""
    return [loaded for loaded in LOADED.values() if loaded.holds(kind.__module__)]


def blame(error: BaseException) -> str:
    """`file:line: ` of the innermost line of a plug-in that an error passed through; empty where none took part."""
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        # frames go from the outside inwards, so that the place of the innermost one stays
        for loaded in LOADED.values():
            if Path(frame.f_code.co_filename) in loaded.files:
                place = f"{loaded.shown_as(Path(frame.f_code.co_filename))}:{line}: "
                break
    return place


def said(error: Exception) -> tuple[str, str]:
    """The message and the hint of any error; of one that nobody foresaw what it is, and the plug-in's line."""
    if isinstance(error, DpexpError):
        return error.message if ".py:" in error.message else blame(error) + error.message, error.hint
    return f"{blame(error)}{type(error).__name__}: {error}", ""


def shell(words: Sequence[str], results: Path) -> str:
    """A command of dpexp on some results, with today's plug-ins, as it is typed here."""
    # Nobody types the folder that is the default.
    where = [] if results == Path("results") else ["--results", str(results)]
    return " ".join([shlex.join(["dpexp", *words, *where]), *as_options()])


def foreign() -> list[Loaded]:
    """The loaded plug-ins that are not dpexp's own."""
    return [loaded for loaded in LOADED.values() if not is_research(loaded.file)]


def as_options() -> list[str]:
    """The words of a command line that load today's plug-ins again, quoted for a shell."""
    # those of `research/` are found without
    files = [loaded.shown for loaded in foreign() if not loaded.installed]
    return [word for file in files for word in ("--plugin", shlex.quote(str(file)))]
