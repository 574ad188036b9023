"""`dpexp verify`: what is the same, what is within its tolerance, and what is not; where the published results are from."""

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


@pytest.mark.parametrize(
    ("fresh", "published", "status"),
    [
        ("| 3.072 | a |", "| 3.073 | a |", "within tolerance"),
        ("| 3.072 | a |", "| 3.074 | a |", "different"),
        ("| 3.072 | a |", "| 3.072 | b |", "different"),
        ("| 1.2e-05 |", "| 1.3e-05 |", "within tolerance"),
        ("| 1.2e-05 |", "| 1.2e-04 |", "different"),
        ("theorem-3", "theorem-5", "different"),
        ("one\ntwo", "one", "different"),
    ],
)
def test_printed_numbers(fresh, published, status):
    assert compare("tables/x.md", fresh.encode(), published.encode()).status == status


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
    (tmp_path / "results" / "tables").mkdir()
    (tmp_path / "results" / "tables" / "one.md").write_text("| 1.25 |\n")
    return tmp_path


def states(folder, *words, code=0):
    found = json.loads(call("verify", "--json", *words, cwd=folder, code=code).stdout)
    return {one["file"]: one["status"] for one in found["files"]}


@pytest.mark.slow
def test_against_the_last_commit(project):
    (project / ".gitignore").write_text("trajectories/\nprovenance.json\n")
    git(project, "init", "-q")
    git(project, "add", "-A")
    git(project, "commit", "-qm", "published")
    assert set(states(project).values()) == {"identical"}
    assert "git has results" in call("verify", "--keep", cwd=project).stdout
    (project / "results" / "tables" / "one.md").write_text("| 1.26 |\n")
    assert states(project)["tables/one.md"] == "within tolerance"
    (project / "results" / "tables" / "one.md").unlink()
    assert states(project, code=1)["tables/one.md"] == "missing"
    assert "tables/one.md" not in states(project, "linear_d5")
    damaged = next((project / "results" / "linear_d5" / "trajectories").glob("*.parquet"))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    told = call("verify", "linear_d5", cwd=project, code=3).stdout
    assert f"not linear_d5 ({damaged.name} is damaged" in told
    shutil.rmtree(project / "results" / "linear_d5" / "trajectories")
    told = call("verify", "linear_d5", cwd=project, code=3).stdout
    assert "0 of 1 experiment were computed here; not linear_d5" in told
    assert "did you mean 'linear_d5'" in call("verify", "linear_d6", cwd=project, code=2).stderr


@pytest.mark.slow
def test_without_git_a_copy_is_kept(project):
    missing = call("verify", cwd=project, code=2).stderr
    assert "dpexp verify --keep before results are computed anew" in missing
    assert "kept 4 files in results/.published" in call("verify", "--keep", cwd=project).stdout
    (project / "results" / "tables" / "one.md").write_text("| 9 |\n")
    assert "is there already" in call("verify", "--keep", cwd=project).stdout
    assert states(project, code=1)["tables/one.md"] == "different"
    shutil.copytree(project / "results" / ".published", project / "elsewhere")
    assert states(project, "--against", "elsewhere", code=1)["tables/one.md"] == "different"
    assert "no such folder" in call("verify", "--against", "nowhere", cwd=project, code=2).stderr


@pytest.mark.slow
def test_a_second_run_changes_nothing_that_is_published(project):
    """Times and machines are in what is not published: the same numbers are the same files."""
    call("verify", "--keep", cwd=project)
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
