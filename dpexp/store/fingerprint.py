"""What code a number comes from: one hash of all of dpexp that computes, one of each plug-in, one of each data file.

(a) Comments, docstrings and formatting do not count, and of files only code and what it reads (`KINDS`): a wheel and a
clone of one commit have one hash. Shipped records count by their digests, which are in the code that loads them.
(b) Which of these lines a cell uses is not asked: a run proves by its first replicates whether an edit has moved a
number (`dpexp.store.planning`), so an edit that moves none costs one chunk.
(c) A plug-in is the Python files of its folder and what it lists as `inputs`.
(d) Last bits can depend on libraries and the processor: chunks are named by these too.
"""

from __future__ import annotations

import ast
import hashlib
import os
import platform
from collections.abc import Callable, Collection, Iterable, Sequence
from contextlib import suppress
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core import IMPORTED_AT, VERSION
from dpexp.core.errors import DpexpError
from dpexp.core.files import files_below, own_folder, state_of
from dpexp.plugins.loaded import LOADED, Loaded, owners_of
from dpexp.problems.linear_predictor import LinearPredictorProblem

if TYPE_CHECKING:
    from dpexp.config.cells import Cell, Experiment

ROOT = Path(__file__).parent.parent
NUMBERS = (
    "core", "engine", "theory", "data", "accounting", "problems", "privacy", "inference", "algorithms",
    "config/cells.py", "store/simulating.py", "store/stats.py",
)  # fmt: skip
"""what a cell's numbers, its row and its summary come from"""
KINDS = (".py", ".json", ".yaml")
"""of the files that count"""
NUMERICAL = ("numpy", "numba", "llvmlite", "scipy")
"""libraries whose version can change the last bits of a result"""
LIBRARIES = (*NUMERICAL, "pandas", "pyarrow", "pydantic")
Code = dict[str, str]
"""by `dpexp`, `plugin NAME` or `file PATH`: a hash of the bytes and one of the code, or of the content"""


def code_of(cell: Cell) -> Code:
    """What a cell's numbers and its row come from."""
    kinds = (type(value) for value in (cell.problem, cell.algorithm, cell.schedule, cell.privacy.mu))
    laws = cell.problem.law.parts() if isinstance(cell.problem, LinearPredictorProblem) else ()
    parts = (*(base for kind in kinds for base in kind.__mro__), *laws)
    owners = {loaded.name: loaded for part in parts for loaded in owners_of(part)}
    owners |= {name: loaded for name, loaded in LOADED.items() if {*loaded.plugin.metrics} & {*cell.run.metrics}}
    plugins = {f"plugin {name}": _of_plugin(loaded) for name, loaded in sorted(owners.items())}
    return {"dpexp": code_of_rooms(NUMBERS), **plugins, **data_of(cell)}


def data_of(cell: Cell) -> Code:
    """Hashes of the user's data files, by path, as they were when they were first read."""
    return {f"file {name}": content for name, content in cell.problem.files().items()}


def today(code: Code) -> Code:
    """The same names as they are now. What is absent, and data files, which readers do not open, are as they were."""
    # modules of an older dpexp are no names of today
    now = {name: stored for name, stored in code.items() if name.startswith(("plugin ", "file "))}
    now |= {"dpexp": code_of_rooms(NUMBERS)} if "dpexp" in code else {}
    loaded = {f"plugin {name}": plugin for name, plugin in LOADED.items()}
    return now | {name: _of_plugin(loaded[name]) for name in code.keys() & loaded.keys()}


def changed(stored: Code, now: Code) -> list[str]:
    """What differs between two of these, in words: neither its bytes nor its code are the same."""
    names = sorted(stored.keys() | now.keys())
    differing = (name for name in names if not {*stored.get(name, "").split()} & {*now.get(name, "").split()})
    words = {"plugin": "the plug-in {}", "file": "{}"}
    kinds = (name.partition(" ") for name in differing)
    return list(dict.fromkeys(words.get(kind, "dpexp").format(rest) for kind, _, rest in kinds))


def plugins_missing(codes: Iterable[Code]) -> list[str]:
    """The plug-ins that some code needs and that are not loaded, by name."""
    needed = {name.removeprefix("plugin ") for code in codes for name in code if name.startswith("plugin ")}
    return sorted(needed - LOADED.keys())


# --- files ---


@lru_cache(maxsize=8)
def code_of_rooms(rooms: tuple[str, ...]) -> str:
    return hash_of_code(ROOT, files_of_rooms(rooms))


