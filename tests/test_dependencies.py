"""The declared versions of other packages are those that are installed, and heavy ones are imported where they are used."""

import ast
import re
import subprocess
import sys
import tomllib
from importlib.metadata import distribution

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
MODULES = sorted((ROOT / "dpexp").rglob("*.py"))
HEAVY = {"numba", "llvmlite", "scipy", "pandas", "matplotlib", "pyarrow", "joblib", "rich", "threadpoolctl", "filelock",
         "dp_accounting", "attr", "torch", "opacus", "mpmath", "dask", "distributed"}  # fmt: skip
"""imported where they are used, inside functions"""
TOP = {"numpy", "pydantic", "pydantic_core", "annotated_types"}
"""may be imported at the top of any module but the command line's; the last two come with pydantic"""
COMPILED = ("engine/", "theory/ldp_sgd/", "inference/messages.py", "inference/pure_messages.py")
"""where functions are compiled; what calls them imports those modules inside functions"""
EXCEPTIONS = {
    "commands/cli.py": {"typer"},
    "config/yamlfile.py": {"yaml"},
    "reporting/templates.py": {"markupsafe"},  # which comes with jinja2, as small as it is
    "engine/lanes/vectormath.py": {"scipy"},  # a table is computed when the functions are compiled
}


def pinned(name):
    """Versions by name, in lower case, of a file of constraints."""
    lines = [line.strip() for line in (ROOT / name).read_text().splitlines()]
    return {
        k.lower().replace("_", "-"): v
        for k, v in (line.split("==") for line in lines if "==" in line and line[0] != "#")
    }


def declared(requirements):
    """(name, floor) pairs of requirements like "numpy>=2.0.0"; an extra of dpexp itself is left out."""
    for requirement in requirements:
        if not requirement.startswith("dpexp["):
            name, floor = re.fullmatch(r"([A-Za-z0-9-]+)>=([0-9.]+)(?:,<[0-9.]+)?", requirement).groups()
            yield name.lower(), floor


EXTRAS = PROJECT["optional-dependencies"]
INSTALLED_AT_LOWEST = [*PROJECT["dependencies"], *EXTRAS["dp-accounting"], *EXTRAS["test"]]


@pytest.mark.parametrize(("name", "floor"), list(declared(INSTALLED_AT_LOWEST)))
def test_the_lowest_environment_has_the_declared_floors(name, floor):
    assert pinned("constraints-lowest.txt")[name] == floor


def release(text):
    return tuple(int(n) for n in re.findall(r"\d+", text)[:3])


@pytest.mark.parametrize(("name", "floor"), list(declared(INSTALLED_AT_LOWEST)))
def test_the_newest_environment_is_no_older(name, floor):
    assert release(pinned("constraints.txt")[name]) >= release(floor)


def test_what_runs_is_within_the_declared_range():
    """Also says which requirement is wrong where the tests run in an environment that was not made from these files."""
    for name, floor in declared(INSTALLED_AT_LOWEST):
        assert release(distribution(name).version) >= release(floor), name


def top_level(body):
    """Packages that statements import when the module is imported; not those under TYPE_CHECKING."""
    for node in body:
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module, node.lineno
        elif isinstance(node, ast.Try | ast.With | ast.ClassDef):
            yield from top_level(node.body)
        elif isinstance(node, ast.If) and ast.unparse(node.test) != "TYPE_CHECKING":
            yield from top_level([*node.body, *node.orelse])


def test_packages_are_imported_where_they_are_used():
    """What stands here is imported at the top of a file: import it inside the function that uses it."""
    wrong = []
    for module in MODULES:
        place = module.relative_to(ROOT / "dpexp").as_posix()
        allowed = TOP | EXCEPTIONS.get(place, set()) | ({"numba", "llvmlite"} if place.startswith(COMPILED) else set())
        allowed |= {*sys.stdlib_module_names, "dpexp"}
        found = [(name.partition(".")[0], line) for name, line in top_level(ast.parse(module.read_text()).body)]
        wrong += [f"{place}:{line} imports {package}" for package, line in found if package not in allowed]
    assert wrong == []


def loaded(statement, names):
    script = f"import sys\n{statement}\nprint(sorted(set({sorted(names)!r}) & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return ast.literal_eval(result.stdout.strip().splitlines()[-1])


@pytest.mark.slow
@pytest.mark.parametrize(
    ("statement", "more"),
    [
        ("import dpexp.commands.cli", {"numpy", "pydantic", "yaml", "rich.console"}),
        ("import dpexp.config.experiment_file, dpexp.algorithms, dpexp.problems, dpexp.algorithms.schedules", set()),
        ("import dpexp.commands.run, dpexp.commands.list", set()),
        ("import dpexp.privacy.mechanisms, dpexp.commands.privacy", set()),
        ("from dpexp.accounting import Accountant, Curve, Steps, calibrate", {"pydantic", "yaml"}),
        ("import dpexp", {"numpy", "pydantic", "yaml"}),
        ("import dpexp\nstr(dpexp.privacy('local-gaussian', mu=1.0))", {"yaml", "jinja2"}),
        (
            "import dpexp\nstr(dpexp.privacy('sampled-gaussian', noise_multiplier=1.0, sampling_probability=0.01, steps=1000))",
            {"yaml", "jinja2"},
        ),
        (
            "import dpexp\ndpexp.calibrate('sampled-gaussian', eps=1, delta=1e-5, sampling_probability=0.01, steps=100)",
            {"yaml", "jinja2"},
        ),
    ],
)
def test_importing_loads_none_of_the_heavy_packages(statement, more):
    assert loaded(statement, HEAVY - {"rich", "attr"} | more) == []
