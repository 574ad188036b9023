"""The grids of `momentum`: the best setting of every method, where it lies in its grid, and how its noise was set."""

from pathlib import Path

import pandas as pd
import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.papers.momentum import momentum_runs as stored
from dpexp.papers.momentum.claims import run_claims
from dpexp.papers.momentum.momentum_runs import ends
from dpexp.reporting.evidence import Evidence
from dpexp.store import load_summary
from dpexp.store.experiment_run import Options, run

TOY = """\
experiment: toy_grid
problem:  {name: rippled-mean, N: 16, d: 2}
privacy:  {eps: 50, delta: 1e-5}
run:      {replicates: 3, seed: 3, checkpoints: 1}
cases:
  - algorithm: {name: tree-momentum, epochs: [2, 20], alpha: [0.0625, 0.125]}
    schedule:  {name: path-length, length: [0.01, 3, 60]}
  - algorithm: {name: reduced-momentum, epochs: [2, 20], alpha: 0.0625}
    schedule:  {name: path-length, length: [0.01, 3, 60]}
  - algorithm: {name: batch-descent, epochs: 10}
    schedule:  {name: constant, eta: [0.001, 0.5]}
"""


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    folder = tmp_path_factory.mktemp("grids")
    (folder / "toy.yaml").write_text(TOY)
    run(load_experiment(folder / "toy.yaml"), Options(folder / "results", jobs=1, quiet=True))
    return folder / "results"


@pytest.fixture
def rows(results, monkeypatch):
    monkeypatch.setattr(stored, "GRIDS", ("toy_grid",))
    return {r["method"]: r for r in stored.grid_rows(results)}


def test_the_best_setting_is_read_off_over_G(results, rows):
    assert set(rows) == {"tree", "reduced", "descent"}
    summary = load_summary(results, "toy_grid")
    own = summary[(summary.metric == "grad_norm") & (summary.step == summary.groupby("cell_id").step.transform("max"))]
    for key, algorithm in (("tree", "tree-momentum"), ("reduced", "reduced-momentum"), ("descent", "batch-descent")):
        least = own[own.algorithm == algorithm]["mean"].min()
        assert rows[key]["mean"] == pytest.approx(least / 1.5)  # G of the rippled mean
        assert rows[key]["ci_lo"] < rows[key]["mean"] < rows[key]["ci_hi"]
    assert [rows[key]["settings"] for key in ("tree", "reduced", "descent")] == [12, 6, 2]
    assert not rows["tree"]["iterates"]


def test_steps_are_told_in_natural_units_and_ends_of_grids_by_name(rows):
    assert rows["tree"]["step"] == pytest.approx(3 / 0.75)  # G / L = 1.5 / 2
    assert "step" not in rows["tree"]["edges"]
    assert "epochs" in rows["tree"]["edges"]  # there are but two
    assert rows["reduced"]["alpha_n"] == 1
    assert "alpha_n" not in rows["reduced"]["edges"]  # there is but one
    assert rows["descent"]["step"] == pytest.approx(0.5 * 2)
    assert rows["descent"]["edges"] == ["step"]


@pytest.mark.parametrize(
    ("apart", "verdict"), [("tree", "reproduced"), ("reduced", "false"), ("", "not at this sample size")]
)
def test_methods_are_compared_place_by_place(rows, monkeypatch, apart, verdict):
    """Larger gradients of the one or of the other, with certainty, or the same."""
    found = {
        name: rows[name] | ({"ci_lo": 9.0, "ci_hi": 10.0} if name == apart else {}) for name in ("tree", "reduced")
    }
    if not apart:
        found["reduced"] = rows["tree"] | {"method": "reduced"}
    places = [row | {"place": "p", "ends": ""} for row in found.values()]
    monkeypatch.setattr(run_claims, "tuned_places", lambda results: places)
    outcome = run_claims.smaller("tree", "")(Evidence(Path()))
    assert outcome.verdict == verdict
    assert f"{found['reduced']['mean']:.3g} against {found['tree']['mean']:.3g}" in outcome.measured
    assert run_claims.smaller("tree", "", other=True)(Evidence(Path())).numbers["better"] == outcome.numbers["worse"]


def _line_up(*settings):
    return pd.DataFrame(settings, columns=["epochs", "step"])


@pytest.mark.parametrize(
    ("best", "found"),
    [
        ((30, 6.0), {}),
        ((30, 3.0), {"step": "least"}),
        ((10, 6.0), {"epochs": "least"}),
        ((60, 12.0), {"epochs": "largest", "step": "largest"}),
        ((30, 12.0), {"step": "largest"}),
        ((120, 24.0), {"epochs": "only", "step": "only"}),
    ],
)
def test_inside_means_that_the_grid_goes_on_in_both_directions(best, found):
    """Along lines through the best setting: that others reach further elsewhere does not count."""
    square = [(k, x) for k in (10, 30, 60) for x in (3.0, 6.0, 12.0)]
    grid = _line_up(*square, (120, 24.0))
    assert ends(grid, pd.Series(dict(zip(grid.columns, best, strict=True))), ("epochs", "step")) == found


def test_an_axis_with_one_value_was_not_tuned():
    grid = _line_up((10, 3.0), (30, 3.0))
    assert ends(grid, grid.iloc[0], ("epochs", "step")) == {"epochs": "least"}


def test_the_tuned_comparison_says_where_a_best_setting_lies(results, monkeypatch):
    monkeypatch.setattr(stored, "TUNED", ("toy_grid",))
    found = stored.tuned_rows(results).set_index("method")
    assert found.ends["descent"] == "largest step"
    assert found.tuned["descent"] == 0.5
    assert found.tuned["tree"] == 3
    assert found.ends["tree"] in ("fewest epochs", "most epochs")  # of two


@pytest.mark.parametrize("name", ["momentum_grid", "momentum_large"])
def test_every_shipped_setting_of_algorithm_2_is_certified_by_its_iterates(name):
    """Lengths are written as decimal numbers; each has to meet its stored certificate."""
    cells = [c for c in load_experiment(f"configs/{name}.yaml").cells if c.algorithm.name == "reduced-momentum"]
    assert cells
    for cell in {(c.problem, c.algorithm, c.schedule, c.run.n): c for c in cells}.values():
        plan = cell.algorithm.plan(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        own = cell.algorithm.own_settings(cell.problem, plan)
        assert own["accounting"] == "iterates", (cell.problem.name, plan)
