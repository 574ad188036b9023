"""What strangers meet before they ask: workflows, the versions that are named, the address to fill in, what is imported."""

import re
import subprocess
import sys
import tomllib

import pytest
import yaml

from dpexp.core.version import VERSION
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))
HOME = "https://forge.invalid/dpexp"
"""stands for the project's address until an account holder fills it in"""


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_call_targets_of_make_and_nothing_else(path):
    jobs = yaml.safe_load(path.read_text())["jobs"]
    asked = set()
    for job in jobs.values():
        matrix = job.get("strategy", {}).get("matrix", {})
        asked |= {*matrix.get("target", ()), *(row["target"] for row in matrix.get("include", ()) if "target" in row)}
        for step in job["steps"]:
            if "run" in step:
                (target,) = re.fullmatch(r'make ("\$TARGET"|[a-z-]+)(?: [A-Z_]+=\w+)*', step["run"]).groups()
                asked |= {target} - {'"$TARGET"'}
    assert asked
    assert asked <= TARGETS


def test_the_version_has_one_place():
    assert "version" in PROJECT["project"]["dynamic"]
    assert f"version: {VERSION}\n" in (ROOT / "CITATION.cff").read_text()
    assert re.search(rf"^## \[?{re.escape(VERSION)}\b", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)


def test_every_address_of_the_project_is_the_one_to_fill_in():
    """A second spelling would be left behind when an account holder replaces the first."""
    urls = PROJECT["project"]["urls"]
    source = urls["Source"]
    assert all(url.startswith(source) for url in urls.values())
    assert f'repository-code: "{source}"' in (ROOT / "CITATION.cff").read_text()
    if source == HOME:
        for path in (*ROOT.glob("*.md"), *ROOT.glob("*.yml"), *ROOT.glob(".github/**/*.yml"), *ROOT.glob("docs/*.md")):
            assert set(re.findall(r"https?://forge\.invalid/\w+", path.read_text())) <= {HOME}, path


def test_the_site_has_every_page():
    """`make docs` refuses a page that its menu leaves out; here whoever adds one is told before that."""
    menu = (ROOT / "mkdocs.yml").read_text().partition("\nnav:\n")[2]
    pages = {path.relative_to(ROOT / "docs").as_posix() for path in (ROOT / "docs").rglob("*.md")}
    named = set(re.findall(r": (\S+\.md)$", menu, re.MULTILINE))
    brought = {name for name in named if not (ROOT / "docs" / name).exists()}
    assert pages == named - brought
    ledger = {path.relative_to(ROOT).as_posix() for path in (ROOT / "results/claims").glob("*.md")}
    assert ledger <= brought
    makers = (ROOT / "tools/site.py").read_text() + (ROOT / "tools/reference.py").read_text()
    assert all(f'"{name}"' in makers for name in brought - ledger)


def test_hooks_before_a_commit_are_of_the_versions_that_make_installs():
    pinned = (ROOT / "constraints.txt").read_text()
    hooks = {one["repo"]: one["rev"] for one in yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text())["repos"]}
    for repository, package in (("astral-sh/ruff-pre-commit", "ruff"), ("pre-commit/mirrors-mypy", "mypy")):
        assert f"\n{package}=={hooks[f'https://github.com/{repository}'].removeprefix('v')}\n" in pinned


def loaded(statements):
    """Packages other than dpexp that a new process has imported after some statements."""
    script = f"""
import sys, sysconfig
{statements}
home = sysconfig.get_paths()["purelib"]
files = {{name.partition(".")[0]: getattr(module, "__file__", None) or "" for name, module in sys.modules.items()}}
print(sorted(name for name, file in files.items() if file.startswith(home)))
"""
    printed = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT
    ).stdout
    return {name for name in re.findall(r"'(\w+)'", printed.splitlines()[-1]) if not name.startswith(("_", "dpexp"))}


@pytest.mark.slow
@pytest.mark.parametrize(
    "question",
    [
        "privacy('sampled-gaussian', noise_multiplier=1.0, sampling_probability=0.01, steps=1000)",
        "privacy('local-gaussian', mu=1.0)",
        "calibrate('sampled-gaussian', eps=1, delta=1e-5, sampling_probability=0.01, steps=100)",
    ],
)
def test_a_first_statement_needs_numpy_and_pydantic_alone(question):
    """Whoever asks for a number pays for nothing that runs, draws or reads tables: to load scipy takes as long again."""
    light = {"numpy", "pydantic", "pydantic_core", "annotated_types", "typing_extensions", "typing_inspection"}
    assert {"numpy", "pydantic"} <= loaded(f"import dpexp\nprint(str(dpexp.{question}))") <= light


@pytest.mark.slow
def test_to_import_dpexp_loads_nothing():
    assert loaded("import dpexp") == set()
