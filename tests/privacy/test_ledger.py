"""The ledger never states more privacy than there is: too little noise, mechanisms of different noise, long lists."""

import math

import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.budgets import Choice, ChoiceBudget, ConstantBudget, ListBudget, UniformBudget
from dpexp.privacy.mechanisms.local_gaussian import LocalGaussian
from dpexp.reporting.statement import statement_of_runs

ONE = ConstantBudget(mu=1.0)


def mechanism(noise=3.91, exact=3.80, budget=ONE, users=1000):
    return LocalGaussian(mu=budget, noise_sensitivity=noise, exact_sensitivity=exact, users=users)


def document(mechanisms, deltas):
    return statement_of_runs({str(k): m for k, m in enumerate(mechanisms)}, deltas).document()


def test_the_stored_epsilon_is_one_that_holds():
    for noise, mu in ((3.91, 1.0), (3.80, 1.0), (1.9, 2.0), (0.38, 10.0)):
        ledger = mechanism(noise).row([1e-5])
        assert ledger["gdp_mu"] == 1
        assert ledger["gdp_valid"] == (mu == 1)
        assert ledger["eps_1e-05"] == pytest.approx(eps_of(mu, 1e-5), rel=1e-12)


def test_an_infinite_epsilon_is_no_guarantee_and_best_for_nothing():
    lines = statement_of_runs({"0": mechanism(budget=ConstantBudget(mu=math.inf))}, [1e-5]).text().splitlines()
    without = [line for line in lines if line.split()[-4:-3] == ["inf"]]
    assert len(without) == 2
    assert all(line.endswith("NOT A GUARANTEE") for line in without)


@pytest.mark.parametrize("order", [(1.9, 3.91, 38.0), (38.0, 3.91, 1.9)])
def test_best_holds_for_every_mechanism_of_the_budget(order):
    mechanisms = [mechanism(noise) for noise in order]
    best = document(mechanisms, [1e-5])["best"]
    for k, m in enumerate(mechanisms):
        every = best[str(k)]["all-iterates"]
        assert every["mu"] == pytest.approx(m.exact_mu)
        assert every["eps"] == [[1e-5, eps_of(every["mu"], 1e-5)]]


def test_quantiles_of_the_budgets_are_those_of_all_users():
    rising = ListBudget(list=tuple(float(k) for k in range(1, 5001)))
    per_user = mechanism(budget=rising, users=5000).per_user()
    assert per_user == {"cap": 5000, "q05": 250, "median": 2500, "q95": 4750}
    uniform = mechanism(budget=UniformBudget(uniform=(1.0, 2.0)), users=300_000).per_user()
    assert uniform == pytest.approx({"cap": 2, "q05": 1.05, "median": 1.5, "q95": 1.95}, abs=1e-5)
    partly = ChoiceBudget(choice=Choice(values=(1.0, math.inf), probabilities=(0.9, 0.1)))
    mixed = mechanism(budget=partly).per_user()
    assert mixed == {"cap": math.inf, "q05": 1, "median": 1, "q95": math.inf}
    assert mechanism(users=1).per_user()["median"] == 1


def test_the_row_of_a_budget():
    ledger = mechanism(budget=ConstantBudget(mu=2.0)).row([1e-5, 1e-6])
    assert ledger["gdp_mu"] == 2
    assert ledger["gdp_mu_exact"] == pytest.approx(2 * 3.80 / 3.91)
    assert ledger["gdp_valid"]
    assert ledger["noise_multiplier"] == 0.5
    assert ledger["eps_1e-05"] == pytest.approx(9.997256, rel=1e-6)
    varied = mechanism(budget=UniformBudget(uniform=(1.0, 2.0))).row([1e-5])
    assert varied["gdp_mu"] == 2
    assert math.isnan(varied["noise_multiplier"])
    assert mechanism(budget=ConstantBudget(mu=math.inf)).row([1e-5])["eps_1e-05"] == math.inf


def test_too_little_noise_is_said_and_the_true_guarantee_given():
    weak = mechanism(noise=1.9)
    assert not weak.holds
    nominal, exact = (a.statement([1e-5]) for a in weak.upper_bounds())
    assert not nominal["valid"]
    assert exact["valid"]
    assert exact["mu"] == pytest.approx(2.0)
    assert document([weak], [1e-5])["best"]["0"]["all-iterates"]["mu"] == pytest.approx(2.0)
