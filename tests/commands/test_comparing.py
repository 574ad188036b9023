"""`dpexp diff` loses no setting and compares levels of one; two parameters of one name are two columns."""

import math

import numpy as np
import pandas as pd
import pytest

import dpexp
from dpexp.commands import diff
from dpexp.config.experiment_file import read_experiment
from dpexp.core.errors import UsageError
from dpexp.reporting.results import compared
from dpexp.reporting.results.gather import Source, gather
from dpexp.store import cell_of as numbers_of
from dpexp.store import load_generation
from dpexp.store.experiment_run import Options, run
from tests.conftest import call, of_other_code, share

CONFIG = """\
experiment: small
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: 1}
run: {n: 60, replicates: 3, seed: 1, checkpoints: 3}
"""


def stored(folder, *changes):
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    run(read_experiment(text, "small.yaml"), Options(folder, jobs=1, quiet=True))
    return folder / "small"


SWEPT = [
    ("seed: 1", "seed: [1, 2]", {"seed=1", "seed=2"}),
    ("checkpoints: 3", "checkpoints: [3, 5]", {"checkpoints=3", "checkpoints=5"}),
    ("seed: 1", "seed: 1, diverged_above: [10, 1e6]", {"diverged_above=10", "diverged_above=1000000"}),
    ("eta: 0.2", "eta: [0.12341, 0.12342, 0.2]", {"eta=0.12341", "eta=0.12342", "eta=0.2"}),
    (
        "{mu: 1}",
        "{mu: [{list: [1, 2, 1]}, {list: [1, 1, 2]}]}",
        {"mu.list=[1, 2, 1]", "mu.list=[1, 1, 2]"},
    ),
    ("{mu: 1}", "{eps: 1, delta: [1e-5, 1e-7]}", {"delta=1e-05", "delta=1e-07"}),
    ("{mu: 1}", "{mu: [1, 2]}", {"mu=1", "mu=2"}),
]


@pytest.mark.parametrize(("old", "new", "names"), SWEPT)
def test_what_varies_within_a_result_is_a_setting(old, new, names, tmp_path):
    """A row for every cell, with its own mean: none overwrites another."""
    folder = stored(tmp_path, (old, new))
    document = diff.diff(folder, folder, metric="param_distance_sq")
    text = document.text()
    summary = pd.read_parquet(folder / "summary.parquet")
    last = summary[(summary.step == 60) & (summary.metric == "param_distance_sq")]
    assert len(document["rows"]) == len(last) == 2 * len(names)
    assert sorted(row["a"] for row in document["rows"]) == sorted(last["mean"])
    assert {name for name in names if any(name in row["setting"] for row in document["rows"])} == names
    assert len({(row["setting"], row["estimator"]) for row in document["rows"]}) == len(last)
    assert all(row["paired"] and row["difference"] == 0 for row in document["rows"])
    assert document["identical"]
    assert "identical" in text


def test_seeds_of_whole_results_are_named_and_not_paired(tmp_path):
    a, b = stored(tmp_path / "a"), stored(tmp_path / "b", ("seed: 1", "seed: 2"))
    document = diff.diff(a, b)
    assert document["changes"] == {"seed": ("1", "2")}
    assert not any(row["paired"] for row in document["rows"])
    both = stored(tmp_path / "c", ("seed: 1", "seed: [1, 2]"))
    document = diff.diff(a, both)
    text = document.text()
    assert {row["setting"] for row in document["rows"]} == {"seed=1"}
    assert all(row["paired"] and row["difference"] == 0 for row in document["rows"])
    assert "0 settings only in A, 1 only in B" in text
    with pytest.raises(UsageError, match="no setting in common"):
        diff.diff(stored(tmp_path / "d", ("seed: 1", "seed: [3, 4]")), both)


# --- levels of one setting within a result, and results that a comparison must not call what they are not -----------------

