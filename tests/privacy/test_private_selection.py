"""The best of a random number of runs: against another library, against what such a choice attains, and its edges."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr

from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.renyi import gamma_of, mean_runs, price_of_repeating
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.mechanisms import PrivateSelection, SampledGaussian

SHAPES = (math.inf, 0.0, 0.5, 1.0, 3.0)


def selection(runs, shape, noise=1.5, **more):
    given = {"noise_multiplier": noise, "sampling_probability": 1.0, "steps": 1, "sampling": "full-batch"}
    return PrivateSelection.model_validate(given | {"runs": runs, "shape": shape} | more)


def generating(shape, mean):
    """x -> E[x^K], from the probabilities of the law as the paper defines it."""
    if math.isinf(shape):
        return lambda x: math.exp(mean * (x - 1))
    gamma = gamma_of(shape, mean)
    if shape == 0:
        return lambda x: math.log1p(-(1 - gamma) * x) / math.log(gamma)
    return lambda x: ((1 - (1 - gamma) * x) ** -shape - 1) / (gamma**-shape - 1)


def attained(mu, shape, mean, delta):
    """Epsilon of one Gaussian release whose score is 1 above a threshold and 0 below: P(the best one is above).

    At least one of K runs is above with probability E[1] - E[(1 - p)^K]; a lower bound for every threshold.
    """
    f, best = generating(shape, mean), 0.0
    for x in np.linspace(-2, 6, 400):
        with_it, without = (f(1.0) - f(1.0 - float(p)) for p in (ndtr(mu - x), ndtr(-x)))
        if with_it > delta and without > 1e-14:
            best = max(best, math.log((with_it - delta) / without))
    return best


@pytest.mark.parametrize("shape", SHAPES)
def test_the_law_of_the_number_of_runs(shape):
    if math.isinf(shape):
        return
    for mean in (1.0, 1.5, 10.0, 1000.0):
        gamma = gamma_of(shape, mean)
        assert mean <= mean_runs(shape, gamma) <= mean * (1 + 1e-9)
        if mean > 1:
            f = generating(shape, mean)
            assert f(1.0) == pytest.approx(1)
            assert f(0.0) == pytest.approx(0, abs=1e-12)
            h = 1e-6 / mean
            assert (f(1 + h) - f(1 - h)) / (2 * h) == pytest.approx(mean, rel=1e-4)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("mean", [3.0, 30.0])
def test_the_theorems_are_those_of_another_library(shape, mean):
    """dp_accounting, on the same orders; ours also looks between them, and is a little smaller at most."""
    pytest.importorskip("dp_accounting")
    from dp_accounting import dp_event
    from dp_accounting.rdp import RdpAccountant

    for noise, q, steps in ((1.5, 1.0, 1), (1.2, 0.02, 200)):
        one = dp_event.GaussianDpEvent(noise)
        if q < 1:
            one = dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(q, one), steps)
        orders = [2.0 + 0.25 * k for k in range(160)] if q == 1 else list(range(2, 60))
        wanted = RdpAccountant(orders).compose(dp_event.RepeatAndSelectDpEvent(one, mean, shape)).get_epsilon(1e-5)
        sampling = "full-batch" if q == 1 else "poisson"
        (found,) = selection(mean, shape, noise, sampling_probability=q, steps=steps, sampling=sampling).upper_bounds()
        assert found.eps(1e-5) < 1.002 * wanted
        if math.isfinite(shape):  # of Poisson laws it takes the delta of a Renyi curve
            assert 0.97 * wanted < found.eps(1e-5)
        # a rate that is taken twice, or not at all, is told apart
        other = selection(2 * mean, shape, noise, sampling_probability=q, steps=steps, sampling=sampling)
        assert other.upper_bounds()[0].eps(1e-5) > 1.01 * found.eps(1e-5)


@pytest.mark.parametrize(("mean", "eps"), [(10.0, 1.273), (100.0, 4.095)])
def test_a_poisson_number_of_runs_takes_the_delta_of_the_loss_distribution(mean, eps):
    """Theorem 6 with the delta of one run by another library, and its conversion of the curve at each order."""
    pld = pytest.importorskip("dp_accounting.pld.privacy_loss_distribution")
    run = SampledGaussian(noise_multiplier=2.0, sampling_probability=0.01, steps=1000)
    loss = pld.from_gaussian_mechanism(2.0, sampling_prob=0.01).self_compose(1000)
    rdp = next(a.rdp for a in run.upper_bounds() if a.rdp)
    wanted = math.inf
    for order in np.geomspace(1.5, 200, 400).tolist():
        delta = loss.get_delta_for_epsilon(math.log1p(1 / (order - 1)))
        curve = rdp(order) + mean * delta + math.log(mean) / (order - 1)
        wanted = min(wanted, curve + math.log1p(-1 / order) - math.log(1e-5 * order) / (order - 1))
    (found,) = selection(mean, math.inf, 2.0, sampling_probability=0.01, steps=1000, sampling="poisson").upper_bounds()
    assert found.eps(1e-5) == pytest.approx(wanted, rel=1e-3) == pytest.approx(eps, rel=1e-3)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize(("noise", "mean"), [(0.7, 5.0), (2.0, 20.0)])
def test_choosing_costs_more_than_one_run_and_no_more_than_is_stated(shape, noise, mean):
    (found,) = selection(mean, shape, noise).upper_bounds()
    for delta in (1e-3, 1e-5):
        low = attained(1 / noise, shape, mean, delta)
        assert eps_of(1 / noise, delta) < low < found.eps(delta)  # the statement of one run does not cover the best
    lows = selection(mean, shape, noise).lower_bounds()
    assert all(b.eps(1e-5) < found.eps(1e-5) for b in lows)


def test_one_run_is_one_run():
    """K = 1 for sure: nothing is chosen, and nothing is paid."""
    (chosen,) = selection(1.0, 2.0).upper_bounds()
    (one,) = SampledGaussian(
        noise_multiplier=1.5, sampling_probability=1.0, steps=1, sampling="full-batch"
    ).upper_bounds()
    for order in (1.5, 4.0, 30.0):
        assert chosen.rdp(order) == pytest.approx(one.rdp(order))
    assert price_of_repeating(one.rdp, 2.0, 1.0) == 0


def test_edges_and_what_is_refused():
    (refused,) = selection(5.0, 1.0, sampling="poisson", sampling_probability=0.1, neighboring_relation="replace-one").upper_bounds()  # fmt: skip
    assert not refused.valid
    (none,) = selection(5.0, 1.0, noise=0.0).upper_bounds()
    assert none.eps(1e-5) == math.inf
    (nothing,) = selection(5.0, 1.0, noise=math.inf).upper_bounds()
    assert nothing.eps(1e-5) == 0
    found = calibrate(lambda z: selection(10.0, 1.0, z), PrivateSelection, lambda a: a.eps(1e-5), 1.0, "all-iterates")
    assert found.spent == pytest.approx(1, rel=1e-5)
    assert found.spent <= 1
    assert found.value > calibrate(lambda z: selection(2.0, 1.0, z), PrivateSelection, lambda a: a.eps(1e-5), 1.0, "all-iterates").value  # fmt: skip
