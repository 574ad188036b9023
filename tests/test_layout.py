"""The package's shape: imports point one way, registries are explicit, files stay small and speak of dpexp alone."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "dpexp"
LEVELS = [
    {"core"},
    {"protocols", "plugin"},
    {"engine", "theory", "data"},
    {"problems", "schedules", "privacy"},
    {"algorithms"},
    {"plugins"},
    {"config"},
    {"store"},
    {"reporting"},
    {"papers"},
    {"conformance"},
    {"commands"},
    {"api"},
    {"cli", "__main__"},
]
"""rooms from the ground up: a room imports from lower floors, and from its own"""
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(module: Path) -> str:
    parts = module.relative_to(PACKAGE).with_suffix("").parts
    return parts[0]


def level(name: str) -> int:
    (found,) = [k for k, rooms in enumerate(LEVELS) if name in rooms]
    return found


def imported_rooms(module: Path) -> set[str]:
    """Rooms of dpexp that a module imports, also inside functions; not under TYPE_CHECKING."""
    tree = ast.parse(module.read_text())
    hidden = {
        id(inner)
        for node in ast.walk(tree)
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"
        for inner in ast.walk(node)
    }
    names: set[str] = set()
    for node in ast.walk(tree):
        if id(node) in hidden:
            continue
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpexp":
            parts = node.module.split(".")
            names |= {parts[1]} if len(parts) > 1 else {alias.name for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {a.name.split(".")[1] for a in node.names if a.name.startswith("dpexp.")}
    return {name for name in names if name not in ("__version__", "IMPORTED_AT")}


@pytest.mark.parametrize("module", [m for m in MODULES if m.name != "__init__.py" or m.parent != PACKAGE], ids=str)
def test_imports_point_one_way(module):
    here = room(module)
    for other in imported_rooms(module):
        assert level(other) <= level(here), f"{here} imports {other}"
        if here in ("theory", "privacy"):
            assert other not in ("problems", "algorithms"), f"{here} imports {other}"


def test_every_name_in_a_registry_is_its_own():
    from dpexp.algorithms import ALGORITHMS
    from dpexp.problems import PROBLEMS
    from dpexp.schedules import SCHEDULES

    for registry in (PROBLEMS, ALGORITHMS, SCHEDULES):
        for name, kind in registry.items():
            assert kind().name == name


def test_no_file_holds_machine_paths_or_download_addresses():
    tracked = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".json"}]
    skipped = {".venv", ".venv-lowest", ".git", "results-smoke"}
    pattern = re.compile(r"/(home|root|work|tmp)/\w|files\.pythonhosted|pypi\.org/simple")
    for path in tracked:
        if path == Path(__file__) or skipped & set(path.relative_to(ROOT).parts) or path.name.startswith("."):
            continue
        if path.name == "provenance.json":  # of this machine, and never committed
            continue
        assert not pattern.search(path.read_text()), path
