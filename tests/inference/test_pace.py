"""Steps that follow from the measured curvature, what a plan is careful about, and which share of users measures H."""

import numpy as np
import pytest
from scipy import integrate, stats

from dpexp.inference.messages import no_sums
from dpexp.inference.models import careful, heavy_tails, model_of
from dpexp.inference.populations import Population, Simulated
from dpexp.inference.predicted import best_every, careful_errors, expected_errors, guessed_curvature, noise_of
from dpexp.inference.staged_newton import FARTHEST_PACE, Design, guessed_median, measured_pace, staged_newton
from dpexp.inference.third_derivatives import flatter
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.logistic import MallowsLogistic

HUBER = model_of(HuberLinear(d=2, sensitivity="exact"))


def measured(hessian, error):
    """Sums of one Hessian with this noise."""
    sums = no_sums(len(hessian))
    sums.u[0], sums.u[1] = 1.0, error**2
    sums.hessians[:] = hessian[np.triu_indices(len(hessian))][:, None]
    return sums


@pytest.mark.parametrize("wrong", [0.25, 1.0, 4.0])
def test_a_wrong_guess_is_made_up_for_where_the_curvature_is_known(wrong):
    pace = measured_pace(HUBER, wrong * guessed_median(HUBER), measured(1.5 * HUBER.guessed_hessian, 1e-6))
    assert pace == pytest.approx(wrong / 1.5, rel=1e-6)


def test_pure_noise_changes_no_step_and_no_pace_is_wild():
    h = guessed_median(HUBER)
    assert measured_pace(HUBER, h, measured(HUBER.guessed_hessian, 1e6)) == pytest.approx(1, rel=1e-6)
    assert (measured_pace(HUBER, h, measured(-HUBER.guessed_hessian, 1e-6)) == FARTHEST_PACE).all()
    assert (measured_pace(HUBER, h, no_sums(HUBER.p)) == 1).all()  # nobody sent a Hessian


def test_logistic_intervals_are_longer_where_hessians_were_measured_near_the_start():
    """By the ratio of curvatures that other records of the same law have, and never shorter."""
    model = model_of(MallowsLogistic(d=2))
    near, far = np.zeros((8, 3)), np.ones((8, 3))

    def at(theta):
        sums = no_sums(3)
        sums.v[0] = sums.u[0] = 1.0
        sums.points[:] = theta.T
        return sums

    z = np.random.default_rng(8).standard_normal((400_000, 2))
    x = np.concatenate([np.ones((len(z), 1)), z], axis=1)
    weight = np.minimum(1, 2 / np.sum(x * x, axis=1)) * np.sum(x * x, axis=1)
    t = 1 / (1 + np.exp(-x.sum(axis=1)))
    wanted = np.mean(weight * t * (1 - t)) / np.mean(weight / 4)
    assert flatter(model, (at(near), at(near)), far) == pytest.approx(wanted, rel=0.02)
    assert (flatter(model, (at(far), at(far)), near) == 1).all()
    assert (flatter(HUBER, (at(near), at(near)), np.ones((8, 4))) == 1).all()


def test_heavy_tails_by_quadrature_and_as_the_sheet_has_them():
    """`inference`, section 5: H of t_3 errors is .1431, .1038, .0603 at s = 2, and the scale's target 2.378375."""
    c, k = 1.345, 2.378375 / 2
    inside = integrate.quad(stats.t(3).pdf, -c * k, c * k)[0]
    square = integrate.quad(lambda e: e * e * stats.t(3).pdf(e), -c * k, c * k)[0]
    normal = stats.norm.cdf(c) - stats.norm.cdf(-c)
    normal_square = integrate.quad(lambda e: e * e * stats.norm.pdf(e), -c, c)[0]
    found = heavy_tails(c, True)
    assert found == pytest.approx((inside / k / normal, square / k**3 / normal_square), rel=1e-5)
    model = model_of(HuberLinear(d=5, sigma=2.0))
    hessian = np.diag(model.guessed_hessian)
    assert (hessian * found[0])[:2] == pytest.approx((0.1431, 0.1038), abs=2e-4)  # simulated there
    assert hessian[-1] * found[1] == pytest.approx(0.0603, abs=1e-4)


def test_careful_plans_are_not_optimistic_about_heavy_tails_or_correlation():
    n, law = 30_000, ConstantBudget(mu=3.0)
    noise = noise_of(HUBER, np.array([3.0]))
    design = Design(n, guessed_curvature(HUBER), best_every(HUBER, n, noise))
    for wrong in (Population(2, errors="student"), Population(2, rho=0.5)):
        found = []
        for first in range(0, 160, 8):
            source = Simulated(HUBER, wrong, law, 41, range(first, first + 8))
            outcome = staged_newton(HUBER, design, HUBER.problem.start(), source)
            found.append(np.sqrt(np.einsum("rjj->rj", outcome.final.covariance)))
        mean = np.concatenate(found).mean(axis=0)
        assert (careful_errors(HUBER, design, noise) >= 0.95 * mean).all()
        assert (expected_errors(HUBER, design, noise) < 0.9 * mean).any()  # the plain plan is optimistic


def test_users_who_measure_are_fewer_where_noise_is_small_and_their_number_is_the_best():
    model = careful(model_of(HuberLinear(d=5, sensitivity="exact")))
    chosen = [best_every(model, 100_000, noise_of(model, np.array([mu]))) for mu in (1.0, 2.0, 10.0)]
    assert chosen == sorted(chosen)
    noise = noise_of(model, np.array([2.0]))
    lengths = {
        k: expected_errors(model, Design(100_000, guessed_curvature(model), k), noise).mean() for k in (3, 5, chosen[1])
    }
    assert min(lengths, key=lengths.__getitem__) == chosen[1]
    assert best_every(model, 2000, noise) == 3
