"""Manners of the command line: JSON is JSON, tables fit the terminal, odd streams and variables are no errors."""

from __future__ import annotations

import json
import random

import pytest

from dpexp.config.yamlfile import ConfigError
from tests.conftest import call, installed

ODD = """experiment: odd
problem: {name: huber-linear, d: 5}
schedule: {eta: [0.2, 4000], alpha: 1/3}
privacy: {mu: [1, inf]}
run: {n: 60, replicates: 3, seed: 3, checkpoints: 4, diverged_above: 50}
"""
"""settings without privacy, and settings that diverge"""


def strict(text):
    """The document, read by a parser that knows no NaN and no Infinity."""

    def refuse(word):
        raise AssertionError(f"{word} is no JSON")

    return json.loads(text, parse_constant=refuse)


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
        ("run", "odd.yaml", "--dry-run"), ("table", "odd"), ("plot", "odd", "--format", "svg"),
        ("privacy", "odd.yaml"), ("validate", "--show", "odd.yaml"), ("validate", "odd.yaml"), ("list", "--configs", "."),
        ("list", "--shipped"), ("diff", "results/odd", "results/odd"), ("claims",), ("table", "sgld_table4"),
        ("privacy", "--mechanism", "local-gaussian", "mu=inf"),
        ("privacy", "--mechanism", "sampled-gaussian", "noise_multiplier=0", "sampling_probability=0.1", "steps=2"),
        ("calibrate", "eps=1", "sampling_probability=0.01", "steps=10"),
        ("calibrate", "mu=1", "--mechanism", "local-gaussian"),
    ],
    ids=lambda words: " ".join(words)[:40],
)  # fmt: skip
def test_json_is_json(words, odd):
    done = call(*words, "--json", cwd=odd, code=None)
    if done.returncode == 2:
        assert not done.stdout
        pytest.fail(done.stderr)
    strict(done.stdout)
    assert "so far" not in done.stderr


def test_debug_may_stand_behind_the_command(tmp_path):
    assert "no such file" in call("validate", "nothing.yaml", "--debug", cwd=tmp_path, code=2).stderr
    with pytest.raises(ConfigError):
        call("validate", "--show", "nothing.yaml", "--debug", cwd=tmp_path)
    with pytest.raises(ConfigError):
        call("--debug", "validate", "--show", "nothing.yaml", cwd=tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("width", [60, 100])
def test_tables_fit_the_terminal(width, odd):
    """Of every command that prints one; words that are longer than a line stay whole."""
    env = {"COLUMNS": str(width)}
    for words in (("list", "--configs", "."), ("list", "--shipped"), ("diff", "results/odd", "results/odd"), ("run", "odd.yaml", "--dry-run"),
                  ("table", "odd")):  # fmt: skip
        for line in call(*words, cwd=odd, env=env).stdout.splitlines():
            assert len(line) <= width or " " not in line.strip() or line.startswith(("means at", "A and B are")), (
                f"{words}: {line}"
            )


def test_an_odd_environment_is_no_error(odd):
    installed("plot", "odd", "--format", "svg", cwd=odd, env={"MPLBACKEND": "junk"})


def test_a_text_that_a_spreadsheet_would_run_is_quoted(tmp_path):
    """Of a table's classes and columns, in what predict and fit write, unless --raw; numbers are not."""
    draws = random.Random(1)
    rows = [(draws.random(), draws.random(), draws.gauss(0, 0.1)) for _ in range(3000)]
    lines = [f"{x},{z},{'=1+1' if x > 0.5 else '@no'},{x + noise}" for x, z, noise in rows]
    (tmp_path / "t.csv").write_text("\n".join(["=x,+z,y,-w", *lines]))
    (tmp_path / "public.yaml").write_text('ranges: {"=x": [0, 1], "+z": [0, 1], "-w": [-1, 2]}\nleave_out: [y]\n')
    (tmp_path / "own.yaml").write_text("""experiment: own
problem:
  name: softmax
  data: {path: t.csv, target: y, ranges: {"=x": [0, 1], "+z": [0, 1], "-w": [-1, 2]}, categories: {y: ["@no", "=1+1"]},
         records: 3000}
algorithm: {name: dp-sgd, batch_size: 64, epochs: 1}
privacy: {eps: 2, delta: 1e-5}
run: {replicates: 1, seed: 1, checkpoints: 2}
""")
    call("run", "own.yaml", "-q", cwd=tmp_path)
    texts = [call("predict", "own", "t.csv", *raw, cwd=tmp_path).stdout for raw in ((), ("--raw",))]
    assert {line.split(",")[1][:2] for line in texts[0].splitlines()[1:]} <= {"'@", "'="}
    assert texts[0].replace("'", "") == texts[1]
    words = ("fit", "t.csv", "--target", "-w", "--mu", "50", "--central", "--public", "public.yaml")
    call(*words, "--out", "fit.json", cwd=tmp_path)
    for raw in ((), ("--raw",)):
        text = call("table", "fit.json", "--format", "csv", *raw, cwd=tmp_path).stdout
        assert (",'=x," in text) != bool(raw)
        assert (",=x," in text) == bool(raw)
