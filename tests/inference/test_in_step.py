"""Settings that meet the same users in one pass, and what a plan says of a fit before it is made."""

import numpy as np
import pytest
from scipy.integrate import quad

from dpexp.algorithms.covering import Trial
from dpexp.algorithms.schedules import SCHEDULES, Power
from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.inference.models import careful, model_of
from dpexp.inference.newton import fixed_points
from dpexp.inference.simulated import NormalRows, Simulated
from dpexp.inference.staged_newton import guessed_curvature
from dpexp.inference.user_blocks import BLOCK, SPREAD
from dpexp.privacy.budgets import Choice, ChoiceBudget, ConstantBudget, UniformBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.linear_losses import MallowsLogistic
from tests.research import module as research

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


def test_a_hessian_of_every_user_is_refused_and_other_designs_are_not():
    def said(every):
        problem, budget = HuberLinear(d=2), ConstantBudget(mu=2.0)
        found = StagedNewton(every=every).complaints(problem, SCHEDULES["prescribed"](), budget, 50_000)
        return [words for words in found if "every user sends a Hessian" in words]

    assert len(said(1)) == 1
    assert said(0) == said(2) == said(5) == []


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


def test_batches_of_a_path_share_its_users_after_the_burn_in(monkeypatch):
    """Eight of equal length up to rounding, from the end of the burn-in to the last user."""
    module = research("rivals/path_intervals.py")
    seen, plain = [], module.batch_means

    def batch_means(boundaries, level):
        seen.append([boundary.users for boundary in boundaries])
        return plain(boundaries, level)

    monkeypatch.setattr(module, "batch_means", batch_means)
    problem, n = MallowsLogistic(d=2), 3001
    algorithm = module.PathIntervals()
    trial = Trial(problem, n, 7, list(range(8)))
    algorithm.intervals(model_of(problem), trial, Power(eta=0.2, alpha=1 / 2), ConstantBudget(mu=2.0))
    (ends,) = seen
    first = round(algorithm.burn_in * n)
    assert (ends[0], ends[-1]) == (first, n)
    assert len(ends) == 9
    assert max(np.diff(ends)) - min(np.diff(ends)) <= 1


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


# --- plans ------------------------------------------------------------------------------------------------------------


def test_logistic_steps_are_shorter_than_plans_are_careful():
    model = careful(model_of(MallowsLogistic(d=5)))
    assert guessed_curvature(model) == pytest.approx(guessed_curvature(model_of(MallowsLogistic(d=5))))
    assert guessed_curvature(model) < np.median(np.linalg.eigvalsh(model.guessed_hessian))
