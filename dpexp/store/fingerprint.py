"""What code a number comes from: a hash of every module of dpexp that takes part in it.

Comments, formatting and docstrings do not count. The modules are found by following import statements (also those
inside functions, and relative ones) from where the work starts. A package is followed through its `__init__.py` like
any module, so an edit behind a facade is seen; of the `REGISTRIES` only the names that are used are followed, so that
a new problem does not make the others stale. The shipped data files that a module names count with their contents,
and so do a user's own.
"""

from __future__ import annotations

import ast
import hashlib
import os
import time
from collections.abc import Iterable
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dpexp import IMPORTED_AT

if TYPE_CHECKING:
    from dpexp.config import Cell

ROOT = Path(__file__).parent.parent
State = tuple[int, int, int, int]
"""last change of a file's content and of its inode (which nobody can set back) in nanoseconds, its size and inode"""
REGISTRIES = frozenset(
    {
        "dpexp",
        "dpexp.algorithms",
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
it comes from, and the others of the list do not"""
STATEMENTS = frozenset(
    {
        "dpexp.privacy.mechanisms.langevin_stated",
        "dpexp.privacy.mechanisms.local_gaussian",
        "dpexp.privacy.mechanisms.stated",
    }
)
"""modules that the algorithms import only to state the privacy of what they release: they do not touch a trajectory,
and count for the rows of cells.parquet, which hold that statement"""
RUNNING = ("dpexp.store.simulating",)
"""modules that every cell's numbers pass through, whatever its problem and algorithm"""
ROWS = ("dpexp.store.rows", "dpexp.config.cells")
"""modules that every row of cells.parquet passes through"""
MESSAGES = frozenset({"dpexp.core.errors"})
"""modules that say what went wrong, and cannot change a number"""


def code_of(cell: Cell, root: Path = ROOT) -> dict[str, str]:
    """Hashes of what a cell's trajectory comes from: modules by name, the user's data files by path; sorted."""
    return closure(_modules_of(cell), root, STATEMENTS) | data_of(cell)


def statement_of(cell: Cell, root: Path = ROOT) -> dict[str, str]:
    """Hashes of the modules that a cell's row comes from: its trajectory's, its privacy statement's, and its own."""
    return closure((*_modules_of(cell), *ROWS), root)


def data_of(cell: Cell) -> dict[str, str]:
    """Hashes of the user's data files, by path, as they were when they were first read."""
    return {f"file {path}": hash_of_data(path) for path in cell.problem.files()}


@lru_cache(maxsize=64)
def hash_of_data(path: str) -> str:
    """Hash of a file, or of the names and contents of a folder's files, those behind links to folders too."""
    place = Path(path)
    hashed = hashlib.sha256()
    for file in files_below(place):
        with file.open("rb") as content:
            digest = hashlib.file_digest(content, "sha256").hexdigest()
        hashed.update(f"{file.relative_to(place)} {digest}\n".encode(errors="surrogateescape"))
    return hashed.hexdigest()[:16]


def files_below(place: Path) -> list[Path]:
    """The files in a folder, sorted, in the folders that links in it lead to as well; or the file itself."""
    if not place.is_dir():
        return [place]
    found, seen = [], set()
    for folder, inner, names in os.walk(place, followlinks=True):
        if (real := os.path.realpath(folder)) in seen:  # links can lead in a circle
            inner.clear()
            continue
        seen.add(real)
        inner.sort()
        found += [file for name in names if (file := Path(folder, name)).is_file()]
    return sorted(found)


def _modules_of(cell: Cell) -> tuple[str, ...]:
    return (*modules_of(cell.problem, cell.algorithm, cell.schedule, cell.privacy.mu), *RUNNING)


def modules_of(*values: object) -> tuple[str, ...]:
    """The modules that define the classes of some values, and the classes that these are made from; sorted."""
    return tuple(sorted({kind.__module__ for value in values for kind in type(value).__mro__}))


@lru_cache(maxsize=1024)
def closure(modules: tuple[str, ...], root: Path = ROOT, leave_out: frozenset[str] = frozenset()) -> dict[str, str]:
    """Hashes of the modules and of all that they import from dpexp, by module name, sorted."""
    hashes: dict[str, str] = {}
    waiting = [module for module in modules if module.split(".")[0] == "dpexp"]
    while waiting:
        module = waiting.pop()
        path = source_of(module, root)
        if module in hashes or module in REGISTRIES | MESSAGES | leave_out:
            continue
        if path is None:
            waiting += _listed(module, root)
            continue
        hashes[module], imported = _read(path, module)
        hashes |= {f"data {name}": _hash_file(root / name) for name in _named_files(path, root)}
        waiting += imported
    return dict(sorted(hashes.items()))


def _listed(name: str, root: Path) -> list[str]:
    """Where a name that is imported from a registry comes from: its own module, or the whole registry.

    A class that the registry lists is that class's module. The dictionary itself can give anything that is in it.
    """
    package, _, word = name.rpartition(".")
    path = source_of(package, root)
    if package not in REGISTRIES or path is None:
        return []
    tree = ast.parse(path.read_text(encoding="utf-8"))
    modules = [base for base, alias in _imports(tree, package) if alias == word]
    return modules or [f"{package}.__init__"] * (word in {n.id for n in ast.walk(tree) if isinstance(n, ast.Name)})


def source_of(module: str, root: Path = ROOT) -> Path | None:
    """The file of a module or package; None where there is none."""
    place = root.joinpath(*module.split(".")[1:])
    return next((p for p in (place.with_suffix(".py"), place / "__init__.py") if p.is_file()), None)


@lru_cache(maxsize=2048)
def _read(path: Path, module: str) -> tuple[str, tuple[str, ...]]:
    """Hash of a module's code, and the names that it imports from dpexp: modules, or what is inside them."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    package = module.removesuffix(".__init__") if path.name == "__init__.py" else module.rpartition(".")[0]
    imported = {name for base, alias in _imports(tree, package) for name in (base, f"{base}.{alias}")}
    digest = hashlib.sha256(repr(_plain(without_text(tree))).encode()).hexdigest()[:16]
    return digest, tuple(sorted(name for name in imported if name != module and not name.endswith(".")))


def _imports(tree: ast.Module, package: str) -> list[tuple[str, str]]:
    """What a module in `package` imports from dpexp: (module, name in it), or (module, "") for a whole module."""
    never_run = {id(inner) for node in ast.walk(tree) if _is_for_types(node) for inner in ast.walk(node)}
    found: list[tuple[str, str]] = []
    for node in ast.walk(tree):
        if id(node) in never_run:
            continue
        if isinstance(node, ast.ImportFrom):
            # the first dot of a relative import is the package itself, every further one goes up a level
            parts = package.split(".")
            above = parts[: len(parts) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            found += [(base, alias.name) for alias in node.names]
        elif isinstance(node, ast.Import):
            found += [(alias.name, "") for alias in node.names]
    return [(base, name) for base, name in found if base.split(".")[0] == "dpexp"]


@lru_cache(maxsize=2048)
def _named_files(path: Path, root: Path) -> tuple[str, ...]:
    """Shipped data files that a module names in its code: their paths below the package.

    A data file is any file that is no module. A name counts wherever it is written, which can only make too much stale.
    """
    known = _shipped_files(root)
    words = {n.value for n in ast.walk(ast.parse(path.read_text(encoding="utf-8"))) if isinstance(n, ast.Constant)}
    return tuple(sorted(known[word] for word in words if isinstance(word, str) and word in known))


@lru_cache(maxsize=64)
def _shipped_files(root: Path) -> dict[str, str]:
    files = (p for p in sorted(root.rglob("*")) if p.is_file() and p.suffix not in (".py", ".pyc"))
    return {p.name: p.relative_to(root).as_posix() for p in files}


@lru_cache(maxsize=64)
def _hash_file(path: Path) -> str:
    with path.open("rb") as content:
        return hashlib.file_digest(content, "sha256").hexdigest()[:16]


def source_states(codes: Iterable[dict[str, str]], root: Path = ROOT) -> dict[str, list[State]]:
    """The state of the files behind some fingerprints: a cheap sign of a change."""
    return {name: [_state(path) for path in _files_of(name, root)] for name in {n for code in codes for n in code}}


def _files_of(name: str, root: Path) -> list[Path]:
    kind, _, path = name.partition(" ")
    if kind == "file":
        return files_below(Path(path))
    if kind == "data":
        return [root / path]
    source = source_of(name, root)
    return [source] if source else []


def edited_after(codes: Iterable[dict[str, str]], data_read_at: int, root: Path = ROOT) -> list[str]:
    """Modules that were written to after this process began to import, and data files after they began to be read.

    Python keeps the code that it has imported, and a run the records that it has read: what such files hold now is not
    what the numbers come from. Times are those of the last change of content; 0 for `data_read_at` asks nothing.
    A time that is still to come says that a clock was wrong, and nothing about this run.
    """
    late, now = [], time.time_ns()
    for name, states in source_states(codes, root).items():
        since = data_read_at if name.startswith("file ") else IMPORTED_AT
        if since and any(since < moment <= now for state in states for moment in state[:2]):
            late.append(_file_name(name))
    return sorted(late)


def _state(path: Path) -> State:
    try:
        state = path.stat()
    except OSError:
        return 0, 0, 0, 0
    return state.st_mtime_ns, state.st_ctime_ns, state.st_size, state.st_ino


def forget() -> None:
    """Read everything anew when asked next: for a process that outlives an edit."""
    for cached in (closure, _read, _named_files, _shipped_files, _hash_file, hash_of_data):
        cached.cache_clear()


def without_text(tree: ast.Module) -> ast.Module:
    """The tree without docstrings and other bare texts; it is changed in place."""
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [s for s in body if not _is_text(s)] or [ast.Pass()]  # type: ignore[attr-defined]
    return tree


def _plain(value: Any) -> Any:
    """A syntax tree without positions and empty fields, so that every version of Python writes the same."""
    if isinstance(value, ast.AST):
        fields = [(name, _plain(v)) for name, v in ast.iter_fields(value) if v is not None and v != []]
        return (type(value).__name__, *fields)
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _is_for_types(node: ast.AST) -> bool:
    """Whether this is an `if TYPE_CHECKING:` without an else: its imports never run."""
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING" and not node.orelse


def _is_text(statement: Any) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def changed(stored: dict[str, str], now: dict[str, str]) -> list[str]:
    """Files whose code or contents differ between two fingerprints."""
    return [_file_name(name) for name in sorted(stored.keys() | now.keys()) if stored.get(name) != now.get(name)]


def _file_name(name: str) -> str:
    kind, _, path = name.partition(" ")
    if kind == "file":
        return path
    if kind == "data":
        return f"dpexp/{path}"
    source = source_of(name)
    return f"dpexp/{source.relative_to(ROOT).as_posix()}" if source else name.replace(".", "/") + ".py"
