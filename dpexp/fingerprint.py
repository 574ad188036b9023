"""What code a cell's numbers come from: a hash of every module of dpexp that its classes use.

Comments, formatting and docstrings do not count. The modules are found by following import statements (also those
inside functions) from the modules of the cell's problem, algorithm, schedule and budget; a registry is not followed, so
a new problem does not make the others stale. A user's own data files count with their contents.
"""

from __future__ import annotations

import ast
import hashlib
from functools import lru_cache
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parent
LEDGER = {"dpexp.privacy.langevin_stated", "dpexp.privacy.local_gaussian", "dpexp.privacy.stated", "dpexp.errors"}
"""modules that the algorithms import for the privacy ledger, which is computed anew whenever cells are written"""


def code_of(cell: Any, root: Path = ROOT) -> dict[str, str]:
    """Hashes of the modules that a cell's numbers come from, by module name, sorted; and of its data files, by path."""
    files = {f"file {path}": digest for path, digest in getattr(cell.problem, "contents", {}).items()}
    kinds = (cell.problem, cell.algorithm, cell.schedule, cell.privacy.mu)
    return closure(tuple(sorted({type(kind).__module__ for kind in kinds})), root) | files


@lru_cache(maxsize=256)
def closure(modules: tuple[str, ...], root: Path = ROOT) -> dict[str, str]:
    """Hashes of the modules and of all that they import from dpexp, by module name, sorted."""
    hashes: dict[str, str] = {}
    waiting = [module for module in modules if module.startswith("dpexp.") and _file(module, root).exists()]
    while waiting:
        module = waiting.pop()
        if module in hashes or module in LEDGER:
            continue
        hashes[module], imported = _read(_file(module, root), module)
        waiting += [name for name in imported if _file(name, root).exists()]
    return dict(sorted(hashes.items()))


def _file(module: str, root: Path) -> Path:
    return root.joinpath(*module.split(".")[1:]).with_suffix(".py")


@lru_cache(maxsize=512)
def _read(path: Path, module: str) -> tuple[str, tuple[str, ...]]:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    imported: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level == 0 and (node.module or "").split(".")[0] == "dpexp":
            imported |= {str(node.module), *(f"{node.module}.{alias.name}" for alias in node.names)}
        elif isinstance(node, ast.Import):
            imported |= {alias.name for alias in node.names if alias.name.split(".")[0] == "dpexp"}
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            node.body = [s for s in body if not _is_text(s)] or [ast.Pass()]  # type: ignore[attr-defined]
    digest = hashlib.sha256(repr(_plain(tree)).encode()).hexdigest()[:16]
    return digest, tuple(sorted(imported - {"dpexp", module}))


def _plain(value: Any) -> Any:
    """A syntax tree without positions and empty fields, so that every version of Python writes the same."""
    if isinstance(value, ast.AST):
        fields = [(name, _plain(v)) for name, v in ast.iter_fields(value) if v is not None and v != []]
        return (type(value).__name__, *fields)
    return [_plain(v) for v in value] if isinstance(value, list) else value


def _is_text(statement: Any) -> bool:
    return (
        isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    )


def changed(stored: dict[str, str], now: dict[str, str]) -> list[str]:
    """Files whose code or contents differ between two fingerprints."""
    names = [name for name in sorted(stored.keys() | now.keys()) if stored.get(name) != now.get(name)]
    return [
        name.removeprefix("file ") if name.startswith("file ") else name.replace(".", "/") + ".py" for name in names
    ]
