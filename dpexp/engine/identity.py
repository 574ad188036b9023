"""The name under which a compiled function is kept: what it is, the text of its packages, and what compiles it.

(a) A function is named by its module, its name, its options and what its closure holds: numbers, arrays and other such
functions. Numbers and arrays that a function of a plug-in finds by name count as well: numba compiles them in, and they
may have been read from a file.
(b) What these call is not asked: all text of the rooms that hold compiled functions counts, and of a plug-in its whole
folder. An edit there compiles anew.
(c) What cannot be named, or was edited after this process began, is compiled in every process.
"""

from __future__ import annotations

import hashlib
import os
import sys
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core import config, types
from numba.core.dispatcher import Dispatcher

from dpexp.core.version import IMPORTED_AT

PACKAGE = Path(__file__).parent.parent
ROOMS = ("core", "engine", "algorithms", "problems", "inference")
"""beside the room of the function itself"""
LIBRARIES = ("numba", "llvmlite", "numpy", "scipy")
"""what counts by its version"""
EXCLUDED = ("CACHE", "NUM_THREADS", "THREADING", "CUDA", "COLOR", "SHOW_HELP", "FUNCTION_CACHE", "CHROME_TRACE", "GDB")
"""parts of the names of numba's settings that do not reach the machine code of one thread"""
MOST_FILES = 500
"""Python files of a folder that are read for a name"""


class Unknown(TypeError):
    """A value of which it is not known what it does to compiled code."""


def key_of(dispatcher: Dispatcher, sig: Any) -> str:
    """The name, for arguments of these types. Raises Unknown."""
    seen = _Seen()
    content = repr([seen.name(dispatcher), [seen.name(one) for one in sig], settings()])
    texts = [_text(place) for place in sorted(seen.places)]
    return hashlib.sha256("\n".join([content, *texts]).encode("utf-8", "surrogatepass")).hexdigest()[:32]


class _Seen:
    """What was met on the way through a function."""

    def __init__(self) -> None:
        self.places: set[Path] = set()
        """rooms, folders of plug-ins, and libraries"""
        self._globals: set[int] = set()
        """functions whose names were looked up"""

    def name(self, value: Any) -> object:
        """(a)"""
        kind, inside = type(value).__qualname__, value
        if isinstance(value, Dispatcher):
            return self.name(inside.py_func), sorted(inside.targetoptions.items())
        if isinstance(value, FunctionType):
            self.places.add(place := _place(value.__code__.co_filename))
            held = [self.name(cell.cell_contents) for cell in value.__closure__ or ()]
            found = [] if place.is_relative_to(PACKAGE) else self._found(value)
            defaults = [self.name(one) for one in value.__defaults__ or ()]
            return value.__module__, value.__qualname__, value.__code__.co_firstlineno, held, found, defaults
        if isinstance(value, np.ndarray) and not value.dtype.hasobject:
            return value.dtype.descr, value.shape, value.strides, hashlib.sha256(value.tobytes()).hexdigest()
        if isinstance(value, tuple | list):
            return kind, [self.name(one) for one in value]
        if isinstance(value, types.Dispatcher):
            return self.name(inside.dispatcher)
        if isinstance(value, types.BaseTuple):
            return kind, str(getattr(value, "instance_class", "")), [self.name(one) for one in inside.types]
        text = str(value) if isinstance(value, types.Type) else repr(value)
        # (c): a text with an address names nothing in another process
        if " at 0x" in text or "..." in text or "dtype=object" in text:
            raise Unknown(f"nothing names a {kind}")
        return kind, text

    def _found(self, function: FunctionType) -> list[object]:
        """The numbers, arrays and functions that a function of a plug-in finds by name, also in modules."""
        if id(function) in self._globals:
            return []
        self._globals.add(id(function))
        names, known = _names(function.__code__), function.__globals__
        modules = [one for name in names if isinstance(one := known.get(name), ModuleType)]
        found: list[object] = []
        for scope in (known, *map(vars, modules)):
            for name in (name for name in names if name in scope):
                own = getattr(scope[name], "py_func", scope[name])
                if isinstance(own, FunctionType):
                    if "site-packages" not in own.__code__.co_filename:
                        found.append((name, self.name(scope[name])))
                elif isinstance(own, bool | int | float | complex | str | bytes | tuple | np.ndarray | np.generic):
                    found.append((name, self.name(own)))
        return found


def _names(code: CodeType) -> list[str]:
    """The names that code looks up outside itself, in functions inside it as well."""
    inner = [name for one in code.co_consts if isinstance(one, CodeType) for name in _names(one)]
    return sorted({*code.co_names, *inner})


def _place(file: str) -> Path:
    """The room of dpexp, the folder of a plug-in, or the library, that a file belongs to."""
    path = Path(file).resolve()
    if path.is_relative_to(PACKAGE):
        return PACKAGE / path.relative_to(PACKAGE).parts[0]
    if "site-packages" in path.parts:
        return Path(*path.parts[: path.parts.index("site-packages") + 2])
    return path.parent


def _text(place: Path) -> str:
    """(b) A hash of the files of a place. Raises Unknown where one was edited since this process began: what runs may
    be what it was before."""
    files = _files(place)
    if any(file.stat().st_mtime_ns > IMPORTED_AT for file in files):
        raise Unknown(f"{place} was edited after this process had begun to read it")
    return _hash(files)


@lru_cache(maxsize=64)
def _files(place: Path) -> tuple[Path, ...]:
    """The files of a room with those of the rooms below, of a plug-in's folder, or of a library."""
    if place.name in LIBRARIES:
        return ()
    rooms = [PACKAGE / room for room in ROOMS] if place.is_relative_to(PACKAGE) else []
    files = [one for one in (place, *rooms) if one.is_file()]
    for folder in (place, *rooms):
        for inside, folders, names in os.walk(folder):
            # environments, and a clone of dpexp beside a plug-in
            folders[:] = [one for one in folders if one[0] != "." and one != PACKAGE.name]
            files += [Path(inside, name) for name in names if name.endswith(".py")]
            if len(files) > MOST_FILES:
                raise Unknown(f"{place} has over {MOST_FILES} Python files")
    return tuple(sorted(set(files)))


@lru_cache(maxsize=64)
def _hash(files: tuple[Path, ...]) -> str:
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()


def settings() -> str:
    """Versions, numba's settings, and the processor as LLVM sees it."""
    set_by = {name: repr(value) for name, value in vars(config).items() if name.isupper()}
    own = {name: value for name, value in os.environ.items() if name.startswith("NUMBA_")}
    kept = sorted((k, v) for k, v in (set_by | own).items() if not any(word in k for word in EXCLUDED))
    return repr((_tools(), kept))


@lru_cache(maxsize=1)
def _tools() -> tuple[str, ...]:
    versions = (sys.version, *(f"{name} {version(name)}" for name in LIBRARIES))
    return (*versions, llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten())
