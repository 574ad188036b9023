"""What code a number comes from: a hash of every module of dpexp that takes part in it.

Comments, formatting and docstrings do not count.

(a) The modules are found by following import statements (also those inside functions, and relative ones) from where
the work starts. A package is followed through its `__init__.py` like any module, so an edit behind a facade is seen.
(b) Of the `REGISTRIES` only the names that are used are followed, so that a new problem does not make the others stale.
(c) The shipped data files that a module names count with their contents, and so do a user's own.
(d) Modules of plug-ins are followed by the same rules. They are called `heavy.py:tools.losses`: the name of the
plug-in's file and the dotted path below its folder, so that a fingerprint does not depend on where the folder lies. A
cell that uses a name of a plug-in counts with the plug-in's file and with all that it imports from its folder.
"""

from __future__ import annotations

import hashlib
import os
import re
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.digests import files_below, hash_of_data, hash_of_file
from dpexp.core.files import State, state_of
from dpexp.core.version import IMPORTED_AT
from dpexp.plugins import observed
from dpexp.plugins.loaded import LOADED, Loaded, module_file, owners_of, patching
from dpexp.store.source_code import Code, Import, code_in

if TYPE_CHECKING:
    from dpexp.config.cells import Cell

ROOT = Path(__file__).parent.parent
REGISTRIES = frozenset(
    {
        "dpexp",
        "dpexp.algorithms",
        "dpexp.algorithms.schedules",
        "dpexp.papers",
        "dpexp.papers.dp_sgld",
        "dpexp.papers.dp_sgld.claims",
        "dpexp.papers.hidden_state",
        "dpexp.papers.ldp_sgd",
        "dpexp.papers.ldp_sgd.claims",
        "dpexp.papers.momentum",
        "dpexp.papers.momentum.claims",
        "dpexp.papers.noisy_sgd",
        "dpexp.papers.noisy_sgd.claims",
        "dpexp.privacy.mechanisms",
        "dpexp.problems",
    }
)
"""packages whose `__init__.py` only lists what there is: a name that is imported from one counts with the module that
it comes from, and the others of the list do not. One that is imported whole counts with all that it lists"""
SUMMARIES = ("dpexp.store.stats",)
"""modules that make summary.parquet from trajectories"""
RUNNING = ("dpexp.store.simulating",)
"""modules that every cell's numbers pass through, whatever its problem and algorithm"""
ROWS = ("dpexp.store.rows", "dpexp.config.cells")
"""modules that every row of cells.parquet passes through"""
NO_NUMBERS = frozenset(
    f"dpexp.{name}"
    for name in (
        *("core.errors", "core.files", "core.terminal", "engine.identity", "plugins", "plugins.loaded"),
        *("plugins.observed", "store.description", "store.fingerprint", "store.folder", "store.generation"),
        *("store.source_code", "store.staleness"),
    )
)
"""modules that say what goes on or what a plug-in adds, and those by which compiled code and stored numbers are found
again or refused: what comes out is what went in. `dpexp.engine.compiled`, which says how a kernel is compiled, is not
among them"""


def code_of(cell: Cell) -> dict[str, str]:
    """Hashes of what a cell's simulation comes from: modules by name, the user's data files by path; sorted.

    What it receives from the first stage is no code, but numbers: `Cell.received`.
    """
    return closure(_modules_of(cell), simulated=cell.in_two_stages) | data_of(cell)


def statement_of(cell: Cell) -> dict[str, str]:
    """Hashes of what a cell's row comes from: the modules of both stages and its own, and the user's data files."""
    return closure((*_modules_of(cell), *ROWS)) | data_of(cell)


def summary_code() -> dict[str, str]:
    """Hashes of what makes summary.parquet from trajectories."""
    return closure(SUMMARIES)


def data_of(cell: Cell) -> dict[str, str]:
    """Hashes of the user's data files, by path, as they were when they were first read."""
    return {f"file {path}": hash_of_data(path) for path in cell.problem.files()}


