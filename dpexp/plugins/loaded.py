"""Which plug-ins this process has loaded, where their code lies, and which of their lines an error comes from.

The loading itself is in `dpexp.plugins.loading`.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from traceback import walk_tb

from dpexp.core.errors import DpexpError
from dpexp.plugins import Plugin


@dataclass(frozen=True)
class Loaded:
    """A plug-in that was loaded, and where its code lies.

    Python knows its modules as `package.inside`, where `inside` is the dotted path below `root`. Results know them as
    `name:inside`, which says nothing of where the folder lies on this machine.
    """

    name: str
    """what results and messages call it: the name of its file, or the module that an installed package offers"""
    plugin: Plugin
    file: Path
    shown: Path
    """the file as the user wrote it"""
    root: Path
    """the folder whose modules count as its code"""
    package: str
    """the package that Python has for that folder; empty for an installed module that stands alone"""
    installed: bool
    """found through an entry point, not by its path"""
    read_at: int
    """when reading its code began: nanoseconds since 1970"""
    patches: bool = False
    """it has put something of its own in the place of code of dpexp: so it counts for every cell"""

    @property
    def inside(self) -> str:
        """The dotted path of its file below the root."""
        parts = self.file.relative_to(self.root).with_suffix("").parts
        return ".".join(part for part in parts if part != "__init__")

    def key(self, inside: str) -> str:
        """What results call one of its modules."""
        return f"{self.name}:{inside}"

    def inside_of(self, module: str) -> str | None:
        """The dotted path below the root of a module that Python knows by this name; None where it is not its own."""
        if not self.package:
            return module if module == self.inside else None
        if module == self.package:
            return ""
        return module.removeprefix(f"{self.package}.") if module.startswith(f"{self.package}.") else None

    def own(self, imported: str) -> str | None:
        """The dotted path below the root that an absolute import in its code means; None for another package.

        A file's folder is searched first, as Python does for a script that is run.
        """
        return self.inside_of(imported) if self.installed else inside_folder(self.root, imported)

    def source(self, inside: str) -> Path | None:
        """The file of one of its modules; None where there is none."""
        if not self.package and inside != self.inside:
            return None
        return module_file(self.root, inside)

    def shown_as(self, file: Path) -> str:
        """A file of the plug-in as the user would write it."""
        return str(self.shown.parent / os.path.relpath(file, self.file.parent))


LOADED: dict[str, Loaded] = {}
"""the plug-ins of this process by name; filled by `dpexp.plugins` alone"""


def module_file(root: Path, inside: str) -> Path | None:
    """The file of the module `inside` below a folder: a file, or a package's `__init__.py`."""
    place = root.joinpath(*inside.split(".")) if inside else root
    files = (place / "__init__.py", place.parent / f"{place.name}.py") if inside else (place / "__init__.py",)
    return next((file for file in files if file.is_file()), None)


def inside_folder(root: Path, imported: str) -> str | None:
    """The dotted path below a plug-in's folder that `import imported` means; None for what is installed."""
    first, _, rest = imported.partition(".")
    # `import helper` means helper.py or the folder helper beside the plug-in
    if module_file(root, first) or any((root / first).glob("*.py")):
        return imported
    # where the folder is itself a package, with an `__init__.py`, its own name before the others means the folder
    return rest if first == root.name and (root / "__init__.py").is_file() else None


def owners_of(kind: type) -> list[Loaded]:
    """The plug-ins that a class comes from: those that add it, or else all whose folder it lies in."""
    near = [loaded for loaded in LOADED.values() if loaded.inside_of(kind.__module__) is not None]
    fields = ("problems", "algorithms", "schedules", "budgets", "mechanisms")
    # Two plug-ins of one folder share its helpers, but each adds its own classes.
    adding = [one for one in near if any(kind in getattr(one.plugin, field).values() for field in fields)]
    return adding or near


def blame(error: BaseException) -> str:
    """`file:line: ` of the innermost line of a plug-in that an error passed through; empty where none took part."""
    place = ""
    for frame, line in walk_tb(error.__traceback__):
        # Frames go from the outside inwards, so that the place of the innermost one stays.
        for loaded in LOADED.values():
            if loaded.inside_of(frame.f_globals.get("__name__", "")) is not None:
                place = f"{loaded.shown_as(Path(frame.f_code.co_filename))}:{line}: "
                break
    return place


def patching() -> tuple[str, ...]:
    """What results call the files of plug-ins that have changed dpexp."""
    return tuple(loaded.key(loaded.inside) for loaded in LOADED.values() if loaded.patches)


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


def as_options() -> list[str]:
    """The words of a command line that load today's plug-ins again, quoted for a shell."""
    files = [loaded.shown for loaded in LOADED.values() if not loaded.installed]
    return [word for file in files for word in ("--plugin", shlex.quote(str(file)))]
