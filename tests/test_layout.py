"""The package's shape: imports point one way, registries are explicit, files stay small and speak of dpexp alone."""

import ast
import re
from collections.abc import Iterator
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "dpexp"
LEVELS = [
    {"core"},
    {"engine", "theory", "data", "accounting"},
    {"problems", "privacy"},
    {"inference"},
    {"algorithms"},
    {"plugins"},
    {"config"},
    {"store"},
    {"reporting"},
    {"papers"},
    {"conformance"},
    {"commands"},
    {"roof"},
]
"""rooms from the ground up: a room imports from lower floors, and from its own"""
ROOF = {"__init__", "__main__", "python"}
"""files that others import or start, and no room does"""
MODULES = sorted(PACKAGE.rglob("*.py"))


def room(module: Path) -> str:
    name = module.relative_to(PACKAGE).with_suffix("").parts[0]
    return "roof" if name in ROOF else name


def level(name: str) -> int:
    (found,) = [k for k, rooms in enumerate(LEVELS) if name in rooms]
    return found


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """Those inside a node at any depth; an import is nowhere else, and expressions are most of a tree."""
    for part in ("body", "orelse", "finalbody", "handlers", "cases"):
        for inner in getattr(node, part, ()):
            yield inner
            yield from statements(inner)


@cache
def imported(module: Path, for_types: bool = True) -> set[Path]:
    """Files of dpexp that a module imports: also inside functions, and also what it needs `for_types` alone."""
    names: set[str] = set()
    typed = [n for n in _parsed(module).body if isinstance(n, ast.If) and "TYPE_CHECKING" in ast.dump(n.test)]
    apart = set() if for_types else {inner for node in typed for inner in statements(node)}
    for node in set(statements(_parsed(module))) - apart:
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "dpexp":
            names |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Import):
            names |= {alias.name for alias in node.names if alias.name.split(".")[0] == "dpexp"}
    return {found for name in names for found in [_file_of(name)] if found != module}


@cache
def _parsed(module: Path) -> ast.Module:
    return ast.parse(module.read_text())


@cache
def _file_of(name: str) -> Path:
    """The file of a module or package; of a name inside one, that module's file."""
    place = ROOT.joinpath(*name.split("."))
    files = (place.with_suffix(".py"), place / "__init__.py")
    return next((file for file in files if file.is_file()), None) or _file_of(name.rpartition(".")[0])


@cache
def imports() -> dict[Path, set[Path]]:
    return {module: imported(module) for module in MODULES}


@cache
def arrows() -> set[tuple[str, str]]:
    return {(room(a), room(b)) for a, below in imports().items() for b in below if room(a) != room(b)}


@pytest.mark.slow
def test_imports_point_one_way():
    """Prediction and measurement cannot share a fault, so theory and privacy know neither problems nor algorithms."""
    upward = [
        f"{module.relative_to(PACKAGE)} imports {other.relative_to(PACKAGE)}"
        for module, below in imports().items()
        for other in below
        if level(room(other)) > level(room(module))
        or (room(module) in ("theory", "privacy") and room(other) in ("problems", "algorithms"))
    ]
    assert upward == []


def test_accounting_stands_alone():
    """It imports nothing of dpexp but the errors, so that another program can take it as it is."""
    below = {other for module in MODULES if room(module) == "accounting" for other in imported(module)}
    assert {other for other in below if room(other) != "accounting"} == {PACKAGE / "core" / "errors.py"}


@pytest.mark.slow
def test_no_room_and_no_file_needs_what_needs_it():
    rooms = {here: {b for a, b in arrows() if a == here} for here, _ in arrows()}
    # within a room the types of two files may name each other
    for graph in (rooms, {module: imported(module, False) for module in MODULES}):
        TopologicalSorter(graph).prepare()  # raises CycleError, which names the circle


@pytest.mark.slow
def test_a_paper_is_known_to_the_list_of_papers_alone():
    """So it can be deleted with its line there, and no other paper misses it."""
    papers = PACKAGE / "papers"
    folder = {module: module.relative_to(papers).parts[0] for module in MODULES if papers in module.parent.parents}
    knows = {
        module
        for module, below in imports().items()
        for other in below
        if folder.get(other) != folder.get(module) and other in folder
    }
    assert knows == {papers / "__init__.py"}


LINES = {
    "accounting": 3_097, "algorithms": 2_446, "commands": 3_600, "config": 1_799, "conformance": 1_300, "core": 785, "data": 1_599,
    "engine": 4_400, "inference": 3_100, "papers": 3_998, "plugins": 467, "privacy": 5_847,
    "problems": 3_558, "reporting": 4_800, "roof": 188, "store": 2_749, "theory": 1_948,
}  # fmt: skip
"""lines of every room: a change may lower them, or raise one and say why"""
FILES = 361
"""of the package"""


def test_no_room_grows_unnoticed():
    lines = dict.fromkeys(LINES, 0)
    for module in MODULES:
        lines[room(module)] += module.read_text().count("\n")
    grown = {name: (count, LINES[name]) for name, count in lines.items() if count > LINES[name]}
    assert not grown, "lower it, or raise its number here and say why"
    assert len(MODULES) <= FILES


def test_no_file_holds_machine_paths_or_download_addresses():
    tracked = [p for p in ROOT.rglob("*") if p.suffix in {".py", ".md", ".toml", ".txt", ".yaml", ".json"}]
    skipped = {*(path.name for path in ROOT.glob(".venv*")), ".git", "results-smoke", "build", "site"}
    pattern = re.compile(r"/(home|root|work|tmp)/\w|files\.pythonhosted|pypi\.org/simple")
    for path in tracked:
        if path == Path(__file__) or skipped & set(path.relative_to(ROOT).parts) or path.name.startswith("."):
            continue
        if path.name == "provenance.json":  # of this machine, and never committed
            continue
        assert not pattern.search(path.read_text()), path
