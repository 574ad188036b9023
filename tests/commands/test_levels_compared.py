"""`dpexp diff --by`: levels of one setting within a result, and results that a comparison must not call what they are not."""

import math

import numpy as np
import pytest

import dpexp
from dpexp.commands import diff
from dpexp.config.experiment_file import read_experiment
from dpexp.core.errors import UsageError
from dpexp.reporting.of_results import compared
from dpexp.reporting.of_results.gather import Source, gather
from dpexp.store import cell_of, load_generation
from dpexp.store.run import Options, run
from tests.conftest import call, share

CONFIG = """\
experiment: levels
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: [0.05, 0.2, 0.2000001], alpha: 1/2}
privacy: {mu: [1, inf]}
run: {n: 60, replicates: 12, seed: 1, checkpoints: 3}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("levels")
    run(read_experiment(CONFIG, "levels.yaml"), Options(where, jobs=1, quiet=True))
    return where / "levels"


def final(folder, eta, mu):
    """Values by replicate of SGD, read from the trajectory and not through the command."""
    for cell_id, tree in load_generation(folder.parent, folder.name).manifest["cells"].items():
        if tree["schedule"]["eta"] == eta and tree["budget"]["mu"] == (mu if mu < math.inf else "inf"):
            data = cell_of(load_generation(folder.parent, folder.name), cell_id)
            return data.values[data.estimators.index("sgd"), -1, data.metrics.index("param_distance_sq")]
    raise LookupError


def test_levels_are_compared_pair_by_pair_within_what_else_varies(folder):
    document, text, code = diff.diff(folder, by="schedule.eta", metric="param_distance_sq")
    assert code == 0
    assert len(document["rows"]) == 3 * 2 * 2  # pairs of levels, budgets, estimators
    row = next(
        r for r in document["rows"] if r["setting"] == "mu=1" and r["estimator"] == "sgd" and r["level_b"] == "0.2"
    )
    by_hand = final(folder, 0.05, 1.0) - final(folder, 0.2, 1.0)
    assert row["level_a"] == "0.05"
    assert row["paired"]
    assert row["difference"] == pytest.approx(by_hand.mean(), rel=1e-12)
    assert "schedule.eta A" in text


@pytest.mark.slow
@pytest.mark.parametrize("seed", share(range(5)))
def test_a_difference_of_nothing_is_seldom_certain(seed, monkeypatch, folder):
    """2,000 families of four comparisons without a difference: at most 5 % call one certain, and 20 % would alone."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2000, 4, 12))
    source = Source(folder.parent, folder.name)
    one, other, *_ = compared.finals(gather([source]), source)
    pair, drawn = compared.Pair("", one, other), []
    monkeypatch.setattr(compared.Final, "replicates", lambda self: drawn[-1] if self is one else np.zeros(12))

    def certain(value, level):
        drawn.append(value)
        return compared._compare(pair, level)["certain"]

    together = np.mean([any(certain(value, 1 - 0.05 / 4) for value in family) for family in values])
    alone = np.mean([any(certain(value, 0.95) for value in family) for family in values])
    assert together <= 0.05 + 0.015 < 0.15 < alone


def test_one_replicate_has_no_interval_and_is_no_crash(tmp_path):
    run(
        read_experiment(CONFIG.replace("replicates: 12", "replicates: 1"), "x.yaml"),
        Options(tmp_path, jobs=1, quiet=True),
    )
    document, text, _ = diff.diff(tmp_path / "levels", by="eta")
    assert all(r["ci"] == [-math.inf, math.inf] and not r["certain"] and not r["paired"] for r in document["rows"])
    assert "-inf, +inf" in text


def test_what_cannot_be_compared_says_what_varies(folder):
    with pytest.raises(UsageError, match="--by alpha: it does not vary") as caught:
        diff.diff(folder, by="alpha")
    assert "eta, mu, estimator" in caught.value.hint
    with pytest.raises(UsageError, match="two results, or the levels"):
        diff.diff(folder)
    with pytest.raises(UsageError, match="no two settings differ in nothing else"):
        diff.diff(folder, by="eta", only="(eta = 0.05 and mu = 1) or (eta = 0.2 and mu = non-private)")


def test_estimators_of_one_run_are_paired(folder):
    rows = diff.diff(folder, by="estimator", only="mu = non-private", metric="loss_gap").document["rows"]
    assert len(rows) == 3
    assert all(r["paired"] and {r["level_a"], r["level_b"]} == {"sgd", "asgd"} for r in rows)


RECORDS = """\
experiment: own
problem: {name: softmax, data: {path: people.csv, target: ill, ranges: {age: [0, 100]}, categories: {ill: [0, 1]}, records: 40}}
algorithm: {name: dp-sgd, clip: 1, epochs: 1, batch_size: 4}
schedule: {name: constant, eta: [0.1, 0.2]}
privacy: {eps: 1, delta: 1e-5}
run: {replicates: 3, seed: 1, checkpoints: 2}
"""


def test_own_records_are_not_paired(tmp_path, monkeypatch):
    """Their settings share no noise, so that no difference of two releases is free of it (docs/privacy.md)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(f"{20 + 7 * k % 60},{k % 2}\n" for k in range(40)))
    (tmp_path / "own.yaml").write_text(RECORDS)
    dpexp.run("own.yaml", jobs=1)
    rows = diff.diff(tmp_path / "results/own", by="eta").document["rows"]
    assert rows
    assert not any(row["paired"] for row in rows)


def test_stale_results_are_compared_and_the_exit_code_says_so(tmp_path):
    (tmp_path / "levels.yaml").write_text(CONFIG)
    call("run", "levels.yaml", "-q", cwd=tmp_path)
    (tmp_path / "levels.yaml").write_text(CONFIG.replace("0.05", "0.06"))
    done = call("diff", "results/levels", "--by", "eta", cwd=tmp_path, code=3)
    assert "A is not what today's code, data and config give: stale" in done.stdout
