"""Weights of plug-ins: the engine, sensitivities and means over rows take them; what they say of rows is tried."""

import math
from typing import Literal

import numpy as np
import pytest

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.conformance.check_result import Breach, Subject
from dpexp.conformance.weight_checks import lengths
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import minimum
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.population import Population
from dpexp.problems.weights import Weight


class Again(Weight):
    """The weights that are called mallows, once more."""

    name: Literal["again"] = "again"
    cap: Positive = 2.0

    def numbers(self):
        return (self.cap,)

    def reach(self):
        return math.sqrt(self.cap)

    def across(self):
        return self.cap

    @staticmethod
    def weight(norm_sq, k):
        return minimum(1.0, k[0] / norm_sq)


class TooShort(Again):
    def reach(self):
        return 1.2


class Nearer(Again):
    def across(self):
        return 1.5


def of(weights):
    return HuberLinear(population=Population(d=2, weights=weights, coefficients=(1.0, 0.5, -0.5)), scale="known")


def test_the_engine_and_all_numbers_take_the_weight_of_a_plug_in():
    own, ours = of(Again()), of("mallows")
    setting = [(SCHEDULES["power"](), ConstantBudget(mu=1))]
    runs = [LdpSgd().simulate(p, setting, np.array([300]), 3, range(8)).parameters for p in (own, ours)]
    np.testing.assert_array_equal(*runs)
    assert own.exact_sensitivity() == pytest.approx(ours.exact_sensitivity(), rel=1e-15)
    assert own.gradient_bound() == pytest.approx(ours.gradient_bound(), rel=1e-15)
    # by 131,072 Sobol rows, and along rays
    np.testing.assert_allclose(own.curvature().hessian, ours.curvature().hessian, atol=1e-4)
    assert own.model_dump()["population"]["weights"] == {"name": "again", "cap": 2}


@pytest.mark.parametrize(("kind", "part"), [(TooShort, "reach"), (Nearer, "across")])
def test_what_a_weight_says_of_rows_is_tried(kind, part):
    assert "of 1.414" in lengths(Subject("weight", "again", Again))
    with pytest.raises(Breach, match=f"`{part}` says"):
        lengths(Subject("weight", "again", kind))


def test_a_weight_without_reach_takes_no_budget_and_one_that_runs_would_ignore_is_refused():
    class Bare(Again):
        def reach(self):
            return math.inf

    schedule = SCHEDULES["power"]()
    found = LdpSgd().complaints(of(Bare()), schedule, ConstantBudget(mu=1), 10)
    assert "does not bound the length of w(x) x" in found[0]
    assert LdpSgd().complaints(of(Bare()), schedule, ConstantBudget(mu=math.inf), 10) == []

    class Heavier(HuberLinear):
        def weight(self, x):
            return np.ones(x.shape[:-1])

    with pytest.raises(UsageError, match="overrides `weight`"):
        LdpSgd().simulate(Heavier(), [(schedule, ConstantBudget(mu=1))], np.array([3]), 0, range(8))


def test_without_weights_a_run_without_noise_is_finite_and_predicted():
    from dpexp.algorithms.near_the_optimum import local

    problem, budget = of("none"), ConstantBudget(mu=math.inf)
    values = LdpSgd().simulate(problem, [(SCHEDULES["power"](), budget)], np.array([100]), 3, range(8)).values
    assert np.isfinite(values).all()
    np.testing.assert_array_equal(local(problem, budget).covariance, problem.curvature().score_covariance)
    row = LdpSgd().mechanism(problem, SCHEDULES["power"](), budget, 100).row([1e-5])
    assert row["gdp_mu"] == math.inf
