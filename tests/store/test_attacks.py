"""Attacks on the store from outside: what is in the way, what moves or changes while a run is at work, and where a hint leads."""

import os
import shlex
from pathlib import Path

import pytest
from typer.testing import CliRunner

from dpexp.commands.cli import app
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import DpexpError, ResultsMissing
from dpexp.core.files import hash_of_data
from dpexp.problems import softmax
from dpexp.store import partials
from dpexp.store.experiment_run import Options, run
from dpexp.store.reading import load_cells, load_summary
from tests.campaigns.faults import DATA_CONFIG, people
from tests.store.test_runner import go

CONFIG = """\
experiment: toy
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: [1/3, 1/2]}
privacy: {mu: 1}
run: {n: 30, replicates: 2, seed: 3, checkpoints: 3}
"""


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "toy.yaml").write_text(CONFIG)
    return tmp_path


def refusal(folder):
    with pytest.raises(ResultsMissing) as caught:
        load_summary(folder.root.parent, folder.root.name)
    return caught.value


def obey(error):
    """Do what a hint says, word by word as a shell takes it; then readers show the results."""
    words = shlex.split(error.hint.removeprefix("run: ").partition("   (")[0])
    assert words[:2] == ["dpexp", "run"]
    result = CliRunner().invoke(app, [*words[1:], "-q"])
    assert result.exit_code == 0, result.output


def test_a_hint_can_be_pasted_into_a_shell(here):
    os.rename("toy.yaml", "tö y.yaml")
    _, folder = go("tö y.yaml", Path("my results"), overrides=["privacy.mu=[1, 2]"])
    (here / "tö y.yaml").write_text(CONFIG.replace("0.2", "0.3"))
    (folder.root / "summary.parquet").unlink()
    obey(refusal(folder))
    cells = load_cells(folder.root.parent, "toy")
    assert set(cells.mu) == {1.0, 2.0}
    assert set(cells.eta) == {0.3}


@pytest.mark.parametrize("broken", ["cells.parquet", "manifest.json"])
def test_a_hint_names_the_config_and_its_changes_where_derived_files_are_damaged(here, broken):
    _, folder = go("toy.yaml", Path("r"), overrides=["run.n=31"])
    (folder.root / broken).write_bytes(b"")
    error = refusal(folder)
    assert ("--set run.n=31" in error.hint) == (broken != "manifest.json")
    obey(error)
    load_summary(folder.root.parent, "toy")


@pytest.fixture
def table(here):
    (here / "toy.yaml").write_text(DATA_CONFIG)
    (here / "people.csv").write_text(people())
    for cached in (softmax.split_of, hash_of_data):
        cached.cache_clear()
    return here / "people.csv"


def test_data_that_change_while_a_run_computes_are_noticed(table, monkeypatch):
    original = partials.simulate

    def simulate(*arguments):
        table.write_text(people().replace("yes", "no", 1))
        return original(*arguments)

    monkeypatch.setattr(partials, "simulate", simulate)
    experiment = load_experiment("toy.yaml")
    with pytest.raises(DpexpError, match=r"people\.csv changed after this process had read it"):
        run(experiment, Options(table.parent / "r", quiet=True))
    assert not list(table.parent.glob("r/toy/partial/*"))  # nothing of it is picked up by the next run
