"""The plug-ins that this process has loaded, where their code is, and which of their lines an error comes from."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.files import files_below
from dpexp.plugins import Plugin
from dpexp.plugins.importing import Code

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Loaded(Code):
    """A plug-in that was loaded, and where its code is."""

    name: str  # in results and messages: that of its file, or the module that an installed package offers
    plugin: Plugin
    installed: bool  # from an entry point, not by its path
    read_at: int  # when reading its code began: nanoseconds since 1970

    def inputs(self) -> list[Path]:
        """The files of its `inputs`. Raises UsageError where a pattern fits none."""
        places: list[Path] = []
        for pattern in map(str, self.plugin.inputs):
            if not (fitting := [] if not pattern or os.path.isabs(pattern) else sorted(self.file.parent.glob(pattern))):
                message = f"{self.typed}: no file fits {pattern!r} of its inputs, which are relative paths or patterns"
                raise UsageError(message, "for instance Plugin(inputs=('data/*.csv',))")
            places += fitting
        return [file for place in places for file in files_below(place)]


LOADED: dict[str, Loaded] = {}  # the plug-ins of this process by name; filled by `dpexp.plugins.loading` alone


def owners_of(part: Callable[..., Any]) -> list[Loaded]:
    """The plug-ins in whose folder a class or function is written."""
    file = getattr(sys.modules.get(part.__module__), "__file__", None)
    return [loaded for loaded in LOADED.values() if file is not None and Path(file) in loaded.files]


def blame(error: BaseException) -> str:
    """`file:line: ` of the innermost line of a plug-in that an error passed through; empty where none took part."""
    return next((f"{line}: " for loaded in LOADED.values() if (line := loaded.line_of(error))), "")


def error_words(error: Exception) -> tuple[str, str]:
    """Message and hint of any error; of an unexpected one its type, and the plug-in's line."""
    if isinstance(error, DpexpError):
        return error.message if ".py:" in error.message else blame(error) + error.message, error.hint
    return f"{blame(error)}{type(error).__name__}: {error}", ""


def shell(words: Sequence[str], results: Path) -> str:
    """A command of dpexp on some results, with today's plug-ins, as it is typed here."""
    where = [] if results == Path("results") else ["--results", str(results)]
    return " ".join([shlex.join(["dpexp", *words, *where]), *as_options()])


def as_options() -> list[str]:
    """The words of a command line that load today's plug-ins again, but those of `research/`, quoted for a shell."""
    own, ours = (loaded for loaded in LOADED.values() if not loaded.installed), research_folders()
    files = [loaded.typed for loaded in own if loaded.file.parent not in ours]
    return [word for file in files for word in ("--plugin", shlex.quote(str(file)))]


def research_folders() -> list[Path]:
    """The folders of dpexp's own plug-ins, `research/FOLDER/NAME.py`; none outside a clone."""
    # beside an installed package a folder of this name may be anybody's
    in_clone = (ROOT / "pyproject.toml").is_file()
    return sorted(path.parent for path in (ROOT / "research").glob("*/*.py")) if in_clone else []