LEVELS = """\
experiment: levels
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: [0.05, 0.2, 0.2000001], alpha: 1/2}
privacy: {mu: [1, inf]}
run: {n: 60, replicates: 12, seed: 1, checkpoints: 3}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("levels")
    run(read_experiment(LEVELS, "levels.yaml"), Options(where, jobs=1, quiet=True))
    return where / "levels"


def final(folder, eta, mu):
    """Values by replicate of SGD, read from the trajectory and not through the command."""
    for cell_id, tree in load_generation(folder.parent, folder.name).manifest["cells"].items():
        if tree["schedule"]["eta"] == eta and tree["budget"]["mu"] == (mu if mu < math.inf else "inf"):
            data = numbers_of(load_generation(folder.parent, folder.name), cell_id)
            return data.values[data.estimators.index("sgd"), -1, data.metrics.index("param_distance_sq")]
    raise LookupError


def test_levels_are_compared_pair_by_pair_within_what_else_varies(folder):
    document = diff.diff(folder, by="schedule.eta", metric="param_distance_sq")
    text, code = document.text(), document.exit_code
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
@pytest.mark.parametrize("seed", share(range(5), 5))
def test_a_difference_of_nothing_is_seldom_certain(seed, folder):
    """2,000 families of four comparisons without a difference: at most 5 % call one certain, and 20 % would alone."""
    rng = np.random.default_rng(seed)
    values = rng.normal(size=(2000, 4, 12))
    source = Source(folder.parent, folder.name)
    one, other, *_ = compared.finals(gather([source]), source, [compared.MAIN])
    pair, nothing = compared.Pair("", one, other), {other.line.estimator: np.zeros(12)}

    def certain(value, level):
        return compared._compare(pair, level, {one.line.estimator: value}, nothing)["certain"]

    together = np.mean([any(certain(value, 1 - 0.05 / 4) for value in family) for family in values])
    alone = np.mean([any(certain(value, 0.95) for value in family) for family in values])
    assert together <= 0.05 + 0.015 < 0.15 < alone


def test_one_replicate_has_no_interval_and_is_no_crash(tmp_path):
    run(
        read_experiment(LEVELS.replace("replicates: 12", "replicates: 1"), "x.yaml"),
        Options(tmp_path, jobs=1, quiet=True),
    )
    document = diff.diff(tmp_path / "levels", by="eta")
    text = document.text()
    assert all(r["ci"] == [-math.inf, math.inf] and not r["certain"] and not r["paired"] for r in document["rows"])
    assert "-inf, +inf" in text


def test_estimators_of_one_run_are_paired(folder):
    rows = diff.diff(folder, by="estimator", only="mu=non-private", metric="loss_gap")["rows"]
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
    rows = diff.diff(tmp_path / "results/own", by="eta")["rows"]
    assert rows
    assert not any(row["paired"] for row in rows)


def test_results_of_other_code_are_compared_and_the_exit_code_says_so(tmp_path):
    (tmp_path / "levels.yaml").write_text(LEVELS)
    call("run", "levels.yaml", "-q", cwd=tmp_path)
    of_other_code(tmp_path / "results" / "levels")
    done = call("diff", "results/levels", "--by", "eta", cwd=tmp_path, code=3)
    assert "A is not what today's code gives: unconfirmed" in done.stdout


def test_levels_with_parameters_of_their_own_are_compared(tmp_path):
    """A clipping bound that only one algorithm has is no obstacle, and two values of it are two comparisons."""
    cases = "cases:\n  - {algorithm: {name: ldp-sgd}}\n  - {algorithm: {name: clipped-ldp-sgd, clip: [1, 2]}}\n"
    folder = stored(tmp_path, ("privacy:", f"{cases}privacy:"))
    rows = diff.diff(folder, by="algorithm")["rows"]
    assert len(rows) == 2 * 2  # by clip, each for both estimators
    assert {(row["level_a"], row["level_b"]) for row in rows} == {("ldp-sgd", "clipped-ldp-sgd")}
    assert {row["setting"] for row in rows} == {"clip=1", "clip=2"}
    with pytest.raises(UsageError):
        diff.diff(folder, by="eta")


def test_what_is_computed_of_a_config_is_drawn_tabled_and_compared(tmp_path):
    (tmp_path / "small.yaml").write_text(CONFIG.replace("{mu: 1}", "{mu: [1, 2, 3]}"))
    call("run", "small.yaml", "--only", "mu=1,2", "-q", cwd=tmp_path)
    for words in (("plot", "small", "--format", "png"), ("table", "small", "--metric", "loss_gap,param_distance"),
                  ("diff", "small", "--by", "mu", "--metric", "loss_gap", "--metric", "param_distance")):  # fmt: skip
        done = call(*words, cwd=tmp_path)
        assert "1 of 3 cells" in done.stderr
        assert done.stdout
    rows = dpexp.table("small", metric=["loss_gap", "param_distance"], results=tmp_path / "results").frame()
    assert {"loss_gap", "param_distance"} <= set(rows)
    assert len(rows) == 4
