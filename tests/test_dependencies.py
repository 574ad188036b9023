"""The declared versions of other packages are those that are installed, and heavy ones are imported where they are used."""

import re
import subprocess
import sys
import tomllib

import pytest

from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]

HEAVY = {"numba", "llvmlite", "scipy", "pandas", "matplotlib", "pyarrow", "joblib", "rich", "threadpoolctl", "filelock",
         "dp_accounting", "attr", "torch", "opacus", "mpmath", "dask", "distributed"}  # fmt: skip
"""imported where they are used, inside functions"""


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


CHAINS = [
    [
        ("import dpexp", {"numpy", "pydantic", "yaml"}),
        ("import dpexp.commands.cli", {"numpy", "pydantic", "yaml", "rich.console"}),
        ("from dpexp.accounting import Accountant, Curve, Steps, calibrate", {"pydantic", "yaml"}),
        ("str(dpexp.privacy('local-gaussian', mu=1.0)), dpexp.privacy.budgets", {"yaml", "jinja2"}),
        ("import dpexp.privacy.mechanisms, dpexp.commands.privacy", set()),
        ("import dpexp.config.experiment_file, dpexp.algorithms, dpexp.problems, dpexp.algorithms.schedules", set()),
        ("import dpexp.commands.run, dpexp.commands.list", set()),
    ],
    # a least noise is a root of scipy's
    [("from dpexp import calibrate", set()), ("calibrate(eps=1, delta=1e-5, sampling_probability=0.01, steps=100)", {"yaml", "jinja2"})],
]  # fmt: skip
"""statements of one process, and what besides is not loaded when it has come to each: nothing that one loads is barred later"""


@pytest.mark.slow
@pytest.mark.parametrize("chain", CHAINS, ids=["import", "calibrate"])
def test_importing_loads_none_of_the_heavy_packages(chain):
    lines = ["import sys"]
    for statement, more in chain:
        names = HEAVY - {"rich", "attr", "scipy" * ("calibrate(" in statement)} | more
        lines += [statement, f"print(sorted({names!r} & set(sys.modules)))"]
    command = [sys.executable, "-c", "\n".join(lines)]
    result = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    assert result.stdout.splitlines() == ["[]"] * len(chain)
