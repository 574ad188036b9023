"""`dpexp diff` loses no setting and compares levels of one; what shares random numbers, and only that, is paired."""

import pandas as pd
import pytest

import dpexp
from dpexp.commands import diff
from dpexp.config.experiment_file import read_experiment
from dpexp.core.errors import UsageError
from dpexp.store.experiment_run import Options, run
from dpexp.store.reading import cell_of as numbers_of
from dpexp.store.reading import load_generation
from tests.conftest import call, of_other_code

CONFIG = """\
experiment: small
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: 1}
run: {n: 60, replicates: 3, seed: 1, checkpoints: 3}
"""
LEVELS = """\
experiment: levels
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: [0.05, 0.2, 0.2000001], alpha: 1/2}
privacy: {mu: [1, inf]}
run: {n: 60, replicates: 12, seed: 1, checkpoints: 3}
"""
SWEPT = [
    ("seed: 1", "seed: [1, 2]", {"seed=1", "seed=2"}),
    ("eta: 0.2", "eta: [0.12341, 0.12342, 0.2]", {"eta=0.12341", "eta=0.12342", "eta=0.2"}),
    ("{mu: 1}", "{mu: [{list: [1, 2, 1]}, {list: [1, 1, 2]}]}", {"mu.list=[1, 2, 1]", "mu.list=[1, 1, 2]"}),
    ("{mu: 1}", "{eps: 1, delta: [1e-5, 1e-7]}", {"delta=1e-05", "delta=1e-07"}),
]


def stored(folder, *changes):
    text = CONFIG
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    run(read_experiment(text, "small.yaml"), Options(folder, jobs=1, quiet=True))
    return folder / "small"


@pytest.mark.parametrize(("old", "new", "names"), SWEPT)
def test_what_varies_within_a_result_is_a_setting(old, new, names, tmp_path):
    """A row for every cell, with its own mean: none overwrites another."""
    folder = stored(tmp_path, (old, new))
    rows = diff.diff(folder, folder, metric="param_distance_sq")["rows"]
    summary = pd.read_parquet(folder / "summary.parquet")
    last = summary[(summary.step == 60) & (summary.metric == "param_distance_sq")]
    assert len(rows) == len(last) == 2 * len(names)
    assert sorted(row["a"] for row in rows) == sorted(last["mean"])
    assert {name for name in names if any(name in row["setting"] for row in rows)} == names
    assert len({(row["setting"], row["estimator"]) for row in rows}) == len(last)
    assert all(row["paired"] and row["difference"] == 0 and row["identical"] for row in rows)


def test_seeds_of_whole_results_are_named_and_not_paired(tmp_path):
    a, b = stored(tmp_path / "a"), stored(tmp_path / "b", ("seed: 1", "seed: 2"))
    document = diff.diff(a, b)
    assert document["changes"] == {"seed": ("1", "2")}
    assert not any(row["paired"] for row in document["rows"])
    both = stored(tmp_path / "c", ("seed: 1", "seed: [1, 2]"), ("replicates: 3", "replicates: 5"))
    document = diff.diff(a, both)
    assert {row["setting"] for row in document["rows"]} == {"seed=1"}
    assert all(row["paired"] and row["difference"] == row["a"] - row["b"] == 0 for row in document["rows"])
    assert "0 settings only in A, 1 only in B" in document.text()
    with pytest.raises(UsageError, match="no setting in common"):
        diff.diff(stored(tmp_path / "d", ("seed: 1", "seed: [3, 4]")), both)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("levels")
    run(read_experiment(LEVELS, "levels.yaml"), Options(where, jobs=1, quiet=True))
    return where / "levels"


def final(folder, eta, mu):
    """Values by replicate of SGD, read from the trajectory and not through the command."""
    generation = load_generation(folder.parent, folder.name)
    (cell,) = (
        name for name, tree in generation.manifest["cells"].items()
        if tree["schedule"]["eta"] == eta and tree["budget"]["mu"] == mu
    )  # fmt: skip
    data = numbers_of(generation, cell)
    return data.values[data.estimators.index("sgd"), -1, data.metrics.index("param_distance_sq")]


def test_levels_are_compared_pair_by_pair_within_what_else_varies(folder):
    answer = diff.diff(folder, by="schedule.eta", metric="param_distance_sq")
    assert answer.exit_code == 0
    assert len(answer["rows"]) == 3 * 2 * 2  # pairs of levels, budgets, estimators
    row = next(r for r in answer["rows"] if (r["setting"], r["estimator"], r["level_b"]) == ("mu=1", "sgd", "0.2"))
    by_hand = final(folder, 0.05, 1.0) - final(folder, 0.2, 1.0)
    assert (row["level_a"], row["paired"]) == ("0.05", True)
    assert row["difference"] == pytest.approx(by_hand.mean(), rel=1e-12)
    rows = diff.diff(folder, by="estimator", only="mu=non-private", metric="loss_gap")["rows"]
    assert len(rows) == 3
    assert all(r["paired"] and {r["level_a"], r["level_b"]} == {"sgd", "asgd"} for r in rows)


def test_own_records_are_not_paired(tmp_path, monkeypatch):
    """Their settings share no noise, so that no difference of two releases is free of it (docs/privacy.md)."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "people.csv").write_text("age,ill\n" + "".join(f"{20 + 7 * k % 60},{k % 2}\n" for k in range(40)))
    data = {"path": "people.csv", "target": "ill", "ranges": {"age": [0, 100]}, "categories": {"ill": [0, 1]}}
    dpexp.run({
        "experiment": "own", "problem": {"name": "softmax", "data": {**data, "records": 40}},
        "algorithm": {"name": "dp-sgd", "clip": 1, "epochs": 1, "batch_size": 4},
        "schedule": {"name": "constant", "eta": [0.1, 0.2]}, "privacy": {"eps": 1, "delta": 1e-5},
        "run": {"replicates": 3, "seed": 1, "checkpoints": 2},
    }, jobs=1)  # fmt: skip
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
    rows = diff.diff(stored(tmp_path, ("privacy:", f"{cases}privacy:")), by="algorithm")["rows"]
    assert len(rows) == 2 * 2  # by clip, each for both estimators
    assert {(row["level_a"], row["level_b"]) for row in rows} == {("ldp-sgd", "clipped-ldp-sgd")}
    assert {row["setting"] for row in rows} == {"clip=1", "clip=2"}