def _modules_of(cell: Cell) -> tuple[str, ...]:
    """The modules that define what a cell is made from, and what every cell passes through."""
    values = (cell.problem, cell.algorithm, cell.schedule, cell.privacy.mu)
    # base classes too: a method may be theirs
    kinds = {kind for value in values for kind in type(value).__mro__}
    own = {module for kind in kinds for module in _keys(owners_of(kind), kind.__module__)}
    return (*sorted(own), *RUNNING, *patching())


def _keys(owners: Iterable[Loaded], module: str) -> list[str]:
    """A module, or that of a plug-in with the plug-in's file."""
    # a plug-in's own file may have made what is written in another of its modules
    own = [(loaded, loaded.inside_of(module) or "") for loaded in owners]
    return [loaded.key(inside) for loaded, below in own for inside in (loaded.inside, below)] or [module]


def closure(
    modules: tuple[str, ...], leave_out: frozenset[str] = frozenset(), simulated: bool = False
) -> dict[str, str]:
    """Hashes of the modules and of all that they import from dpexp and from their plug-in's folder, by name, sorted.

    `simulated` leaves out what only functions of the first stage import, which a simulation cannot call.
    """
    # what is loaded from where decides what a name means, so that answers are kept by it
    plugins = tuple((name, p.root, p.read_at) for name, p in LOADED.items())
    return _closure(modules, leave_out, simulated, plugins)


@lru_cache(maxsize=1024)
def _closure(
    modules: tuple[str, ...], leave_out: frozenset[str], simulated: bool, plugins: tuple[tuple[str, Path, int], ...]
) -> dict[str, str]:
    """`closure` with these plug-ins loaded."""
    hashes: dict[str, str] = {}
    waiting = [module for module in modules if _is_followed(module)]
    while waiting:
        module = waiting.pop()
        if module in hashes or module in REGISTRIES | NO_NUMBERS | leave_out:
            continue
        owner, inside = _split(module)
        # (b): what is no module is a name in one
        if owner is None or (path := owner.source(inside)) is None:
            waiting += _listed(module)
            continue
        hashes[module], imported = _read(path, module, owner.read_at, simulated)
        # (a), (d)
        waiting += imported
        if isinstance(owner, Loaded):
            # Python runs the `__init__.py` of every folder above first, and it can change what the module finds
            parts = inside.split(".")
            waiting += [owner.key(".".join(parts[:k])) for k in range(len(parts))]
        # (c); of plug-ins, what they read is seen while they run
        else:
            hashes |= {f"data {name}": _hash_file(ROOT / name) for name in _named_files(path)}
    return dict(sorted(hashes.items()))


def _is_followed(module: str) -> bool:
    return module.split(".")[0] == "dpexp" or ":" in module


class _Own:
    """dpexp itself, which says as a plug-in does what its modules are called and where they lie."""

    read_at = 0

    def key(self, inside: str) -> str:
        return f"dpexp.{inside}".rstrip(".")

    def own(self, imported: str) -> str | None:
        top, _, inside = imported.partition(".")
        return inside if top == "dpexp" else None

    def source(self, inside: str) -> Path | None:
        return _own_source(inside)


@lru_cache(maxsize=8192)
def _own_source(inside: str) -> Path | None:
    return module_file(ROOT, inside)


def _split(module: str) -> tuple[_Own | Loaded | None, str]:
    """Whose a module is, and the dotted path below its folder; None for a plug-in that is not loaded."""
    name, colon, inside = module.partition(":")
    return (LOADED.get(name), inside) if colon else (_Own(), module.partition(".")[2])


def source_of(module: str) -> Path | None:
    """The file of a module or package; None where there is none."""
    owner, inside = _split(module)
    return None if owner is None else owner.source(inside)


