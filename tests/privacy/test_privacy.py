"""Gaussian DP and laws of budgets: against reference values, dp_accounting and exact limits; test_gdp.py has mpmath."""

import math

import numpy as np
import pytest

from dpexp.privacy.accounting.gdp import delta_of, eps_of, mu_of, rdp_of
from dpexp.privacy.budgets import BUDGETS, Choice, ChoiceBudget, ConstantBudget, ListBudget, UniformBudget

REFERENCE = {  # mu: delta at eps = 1, eps at 1e-5, 1/n, 1e-6
    0.5: (6.829595e-3, 1.993091, 2.121179, 2.254085),
    1.0: (1.269367e-1, 4.377178, 4.626890, 4.886554),
    2.0: (5.098617e-1, 9.997256, 10.487076, 10.997151),
    3.0: (7.876007e-1, 16.675494, 17.404203, 18.163446),
}


@pytest.mark.parametrize("mu", REFERENCE)
def test_reference_values(mu):
    got = (delta_of(mu, 1), eps_of(mu, 1e-5), eps_of(mu, 1 / 300_000), eps_of(mu, 1e-6))
    np.testing.assert_allclose(got, REFERENCE[mu], rtol=5e-7)  # printed to seven digits


def test_values_of_other_libraries():
    assert eps_of(1, 1e-5) == pytest.approx(4.377178095681137, rel=1e-12)
    assert 1 / mu_of(1, 1e-5) == pytest.approx(3.7306316348, rel=1e-10)
    import dp_accounting

    for mu, delta in ((0.3, 1e-6), (1.0, 1e-5), (4.0, 1e-3)):
        assert eps_of(mu, delta) == pytest.approx(dp_accounting.get_epsilon_gaussian(1 / mu, delta), rel=1e-6)


def test_edges():
    assert delta_of(0, 1) == 0
    assert delta_of(math.inf, 1) == 1
    assert delta_of(1, math.inf) == 0
    assert eps_of(0, 0) == 0
    assert eps_of(1, 0) == math.inf
    assert eps_of(1, 1) == 0
    assert eps_of(math.inf, 1e-5) == math.inf
    assert mu_of(1, 0) == 0
    assert mu_of(1, 1) == math.inf
    assert mu_of(math.inf, 1e-5) == math.inf
    for wrong in (
        lambda: delta_of(-1, 1),
        lambda: eps_of(1, 2),
        lambda: mu_of(-1, 0.1),
        lambda: rdp_of(1, 0),
        lambda: eps_of(math.nan, 0.1),
    ):
        with pytest.raises(ValueError, match="must"):
            wrong()


def test_renyi_divergence_by_quadrature():
    from scipy.integrate import quad

    for mu, order in ((0.5, 2.0), (1.5, 3.5), (1.0, 0.5)):
        integral, _ = quad(
            lambda x, m=mu, a=order: math.exp(-a * (x - m) ** 2 / 2 - (1 - a) * x * x / 2) / math.sqrt(2 * math.pi),
            -40,
            40,
        )
        assert rdp_of(mu, order) == pytest.approx(math.log(integral) / (order - 1), rel=1e-8)


BUDGET_CASES = [
    ConstantBudget(mu=2.0),
    UniformBudget(uniform=(1.0, 2.0)),
    ListBudget(list=(0.5, 1.0, 3.0)),
    ChoiceBudget(choice=Choice(values=(0.5, 2.0, 9.0), probabilities=(0.25, 0.75, 0.0))),
]


def test_every_law_of_budgets_is_tried():
    assert {type(case) for case in BUDGET_CASES} == set(BUDGETS.values())


@pytest.mark.parametrize("budget", BUDGET_CASES, ids=lambda b: b.kind)
def test_budgets(budget):
    u = 1.0 - np.random.default_rng(3).random((60_000, 2))
    mu = budget.draw(u, 1)
    assert mu.shape == u.shape
    assert mu.max() <= budget.largest
    assert budget.label
    inverse_squares = mu**-2.0
    error = max(inverse_squares.std() / math.sqrt(u.size), 1e-12)
    assert abs(inverse_squares.mean() - budget.mean_inverse_square) < 4.5 * error
    assert abs(inverse_squares.mean() - 1.1 * budget.mean_inverse_square) > 4.5 * error
    np.testing.assert_array_equal(budget.draw(u[100:200], 101), mu[100:200])
    assert (budget.constant is None) == (budget.kind != "constant")


def test_the_mean_inverse_square_of_uniform_budgets_is_exactly_one_half():
    assert UniformBudget(uniform=(1.0, 2.0)).mean_inverse_square == 0.5
