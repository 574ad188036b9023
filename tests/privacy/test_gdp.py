"""Gaussian DP at the ends of its range: small and large mu, tiny and near-one delta, against 400-digit arithmetic."""

import math
from functools import cache, partial
from itertools import pairwise

import mpmath
import numpy as np
import pytest
from scipy.optimize import brentq
from scipy.stats import norm

from dpexp.privacy.accounting.gdp import delta_of, deltas_of, eps_of, mu_of
from dpexp.privacy.accounting.gdp_summary import MOST_CELLS, mu_up_to, regret
from dpexp.privacy.accounting.loss_distributions import step_loss
from dpexp.privacy.accounting.tradeoff import Profile

MUS = [1e-12, 1e-8, 1e-5, 1e-3, 0.1, 0.499999, 0.5, 1.0, 3.0, 20.0, 80.0]
EPSILONS = [0.0, 1e-12, 1e-6, 1e-3, 0.1, 1.0, 30.0, 300.0, 3000.0]
DELTAS = [1e-300, 1e-100, 1e-15, 1e-6, 0.1, 0.9, 1 - 1e-12]


def exact_delta(mu, eps):
    with mpmath.workdps(400):
        m, e = mpmath.mpf(mu), mpmath.mpf(eps)
        return float(mpmath.ncdf(m / 2 - e / m) - mpmath.exp(e) * mpmath.ncdf(-m / 2 - e / m))


@pytest.mark.parametrize("mu", MUS)
def test_delta_has_a_relative_error_below_1e_12(mu):
    for eps in EPSILONS:
        exact = exact_delta(mu, eps)
        if exact > 1e-300:
            assert delta_of(mu, eps) == pytest.approx(exact, rel=1e-12, abs=0)
        else:
            assert 0 <= delta_of(mu, eps) <= 1e-299


@pytest.mark.parametrize("eps", EPSILONS)
def test_many_at_once_have_the_same_digits(eps):
    found = deltas_of(np.array([0.0, *MUS, math.inf]), eps).tolist()
    for mu, delta in zip(MUS, found[1:-1], strict=True):
        exact = exact_delta(mu, eps)
        assert delta == (pytest.approx(exact, rel=1e-12, abs=0) if exact > 1e-300 else pytest.approx(0, abs=1e-299))
    assert found[0] == 0
    assert found[-1] == 1


def test_many_at_once_at_the_ends_are_like_one_by_one():
    mus = [0.0, 5e-324, 1.0, 1e308, math.inf]
    for eps in (0.0, 5e-324, 0.5, 1.0, 1e308, math.inf):
        assert deltas_of(np.array(mus), eps).tolist() == pytest.approx([delta_of(mu, eps) for mu in mus], rel=1e-12)
    assert deltas_of(np.array([1.0, 2.0]), 0.5).tolist() == pytest.approx([delta_of(1.0, 0.5), delta_of(2.0, 1.0 / 2)])
    with pytest.raises(ValueError, match="negative"):
        deltas_of(np.array(mus), -1.0)


@pytest.mark.parametrize("delta", DELTAS)
def test_calibration_never_overspends_and_wastes_nothing(delta):
    for eps in EPSILONS:
        mu = mu_of(eps, delta)
        assert exact_delta(mu, eps) == pytest.approx(delta, rel=1e-8, abs=0)
        assert delta_of(mu, eps) <= delta


@pytest.mark.parametrize("mu", [1e-8, 1e-3, 0.5, 3.0, 40.0])
def test_epsilon_is_the_smallest(mu):
    for delta in DELTAS:
        eps = eps_of(mu, delta)
        assert delta_of(mu, eps) <= delta
        if eps > 0:
            assert exact_delta(mu, eps) == pytest.approx(delta, rel=1e-8, abs=0)


def test_epsilon_just_below_the_total_variation_is_found_quickly():
    """There delta(eps) is flatter than its rounding error over many floating-point numbers."""
    for mu in (1e-3, 0.5, 1.0, 3.0):
        delta = math.nextafter(delta_of(mu, 0.0), 0.0)
        eps = eps_of(mu, delta)
        assert 0 <= eps < 1e-12
        assert delta_of(mu, eps) <= delta


def test_overflow_is_on_the_safe_side():
    assert mu_of(1.0, 5e-324) >= 0
    assert delta_of(1e308, 1.0) == 1
    assert delta_of(5e-324, 1.0) == 0
    assert eps_of(1e200, 1e-5) == math.inf


@pytest.mark.parametrize(("mu", "seen"), [(1.0, 0.5), (3.0, 2.0), (0.2, 0.1)])
def test_regret_is_that_of_a_dense_search_and_few_rates_are_asked(mu, seen, monkeypatch):
    """By scipy's normal law at 100,000 rates; chords between the rates that are asked lie above the curve."""
    at = np.linspace(0, 1, 100_001)[1:-1]

    def excess(shift):
        return (norm.cdf(norm.isf(np.minimum(at + shift, 1)) - seen) - norm.cdf(norm.isf(at) - mu)).max() - shift

    asked, plain = [], Profile.beta
    monkeypatch.setattr(Profile, "beta", lambda self, *of, **how: asked.append(of) or plain(self, *of, **how))
    found = regret(mu, Profile(lambda delta: eps_of(seen, delta), attained=True))
    dense = brentq(excess, 0, 1)
    assert dense < found < dense * 1.005 + 1e-6
    assert len(set(asked)) < 25


def literally(profile, floor, close):
    """`mu_up_to` with every cell kept, and its own mu."""
    most = profile.advantage
    deltas = [most * (floor / most) ** (k / 16) for k in range(17)]
    eps = {d: 0.0 if d == most else profile.eps(d) for d in deltas}
    needed = max(mu_of(eps[d], d) for d in deltas)
    cells = [(mu_of(eps[b], a), a, b) for a, b in pairwise(deltas)]
    for _ in range(MOST_CELLS):
        covering, a, b = worst = max(cells, key=lambda cell: (cell[0], -cell[1]))
        if covering <= needed * (1 + close):
            break
        middle = math.sqrt(a * b)
        needed = max(needed, mu_of(profile.eps(middle), middle))
        cells.remove(worst)
        cells += [(mu_of(profile.eps(middle), a), a, middle), (mu_of(profile.eps(b), middle), middle, b)]
    return max(cells)[0] * (1 + 1e-9)


@pytest.mark.parametrize(("q", "noise", "steps"), [(0.01, 1.0, 1000), (0.1, 2.0, 100), (0.004, 5.0, 7200)])
def test_the_mu_of_a_curve_has_the_bits_of_a_search_that_keeps_every_cell(q, noise, steps):
    loss = step_loss(q, noise, "fixed-size")
    profile = Profile(cache(partial(loss.eps, steps)), direct=partial(loss.delta, steps))
    assert mu_up_to(profile, 1e-5, 1e-4) == literally(profile, 1e-5, 1e-4)


def test_no_mu_is_sought_where_one_look_tells_all():
    """Delta 1 at epsilon 0: no mu allows it, and no epsilon is asked."""
    assert (
        mu_up_to(Profile(lambda delta: pytest.fail("an epsilon was asked"), direct=lambda eps: 1.0), 1e-5) == math.inf
    )