def plugin_of(name: str) -> str | None:
    """The plug-in that an entry of a fingerprint belongs to; None for dpexp's own code and for the user's data."""
    plugin, colon, _ = name.removeprefix("data ").partition(":")
    return plugin if colon and not name.startswith("file ") else None


def plugins_missing(codes: Iterable[dict[str, str]]) -> list[str]:
    """The plug-ins that some fingerprints need and that are not loaded, by name."""
    needed = {plugin_of(name) for code in codes for name in code} - {None}
    return sorted(str(name) for name in needed if name not in LOADED)


def _listed(name: str) -> list[str]:
    """Where a name that is imported from a registry comes from: its own module, or the whole registry."""
    package, _, word = name.rpartition(".")
    path = source_of(package)
    if package not in REGISTRIES or path is None:
        return []
    # a class that the registry lists is that class's module; the dictionary itself can give anything that is in it
    named = _named(_parsed(path, 0).imports, package, path)
    modules = [base for base, whole in named if whole == f"{base}.{word}"]
    return modules or [f"{package}.__init__"] * (word in re.findall(r"\w+", path.read_text(encoding="utf-8")))


@lru_cache(maxsize=2048)
def _read(path: Path, module: str, read_at: int, simulated: bool) -> tuple[str, tuple[str, ...]]:
    """Hash of a module's code, and the names that it imports from dpexp: modules, or what is inside them.

    `read_at` is when its plug-in was loaded.
    """
    # a plug-in that is loaded again has another time, and is read again
    parsed = _parsed(path, read_at)
    named = _named([one for one in parsed.imports if one.simulated or not simulated], module, path)
    # a plug-in may import what it names in a text: `import_module("dpexp.problems.hinge")`
    if ":" in module:
        named += [(word.rstrip("."),) * 2 for word in parsed.words if word.startswith("dpexp.")]
    # `from a import b` may mean the module a.b or a name in a, and which it is the files say
    imported = {name for pair in named for name in pair} - {module}
    imported |= {f"{whole}.__init__" for _, whole in named if whole in REGISTRIES}
    return parsed.digest, tuple(sorted(imported))


@lru_cache(maxsize=2048)
def _parsed(path: Path, read_at: int) -> Code:
    return code_in(path)


def _named(imports: Iterable[Import], module: str, path: Path) -> list[tuple[str, str]]:
    """What a module imports from dpexp by these statements, and a plug-in's from its folder.

    (module, name in it) with the module before the name, or twice the module where all of it is imported.
    """
    owner, inside = _split(module.removesuffix(".__init__"))
    assert owner is not None
    package = inside.split(".") if inside else []
    if path.name != "__init__.py":
        package.pop()
    found: list[tuple[str, str]] = []
    for one in imports:
        if one.level:
            # the first dot is the package itself, every further one goes up a level
            above = package[: len(package) + 1 - one.level]
            bases = [owner.key(".".join([*above, *filter(None, [one.module])]))]
        else:
            # in a plug-in the files of its folder come first
            absolute = one.names if one.module is None else [one.module]
            bases = [name if (own := owner.own(name)) is None else owner.key(own) for name in absolute]
        for base in filter(_is_followed, bases):
            stem = base if base.endswith(":") else f"{base}."
            found += [(base, base)] if one.module is None else [(base, stem + name) for name in one.names]
    return found


@lru_cache(maxsize=2048)
def _named_files(path: Path) -> tuple[str, ...]:
    """Shipped data files that a module names in its code: their paths below the package.

    A data file is any file that is no module.
    """
    known = _shipped_files()
    # a name counts wherever it is written, which can only make too much stale
    return tuple(sorted({known[word] for word in _parsed(path, 0).words if word in known}))


@lru_cache(maxsize=1)
def _shipped_files() -> dict[str, str]:
    files = (p for p in sorted(ROOT.rglob("*")) if p.is_file() and p.suffix not in (".py", ".pyc"))
    return {p.name: p.relative_to(ROOT).as_posix() for p in files}


