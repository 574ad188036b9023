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

import ast
import hashlib
import os
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from dpexp.core.digests import files_below, hash_of_data, hash_of_file
from dpexp.core.files import State, state_of
from dpexp.core.version import IMPORTED_AT
from dpexp.plugins import observed
from dpexp.plugins.loaded import LOADED, Loaded, owners_of, patching
from dpexp.store.source_code import Code, Import, code_in, imports_and_words, tree_of

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


def code_of(cell: Cell, root: Path = ROOT) -> dict[str, str]:
    """Hashes of what a cell's simulation comes from: modules by name, the user's data files by path; sorted.

    What it receives from the first stage is no code, but numbers: `Cell.received`.
    """
    return closure(_modules_of(cell), root, simulated=cell.in_two_stages) | data_of(cell)


def statement_of(cell: Cell, root: Path = ROOT) -> dict[str, str]:
    """Hashes of what a cell's row comes from: the modules of both stages and its own, and the user's data files."""
    return closure((*_modules_of(cell), *ROWS), root) | data_of(cell)


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
    modules: tuple[str, ...], root: Path = ROOT, leave_out: frozenset[str] = frozenset(), simulated: bool = False
) -> dict[str, str]:
    """Hashes of the modules and of all that they import from dpexp and from their plug-in's folder, by name, sorted.

    `simulated` leaves out what only functions of the first stage import, which a simulation cannot call.
    """
    # what is loaded from where decides what a name means, so that answers are kept by it
    plugins = tuple((name, p.root, p.read_at) for name, p in LOADED.items())
    return _closure(modules, root, leave_out, simulated, plugins)


@lru_cache(maxsize=1024)
def _closure(
    modules: tuple[str, ...],
    root: Path,
    leave_out: frozenset[str],
    simulated: bool,
    plugins: tuple[tuple[str, Path, int], ...],
) -> dict[str, str]:
    """`closure` with these plug-ins loaded."""
    hashes: dict[str, str] = {}
    waiting = [module for module in modules if _is_followed(module)]
    while waiting:
        module = waiting.pop()
        path = source_of(module, root)
        if module in hashes or module in REGISTRIES | NO_NUMBERS | leave_out:
            continue
        # (b): what is no module is a name in one
        if path is None:
            waiting += _listed(module, root)
            continue
        loaded, _ = _split(module)
        hashes[module], imported = _read(path, module, 0 if loaded is None else loaded.read_at, simulated)
        # (c); of plug-ins, what they read is seen while they run
        if loaded is None:
            hashes |= {f"data {name}": _hash_file(root / name) for name in _named_files(path, root)}
        # (a), (d)
        waiting += imported
        # Python runs the `__init__.py` of every folder above first, and it can change what the module finds
        if ":" in module:
            waiting += _packages_above(module)
    return dict(sorted(hashes.items()))


def _is_followed(module: str) -> bool:
    return module.split(".")[0] == "dpexp" or ":" in module


def _packages_above(module: str) -> list[str]:
    """The packages that a module of a plug-in lies in."""
    packages = []
    while not module.endswith(":"):
        packages.append(module := _above(module))
    return packages


def plugin_of(name: str) -> str | None:
    """The plug-in that an entry of a fingerprint belongs to; None for dpexp's own code and for the user's data."""
    plugin, colon, _ = name.removeprefix("data ").partition(":")
    return plugin if colon and not name.startswith("file ") else None


def plugins_missing(codes: Iterable[dict[str, str]]) -> list[str]:
    """The plug-ins that some fingerprints need and that are not loaded, by name."""
    needed = {plugin_of(name) for code in codes for name in code} - {None}
    return sorted(str(name) for name in needed if name not in LOADED)


def _split(module: str) -> tuple[Loaded | None, str]:
    """The plug-in of a module, and the dotted path below its folder; None and the name itself for dpexp's own."""
    name, colon, inside = module.partition(":")
    return (LOADED.get(name), inside) if colon else (None, module)


def _listed(name: str, root: Path) -> list[str]:
    """Where a name that is imported from a registry comes from: its own module, or the whole registry."""
    if ":" in name:
        return []
    package, _, word = name.rpartition(".")
    path = source_of(package, root)
    if package not in REGISTRIES or path is None:
        return []
    imported, names = _listing(path, package)
    # a class that the registry lists is that class's module; the dictionary itself can give anything that is in it
    modules = [base for base, alias in imported if alias == word]
    return modules or [f"{package}.__init__"] * (word in names)


@lru_cache(maxsize=64)
def _listing(path: Path, package: str) -> tuple[tuple[tuple[str, str], ...], frozenset[str]]:
    """What the `__init__.py` of a registry imports, and the names in it, those of functions and classes among them."""
    tree = tree_of(path.read_bytes())
    imports, _, _ = imports_and_words(tree)
    names = {getattr(node, "id", None) or getattr(node, "name", None) for node in ast.walk(tree)}
    return tuple(_names(imports, package)), frozenset(filter(None, names))


