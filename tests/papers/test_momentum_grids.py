"""The grids of `momentum`: the best setting of every method, where it lies in its grid, and how its noise was set."""

import pandas as pd
import pytest

from dpexp.config.experiment_file import load_experiment
from dpexp.papers.momentum.claims.run_claims import smaller
from dpexp.papers.momentum.momentum_runs import best_rows, ends
from dpexp.store.experiment_run import Options, run
from dpexp.store.reading import load_summary

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


def test_the_best_setting_is_read_off_over_G_and_its_ends_are_named(tmp_path):
    (tmp_path / "toy.yaml").write_text(TOY)
    run(load_experiment(tmp_path / "toy.yaml"), Options(tmp_path / "results", jobs=1, quiet=True))
    rows = best_rows(tmp_path / "results", ["toy_grid"]).set_index("method")
    assert list(rows.index) == ["tree", "reduced", "descent"]
    summary = load_summary(tmp_path / "results", "toy_grid")
    own = summary[(summary.metric == "grad_norm") & (summary.step == summary.groupby("cell_id").step.transform("max"))]
    for key, algorithm in (("tree", "tree-momentum"), ("reduced", "reduced-momentum"), ("descent", "batch-descent")):
        least = own[own.algorithm == algorithm]["mean"].min()
        assert rows["mean"][key] == pytest.approx(least / 1.5)  # G of the rippled mean
    assert (rows.ci_lo < rows["mean"]).all()
    assert list(rows.settings) == [12, 6, 2]
    assert list(rows.tuned) == [3, 3, 0.5]
    assert rows.alpha_n["reduced"] == 1
    assert rows.ends["descent"] == "largest step"
    assert rows.ends["tree"].partition(",")[0] in ("fewest epochs", "most epochs")  # of two
    assert "alpha" not in rows.ends["reduced"]  # of one


@pytest.mark.parametrize(
    ("mine", "theirs", "at_an_end", "verdict"),
    [
        ((1, 2), (3, 4), "", "reproduced"),
        ((1, 2), (3, 4), "most epochs", "not at this sample size"),  # a wider grid may have a better setting
        ((3, 4), (1, 2), "", "false"),
        ((1, 3), (2, 4), "", "not at this sample size"),
    ],
)
def test_methods_are_compared_place_by_place(mine, theirs, at_an_end, verdict):
    places = [
        {"method": name, "place": "p", "ends": own, "mean": sum(ci) / 2, "ci_lo": ci[0], "ci_hi": ci[1]}
        for name, ci, own in (("reduced", mine, ""), ("tree", theirs, at_an_end))
    ]
    outcome = smaller(places, "tree", "", inside=True)
    assert outcome.verdict == verdict
    assert smaller(places, "tree", "", other=True).numbers["better"] == outcome.numbers["worse"]


@pytest.mark.parametrize(
    ("best", "names"),
    [
        ((30, 6.0), []),
        ((30, 3.0), ["least step"]),
        ((60, 12.0), ["most epochs", "largest step"]),
        ((120, 24.0), ["only epochs", "only step"]),  # that others reach further elsewhere does not count
    ],
)
def test_inside_means_that_the_grid_goes_on_in_both_directions(best, names):
    settings = [*((k, x) for k in (10, 30, 60) for x in (3.0, 6.0, 12.0)), (120, 24.0)]
    grid = pd.DataFrame(settings, columns=["epochs", "tuned"])
    assert ends(grid, pd.Series(dict(zip(grid.columns, best, strict=True)))) == names
    assert ends(grid[grid.tuned == 3.0], grid.iloc[0]) == ["fewest epochs"]  # one value was not tuned


@pytest.mark.parametrize("name", ["momentum_grid", "momentum_large"])
def test_every_shipped_setting_of_algorithm_2_is_certified_by_its_iterates(name):
    """Lengths are written as decimal numbers; each has to meet its stored certificate."""
    cells = [c for c in load_experiment(f"configs/{name}.yaml").cells if c.algorithm.name == "reduced-momentum"]
    assert cells
    for cell in {(c.problem, c.algorithm, c.schedule, c.run.n): c for c in cells}.values():
        plan = cell.algorithm.plan(cell.problem, cell.schedule, cell.privacy.mu, cell.run.n)
        own = cell.algorithm.own_settings(cell.problem, plan)
        assert own["accounting"] == "iterates", (cell.problem.name, plan)
