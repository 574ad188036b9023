"""Importing a plug-in's code: the folder of its file becomes a package of its own in this process.

Two plug-ins may therefore both have a `helper.py`. Inside the folder, `import helper` and `from .helper import f` both
mean the file beside the plug-in; everything else is imported as usual. Nothing is read from or written to
`__pycache__`, so what runs is what the files say. Whatever goes wrong is a UsageError that begins with file and line.
"""

from __future__ import annotations

import ast
import builtins
import importlib
import re
import sys
import traceback
from collections.abc import Iterable
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any, NoReturn

from dpexp.core.digests import digest
from dpexp.core.errors import DpexpError, UsageError
from dpexp.core.text import guess
from dpexp.plugins.loaded import inside_folder, module_file
from dpexp.plugins.observed import follow_pandas, require_followed, watch

PREFIX = "dpexp_plugin_"
"""how Python's names of plug-ins' folders begin"""
FOLDERS: dict[str, Path] = {}
"""package -> the folder that it stands for"""


def package_of(folder: Path) -> str:
    """Python's name for a plug-in's folder: the same in every process of this machine."""
    package = f"{PREFIX}{re.sub('[^A-Za-z0-9]', '_', folder.name)}_{digest(str(folder), 8)}"
    FOLDERS[package] = folder
    watch(package)
    if not any(isinstance(finder, _Finder) for finder in sys.meta_path):
        sys.meta_path.insert(0, _Finder())
    return package


class _Finder(MetaPathFinder):
    """Finds the modules of plug-ins' folders."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        package, _, inside = name.partition(".")
        folder = FOLDERS.get(package)
        if folder is None:
            return None
        file = module_file(folder, inside)
        if file is not None:
            inner = [str(file.parent)] if file.name == "__init__.py" else None
            loader = _Loader(name, str(file), package, folder)
            return spec_from_file_location(name, file, loader=loader, submodule_search_locations=inner)
        place = folder.joinpath(*inside.split(".")) if inside else folder
        if not place.is_dir():
            return None
        # a folder without __init__.py is a package too, as in Python
        spec = ModuleSpec(name, None, is_package=True)
        spec.submodule_search_locations = [str(place)]
        return spec


class _Loader(SourceFileLoader):
    """Compiles a plug-in's file as it is now, and lets it import the files beside it by their plain names."""

    def __init__(self, name: str, path: str, package: str, folder: Path) -> None:
        super().__init__(name, path)
        self.package, self.folder = package, folder

    def get_code(self, fullname: str) -> CodeType | None:
        """From the source, never from `__pycache__`."""
        # what is kept there is found by the file's time, and that may have been written within the clock's last tick
        source = self.get_data(self.path)
        _refuse_cached_kernels(source, self.path)
        return self.source_to_code(source, self.path)

    def exec_module(self, module: ModuleType) -> None:
        """Run the module with an `import` of its own."""
        # Python looks that up in the module's `__builtins__`
        module.__dict__["__builtins__"] = {**vars(builtins), "__import__": self._import}
        super().exec_module(module)

    def _import(self, name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:
        inside = inside_folder(self.folder, name) if level == 0 else None
        if inside is None:
            require_followed(name)
            module = builtins.__import__(name, globals, locals, fromlist, level)
            follow_pandas()
            return module
        full = f"{self.package}.{inside}".rstrip(".")
        module = builtins.__import__(full, globals, locals, fromlist, 0)
        if fromlist:
            return module
        # `import a.b` binds a: the name that the statement begins with
        above = "." * name.count(".")
        return sys.modules[full.rsplit(".", len(above))[0] if above else full]


def _refuse_cached_kernels(source: bytes, path: str) -> None:
    """Raise SyntaxError where numba is asked to keep compiled code: it would run on after edits of what it calls."""
    for node in ast.walk(ast.parse(source, path)):
        if not isinstance(node, ast.Call):
            continue
        kept = any(word.arg == "cache" and ast.unparse(word.value) != "False" for word in node.keywords)
        if kept and ast.unparse(node.func).rpartition(".")[2] in ("jit", "njit", "vectorize"):
            message = "numba's cache does not notice edits of functions that are called: leave out `cache`"
            raise SyntaxError(message, (path, node.lineno, node.col_offset, None))


def imported(name: str, root: Path, shown: Path) -> ModuleType:
    """Import a plug-in's module. Whatever goes wrong is a UsageError at the line of the plug-in that it comes from."""
    try:
        return importlib.import_module(name)
    except SyntaxError as error:
        place = shown_below(Path(error.filename or ""), root, shown)
        raise UsageError(f"{place}:{error.lineno}: {error.msg}", "mend the plug-in") from error
    except (Exception, SystemExit) as error:
        _raise_at(error, root, shown)


def _raise_at(error: BaseException, root: Path, shown: Path) -> NoReturn:
    frames = [f for f in traceback.extract_tb(error.__traceback__) if Path(f.filename).is_relative_to(root)]
    place = f"{shown_below(Path(frames[-1].filename), root, shown)}:{frames[-1].lineno}" if frames else str(shown)
    # of libraries that add where to read on, the first line
    what = error.message if isinstance(error, DpexpError) else f"{type(error).__name__}: {error}".splitlines()[0]
    hint = "--debug shows the traceback"
    if isinstance(error, ModuleNotFoundError) and error.name:
        near = guess(error.name.rpartition(".")[2], [file.stem for file in root.glob("*.py")])
        hint = near.strip() or f"{error.name} is neither installed nor in {shown}"
    elif isinstance(error, ImportError) and "relative import" in str(error):
        hint = "a plug-in's own files are those in its folder: write `from helper import f` for helper.py beside it"
    raise UsageError(f"{place}: {what}", hint) from error


def shown_below(file: Path, root: Path, shown: Path) -> str:
    """A file below the root as the user would write it."""
    return str(shown / file.relative_to(root)) if file.is_relative_to(root) else str(file)


def drop_modules(names: Iterable[str]) -> None:
    for name in list(names):
        del sys.modules[name]
