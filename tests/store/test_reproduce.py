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

from dpexp.algorithms import ALGORITHMS
from dpexp.store.verifying import BY_METRIC, compare
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
    ("metric", "mean", "status"),
    [
        ("train_loss", (0.5, 1.0, 1e-9), "identical"),
        ("train_loss", (0.5, 1.00005, 1e-9), "within tolerance"),
        ("train_loss", (0.5, 1.0002, 1e-9), "different"),
        ("train_loss", (0.5, 1.0, 2e-9), "within tolerance"),  # what is left of numbers of the size of 1
        ("train_loss", (0.5, 1.0, 1e-6), "different"),
        ("train_loss", (0.5, float("nan"), 1e-9), "different"),
        ("train_loss", (0.5, float("inf"), 1e-9), "different"),
        ("loss_gap", (0.5, 1 + 1e-13, 1e-9), "within tolerance"),
        ("loss_gap", (0.5, 1 + 1e-11, 1e-9), "different"),
        ("test_accuracy", (0.501, 1.0, 1e-9), "within tolerance"),
        ("test_accuracy", (0.503, 1.0, 1e-9), "different"),
        ("somebody_elses", (0.5 + 2e-7, 1.0, 1e-9), "within tolerance"),
    ],
)
def test_numbers_of_a_summary(metric, mean, status):
    found = compare("x/summary.parquet", table(metric, mean), table(metric))
    assert found.status == status
    if status == "different":
        assert metric in found.detail
        assert "allowed" in found.detail


def test_what_a_library_solves_for_may_differ_by_processor():
    """A fit on one machine and on another were 1e-11 apart, a run never a bit."""
    published, fresh = (
        table("param_distance_sq", mean, estimator="central-newton") for mean in ((0.5, 1, 2), (0.5 + 1e-11, 1, 2))
    )
    assert compare("x/summary.parquet", fresh, published).status == "within tolerance"
    fresh = table("param_distance_sq", (0.5 + 1e-8, 1, 2), estimator="central-newton")
    assert compare("x/summary.parquet", fresh, published).status == "different"
    published, fresh = (table("param_distance_sq", mean) for mean in ((0.5, 1, 2), (0.5 + 1e-11, 1, 2)))
    assert compare("x/summary.parquet", fresh, published).status == "different"


def test_what_is_no_measured_number_must_be_the_same():
    for fresh in (table(steps=(1, 2, 4)), table(n=3), table("loss_gap"), b"PAR1", b""):
        assert compare("x/summary.parquet", fresh, table()).status == "different"
    assert compare("x/summary.parquet", None, table()).status == "missing"
    both_lost = table(mean=(0.5, float("nan"), float("inf")))
    assert compare("x/summary.parquet", both_lost + b"", both_lost).status == "identical"


def test_documents():
    one = {
        "code": {"a": "1"},
        "computed_from": {"c": {"numbers": "f00", "replicates": 2}},
        "seals": {"x": "1"},
        "v": 1.0,
    }

    def found(**changes):
        return compare("x/manifest.json", json.dumps({**one, **changes}).encode(), json.dumps(one).encode()).status

    assert found(seals={"x": "2"}) == "within tolerance"
    assert found(computed_from={"c": {"numbers": "ba4", "replicates": 2}}) == "within tolerance"
    assert found(computed_from={"c": {"numbers": "f00", "replicates": 3}}) == "different"
    assert found(code={"a": "2"}) == "within tolerance"
    assert found(v=1 + 1e-8) == "within tolerance"
    assert found(v=1.1) == "different"
    assert found(more=1) == "different"
    assert compare("x/manifest.json", b"{", json.dumps(one).encode()).status == "different"


def test_every_metric_has_a_tolerance_with_its_reason():
    for kind in ALGORITHMS.values():
        assert set(kind().metrics) <= set(BY_METRIC)
    assert all(one.why and (one.relative or one.absolute) for one in BY_METRIC.values())


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
def test_beside_the_last_commit_and_another_folder(project):
    assert "not in git" in call("reproduce", "--check", cwd=project, code=2).stderr
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "published")
    assert states(project) == dict.fromkeys(["linear_d5/cells.parquet", "linear_d5/summary.parquet"], "identical")
    shutil.copytree(project / "results", project / "elsewhere")
    (project / "results/linear_d5/cells.parquet").unlink()
    for words in ((), ("--against", "elsewhere")):
        assert states(project, *words, code=1)["linear_d5/cells.parquet"] == "missing"
    assert "did you mean 'ldp-sgd'" in call("reproduce", "ldp-sg", "--check", cwd=project, code=2).stderr
    assert "reproduce in a clone" in call("reproduce", cwd=project, code=2).stderr


@pytest.mark.slow
def test_a_second_run_changes_nothing_that_is_published(project):
    """Times and machines are in what is not published: the same numbers are the same files."""
    before = {p: p.read_bytes() for p in (project / "results/linear_d5").glob("*.*") if p.name != "provenance.json"}
    from tests.conftest import ROOT

    manifest = json.loads((project / "results/linear_d5/manifest.json").read_text())
    config = ROOT / "configs" / "linear_d5.yaml"
    assert manifest["profile"] == "smoke"
    words = ("--profile", "smoke", "-q", "-j", 1, "--force", "--results", "results")
    call("run", config, *words, cwd=project)
    first = {p: p.read_bytes() for p in before}
    call("run", config, *words, cwd=project)
    assert {p: p.read_bytes() for p in before} == first
    kept = {p.name: content for p, content in before.items() if p.suffix == ".parquet"}
    assert {p.name: content for p, content in first.items() if p.suffix == ".parquet"} == kept