@lru_cache(maxsize=8)
def files_of_rooms(rooms: tuple[str, ...]) -> tuple[Path, ...]:
    """The files of rooms, and files by themselves."""
    places = (ROOT / room for room in rooms)
    files = (file for place in places for file in ([place] if place.is_file() else sorted(place.rglob("*"))))
    return tuple(file for file in files if file.suffix in KINDS)


def _of_plugin(loaded: Loaded) -> str:
    root = Path(os.path.commonpath([file.parent for file in loaded.files]))
    return hash_of_code(root, (*loaded.files, *loaded.inputs()))


@lru_cache(maxsize=64)
def hash_of_code(root: Path, files: tuple[Path, ...]) -> str:
    """A hash of the names and bytes of files, and one in which of Python's files only the code counts."""
    names = [file.relative_to(root).as_posix() if file.is_relative_to(root) else file.name for file in files]
    contents = [(name, file.read_bytes()) for name, file in zip(names, files, strict=True)]
    of_bytes = _short([(name, hashlib.sha256(content).digest()) for name, content in contents])
    # parsing all of dpexp takes half a second, so its result is cached by the hash of the bytes
    folder = own_folder("code")
    with suppress(OSError):
        if folder is not None and len(of_code := (folder / of_bytes).read_text()) == 16:
            return f"{of_bytes} {of_code}"
    of_code = _short([(name, _code(name, content)) for name, content in contents])
    with suppress(OSError):
        if folder is not None:
            (folder / of_bytes).write_text(of_code)
    return f"{of_bytes} {of_code}"


def _short(value: object) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()[:16]


def _code(name: str, content: bytes) -> object:
    """A file's code, without comments, formatting and bare strings, such as docstrings; else its bytes."""
    if not name.endswith(".py"):
        return hashlib.sha256(content).digest()
    try:
        tree = ast.parse(content)
    except (SyntaxError, ValueError):  # a draft beside a plug-in, which nothing imports
        return hashlib.sha256(content).digest()
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            texts = [part for part in node.body if isinstance(part, ast.Expr) and isinstance(part.value, ast.Constant)]
            node.body = [part for part in node.body if part not in texts]
    return ast.dump(tree)


def watch(experiment: Experiment, cells: Sequence[Cell]) -> Callable[[], None]:
    """A function that raises DpexpError where code or data of the cells were edited after they had been read; it is
    called once here."""
    names = {name for cell in cells for name in code_of(cell)}
    places = {place for cell in cells for place in cell.problem.places()}

    def require_unchanged() -> None:
        if late := edited_after(names, places, experiment.read_at):
            message = f"{', '.join(late)} changed after this process had read it"
            raise DpexpError(f"{experiment.name}: {message}", "run again")

    require_unchanged()
    return require_unchanged


def edited_after(names: Collection[str], places: Iterable[Path] = (), data_read_at: int = 0) -> list[str]:
    """Of code of these names, and of the data in some places, what was edited after this process had read it; a time of
    0, as of a config that is no file, skips the data."""
    sources = [("dpexp", files_of_rooms(NUMBERS), IMPORTED_AT)] if "dpexp" in names else []
    for loaded in (loaded for name, loaded in LOADED.items() if f"plugin {name}" in names):
        sources.append((f"the plug-in {loaded.name}", (*loaded.files, *loaded.inputs()), loaded.read_at))
    sources += [(str(place), tuple(files_below(place)), data_read_at) for place in places if data_read_at]
    edits = ((source, state_of(file)[0] > since) for source, files, since in sources for file in files)
    return sorted({source for source, late in edits if late})


# --- (d) ---


@lru_cache(maxsize=1)
def versions() -> dict[str, str]:
    """Versions of Python, dpexp and the libraries it computes with."""
    return {"python": platform.python_version(), "dpexp": VERSION, **{name: version(name) for name in LIBRARIES}}


@lru_cache(maxsize=1)
def arithmetic() -> dict[str, str]:
    """What can change the last bits of a result: numerical libraries, the processor's kind, and the BLAS kernel."""
    import llvmlite.binding
    import numpy  # noqa: F401  its BLAS must be loaded to be listed
    from threadpoolctl import threadpool_info

    # another library of the process may bring linear algebra of its own, by which nothing here is multiplied
    kernels = {
        f"{pool['internal_api']} {pool.get('version')} {pool.get('architecture', '')}".strip()
        for pool in threadpool_info()
        if pool["user_api"] == "blas" and "numpy" in pool["filepath"]
    }
    processor, algebra = str(llvmlite.binding.get_host_cpu_name()), ", ".join(sorted(kernels)) or "unknown"
    return {**{name: versions()[name] for name in NUMERICAL}, "processor": processor, "linear algebra": algebra}
