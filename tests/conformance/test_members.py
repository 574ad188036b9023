"""Members of problems, algorithms, budgets and schedules that others ask for by name."""

import math
from dataclasses import replace

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.near_the_optimum import linear_predictor_of
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.algorithms.softmax_runs import no_target, target
from dpexp.config.experiment_file import load_experiment
from dpexp.core.errors import UsageError
from dpexp.privacy.budgets import ConstantBudget, Target, UniformBudget
from dpexp.problems import PROBLEMS
from dpexp.reporting.evidence import Run, labels
from tests.conftest import ROOT

# --- members that were once looked up by name ------------------------------------------------------------------------

TARGET = Target(eps=1.0, delta=1e-6)


def test_a_budget_says_whether_it_is_a_target():
    assert TARGET.target == (1.0, 1e-6)
    assert ConstantBudget(mu=2.0).target is None
    assert UniformBudget(uniform=(1.0, 2.0)).target is None
    assert target(TARGET) == (1.0, 1e-6)
    assert target(ConstantBudget(mu=math.inf)) == (math.inf, 1.0)
    assert not no_target(TARGET)
    assert no_target(ConstantBudget(mu=2.0))
    with pytest.raises(ValueError, match="no target"):
        target(ConstantBudget(mu=2.0))


def test_printed_noise_is_that_of_the_target_and_else_of_mu():
    algorithm = ALGORITHMS["reduced-momentum"]()
    assert algorithm.printed_sigma(TARGET) == pytest.approx(4 * math.sqrt(math.log(1e6)), rel=1e-12)  # Theorem 8
    assert algorithm.printed_sigma(ConstantBudget(mu=2.0)) == pytest.approx(math.sqrt(3) / 2, rel=1e-12)
    problem = PROBLEMS["rippled-mean"]()
    assert algorithm.prescribed(problem, TARGET) is not None
    assert algorithm.prescribed(problem, ConstantBudget(mu=2.0)) is None
    assert algorithm.prescribed(problem, Target(eps=math.inf)) is None


def test_one_step_size_where_there_is_one():
    assert SCHEDULES["constant"](eta=0.3).step_size(7) == 0.3
    assert SCHEDULES["path-length"](length=2.0).step_size(8) == 0.25
    for name in ("power", "langevin", "prescribed"):
        with pytest.raises(NotImplementedError, match=name):
            SCHEDULES[name]().step_size(8)


def run_of(name, row, **sections):
    cell = load_experiment(ROOT / "configs" / f"{name}.yaml").cells[0]
    return Run(replace(cell, **sections), row, None)


def test_a_run_is_named_by_what_differs():
    row = {"alpha": 0.5, "budget": "2"}
    plain = run_of("linear_d5", row, problem=PROBLEMS["huber-linear"]())
    wide = run_of("linear_d5", row, problem=PROBLEMS["huber-linear"](d=20, sigma=3.0))
    public = run_of("linear_d5", {"alpha": 0.5, "budget": "non-private"}, problem=PROBLEMS["huber-linear"]())
    assert plain.name == "huber-linear, alpha = 1/2, mu = 2"
    assert wide.name == "huber-linear, d = 20, sigma = 3, alpha = 1/2, mu = 2"
    assert labels([plain, wide, public]) == ["mu = 2", "d = 20, sigma = 3, mu = 2", "non-private"]
    assert labels([plain]) == [plain.name]


def test_predictions_are_refused_in_words_where_the_theory_is_of_another_problem():
    assert linear_predictor_of(PROBLEMS["huber-linear"]()) == PROBLEMS["huber-linear"]()
    with pytest.raises(UsageError, match="softmax is no linear predictor"):
        linear_predictor_of(PROBLEMS["softmax"]())
