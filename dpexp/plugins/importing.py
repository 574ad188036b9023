"""The Python files of a plug-in, and importing its file: its folder is where Python looks last for modules."""

from __future__ import annotations

import ast
import importlib
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from traceback import extract_tb
from types import ModuleType

from dpexp.core.errors import DpexpError, UsageError

_FOLDERS: set[str] = set()  # where Python looks because of a plug-in


@dataclass(frozen=True)
class Code:
    """A plug-in's file, and the Python files that count as its code."""

    file: Path
    typed: Path  # the file as the user wrote it
    files: tuple[Path, ...]

    def as_typed(self, path: Path) -> str:
        """A file below the plug-in's folder as the user would write it."""
        root = self.file.parent
        return str(self.typed.parent / path.relative_to(root)) if path.is_relative_to(root) else str(path)

    def line_of(self, error: BaseException) -> str:
        """`file:line` of the innermost of its lines that an error passed through; empty where none took part."""
        own = [(Path(frame.filename), frame.lineno) for frame in extract_tb(error.__traceback__)]
        return next((f"{self.as_typed(file)}:{line}" for file, line in own[::-1] if file in self.files), "")


def code_of(file: Path, typed: Path) -> Code:
    """With the Python files in the folder of a plug-in's file, and those of the packages there that these import."""
    # a clone of dpexp may be the folder, and dpexp is no part of a plug-in
    root, names = file.parent, {"dpexp"}
    files = added = sorted(path for path in root.glob("*.py") if path.is_file())
    while added:
        new = {name for path in added for name in _imports(path)} - names
        names |= new
        added = [path for name in sorted(new) for path in sorted((root / name).rglob("*.py"))]
        files = [*files, *added]
        if len(files) > 500:
            message = f"{typed}: its folder has over 500 Python files, which all count as the plug-in's"
            raise UsageError(message, "move the plug-in into a folder of its own")
    return Code(file, typed, tuple(files))


def _imports(file: Path) -> set[str]:
    """The first names of the modules that a file imports; none where it cannot be parsed."""
    try:
        nodes = list(ast.walk(ast.parse(file.read_bytes())))
    except (OSError, SyntaxError, ValueError, RecursionError):
        return set()
    names = {alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module and not node.level}
    return {name.partition(".")[0] for name in names}


def import_file(code: Code) -> ModuleType:
    """Import a plug-in's file. Whatever goes wrong is a UsageError at the line of the plug-in that it comes from."""
    file, root = code.file, code.file.parent
    names = sorted({name for path in code.files for name in _imports(path)} - {"dpexp"})
    for path in (file, *(path for name in names for path in (root / f"{name}.py", root / name))):
        if path.exists() and (path.suffix or any(path.glob("*.py"))) and (other := _other_module(path)):
            raise UsageError(f"{code.as_typed(path)}: another module is called {path.stem}: {other}", "rename the file")
    if str(root) not in sys.path:
        sys.path.append(str(root))
        _FOLDERS.add(str(root))
    importlib.invalidate_caches()
    try:
        return importlib.import_module(file.stem)
    except (Exception, SystemExit) as error:
        raise _located(error, code) from error


def _other_module(own: Path) -> str:
    """The module that Python knows by the name of a file or folder, if it is another one; else empty."""
    if own.stem in sys.stdlib_module_names:
        return "one of Python's"
    try:
        spec = find_spec(own.stem)
    except (ImportError, ValueError):
        spec = getattr(sys.modules.get(own.stem), "__spec__", None)
    places = [] if spec is None else [spec.origin] if spec.origin else list(spec.submodule_search_locations or ())
    return "" if any(Path(place).is_relative_to(own) for place in places) else str(next(iter(places), ""))


def _located(error: BaseException, code: Code) -> UsageError:
    """The error at the last of the plug-in's own lines."""
    message = error.message if isinstance(error, DpexpError) else f"{type(error).__name__}: {error}".splitlines()[0]
    place, hint = code.line_of(error), "--debug shows the traceback"
    if isinstance(error, SyntaxError):
        place, message = f"{code.as_typed(Path(error.filename or ''))}:{error.lineno}", error.msg
    elif isinstance(error, ModuleNotFoundError):
        hint = f"it is neither installed nor in {code.typed.parent}"
    elif isinstance(error, FileNotFoundError):
        hint = "list the files that it reads as Plugin(inputs=...), and open them by their path from its own file"
    return UsageError(f"{place or code.typed}: {message}", hint)


def drop_modules(files: Iterable[Path]) -> None:
    """Have what these files define be imported anew, and look no more in their folders."""
    places = {*files} | {file.parent for file in files}
    sys.path[:] = [folder for folder in sys.path if not (folder in _FOLDERS and Path(folder) in places)]
    _FOLDERS.intersection_update(sys.path)
    for name, module in list(sys.modules.items()):
        # a folder without __init__.py has a path alone
        place = getattr(module, "__file__", None) or next(iter(getattr(module, "__path__", ())), "")
        if Path(place) in places:
            del sys.modules[name]
