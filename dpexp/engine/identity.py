"""The name under which a compiled function is cached: what it is, the text of its packages, and what compiles it.

A function is named by its module, name, options and closure, and one of a plug-in also by what it refers to. Calls are
not followed: all text of the rooms with compiled functions counts, or of a plug-in's folder.
"""

from __future__ import annotations

import hashlib
import sys
from functools import lru_cache
from glob import iglob
from importlib.metadata import version
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import llvmlite.binding as llvm
import numpy as np
from numba.core import config, types
from numba.core.dispatcher import Dispatcher

from dpexp.core import IMPORTED_AT

PACKAGE = Path(__file__).parent.parent
ROOMS = ("core", "engine", "algorithms", "problems", "inference")  # with the room of the function itself
LIBRARIES = {name: version(name) for name in ("numba", "llvmlite", "numpy", "scipy")}  # what counts by its version
NO_CODE = ("CACHE", "NUM_THREADS", "THREADING", "CUDA", "COLOR", "SHOW_HELP", "CHROME_TRACE", "GDB")


class Unknown(TypeError):
    """What cannot be named, or was edited after this process began: it is compiled in every process."""


def key_of(dispatcher: Dispatcher, sig: Any) -> str:
    """The name, for arguments of these types. Raises Unknown."""
    places = set[Path]()
    name = _name([dispatcher, *sig], places, set())
    settings = sorted((key, repr(value)) for key, value in vars(config).items() if key.isupper())
    reaching = [pair for pair in settings if not any(word in pair[0] for word in NO_CODE)]
    processor = llvm.get_process_triple(), llvm.get_host_cpu_name(), llvm.get_host_cpu_features().flatten()
    content = [name, sys.version, LIBRARIES, reaching, processor, *(_text(place) for place in sorted(places))]
    return hashlib.sha256(repr(content).encode("utf-8", "surrogatepass")).hexdigest()[:32]


def _name(value: Any, places: set[Path], followed: set[int]) -> object:
    """With the folders of functions in `places`; `followed` are functions whose globals are named already."""
    kind, inside = type(value).__qualname__, value.dispatcher if isinstance(value, types.Dispatcher) else value
    if isinstance(inside, Dispatcher):
        return _name(inside.py_func, places, followed), sorted(inside.targetoptions.items())
    if isinstance(value, FunctionType):
        file = Path(value.__code__.co_filename).resolve()
        own = file.is_relative_to(PACKAGE)
        places.add(PACKAGE / file.relative_to(PACKAGE).parts[0] if own else file.parent)
        names = [] if own or id(value) in followed else _globals(value)
        followed.add(id(value))
        parts = [cell.cell_contents for cell in value.__closure__ or ()], names, [*(value.__defaults__ or ())]
        where = value.__module__, value.__qualname__, value.__code__.co_firstlineno
        return where, [_name(part, places, followed) for part in parts]
    if isinstance(value, np.ndarray) and not value.dtype.hasobject:
        return value.dtype.descr, value.shape, value.strides, hashlib.sha256(value.tobytes()).hexdigest()
    if isinstance(value, tuple | list):
        return kind, [_name(element, places, followed) for element in value]
    if isinstance(value, types.BaseTuple):
        return kind, str(getattr(value, "instance_class", "")), _name([*inside.types], places, followed)
    text = str(value) if isinstance(value, types.Type) else repr(value)
    # a text with an address names nothing in another process
    if " at 0x" in text or "..." in text or "dtype=object" in text:
        raise Unknown(f"nothing names a {kind}")
    return kind, text


def _globals(function: FunctionType) -> list[object]:
    """What a function of a plug-in refers to by name, also in modules, and has compiled in."""
    codes, names, known, values = [function.__code__], set[str](), function.__globals__, list[object]()
    for code in codes:
        names |= {*code.co_names}
        codes += [inner for inner in code.co_consts if isinstance(inner, CodeType)]
    modules = [vars(known[name]) for name in sorted(names) if isinstance(known.get(name), ModuleType)]
    for name, value in [(name, scope[name]) for scope in (known, *modules) for name in sorted(names) if name in scope]:
        inner = getattr(value, "py_func", value)
        by_user = isinstance(inner, FunctionType) and "site-packages" not in inner.__code__.co_filename
        if by_user or isinstance(inner, bool | int | float | complex | str | bytes | tuple | np.ndarray | np.generic):
            values.append((name, value))
    return values


@lru_cache(maxsize=64)
def _text(place: Path) -> str:
    """A hash of the Python files of a room and of ROOMS, or of a plug-in's folder, less hidden ones. Raises Unknown."""
    own = place.is_relative_to(PACKAGE)
    if "site-packages" in place.parts and not own:
        if place.parts[place.parts.index("site-packages") + 1] in LIBRARIES:
            return ""
        raise Unknown(f"{place} is of another library")
    tops = {place, *(PACKAGE / room for room in ROOMS)} if own else {place}
    files = sorted(top / name for top in tops for name in iglob("**/*.py", root_dir=top, recursive=True))
    if any(file.stat().st_mtime_ns > IMPORTED_AT for file in files):
        raise Unknown(f"{place} was edited after this process had begun to read it")
    return hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()