@lru_cache(maxsize=64)
def _hash_file(path: Path) -> str:
    return hash_of_file(path)[:16]


def hash_of_all() -> str:
    """Hash of the names and bytes of all modules and data files: where it is the same, so is every fingerprint.

    It parses nothing, so it answers at once; what changed, and whether it counts, the fingerprints say.
    """
    hashed = hashlib.sha256()
    for folder, inner, names in os.walk(ROOT):
        # the shipped configs are no code: an installed package holds them, a checkout a link to them
        inner[:] = sorted(n for n in inner if n != "__pycache__" and Path(folder, n) != ROOT / "configs")
        for name in sorted(names):
            if not name.endswith(".pyc"):
                path = Path(folder, name)
                hashed.update(
                    f"{path.relative_to(ROOT).as_posix()} {hash_of_file(path)}\n".encode(errors="surrogateescape")
                )
    return hashed.hexdigest()


def source_states(codes: Iterable[dict[str, str]]) -> dict[str, list[State]]:
    """The state of the files behind some fingerprints: a cheap sign of a change."""
    return {name: [state_of(path) for path in _files_of(name)] for name in {n for code in codes for n in code}}


def _files_of(name: str) -> list[Path]:
    kind, _, path = name.partition(" ")
    if kind == "file":
        return files_below(Path(os.path.expanduser(path)))
    if kind == "data":
        plugin, _, inside = path.partition(":")
        return [LOADED[plugin].root / inside if plugin in LOADED else ROOT / path]
    source = source_of(name)
    return [source] if source else []


def edited_after(codes: Iterable[dict[str, str]], data_read_at: int) -> list[str]:
    """Modules that were written to after this process began to import, and data files after they began to be read.

    0 for `data_read_at` asks nothing of the data.
    """
    # Python keeps the code that it has imported, and a run the records that it has read: what such files hold now is
    # not what the numbers come from
    late, now = [], time.time_ns()
    for name, states in source_states(codes).items():
        loaded = LOADED.get(plugin_of(name) or "")
        since = data_read_at if name.startswith("file ") else IMPORTED_AT if loaded is None else loaded.read_at
        # the last change of the content and, since that time can be set back, of the inode; a time that is still to
        # come says that a clock was wrong, and nothing about this run
        if since and any(since < moment <= now for state in states for moment in state[:2]):
            late.append(_file_name(name))
    return sorted(late)


def forget() -> None:
    """Read everything anew when asked next: for a process that outlives an edit."""
    for cached in (_closure, _read, _parsed, _own_source, _named_files, _shipped_files, _hash_file):
        cached.cache_clear()
    hash_of_data.cache_clear()


def changed(stored: dict[str, str], now: dict[str, str]) -> list[str]:
    """Files whose code or contents differ between two fingerprints."""
    # what plug-ins have read is not among the files of today's fingerprint
    now = now | observed.again(stored)
    return [_file_name(name) for name in sorted(stored.keys() | now.keys()) if stored.get(name) != now.get(name)]


def what_changed(files: Iterable[str]) -> str:
    """Whether files are code, data or both, in a word."""
    data = [not name.endswith(".py") for name in files]
    return "data" if all(data) else "code and data" if any(data) else "code"


def _file_name(name: str) -> str:
    kind, _, path = name.partition(" ")
    if kind == "file":
        return path
    # as the user would write it; by the plug-in's name where that is not loaded
    if plugin := plugin_of(name):
        inside, loaded = name.partition(":")[2], LOADED.get(plugin)
        below = inside if kind == "data" else inside.replace(".", "/") + ".py"
        return (
            loaded.shown_as(loaded.source(inside) or loaded.root / below)
            if loaded
            else f"{below} of the plug-in {plugin}"
        )
    if kind == "data":
        return f"dpexp/{path}"
    source = source_of(name)
    return f"dpexp/{source.relative_to(ROOT).as_posix()}" if source else name.replace(".", "/") + ".py"
