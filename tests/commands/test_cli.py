"""The installed command as a user meets it."""

import json
import re
import subprocess
import sys

import pandas as pd
import pytest
from typer.testing import CliRunner

from dpexp.commands.cli import COMMANDS, app
from dpexp.config.experiment_file import load_experiment
from dpexp.core.version import VERSION
from tests.config.test_config import GOOD
from tests.conftest import COSTLY, ROOT, call, share

CONFIGS = sorted((ROOT / "configs").glob("*.yaml"))


def said(*arguments):
    """What the command answers on stdout, in this process."""
    result = CliRunner().invoke(app, [*map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result.stdout


def test_every_command_is_on_the_first_page_and_has_one_of_its_own():
    page = call("--help").stdout
    for command in COMMANDS:
        assert re.search(rf"^  {command} ", page, re.MULTILINE)
        said(command, "--help")


@pytest.mark.parametrize(
    ("built", "said"),
    [
        ({"commit": "0123456789abcdef", "dirty": True}, " (commit 0123456789ab, modified)"),
        ({"commit": "0123456789abcdef", "dirty": False}, " (commit 0123456789ab)"),
        ({"commit": None, "dirty": None}, ""),
    ],
)
def test_the_version_of_a_checkout_says_its_commit(built, said, monkeypatch):
    monkeypatch.setattr("dpexp.store.provenance.commit", lambda: built)
    assert call("--version").stdout == f"dpexp {VERSION}{said}\n"


def test_show_prints_a_config_that_reads_back(tmp_path):
    path = tmp_path / "again.yaml"
    path.write_text(said("validate", "--show", CONFIGS[0], "--set", "run.n=1234"))
    assert "n: 1234" in path.read_text()
    said("validate", path)


def test_the_schema_is_json_and_the_version_names_the_libraries():
    assert json.loads(said("validate", "--schema"))["title"] == "dpexp config"
    assert {"numpy", "commit", "cores"} <= set(said("--version", "-v").split())


def test_dry_run_says_what_and_why_and_writes_nothing(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(GOOD)
    results = tmp_path / "results"
    text = call("run", config, "--results", results, "--dry-run").stdout
    assert text.count("not computed yet") == 4
    assert "4 of 4 cells to compute" in text
    assert not results.exists()
    document = json.loads(said("run", config, "--results", results, "--dry-run", "--json", "--only", "mu=inf"))
    assert [(c["status"], c["mu"]) for c in document["cells"]] == [("missing", "non-private")] * 2
    assert document["steps"] == 2 * 100 * 8 * document["chunks"]
    assert not results.exists()


@pytest.mark.slow
def test_run_reports_on_stdout_and_progress_on_stderr(tmp_path):
    config = tmp_path / "c.yaml"
    config.write_text(GOOD)
    results = tmp_path / "results"
    first = call("run", config, "--results", results, "--replicates", 8)
    assert re.search(r"^good +4 +0 +0 +0 ", first.stdout, re.MULTILINE)
    document = json.loads(call("run", config, "--results", results, "--replicates", 8, "--json").stdout)
    assert {c["status"] for c in document["cells"]} == {"current"}
    assert document["experiments"][0]["reused"] == 4
    words = ["dpexp", "run", str(config), "--results", str(results), "--replicates", "8"]
    again = (
        "import sys\nfrom dpexp.commands.cli import main\ntry:\n    main()\nfinally:\n    print('numba' in sys.modules)"
    )
    asked = [sys.executable, "-c", f"import sys\nsys.argv = {words!r}\n{again}"]
    told = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    assert told.endswith("False\n"), "nothing was to be computed, and the compiler was loaded"
    listing = call("list", "--configs", tmp_path, "--results", results).stdout
    assert re.search(r"^good .* 4 +", listing, re.MULTILINE)
    assert "huber-linear" in listing
    inventory = json.loads(call("list", "--configs", tmp_path, "--results", results, "--json").stdout)
    assert len(inventory["cells"]) == 4


def test_a_result_is_listed_with_its_own_config_wherever_it_lies(tmp_path):
    (tmp_path / "mine").mkdir()
    for name in ("one", "two"):
        (tmp_path / "mine" / f"{name}.yaml").write_text(GOOD.replace("experiment: good", f"experiment: {name}"))
        call("run", f"mine/{name}.yaml", "-q", "--set", "run.n=40", cwd=tmp_path)
    (tmp_path / "mine/two.yaml").unlink()
    rows = call("list", cwd=tmp_path).stdout.splitlines()
    assert any(re.match(r"one +mine/one\.yaml +4 +4 current", row) for row in rows)
    assert any(re.match(r"two +4 +4 current", row) for row in rows)


@pytest.mark.slow
def test_every_config_runs_at_toy_size(toys):
    for path in share([path for path in CONFIGS if path.stem not in COSTLY], 4):
        cells = pd.read_parquet(toys.results([path.stem]) / path.stem / "cells.parquet")
        assert set(cells.status) == {"done"}
        assert set(cells.replicates) == {load_experiment(path, profile="smoke").replicates}
        assert cells.replicates.max() <= 8
