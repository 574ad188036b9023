"""Every parameter has one name, in columns, lists, comparisons and JSON, whatever else is called so."""

import itertools
from dataclasses import replace
from typing import Literal

import pytest
import yaml

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.config.cell_settings import identity, named, select
from dpexp.config.cells import (
    NAMED,
    OF_THE_EXPERIMENT,
    RESERVED_COLUMNS,
    Cell,
    Experiment,
    RunSettings,
    flat,
)
from dpexp.config.experiment_file import read_experiment, resolved_yaml
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Positive
from dpexp.privacy.budgets import ConstantBudget, PrivacySettings, Target
from dpexp.problems import PROBLEMS
from dpexp.problems.huber_linear import HuberLinear
from dpexp.store import load_cells, load_summary
from dpexp.store.experiment_run import Options, run
from dpexp.store.stats import COLUMNS

NEEDED = {"eta": 0.1, "alpha": 0.5, "length": 1.0}


def built(kind, **values):
    needed = {name: NEEDED[name] for name, field in kind.model_fields.items() if field.is_required()}
    return kind(**{**needed, **values})


class Beta(HuberLinear):
    """A problem whose parameters are called as others are."""

    name: Literal["beta-problem"] = "beta-problem"  # type: ignore[assignment]
    alpha: Positive = 7.0
    mu: Positive = 8.0
    replicates: Positive = 9.0


class BetaSteps(ALGORITHMS["ldp-sgd"]):
    """An algorithm with a beta, as the problem has one."""

    beta: Positive = 11.0


def cell_of(problem, algorithm, schedule, budget):
    target = {"eps": budget.eps, "delta": budget.delta} if isinstance(budget, Target) else {}
    return Cell("x", problem, algorithm, schedule, PrivacySettings(mu=budget, **target), RunSettings(n=10))


def test_two_parameters_of_one_name_are_two_columns():
    cell = cell_of(Beta(beta=2.0), BetaSteps(), SCHEDULES["power"](eta=0.1, alpha=0.5), ConstantBudget(mu=1.0))
    columns = cell.columns()
    assert (columns["problem.beta"], columns["algorithm.beta"]) == (2.0, 11.0)
    assert (columns["problem.alpha"], columns["schedule.alpha"]) == (7.0, 0.5)
    assert (columns["problem.mu"], columns["mu"], columns["problem.replicates"]) == (8.0, 1.0, 9.0)
    assert columns["eta"] == 0.1
    assert "beta" not in columns
    assert select("problem.beta=2 algorithm.beta=11 eta=1/10", [{"cell": columns}]) == [{"cell"}]
    with pytest.raises(UsageError, match=r"no column 'beta'"):
        select("beta=2", [{"cell": columns}])


FIXED = {*NAMED, "mu", "budget"}
TARGETED = {"eps", "delta"}


class Noisy(BetaSteps):
    """An algorithm whose parameters are called as what mechanisms state."""

    noise_multiplier: float = 1.5
    gdp_mu: float = 2.5
    eps: float = 3.5
    accountant: str = "mine"


def combinations():
    problems = [built(kind) for kind in (*PROBLEMS.values(), Beta)]
    algorithms = [built(kind) for kind in (*ALGORITHMS.values(), BetaSteps, Noisy)]
    return itertools.product(problems, algorithms, [built(kind) for kind in SCHEDULES.values()])


