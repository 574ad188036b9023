"""Workflows call targets of make, and the version and the address of the project are the same wherever they are written."""

import re
import tomllib

import pytest
import yaml

from dpexp.core import VERSION
from tests.conftest import ROOT

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
TARGETS = set(re.findall(r"^([a-z][a-z-]*):", (ROOT / "Makefile").read_text(), re.MULTILINE))


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
