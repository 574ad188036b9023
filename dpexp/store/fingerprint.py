"""What code a number comes from: one hash of all of dpexp that computes, one of each plug-in, one of each data file.

(a) Comments, docstrings and formatting do not count, and of files only code and what it reads (`KINDS`): a wheel and a
clone of one commit have one hash. Shipped records count by their digests, which stand in the code that loads them.
(b) Which of these lines a cell uses is not asked: a run proves by its first replicates whether an edit has moved a
number (`dpexp.store.confirming`), so an edit that moves none costs one chunk.
(c) A plug-in is the Python files of its folder and what it lists as `inputs`.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.digests import files_below
from dpexp.core.files import own_folder
from dpexp.core.version import IMPORTED_AT
from dpexp.plugins.loaded import LOADED, Loaded, owners_of

if TYPE_CHECKING:
    from dpexp.config.cells import Cell

ROOT = Path(__file__).parent.parent
NUMBERS = (
    "core", "engine", "theory", "data", "accounting", "problems", "privacy", "inference", "algorithms",
    "config/cells.py", "store/simulating.py", "store/rows.py", "store/stats.py",
)  # fmt: skip
"""what a cell's numbers, its row and its summary come from"""
KINDS = (".py", ".json", ".yaml")
"""of the files that count"""
Code = dict[str, str]
"""by `dpexp`, `plugin NAME` or `file PATH`: a hash of the bytes and one of the code, or of the content"""


def code_of(cell: Cell) -> Code:
    """What a cell's numbers and its row come from."""
    kinds = (type(value) for value in (cell.problem, cell.algorithm, cell.schedule, cell.privacy.mu))
    owners = {loaded.name: loaded for kind in kinds for base in kind.__mro__ for loaded in owners_of(base)}
    plugins = {f"plugin {name}": _of_plugin(loaded) for name, loaded in sorted(owners.items())}
    return {"dpexp": _of_rooms(NUMBERS), **plugins, **data_of(cell)}


def own_hash() -> str:
    """Of the bytes of dpexp's code that computes."""
    return _of_rooms(NUMBERS).split()[0]


def data_of(cell: Cell) -> Code:
    """Hashes of the user's data files, by path, as they were when they were first read."""
    return {f"file {name}": content for name, content in cell.problem.files().items()}


def today(code: Code) -> Code:
    """The same names as they are now. What is absent, and data files, which readers do not open, are as they were."""
    found = {}
    for name, stored in code.items():
        kind, _, rest = name.partition(" ")
        if name == "dpexp":
            found[name] = _of_rooms(NUMBERS)
        elif kind == "plugin":
            found[name] = _of_plugin(LOADED[rest]) if rest in LOADED else stored
        elif kind == "file":
            found[name] = stored
    return found


def changed(stored: Code, now: Code) -> list[str]:
    """What differs between two of these, in words."""
    names = sorted(stored.keys() | now.keys())
    return list(dict.fromkeys(_shown(name) for name in names if not _same(stored.get(name, ""), now.get(name, ""))))


def _same(one: str, other: str) -> bool:
    """The same bytes, or the same code in other bytes."""
    return bool({*one.split()} & {*other.split()})


def _shown(name: str) -> str:
    kind, _, rest = name.partition(" ")
    return {"plugin": f"the plug-in {rest}", "file": rest}.get(kind, "dpexp")


def what_changed(names: Iterable[str]) -> str:
    """Whether names that `changed` gives are code, data or both, in a word."""
    data = [name != "dpexp" and not name.startswith("the plug-in ") for name in names]
    return "data" if all(data) else "code and data" if any(data) else "code"


def plugins_missing(codes: Iterable[Code]) -> list[str]:
    """The plug-ins that some code needs and that are not loaded, by name."""
    needed = {name.removeprefix("plugin ") for code in codes for name in code if name.startswith("plugin ")}
    return sorted(needed - LOADED.keys())


# --- files ---


@lru_cache(maxsize=8)
def _of_rooms(rooms: tuple[str, ...]) -> str:
    return _hashes(ROOT, tuple(path for room in rooms for path in _files(ROOT / room)))


@lru_cache(maxsize=1)
def _own_files() -> list[Path]:
    return [path for room in NUMBERS for path in _files(ROOT / room)]


def _of_plugin(loaded: Loaded) -> str:
    return _hashes(loaded.root, (*loaded.files, *loaded.inputs()))


def _files(place: Path) -> list[Path]:
    """A file, or the files of a folder that count."""
    return [place] if place.is_file() else sorted(path for path in place.rglob("*") if path.suffix in KINDS)


@lru_cache(maxsize=64)
def _hashes(root: Path, files: tuple[Path, ...]) -> str:
    """A hash of the names and bytes of files, and one in which of Python's files only the code counts."""
    contents = [
        (path.relative_to(root).as_posix() if path.is_relative_to(root) else path.name, path.read_bytes())
        for path in files
    ]
    of_bytes = hashlib.sha256(
        repr([(name, hashlib.sha256(held).digest()) for name, held in contents]).encode()
    ).hexdigest()[:16]
    # parsing all of dpexp takes half a second, so what comes out is kept by what went in
    kept = None if (folder := own_folder("code")) is None else folder / of_bytes
    with suppress(OSError, AttributeError):
        if len(found := kept.read_text()) == 16:  # type: ignore[union-attr]
            return f"{of_bytes} {found}"
    of_code = hashlib.sha256(repr([(name, _code(name, held)) for name, held in contents]).encode()).hexdigest()[:16]
    with suppress(OSError, AttributeError):
        kept.write_text(of_code)  # type: ignore[union-attr]
    return f"{of_bytes} {of_code}"


def _code(name: str, held: bytes) -> object:
    """A file's code, without comments, formatting and docstrings."""
    if not name.endswith(".py"):
        return hashlib.sha256(held).digest()
    tree = ast.parse(held)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            node.body = [one for one in node.body if not _is_text(one)]
    return ast.dump(tree)


def _is_text(node: ast.stmt) -> bool:
    """Whether a statement is a text alone: a docstring, or the description of a field."""
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def edited_after(codes: Iterable[Code], places: Iterable[Path] = (), data_read_at: int = 0) -> list[str]:
    """What was written to after this process had imported it, or read it as the data in some places.

    A time of 0, as of a config that is no file, asks nothing.
    """
    read = [(_shown(name), *_code_files(name)) for name in {name for code in codes for name in code}]
    read += [(str(place), files_below(place), data_read_at) for place in set(places)]
    late = (shown for shown, files, since in read if since and _written_after(files, since))
    return sorted(late)


def _written_after(files: Iterable[Path], since: int) -> bool:
    return any(file.stat().st_mtime_ns > since for file in files if file.exists())


def _code_files(name: str) -> tuple[Sequence[Path], int]:
    """The files that a name of code stands for, and when they were read; none for data."""
    kind, _, rest = name.partition(" ")
    if kind == "plugin":
        return [*LOADED[rest].files, *LOADED[rest].inputs()], LOADED[rest].read_at
    return (_own_files(), IMPORTED_AT) if kind == "dpexp" else ((), 0)


def forget() -> None:
    """Read code anew when asked next: for a process that outlives an edit. Records that were read stay as they are."""
    _of_rooms.cache_clear()
    _own_files.cache_clear()
    _hashes.cache_clear()
