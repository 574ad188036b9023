"""The installed command as a user meets it: help, JSON that is JSON, tables that fit, what a folder allows."""

from __future__ import annotations

import json
import re
import shutil

import pytest

from dpexp.commands.cli import COMMANDS
from tests.conftest import call, of_other_code

ODD = """experiment: odd
problem: {name: huber-linear, d: 5}
schedule: {eta: [0.2, 4000], alpha: 1/3}
privacy: {mu: [1, inf]}
run: {n: 60, replicates: 3, seed: 3, checkpoints: 4, diverged_above: 50}
"""
"""settings without privacy, and settings that diverge"""
LIKE_A_PAPER = """experiment: {name}
problem: {{name: huber-linear, d: 5}}
schedule: {{name: power, eta: 0.2, alpha: {alphas}}}
privacy: {{mu: {budgets}}}
run: {{n: 200, replicates: 8, seed: 1, checkpoints: 10}}
"""


def strict(text):
    """The document, read by a parser that knows no NaN and no Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


def test_every_command_is_on_the_first_page_and_has_one_of_its_own():
    page = call("--help").stdout
    for command, spec in COMMANDS.items():
        assert re.search(rf"^  {command} ", page, re.MULTILINE)
        short, full = call(command, "--help").stdout, call(command, "--help-all").stdout
        assert len(full) > len(short) if spec.rare else full == short


@pytest.fixture(scope="module")
def odd(tmp_path_factory):
    folder = tmp_path_factory.mktemp("odd")
    (folder / "odd.yaml").write_text(ODD)
    document = strict(call("run", "odd.yaml", "--json", cwd=folder).stdout)
    assert {cell["status"] for cell in document["cells"]} >= {"diverged"}
    return folder


@pytest.mark.parametrize(
    "words",
    [
        "run odd.yaml --dry-run", "table odd", "plot odd --format svg", "privacy odd.yaml", "validate --show odd.yaml",
        "validate odd.yaml", "list --configs .", "list --shipped", "diff results/odd results/odd",
        "privacy --mechanism local-gaussian mu=inf", "calibrate mu=1 --mechanism local-gaussian",
        "privacy --mechanism sampled-gaussian noise_multiplier=0 sampling_probability=0.1 steps=2",
    ],
)  # fmt: skip
def test_json_is_json(words, odd):
    done = call(*words.split(), "--json", cwd=odd)
    strict(done.stdout)
    assert "so far" not in done.stderr


@pytest.mark.slow
def test_what_a_folder_allows_is_made_and_the_rest_has_a_line_each(tmp_path):
    """linear_d5 feeds two figures of a paper whole, and a table in part; mine feeds none, and one of two is of other code."""
    names = ("linear_d5", "mine", "old")
    for name in names:
        alphas, budgets = ("[1/3, 1/2, 2/3, 1]", "[0.5, 1, 2, 3, inf]") if name == "linear_d5" else ("1/2", "[1, inf]")
        (tmp_path / f"{name}.yaml").write_text(LIKE_A_PAPER.format(name=name, alphas=alphas, budgets=budgets))
    call("run", *(f"{name}.yaml" for name in names), "-q", cwd=tmp_path)
    of_other_code(tmp_path / "results/old")
    done = call("plot", "--format", "png", cwd=tmp_path)
    drawn = [line.rpartition("/")[2] for line in done.stdout.split() if line.endswith(".png")]
    assert drawn == ["figure2.png", "linear_loss.png", "mine.png"]
    lines = done.stderr.splitlines()
    assert sum("old: not made, because" in line and "run: dpexp run old.yaml" in line for line in lines) == 1
    assert len(strict(call("table", "--json", cwd=tmp_path).stdout)["tables"]) == 2
    assert strict(call("table", "mine", "results/linear_d5", "--json", cwd=tmp_path).stdout)["rows"]
    done = call("table", "--out", "tables", "--format", "csv", cwd=tmp_path)
    assert sorted(done.stdout.split()) == ["tables/linear_d5.csv", "tables/mine.csv"]
    shutil.rmtree(tmp_path / "results/linear_d5")
    shutil.rmtree(tmp_path / "results/mine")
    assert "unconfirmed: dpexp changed since" in call("plot", cwd=tmp_path, code=3).stderr
