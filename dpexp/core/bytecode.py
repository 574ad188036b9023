"""Byte code that is that of the text beside it: what is hashed is what runs.

Python takes the byte code in `__pycache__` for that of a file whose time and size agree. An edit that keeps both, as
`cp -p` may, would run the old code under the hash of the new. Byte code of dpexp and of plug-ins is taken only if it
states the hash of the text that it was made from (PEP 552), which Python then compares with the text.
"""

from __future__ import annotations

import sys
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import source_hash
from typing import Any

_CHECKED = (3).to_bytes(4, "little")
"""of byte code that states a hash which has to be compared"""


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
    """Python's own, which sees no byte code without a hash, and writes none."""

    def get_data(self, path: str) -> bytes:
        data = super().get_data(path)
        if path == self.path:
            self.text = data
        elif data[4:8] != _CHECKED:
            raise OSError(f"{path} does not state which text it was made from")
        return data

    def set_data(self, path: str, data: Any, **options: Any) -> None:  # type: ignore[override]
        super().set_data(path, data[:4] + _CHECKED + source_hash(self.text) + data[16:], **options)


_FINDER = _Finder()
