"""What an experiment needs is refused by its bytes before it is run, and a command names a config as it can be typed."""

import re
from pathlib import Path

import pytest

from dpexp.config import resources
from dpexp.config.experiment_file import read_experiment
from dpexp.config.resources import require_room
from dpexp.config.shipped import as_typed, place_of, shipped
from dpexp.config.yamlfile import ConfigError

LARGE = """experiment: large
problem: {name: huber-linear, d: 2}
schedule: {alpha: [1/3, 1]}
privacy: {mu: 1}
run: {n: 1000000, replicates: 1000000, checkpoints: 100000}
"""


def test_the_bytes_of_results_are_those_of_their_numbers():
    """Two cells; of each replicate, estimator and checkpoint every metric and whether it diverged, 8 bytes each."""
    experiment = read_experiment(LARGE, "large.yaml")
    with pytest.raises(ConfigError) as refused:
        require_room(experiment, workers=1)
    cell = experiment.cells[0]
    one = 8 * 1_000_000 * 100_000 * len(cell.algorithm.estimators) * (len(cell.metrics) + 1)
    (number,) = re.findall(r"\(([\d.]+) TB for results", str(refused.value))
    assert float(number) == pytest.approx((2 * 2 + 3) * one / 1e12, rel=0.01)


def test_a_config_is_named_by_its_mark_or_its_path(tmp_path):
    assert as_typed(shipped()["linear_d5"]) == "@linear_d5"
    assert as_typed(tmp_path / "linear_d5.yaml") == str(tmp_path / "linear_d5.yaml")
    assert as_typed(Path("my own.yaml")) == "'my own.yaml'"
    assert place_of("linear_d5") == "configs/linear_d5.yaml"
    assert place_of("stretched") == "research/stretched/stretched.yaml"


def test_no_more_workers_are_counted_than_there_are_chunks(monkeypatch):
    """One chunk of eight replicates needs the same with 1 worker and with 64; of 800 replicates there are many."""
    monkeypatch.setattr(resources, "memory_of_machine", lambda: 1)
    found = {}
    for replicates, workers in ((8, 1), (8, 64), (800, 1), (800, 64)):
        text = LARGE.replace("replicates: 1000000", f"replicates: {replicates}")
        with pytest.raises(ConfigError) as refused:
            require_room(read_experiment(text, "large.yaml"), workers)
        found[replicates, workers] = re.findall(r"([\d.]+ \w+) for work", str(refused.value))
    assert found[8, 1] == found[8, 64] == found[800, 1] != found[800, 64]
