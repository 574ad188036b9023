"""What a statement does not cover: runs that share records and noise, published seeds, mixtures of mechanisms."""

import json
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
LOCAL = """\
experiment: local
problem: {name: huber-linear, d: 5}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: [1, 2]}
run: {n: 100, replicates: 2}
"""
MIX = """\
experiment: mix
run: {n: 100, replicates: 2, checkpoints: 2}
cases:
  - problem: {name: huber-linear, d: 5}
    algorithm: {name: ldp-sgd}
    schedule: {name: power, eta: 0.2, alpha: 1/2}
    privacy: {mu: [1, 2]}
  - problem: {name: softmax, data: {name: digits}}
    algorithm: {name: dp-sgd, batch_size: 50}
    schedule: {name: langevin, decreasing: false}
    privacy: {eps: 1, delta: 1e-7}
"""


def test_no_caution_where_nobody_is_concerned():
    """Simulated and made-up users are nobody's, and shipped records everybody's."""
    made_up = LOCAL.replace("huber-linear, d: 5", "rippled-mean, N: 50, d: 3").replace("power, eta: 0.2, alpha: 1/2", "constant, eta: 0.1")  # fmt: skip
    for text in (LOCAL, DIGITS.replace("EPS", "[1, 2]"), made_up + "algorithm: {name: batch-descent}\n"):
        assert cautions(read_experiment(text, "toy.yaml")) == []


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


def test_local_and_central_mechanisms_stand_in_one_statement(tmp_path):
    path = tmp_path / "mix.yaml"
    path.write_text(MIX)
    statement = privacy.privacy(path)
    document, text = statement.document(), statement.text()
    json.dumps(document)
    assert document["mechanism"] == "local-gaussian, dp-sgd"
    assert document["neighboring_relation"] == "replace-one, add-remove"
    assert {s["mechanism"] for s in document["statements"]} == {"local-gaussian", "dp-sgd on softmax, eps = 1"}
    assert set(document["best"]) == {"local-gaussian, 1", "local-gaussian, 2", "dp-sgd on softmax, eps = 1"}
    assert "Local Gaussian mechanism" in text
    assert "pld-composition" in text
    assert load_experiment(path).deltas == (1e-5, 1e-6, 1e-7)  # none is dropped, the target's own among them
    assert document["best"]["dp-sgd on softmax, eps = 1"]["eps_1e-07"] <= 1


def test_mechanisms_of_one_budget_keep_their_own_entries(tmp_path):
    path = tmp_path / "toy.yaml"
    path.write_text(DIGITS.replace("EPS", "1").replace("epochs: 2", "epochs: [2, 3]"))
    document = privacy.privacy(path).document()
    assert set(document["best"]) == {
        f"dp-sgd on softmax, eps = 1, epochs = {k}, n = {steps}" for k, steps in ((2, 58), (3, 86))
    }
    assert len({best["noise_multiplier"] for best in document["best"].values()}) == 2


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
    assert "of the operating system, not stored" in page(secret.folder)
