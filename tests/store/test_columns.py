"""Every parameter has one name, in columns, lists, comparisons and JSON, whatever else is called so."""

from typing import Literal

import numpy as np

from dpexp.algorithms import ALGORITHMS
from dpexp.config.cells import RESERVED_COLUMNS
from dpexp.config.experiment_file import read_experiment
from dpexp.core.parameters import Positive
from dpexp.problems import PROBLEMS
from dpexp.problems.linear_losses import HuberLinear
from dpexp.store.experiment_run import Options, run
from dpexp.store.reading import load_cells, load_summary
from dpexp.store.stats import summarise


class Beta(HuberLinear):
    """A problem whose parameters are called as others are."""

    name: Literal["beta-problem"] = "beta-problem"  # type: ignore[assignment]
    alpha: Positive = 7.0
    mu: Positive = 8.0
    replicates: Positive = 9.0


class BetaSteps(ALGORITHMS["ldp-sgd"]):
    """An algorithm with a beta, as the problem has one."""

    beta: Positive = 11.0


COLLIDING = """\
experiment: colliding
problem: {name: beta-problem, d: 2}
algorithm: {name: beta-steps}
schedule: {name: power, eta: 0.2, alpha: 1/2}
privacy: {mu: [1, inf]}
run: {n: 20, replicates: 2, checkpoints: 2}
"""


class Named(BetaSteps):
    name: str = "beta-steps"


class Summarised(Beta):
    """A problem whose parameters are called as what summaries hold."""

    median: float = 7.5
    step: int = 8


def test_no_column_of_a_cell_is_lost_where_summaries_are_joined_with_it(monkeypatch, tmp_path):
    statistics = summarise(np.zeros((1, 2)), np.zeros((1, 2), bool))
    reserved = {"cell_id", "estimator", "step", "metric", *statistics} - {"n"}
    assert reserved <= set(RESERVED_COLUMNS)
    monkeypatch.setitem(PROBLEMS, "beta-problem", Summarised)
    monkeypatch.setitem(ALGORITHMS, "beta-steps", Named)
    run(read_experiment(COLLIDING, "colliding.yaml"), Options(tmp_path, jobs=1, quiet=True))
    cells, summary = load_cells(tmp_path, "colliding"), load_summary(tmp_path, "colliding")
    assert not summary.columns.duplicated().any()
    assert len(summary.columns) == len(cells.columns) + 3 + len(statistics)  # each has a cell_id
    assert set(summary["problem.median"]) == {7.5}
    assert set(summary["problem.step"]) == {8}
    assert (set(summary["run.n"]), set(summary["n"])) == ({20}, {2})
    assert summary["step"].max() == 20
    assert set(summary["cell.n_diverged"]) == {0}
