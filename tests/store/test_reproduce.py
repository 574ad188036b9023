"""`dpexp reproduce`: what is the same, what is within its tolerance, and what is not; where the published results are from."""

from __future__ import annotations

import io
import json
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from dpexp.store.verifying import compare
from tests.conftest import call


def table(metric="train_loss", mean=(0.5, 1.0, 1e-9), steps=(1, 2, 3), n=2, estimator="sgd"):
    """A summary as bytes."""
    rows = {
        "metric": [metric] * 3,
        "estimator": [estimator] * 3,
        "step": list(steps),
        "n": [n] * 3,
        "mean": np.array(mean),
    }
    buffer = io.BytesIO()
    pq.write_table(pa.table(rows), buffer)
    return buffer.getvalue()


@pytest.mark.parametrize(
    ("mean", "status"),
    [
        ((0.5, 1.0, 1e-9), "identical"),
        ((0.5, 1 + 1e-10, 1e-9), "within tolerance"),
        ((0.5, 1 + 1e-8, 1e-9), "different"),
        ((0.5, 1.0, 1e-9 + 1e-13), "within tolerance"),  # what is left of numbers of the size of 1
        ((0.5, 1.0, 2e-9), "different"),
        ((0.5, float("nan"), 1e-9), "different"),
        ((0.5, float("inf"), 1e-9), "different"),
    ],
)
def test_numbers_of_a_summary(mean, status):
    for unit in (2.0**-40, 1.0, 2.0**40):  # of measurement, which decides nothing
        scaled = [table(mean=unit * np.array(values)) for values in (mean, (0.5, 1.0, 1e-9))]
        comparison = compare("x/summary.parquet", *scaled)
        assert comparison.status == status
    if status == "different":
        assert "train_loss" in comparison.detail
        assert "allowed" in comparison.detail


def test_what_is_no_measured_number_must_be_the_same():
    for fresh in (table(steps=(1, 2, 4)), table(n=3), table("loss_gap"), b"PAR1", b""):
        assert compare("x/summary.parquet", fresh, table()).status == "different"
    assert compare("x/summary.parquet", None, table()).status == "missing"
    both_lost = table(mean=(0.5, float("nan"), float("inf")))
    assert compare("x/summary.parquet", both_lost + b"", both_lost).status == "identical"


def test_verdicts():
    one = {"results": {"x": "1"}, "verdict": "holds", "numbers": [1.0, 0.0], "n": 2}

    def status(**changes):
        return compare("claims.json", json.dumps({**one, **changes}).encode(), json.dumps(one).encode()).status

    assert status(results={"x": "2"}) == "identical"
    assert status(numbers=[1 + 1e-8, 1e-10]) == "within tolerance"
    assert status(numbers=[1.1, 0.0]) == "different"
    assert status(verdict="fails") == status(n=3) == status(more=1) == "different"
    assert compare("claims.json", b"{", json.dumps(one).encode()).status == "different"


def git(folder, *words):
    names = ("-c", "user.name=a", "-c", "user.email=a@b")
    subprocess.run(["git", *names, *words], cwd=folder, check=True, capture_output=True)


@pytest.fixture
def project(toys, tmp_path):
    """Results of one toy experiment in a folder of their own."""
    shutil.copytree(toys.results(["linear_d5"]) / "linear_d5", tmp_path / "results" / "linear_d5")
    return tmp_path


def states(folder, *words, code=0):
    found = json.loads(call("reproduce", "--check", "--json", *words, cwd=folder, code=code).stdout)
    return {one["file"]: one["status"] for one in found["files"]}


@pytest.mark.slow
def test_beside_the_last_commit(project):
    assert "not in git" in call("reproduce", "--check", cwd=project, code=2).stderr
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "published")
    assert states(project) == dict.fromkeys(["linear_d5/cells.parquet", "linear_d5/summary.parquet"], "identical")
    (project / "results/linear_d5/cells.parquet").unlink()
    assert states(project, code=1)["linear_d5/cells.parquet"] == "missing"
    assert "did you mean 'ldp-sgd'" in call("reproduce", "ldp-sg", "--check", cwd=project, code=2).stderr
    assert "reproduce in a clone" in call("reproduce", cwd=project, code=2).stderr
