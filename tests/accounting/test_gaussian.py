"""Gaussian DP at the ends of its range: small and large mu, tiny and near-one delta, against 400-digit arithmetic."""

import math

import mpmath
import numpy as np
import pytest

from dpexp.accounting import Accountant
from dpexp.accounting.curve import Curve, mu_up_to
from dpexp.accounting.gaussian import delta_of, deltas_of, eps_of, mu_of, rdp_of
from dpexp.accounting.search import eps_of_delta
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from tests.conftest import AT_LENGTH

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
        wanted = pytest.approx(exact, rel=1e-12, abs=0) if exact > 1e-300 else pytest.approx(0, abs=1e-299)
        assert delta_of(mu, eps) == wanted
        assert deltas_of(np.array([0.0, mu, math.inf]), eps).tolist() == [0, wanted, 1]


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


@pytest.mark.parametrize("rate", [1.0, 0.999999])
def test_the_mu_of_a_gaussian_curve_is_its_own(rate):
    accountant = Accountant()
    accountant.step(noise_multiplier=1.0, sample_rate=rate)
    for floor in (1e-5, 1e-9) if rate == 1 or AT_LENGTH else (1e-9,):
        assert accountant.get_mu(floor) == pytest.approx(1.0, abs=1e-6)
    # as a function alone, which is not seen to be Gaussian
    assert 1 <= mu_up_to(Curve(lambda delta: eps_of(1.0, delta), direct=lambda eps: delta_of(1.0, eps)), 1e-9) < 1.0002


@pytest.mark.parametrize(
    ("z", "q", "steps", "floor", "mu"),  # of a program of its own: the solution of delta_mu(eps) = delta on dense grids
    [
        (1.0, 0.01, 1000, 1e-10, 0.52888),
        (2.0, 0.05, 20_000, 1e-3, 3.76147),
        (10.0, 4096 / 50_000, 875, 1e-3, 0.24369),
        (10.0, 4096 / 50_000, 875, 1e-10, 0.24506),
        (4.0, 0.5, 100, 1e-3, 1.27574),
    ],
)
def test_the_mu_of_sampled_steps(z, q, steps, floor, mu):
    sampled = SampledGaussian(noise_multiplier=z, sampling_probability=q, steps=steps)
    assert mu_up_to(sampled.upper_bounds()[-1], floor) == pytest.approx(mu, rel=2e-4)


def test_the_mu_of_a_bounded_loss_covers_every_place_and_no_more():
    """Randomised response in three of ten runs, which needs the largest mu between 0 and its epsilon; on 2,000 places."""

    def delta(eps):
        return 0.3 * max(0.0, (math.exp(3) - math.exp(eps)) / (1 + math.exp(3)))

    profile = Curve(lambda d: eps_of_delta(delta, d), direct=delta)
    needed = max(mu_of(eps, delta(eps)) for eps in np.linspace(0, profile.eps(1e-6), 2000))
    assert needed <= mu_up_to(profile, 1e-6) <= needed * (1 + 2e-5)
    falling = Curve(lambda d: max(0.0, 0.3 - d), direct=lambda eps: max(0.0, 0.3 - eps))
    assert mu_of(0.0, 0.3) <= mu_up_to(falling, 1e-6) <= mu_of(0.0, 0.3) * (1 + 2e-5)


def test_edges():
    none, everything = delta_of(0, 1), delta_of(math.inf, 1)
    assert [none, everything, delta_of(1, math.inf), eps_of(0, 0), eps_of(1, 1), mu_of(1, 0)] == [0, 1, 0, 0, 0, 0]
    for unbounded in (eps_of(1, 0), eps_of(math.inf, 1e-5), mu_of(1, 1), mu_of(math.inf, 1e-5)):
        assert unbounded == math.inf
    for function, wrong in (
        (delta_of, (-1, 1)),
        (eps_of, (1, 2)),
        (mu_of, (-1, 0.1)),
        (rdp_of, (1, 0)),
        (eps_of, (math.nan, 0.1)),
    ):
        with pytest.raises(ValueError, match="must"):
            function(*wrong)
