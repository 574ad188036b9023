"""Weights of plug-ins: the engine, sensitivities and means over rows take them; what they say of rows is tried."""

import math
from typing import Literal

import numpy as np
import pytest

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.core.parameters import Positive
from dpexp.engine.lanes.elementwise import minimum
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.linear_losses import HuberLinear
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.population import Population
from dpexp.problems.weights import Weight


class Again(Weight):
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


def of(weights):
    return HuberLinear(population=Population(d=2, weights=weights, coefficients=(1.0, 0.5, -0.5)), scale="known")


def test_bounds_of_the_score_in_t_are_none_of_a_loss_with_a_scale():
    assert math.isinf(LinearPredictorProblem.exact_sensitivity(HuberLinear()))
    assert math.isinf(HuberLinear(population={"d": 2, "weights": "none"}).gradient_bound())
    known = HuberLinear(scale="known")
    assert LinearPredictorProblem.exact_sensitivity(known) == known.exact_sensitivity()


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