def source_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module or package; None where there is none."""
    if ":" in module:
        loaded, inside = _split(module)
        return None if loaded is None else loaded.source(inside)
    return _own_source(module, root)


@lru_cache(maxsize=8192)
def _own_source(module: str, root: Path) -> Path | None:
    place = root.joinpath(*module.split(".")[1:])
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


@lru_cache(maxsize=2048)
def _read(path: Path, module: str, read_at: int, simulated: bool) -> tuple[str, tuple[str, ...]]:
    """Hash of a module's code, and the names that it imports from dpexp: modules, or what is inside them.

    `read_at` is when its plug-in was loaded.
    """
    # a plug-in that is loaded again has another time, and is read again
    parsed = _parsed(path, read_at)
    package = module.removesuffix(".__init__") if path.name == "__init__.py" else _above(module)
    imports = parsed.simulated if simulated else parsed.imports
    named = _names(imports, package)
    # a plug-in may import what it names in a text: `import_module("dpexp.problems.hinge")`
    if ":" in module:
        named += [(word.rstrip("."), "") for word in parsed.words if word.startswith("dpexp.")]
    # `from a import b` may mean the module a.b or a name in a, and which it is the files say
    imported = {name for base, alias in named for name in (base, _inside(base, alias))}
    imported |= {f"{whole}.__init__" for one in named if (whole := ".".join(filter(None, one))) in REGISTRIES}
    return parsed.digest, tuple(sorted(name for name in imported if name != module and not name.endswith(".")))


@lru_cache(maxsize=2048)
def _parsed(path: Path, read_at: int) -> Code:
    return code_in(path)


def _above(module: str) -> str:
    """The package that a module lies in: `dpexp.store` of dpexp.store.run, `heavy.py:` of heavy.py:helper."""
    name, colon, inside = module.rpartition(":")
    return f"{name}{colon}{inside.rpartition('.')[0]}"


def _inside(package: str, name: str) -> str:
    return f"{package}{name}" if package.endswith(":") else f"{package}.{name}"


def _names(imports: Iterable[Import], package: str) -> list[tuple[str, str]]:
    """What a module in `package` imports from dpexp by these statements, and a plug-in's from its folder.

    (module, name in it), or (module, "") for a whole module.
    """
    loaded, here = _split(package)
    found: list[tuple[str, str]] = []
    for one in imports:
        if one.module is None:
            found += [(_absolute(name, loaded), "") for name in one.names]
        else:
            base = _relative(one, here, loaded) if one.level else _absolute(one.module, loaded)
            found += [(base, name) for name in one.names]
    return [(base, name) for base, name in found if _is_followed(base)]


def _relative(one: Import, here: str, loaded: Loaded | None) -> str:
    """What a relative import means."""
    parts = here.split(".") if here else []
    # the first dot is the package itself, every further one goes up a level
    above = parts[: len(parts) - one.level + 1]
    inside = ".".join([*above, *([one.module] if one.module else [])])
    return inside if loaded is None else loaded.key(inside)


def _absolute(name: str, loaded: Loaded | None) -> str:
    """What an absolute import means."""
    # in a plug-in the files of its folder come first
    own = None if loaded is None else loaded.own(name)
    return name if loaded is None or own is None else loaded.key(own)


@lru_cache(maxsize=2048)
def _named_files(path: Path, root: Path) -> tuple[str, ...]:
    """Shipped data files that a module names in its code: their paths below the package.

    A data file is any file that is no module.
    """
    known = _shipped_files(root)
    # a name counts wherever it is written, which can only make too much stale
    return tuple(sorted({known[word] for word in _parsed(path, 0).words if word in known}))


@lru_cache(maxsize=64)
def _shipped_files(root: Path) -> dict[str, str]:
    files = (p for p in sorted(root.rglob("*")) if p.is_file() and p.suffix not in (".py", ".pyc"))
    return {p.name: p.relative_to(root).as_posix() for p in files}


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


def source_states(codes: Iterable[dict[str, str]], root: Path = ROOT) -> dict[str, list[State]]:
    """The state of the files behind some fingerprints: a cheap sign of a change."""
    return {name: [state_of(path) for path in _files_of(name, root)] for name in {n for code in codes for n in code}}


def _files_of(name: str, root: Path) -> list[Path]:
    kind, _, path = name.partition(" ")
    if kind == "file":
        return files_below(Path(os.path.expanduser(path)))
    if kind == "data":
        loaded, inside = _split(path)
        return [root / path if loaded is None else loaded.root / inside]
    source = source_of(name, root)
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
    for cached in (_closure, _read, _parsed, _listing, _own_source, _named_files, _shipped_files, _hash_file):
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
