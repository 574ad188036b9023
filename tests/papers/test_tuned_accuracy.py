"""Accuracies with both their errors, and the table of tuned methods: chosen on validation records, tested on others."""

import math

import numpy as np
import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.papers.dp_sgld import langevin_tables
from dpexp.store.experiment_run import Options, run
from dpexp.store.reading import load_summary
from dpexp.theory.dp_sgld import accuracies as errors


def test_both_errors_of_an_accuracy():
    accuracy = errors.Accuracy(0.83, 0.001, 10, 10_000)
    assert accuracy.test_reach == pytest.approx(0.00736, abs=1e-5)  # 1.96 sqrt(.83 .17 / 10,000)
    assert accuracy.seeds_reach == pytest.approx(2.262 * 0.001, abs=1e-6)  # Student t, 9 degrees of freedom
    apart = errors.difference(accuracy, errors.Accuracy(0.82, 0.001, 10, 10_000))
    assert apart["difference"] == pytest.approx(1.0)
    assert apart["seeds_reach"] == pytest.approx(100 * 2.262 * math.sqrt(2) * 0.001, abs=1e-3)
    assert apart["reach"] == pytest.approx(
        100 * math.hypot(0.0032, 1.96 * math.sqrt((0.1411 + 0.1476) / 1e4)), abs=1e-3
    )
    assert (apart["seeds"], apart["records"]) == (1, 0)
    back = errors.difference(errors.Accuracy(0.82, 0.001, 10, 10_000), accuracy)
    assert (back["seeds"], back["records"]) == (-1, 0)
    far = errors.difference(accuracy, errors.Accuracy(0.80, 0.001, 10, 10_000))
    assert far["records"] == 1


def test_the_interval_from_seeds_alone_misses_and_with_the_records_it_does_not():
    """Two linear classifiers of 400 test records that share most of their errors, 10 replicates each, 2000 test sets.

    A record's margin is normal, and a replicate's own noise is a tenth of its spread; both methods are equally good.
    """
    rng = np.random.default_rng(5)
    missed = {"seeds": 0, "records": 0}
    for _ in range(2000):
        record = rng.standard_normal(400) + 1.0
        found = []
        for _ in range(2):
            method = record + 0.35 * rng.standard_normal(400)  # what one method has of its own, in all its replicates
            right = (method + 0.1 * rng.standard_normal((10, 400)) > 0).mean(axis=1)
            found.append(errors.Accuracy(right.mean(), right.std(ddof=1) / math.sqrt(10), 10, 400))
        result = errors.difference(*found)
        for key in missed:
            missed[key] += result[key] != 0
    assert missed["seeds"] > 0.3 * 2000
    assert missed["records"] < 0.03 * 2000


TUNED = """\
experiment: dp_sgld_tuned_toy
problem:   {name: softmax, data: {name: digits}, regulariser: 1e-2, validation_fraction: 0.1}
privacy:   {eps: 8, delta: 1e-5}
run:       {replicates: 2, seed: 3, checkpoints: 1}
cases:
  - algorithm: {name: dp-sgd, batch_size: 32, epochs: 1}
    schedule:  {name: constant, eta: [0.01, 2, 300]}
  - algorithm: {name: dp-sgd, batch_size: 1295, epochs: 4}
    schedule:  {name: constant, eta: [0.01, 2, 300]}
  - algorithm: {name: dp-sgld, batch_size: 32, epochs: 1, sampling: poisson, start: zero}
    schedule:  {name: constant, eta: 1}
  - algorithm: {name: sgd, batch_size: 32, epochs: 1, momentum: 0.5}
    schedule:  {name: constant, eta: [0.01, 1]}
    privacy:   {eps: inf, delta: 1e-5}
"""
CHOSEN = """\
experiment: dp_sgld_chosen
problem:   {name: softmax, data: {name: digits}, regulariser: 1e-2}
privacy:   {eps: 8, delta: 1e-5}
run:       {replicates: 3, seed: 4, checkpoints: 1}
cases:
  - algorithm: {name: dp-sgd, batch_size: 32, epochs: 1}
    schedule:  {name: constant, eta: 2}
  - algorithm: {name: dp-sgd, batch_size: 1438, epochs: 4}
    schedule:  {name: constant, eta: 300}
  - algorithm: {name: dp-sgld, batch_size: 32, epochs: 1, sampling: poisson, start: zero}
    schedule:  {name: constant, eta: 1}
  - algorithm: {name: sgd, batch_size: 32, epochs: 1, momentum: 0.5}
    schedule:  {name: constant, eta: 1}
    privacy:   {eps: inf, delta: 1e-5}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("tuned")
    for text in (TUNED, CHOSEN):
        path = folder / "toy.yaml"
        path.write_text(text)
        run(load_experiment(path), Options(folder / "results", jobs=1, quiet=True))
    return folder / "results"


@pytest.fixture
def rows(results, monkeypatch):
    monkeypatch.setattr(langevin_tables, "TUNED", ("dp_sgld_tuned_toy",))
    return {r["method"]: r for r in langevin_tables.tuned_accuracy_rows(results)}


def test_the_choice_is_validations_and_its_accuracy_is_of_the_test_records(results, rows):
    assert set(rows) == {"free", "plain", "average", "full", "zero"}
    summary = load_summary(results, "dp_sgld_tuned_toy")
    own = summary[(summary.metric == "test_accuracy") & (summary.estimator == "last")]
    own = own[(own.algorithm == "dp-sgd") & (own.batch_size == 32)].set_index("eta")["mean"]
    assert own.idxmax() == 2  # steps of .01 and 300 are useless: an oracle that the test does not compute
    plain = rows["plain"]
    assert plain["validation"] == pytest.approx(100 * own.max())
    assert plain["behind"] == 0
    assert plain["eta"] == 2
    assert plain["settings"] == 3
    assert plain["edges"] == []
    tested = load_summary(results, "dp_sgld_chosen")
    tested = tested[(tested.metric == "test_accuracy") & (tested.estimator == "last") & (tested.algorithm == "dp-sgd")]
    assert plain["accuracy"] == pytest.approx(100 * float(tested[tested.batch_size == 32]["mean"].iloc[0]))
    assert plain["test_records"] == 359
    p = plain["accuracy"] / 100
    assert plain["test_reach"] == pytest.approx(196 * math.sqrt(p * (1 - p) / 359), rel=1e-3)