@pytest.mark.slow
def test_every_parameter_is_called_the_same_in_columns_lists_comparisons_and_shown_configs():
    """All problems x algorithms x schedules: as many columns as parameters, each found again by every other way."""
    qualified = set()
    for number, (problem, algorithm, schedule) in enumerate(combinations()):
        budget = Target(eps=1.0) if number % 2 else ConstantBudget(mu=1.0)
        cell = cell_of(problem, algorithm, schedule, budget)
        columns, expected = cell.columns(), {}
        for section in (*NAMED, "run"):
            for key, value in getattr(cell, section).model_dump().items():
                if key != "name" and (section != "run" or key not in OF_THE_EXPERIMENT):
                    expected[section, key] = value
        assert set(cell.own_parameters) == set(expected)
        names = {parameter: cell.name_of(parameter) for parameter in expected}
        assert len(set(names.values())) == len(names)
        assert set(columns) == set(names.values()) | FIXED | (TARGETED if number % 2 else set())
        assert len(columns) == len(names) + len(FIXED) + len(TARGETED) * (number % 2)
        assert not set(names.values()) & {*RESERVED_COLUMNS}
        for (section, key), name in names.items():  # the literal rule, over all sections and reserved names
            alone = [k for _, k in names].count(key) == 1 and key not in RESERVED_COLUMNS
            assert name == (key if alone else f"{section}.{key}")
            qualified |= set() if alone else {name}

        budgets = [("privacy", "eps"), ("privacy", "delta")] if number % 2 else [("privacy", "mu")]
        swept = replace(cell, swept=(*names, *budgets))
        assert list(swept.setting()) == [*names.values(), *(key for _, key in budgets)]
        assert list(identity(swept)) == ["cell_id", *swept.setting()]

        (own,) = named([flat(cell.parameters)], [budget.label])
        # a nested value is compared part by part, as `data.path`: the column's name and what is inside it
        compared = {max((n for n in columns if name == n or name.startswith(f"{n}.")), key=len) for name in own}
        empty = {names[parameter] for parameter, value in expected.items() if value == {}}  # they have no parts
        assert compared == set(columns) - ({"mu", "budget"} if number % 2 else {"budget"}) - empty

        if number % 7 == 0:
            shown = yaml.safe_load(resolved_yaml(Experiment("x", None, (cell,), 1, "paper")))
            assert all(key in shown[section] for section, key in names)
    assert {"problem.beta", "algorithm.beta", "problem.alpha", "schedule.alpha", "problem.mu"} <= qualified
    assert {"algorithm.noise_multiplier", "algorithm.gdp_mu", "algorithm.eps"} <= qualified


# --- in a run ---------------------------------------------------------------------------------------------------------

COLLIDING = """\
experiment: colliding
problem: {name: beta-problem, d: 2, beta: [1, 2]}
algorithm: {name: beta-steps, beta: [3, 4]}
schedule: {name: power, eta: 0.2, alpha: [1/3, 1/2]}
privacy: {mu: [1, inf]}
run: {n: 20, replicates: 2, checkpoints: 2}
"""


class Named(BetaSteps):
    name: str = "beta-steps"


@pytest.fixture
def registered(monkeypatch):
    monkeypatch.setitem(PROBLEMS, "beta-problem", Beta)
    monkeypatch.setitem(ALGORITHMS, "beta-steps", Named)


class Summarised(Beta):
    """A problem whose parameters are called as what summaries hold."""

    median: float = 7.5
    step: int = 8


def test_no_column_of_a_cell_is_lost_where_summaries_are_joined_with_it(monkeypatch, tmp_path):
    reserved = {"cell_id", "estimator", "step", "metric", *COLUMNS} - {"n"}
    assert reserved <= set(RESERVED_COLUMNS)
    monkeypatch.setitem(PROBLEMS, "beta-problem", Summarised)
    monkeypatch.setitem(ALGORITHMS, "beta-steps", Named)
    one = COLLIDING.replace("[1, 2]", "1").replace("[3, 4]", "3").replace("[1/3, 1/2]", "1/2")
    run(read_experiment(one, "colliding.yaml"), Options(tmp_path, jobs=1, quiet=True))
    cells, summary = load_cells(tmp_path, "colliding"), load_summary(tmp_path, "colliding")
    assert not summary.columns.duplicated().any()
    assert len(summary.columns) == len(cells.columns) + 3 + len(COLUMNS)  # each has a cell_id
    assert set(summary["problem.median"]) == {7.5}
    assert set(summary["problem.step"]) == {8}
    assert (set(summary["run.n"]), set(summary["n"])) == ({20}, {2})
    assert summary["step"].max() == 20
    assert set(summary["cell.n_diverged"]) == {0}
