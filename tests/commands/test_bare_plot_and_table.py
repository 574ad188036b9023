"""`dpexp plot` and `dpexp table` without a name: all that the results of a folder allow, and a line for what they do not."""

import json
import shutil

import pytest

from tests.conftest import call, of_other_code

CONFIG = """\
experiment: {name}
problem: {{name: huber-linear, d: 5}}
schedule: {{name: power, eta: 0.2, alpha: [1/3, 1/2, 2/3, 1]}}
privacy: {{mu: [0.5, 1, 2, 3, inf]}}
run: {{n: 200, replicates: 8, seed: 1, checkpoints: 10}}
"""


def run(folder, *names):
    for name in names:
        (folder / f"{name}.yaml").write_text(CONFIG.format(name=name))
    call("run", *(f"{name}.yaml" for name in names), "-q", cwd=folder)


@pytest.mark.slow
def test_what_a_folder_allows_is_made_and_the_rest_has_a_line_each(tmp_path):
    """linear_d5 feeds two figures of a paper whole, and a table in part; mine feeds none, and one of two is of other code."""
    run(tmp_path, "linear_d5", "mine", "old")
    of_other_code(tmp_path / "results/old")
    done = call("plot", "--format", "png", cwd=tmp_path)
    drawn = [line.rpartition("/")[2] for line in done.stdout.split() if line.endswith(".png")]
    assert drawn == ["figure2.png", "linear_loss.png", "mine.png"]
    lines = done.stderr.splitlines()
    assert sum("old: not made, because" in line and "run: dpexp run --confirm old.yaml" in line for line in lines) == 1
    assert sum("figures of the papers for other experiments" in line for line in lines) == 1

    done = call("table", cwd=tmp_path)
    assert "Results of mine" in done.stdout
    assert "Results of linear_d5" in done.stdout, "no table shows it with these results alone"
    lines = done.stderr.splitlines()
    assert sum("table1: not made, because it shows logistic_d5 too" in line for line in lines) == 1
    for names in ((), ("mine", "results/linear_d5")):
        document = json.loads(call("table", *names, "--json", cwd=tmp_path).stdout)
        tables = document.get("tables", [document])
        assert all(table["rows"] for table in tables)
        assert len(tables) == (1 if names else 2)
    done = call("table", "--out", "tables", "--format", "csv", cwd=tmp_path)
    assert sorted(done.stdout.split()) == ["tables/linear_d5.csv", "tables/mine.csv"]

    shutil.rmtree(tmp_path / "results/linear_d5")
    shutil.rmtree(tmp_path / "results/mine")
    done = call("plot", cwd=tmp_path, code=3)
    assert "unconfirmed: dpexp changed since" in done.stderr
    assert "run: dpexp run --confirm old.yaml" in done.stderr
