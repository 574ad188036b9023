"""What is accepted can be computed: ranges of every field, memory and time of the whole, and numbers that are none."""

import math
import os

import pytest

from dpexp.config.experiment_file import load_experiment, read_experiment
from dpexp.config.resources import require_room
from dpexp.config.yamlfile import ConfigError
from dpexp.core import memory
from tests.campaigns.config_mutants import FAULTS, campaign
from tests.conftest import call

LINEAR = """experiment: a
problem: {name: huber-linear, d: 5}
privacy: {mu: 1}
run: {n: 100}
"""
SOFTMAX = """experiment: a
problem: {name: softmax, data: {name: digits}}
algorithm: {name: dp-sgd, batch_size: 1438, epochs: 3}
schedule: {name: constant, eta: 0.5}
privacy: {eps: 1, delta: 1e-5}
run: {replicates: 1, checkpoints: 1}
"""
MEAN = """experiment: a
problem: {name: rippled-mean, N: 50, d: 5}
algorithm: {name: tree-momentum, epochs: 2}
schedule: {name: path-length, length: 2}
privacy: {eps: 1, delta: 1e-5}
run: {replicates: 1, checkpoints: 1}
"""
OUT_OF_RANGE = {
    "d: 5": ["d: 1e99", "d: 1e7", "d: 5, c: 1e-300", "d: 5, sigma: 1e-200", "d: 5, beta: 1e200"],
    "mu: 1": ["mu: 1e-300", "mu: 1e7", "mu: {uniform: [1e-300, 1]}", "mu: {list: [1, 1e300]}", "mu: 1, deltas: [1e-300]"],
    "n: 100": ["n: 1e13", "n: 100, checkpoints: 1e9", "n: 100, replicates: 1e12", "n: 100, diverged_above: 1e200",
               "n: 100, diverged_above: 1e-300"],
}  # fmt: skip


def said(text, **options):
    """What is said of a config, in one text; nothing where it is fine."""
    try:
        require_room(read_experiment(text, "c.yaml", **options))
    except ConfigError as error:
        return str(error)
    return ""


@pytest.mark.parametrize(("old", "new"), [(old, new) for old, news in OUT_OF_RANGE.items() for new in news])
def test_a_number_out_of_range_is_refused_at_its_place_with_the_range(old, new):
    assert said(LINEAR) == ""
    message = said(LINEAR.replace(old, new))
    assert message.startswith("c.yaml:")
    assert " >= " in message
    assert "must be a" in message
    assert "hint:" in message


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (SOFTMAX.replace("epochs: 3", "epochs: 1e12"), "steps are beyond reach"),
        (MEAN.replace("epochs: 2", "epochs: 1e12"), "that makes 5e+13 steps"),
        (MEAN.replace("name: rippled-mean, N: 50, d: 5", "name: sigmoid, data: digits, N: 1e6"), "digits has 1,438 records to train on"),
        (MEAN.replace("{name: tree-momentum, epochs: 2}", "{name: gradient-recursion, epochs: 2, gamma: 1e-8}"), "at least 1e-6 is needed"),
    ],
)  # fmt: skip
def test_what_cannot_be_run_is_said_before(text, words):
    assert words in said(text)


def test_toy_sizes_that_become_equal_are_run_once(tmp_path):
    path = tmp_path / "c.yaml"
    path.write_text(LINEAR.replace("n: 100", "n: [3000, 50000, 200]"))
    assert [c.run.n for c in load_experiment(path).cells] == [3000, 50000, 200]
    assert [c.run.n for c in load_experiment(path, profile="smoke").cells] == [2000, 200]


@pytest.mark.slow
def test_a_share_of_the_campaign(tmp_path):
    """The first of the 5,000 mutants of `python -m tests.campaigns.config_mutants`, and toy runs of a few, untimed."""
    lines = []
    counts = campaign(12, 100, 3, tmp_path, log=lines.append, limits=(math.inf, math.inf))
    assert sum(counts[f"validate: {kind}"] for kind in ("ok", "refused")) == 100
    assert counts["validate: ok"] > 5
    assert counts["run: ok"] == 3
    assert not {name: counts[name] for name in FAULTS if counts[name]}, lines


def test_a_table_that_does_not_fit_is_refused_with_its_bytes_before_it_is_read(tmp_path, monkeypatch):
    path, pipe = tmp_path / "people.csv", tmp_path / "pipe"
    path.write_text("x,y\n")
    os.truncate(path, 10**10)
    monkeypatch.setattr(memory, "memory_of_machine", lambda: 10**11)
    monkeypatch.setattr("dpexp.data.records.read_lines", None)  # it would fail: the table is not read
    assert "people.csv: needs about 150 GB of memory" in call("fit", path, "--target", "y", "--eps", "1", code=2).stderr
    # a device would be read for ever, and a pipe waited for: this test would hang
    os.mkfifo(pipe)
    for config in ("/dev/zero", pipe):
        assert "it is no ordinary file" in call("validate", config, code=2).stderr
