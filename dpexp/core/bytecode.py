"""Byte code that is that of the text beside it: what is hashed is what runs.

Python takes the byte code in `__pycache__` for that of a file whose time and size agree. An edit that keeps both, as
`cp -p` may, would run the old code under the hash of the new.

(a) Byte code of dpexp and of plug-ins is taken only if it states the hash of the text that it was made from (PEP 552),
which Python then compares with the text. (b) What is written states it. (c) What somebody puts in the place of a
function afterwards has no text: it is found by comparison with what the module held when it had been imported.
(d) Where Python writes none (`python -B`, a folder of others) it is kept beside the kernels, by a hash of the text.
"""

from __future__ import annotations

import atexit
import builtins
import hashlib
import marshal
import os
import sys
from contextlib import suppress
from functools import cache
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, source_hash
from types import FunctionType, ModuleType
from typing import Any

_CHECKED = (3).to_bytes(4, "little")
"""of byte code that states a hash which has to be compared"""
MOST_MODULES = 800  # of (d), some 13 kB each; those that were kept longest ago go first
_FILES, _NAME, _MARK = "dpexp.core.files", str(sys.implementation.cache_tag), b"byte code" + MAGIC_NUMBER
_NEW: dict[bytes, bytes] = {}  # what this process has compiled of (d)


def compile_from_text(package: str) -> None:
    """Have what is imported from now on of a package, or of a module of the top level, be what its text says."""
    if _FINDER not in sys.meta_path:
        sys.meta_path.insert(0, _FINDER)
    _FINDER.packages.add(package)


class _Finder(MetaPathFinder):
    def __init__(self) -> None:
        self.packages: set[str] = set()

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        spec = PathFinder.find_spec(name, path, target) if name.partition(".")[0] in self.packages else None
        if spec is not None and type(spec.loader) is SourceFileLoader:
            spec.loader = _Loader(spec.loader.name, spec.loader.path)
        return spec


class _Loader(SourceFileLoader):
    """Python's own, which sees no byte code without a hash, and writes none; and keeps in mind what it made."""

    def exec_module(self, module: ModuleType) -> None:
        super().exec_module(module)
        # (c)
        _MADE[module.__name__] = module, _parts(module)

    def get_data(self, path: str) -> bytes:
        data = super().get_data(path)
        if path == self.path:
            self.text = data
        # (a): bytes 4 to 8 say whether a hash follows them; for an OSError Python compiles the text
        elif data[4:8] != _CHECKED:
            raise OSError(f"{path} does not state which text it was made from")
        return data

    def set_data(self, path: str, data: Any, **options: Any) -> None:
        # (b), in the place of time and size, which take as many bytes
        super().set_data(path, data[:4] + _CHECKED + source_hash(self.text) + data[16:], **options)

    def source_to_code(self, data: Any, path: Any, **options: Any) -> Any:  # type: ignore[override]
        # (d); what reads what is kept cannot be found there
        if self.name == _FILES or (not sys.dont_write_bytecode and os.access(os.path.dirname(path), os.W_OK)):
            return super().source_to_code(data, path, **options)
        key = hashlib.sha256(repr((path, options, sys.flags.optimize)).encode() + data).digest()
        if key not in (kept := _kept()):
            kept[key] = _NEW[key] = marshal.dumps(super().source_to_code(data, path, **options))
        return marshal.loads(kept[key])


@cache
def _kept() -> dict[bytes, bytes]:
    from dpexp.core import files

    with suppress(files.Damaged, OSError):
        place = files.own_folder("bytecode", "bytecode", made=False)
        # and was not copied here from another place
        if place and (content := files.read_bytes_sealed(place / _NAME, private=True)).startswith(_MARK):
            return dict(marshal.loads(content[len(_MARK) :]))
    return {}


@atexit.register
def _keep() -> None:
    if not _NEW:
        return
    from dpexp.core import files

    if (place := files.own_folder("bytecode", "bytecode")) is not None:
        # one file, since to write hundreds takes longer than to compile them; others may have kept more meanwhile
        every = dict([*(_kept.__wrapped__() | _NEW).items()][-MOST_MODULES:])
        with suppress(OSError):
            files.write_bytes_sealed(place / _NAME, _MARK, marshal.dumps(every), private=True)


_Parts = dict[tuple[str, ...], tuple[object, object]]
_MADE: dict[str, tuple[ModuleType, _Parts]] = {}
"""the modules, and what was in them when they had been imported"""


def _parts(module: ModuleType) -> _Parts:
    """What has a name in a module or in a class of it, and the code of functions; numbers of its own use aside."""
    found: dict[tuple[str, ...], object] = {
        (name,): value for name, value in vars(module).items() if not isinstance(value, ModuleType)
    }
    for name, kind in [(names[0], kind) for names, kind in found.items() if isinstance(kind, type)]:
        if kind.__module__ == module.__name__:
            found |= {(name, inner): value for inner, value in vars(kind).items() if _counts(inner, value)}
    return {
        names: (value, getattr(value, "__code__", None))
        for names, value in found.items()
        if not (names[-1].startswith("_") and isinstance(value, int | float | None))
    }


def _counts(name: str, value: object) -> bool:
    """Whether a part of a class is its author's, and not a note that Python or a library keeps there."""
    return not name.startswith("__") or isinstance(value, FunctionType | property | staticmethod | classmethod)


def _hides(module: ModuleType, names: tuple[str, ...]) -> bool:
    """Whether a name of a module is one of Python's own too, or one in a class is one that the class inherits."""
    kind = vars(module)[names[0]]
    if len(names) == 1:
        return names[0] in vars(builtins)
    return any(names[1] in vars(base) for base in kind.__mro__[1:])


def altered(package: str = "") -> dict[str, object]:
    """What was put in the place of something of a package since its module was imported, by its dotted name.

    A name that is new counts where it hides one of Python's own functions, or what a class inherits.
    """
    found = {}
    for module, before in [made for name, made in _MADE.items() if name.startswith(package)]:
        for names, (value, code) in _parts(module).items():
            was = before.get(names)
            # a new name that hides nothing is read by no code that was there before
            if was is None and not _hides(module, names):
                continue
            # code too, because that of a function can be exchanged while the function stays
            if was is None or was[0] is not value or was[1] is not code:
                found[".".join((module.__name__, *names))] = value
    return found


_FINDER = _Finder()
