"""What a statement does not cover: runs that share records and noise, published seeds, mixtures of mechanisms."""

import re
from html import unescape
from pathlib import Path

import pytest

from dpexp.commands import privacy
from dpexp.commands.joint_releases import NOT_PRIVATE, cautions
from dpexp.commands.report import report
from dpexp.config.experiment_file import load_experiment, read_experiment
from dpexp.store.experiment_run import Options, run

DIGITS = """\
experiment: toy
problem: {name: softmax, data: {name: digits}}
algorithm: {name: dp-sgd, batch_size: 50, epochs: 2}
schedule: {name: langevin, decreasing: false}
privacy: {eps: EPS, delta: 1e-5}
run: {replicates: 1, seed: 3, checkpoints: 1}
"""


def test_no_caution_where_nobody_is_concerned():
    """Simulated users are nobody's, and shipped records everybody's."""
    for experiment in (load_experiment("@linear_d5"), read_experiment(DIGITS.replace("EPS", "[1, 2]"), "toy.yaml")):
        assert cautions(experiment) == []


def test_run_and_privacy_say_so_of_a_users_own_records(tmp_path):
    table, path = tmp_path / "t.csv", tmp_path / "toy.yaml"
    table.write_text("a,y\n" + "".join(f"{k},{k % 3}\n" for k in range(200)))
    path.write_text(
        DIGITS.replace("EPS", "[1, 2]").replace(
            "name: digits", f"path: {table}, target: y, categories: {{y: [0, 1, 2]}}, records: 200"
        )
    )
    found = cautions(load_experiment(path))
    assert len(found) == 2
    assert "Released of t.csv" in found[0]
    statement = privacy.privacy(path)
    document, text = statement.document(), statement.text()
    assert document["cautions"][:2] == found
    assert all(line in text for line in found)


OWN = """\
experiment: own
problem: {name: softmax, data: {path: t.csv, target: y, ranges: {a: [0, 200]}, categories: {y: [0, 1, 2]}, records: 200}}
algorithm: {name: dp-sgd, batch_size: 20, epochs: 1}
schedule: {name: constant, eta: 0.5}
privacy: {eps: [1, 2], delta: 1e-3}
run: {replicates: 1, seed: 3, checkpoints: 1}
"""


@pytest.fixture
def own(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,y\n" + "".join(f"{k},{k % 3}\n" for k in range(200)))
    (tmp_path / "own.yaml").write_text(OWN)
    return tmp_path


def page(folder):
    """What the page of an experiment's results says of privacy."""
    shown = report(folder).read_text()
    return " ".join(unescape(re.sub(r"<[^>]*>", " ", shown)).split())


def test_a_deployment_stands_beside_a_reproducible_run_and_each_says_what_it_is(own):
    """The statement of the config is that of a reproducible run, unless a deployment is asked for."""
    first = load_experiment("own.yaml").cells[0].cell_id
    secret = run(load_experiment("own.yaml"), Options(Path("results"), quiet=True, deployment=True))
    part = Options(Path("elsewhere"), quiet=True, deployment=True, only=frozenset([first]))
    assert len(run(load_experiment("own.yaml"), part).cells) == 1
    run(load_experiment("own.yaml"), Options(Path("results"), quiet=True))
    for said in (page(secret.folder), privacy.privacy("own.yaml", deployment=True).text()):
        assert NOT_PRIVATE not in said
        assert "Deployment: noise, batches and start are drawn" in said
        assert "floating-point noise is not covered" in said
    for said in (page(Path("results/own")), privacy.privacy("own.yaml").text()):
        assert NOT_PRIVATE in said
        assert "Deployment: " not in said
