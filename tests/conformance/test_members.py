"""Members of problems, algorithms, budgets and schedules that others ask for by name."""

import math

import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.softmax_runs import no_target, target
from dpexp.privacy.budgets import ConstantBudget, Target, UniformBudget
from dpexp.problems import PROBLEMS

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
