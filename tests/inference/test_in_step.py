"""Settings meet the same users in one pass, whatever their budgets and however rows are taken."""

import numpy as np
import pytest
from scipy.integrate import quad

from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.inference.models import model_of
from dpexp.inference.newton import fixed_points
from dpexp.inference.simulated import NormalRows, Simulated
from dpexp.inference.user_blocks import BLOCK, SPREAD
from dpexp.privacy.budgets import Choice, ChoiceBudget, ConstantBudget, ListBudget, UniformBudget
from dpexp.problems.linear_losses import HuberLinear

MIX = ChoiceBudget(choice=Choice(values=(0.5, 3.0), probabilities=(0.75, 0.25)))


def test_settings_meet_the_same_users():
    """Records and noise do not depend on the budgets, nor on how many users send a Hessian."""
    problem = HuberLinear(d=2)
    model = model_of(problem)
    one, other = (Simulated(model, problem, budget, 5, range(8)) for budget in (ConstantBudget(mu=2.0), MIX))
    for count in (BLOCK, 7, 2, 33):
        a, b = one.block(count, 0, 5), other.block(count, 0, 4)
        assert all((getattr(a, name) == getattr(b, name)).all() for name in ("x", "y", "w", "omega"))
        if count == BLOCK:
            assert (a.hessian_noise == b.hessian_noise[: count // 5]).all()
        assert (a.inverse_mu == 0.5).all()
        assert set(np.unique(b.inverse_mu)) == {2.0, 1 / 3.0}
    listed = Simulated(model, problem, ListBudget(list=(0.5, 1.0, 4.0)), 5, range(8))
    assert [listed.block(2, 0, 0).inverse_mu[:, 0].tolist() for _ in range(2)] == [[2.0, 1.0], [0.25, 2.0]]


def test_the_public_noise_is_the_integral_over_the_law_of_budgets():
    """E v^2 / mu^2 / (E v)^2 with v = 1 / (s0^2 + Delta^2 / mu^2), for uniform budgets, by quadrature."""
    low, high = 0.5, 3.0
    model = model_of(HuberLinear(d=2))
    noise = StagedNewton(every=5).noise(model, UniformBudget(uniform=(low, high)), 50_000)

    def weight(mu):
        return 1 / (SPREAD + (model.gradient_sensitivity / mu) ** 2)

    above = quad(lambda mu: (weight(mu) / mu) ** 2, low, high, epsabs=0, epsrel=1e-12)[0] / (high - low)
    below = quad(weight, low, high, epsabs=0, epsrel=1e-12)[0] / (high - low)
    assert noise == pytest.approx(above / below**2, rel=1e-6)


def test_rows_are_the_same_however_many_are_taken():
    def rows(*counts):
        state = np.arange(1, 33, dtype=np.uint64).reshape(4, 8)
        stream = NormalRows(state, 3)
        return np.concatenate([stream.take(count) for count in counts])

    assert (rows(12) == rows(1, 1, 3, 0, 2, 5)).all()


def test_the_trace_of_the_regularised_inverse_is_a_fixed_point():
    """g = 1 / (l + (se^2 / 2) (g + tr)) for every eigenvalue, from no noise to nothing but noise."""
    values = np.abs(np.random.default_rng(1).standard_normal((50, 7))) + 1e-3
    for half in (0.0, 1e-9, 1e-3, 1.0, 1e6):
        g = fixed_points(values, np.full(50, half))
        assert g == pytest.approx(1 / (values + half * (g + g.sum(axis=1, keepdims=True))), rel=1e-10)
