"""Noise conventions of the papers, and phases of different noise or sampling."""

import math

import numpy as np
import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import step_loss
from dpexp.papers.noisy_sgd.claims.upper import largest_order
from dpexp.privacy.analyses.hybrid import any_loss, hybrid_delta
from dpexp.privacy.mechanisms import MECHANISMS, SampledGaussian
from dpexp.privacy.mechanisms.mechanism import gradient_noise, langevin_gradient_noise, parameter_noise
from tests.conftest import share


@pytest.mark.parametrize("eta", [1e-3, 0.5, 7.0])
def test_noise_on_the_gradient_the_parameter_and_of_langevin(eta):
    """The same step simulated in all three conventions has the same spread, and the wrong one has not."""
    sigma = 1.7
    z = np.random.default_rng(3).standard_normal(40_000)
    on_gradient = np.std(-eta * (sigma * z))
    assert parameter_noise(sigma, eta) == pytest.approx(on_gradient, rel=0.02)
    assert parameter_noise(sigma, eta) == pytest.approx(eta * sigma)
    assert gradient_noise(parameter_noise(sigma, eta), eta) == pytest.approx(sigma, rel=1e-14)
    langevin = np.std(math.sqrt(2 * eta) * sigma * z)
    assert parameter_noise(langevin_gradient_noise(sigma, eta), eta) == pytest.approx(langevin, rel=0.02)
    assert parameter_noise(langevin_gradient_noise(sigma, eta), eta) == pytest.approx(math.sqrt(2 * eta) * sigma)
    assert gradient_noise(0.0, eta) == 0
    assert parameter_noise(math.inf, eta) == math.inf


# --- phases -----------------------------------------------------------------------------------------------------


def only(mechanism):
    (analysis,) = mechanism.upper_bounds()
    return analysis


def test_phases_of_full_batches_are_one_gaussian():
    phased = only(
        SampledGaussian(noise_multiplier=(11, 9), sampling_probability=1, steps=(500, 300), sampling="full-batch",
                        neighboring_relation="replace-one")
    )  # fmt: skip
    assert phased.mu == pytest.approx(2 * math.sqrt(500 / 121 + 300 / 81), rel=1e-14)
    assert phased.eps(1e-5) == pytest.approx(eps_of(phased.mu, 1e-5))


def test_phases_that_do_nothing_and_those_that_do_not_fit():
    same = SampledGaussian(noise_multiplier=[1.1, 0.0], sampling_probability=[0.01, 0.0], steps=[500, 9])
    alone = SampledGaussian(noise_multiplier=1.1, sampling_probability=0.01, steps=500)
    assert [a.name for a in same.upper_bounds()] == [a.name for a in alone.upper_bounds()]
    assert same.upper_bounds()[0].eps(1e-5) == alone.upper_bounds()[0].eps(1e-5)
    assert SampledGaussian(noise_multiplier=[1.1], sampling_probability=[0.01], steps=[500]) == alone
    none = SampledGaussian(noise_multiplier=1.0, sampling_probability=0.1, steps=[0, 0])
    assert only(none).eps(1e-5) == 0
    loud = SampledGaussian(noise_multiplier=[1.0, 0.0], sampling_probability=0.1, steps=[5, 5])
    assert only(loud).eps(1e-5) == math.inf
    for wrong in (
        {"noise_multiplier": [1, 2], "sampling_probability": 0.1, "steps": [1, 2, 3]},
        {"noise_multiplier": [1, -2], "sampling_probability": 0.1, "steps": 5},
        {"noise_multiplier": [], "sampling_probability": 0.1, "steps": 5},
        {"noise_multiplier": [1, 2], "sampling_probability": 0.5, "steps": 4, "sampling": "cyclic"},
    ):
        with pytest.raises(ValueError):
            SampledGaussian(**wrong)


# --- what the figures and claims rest on --------------------------------------------------------------------------


def test_the_largest_order_of_the_sampling_lemma():
    """alpha*(q, sigma) from a grid of 4000 points (published table of the sheet)."""
    for q, sigma, order in ((1e-4, 4, 41.3597), (0.01, 4, 14.3429), (0.19, 4, 4.17922), (0.1, 20, 21.2593)):
        assert largest_order(q, sigma) == pytest.approx(order, rel=2e-5)
    with pytest.raises(ValueError):
        largest_order(1.0, 4.0)


@pytest.mark.slow
def test_the_hybrid_delta_is_the_inverse_of_the_hybrid_epsilon_up_to_its_grid():
    mechanism = MECHANISMS["clipped-noisy-sgd"](
        n=1000, batch_size=1, step_size=0.5, clip=1.0, diameter=1.0, noise_std=1.0, steps=5000
    )
    (bound,) = [a for a in mechanism.upper_bounds() if a.name == "hybrid"]
    loss = step_loss(0.001, 1.0, "fixed-size")
    steps = np.array([10, 5000])
    for delta in share((1e-6, 1e-3), 2):
        eps = bound.eps(delta)
        early, late = hybrid_delta(loss.delta, lambda e1: any_loss(e1, 2.0), steps, eps)
        assert 0.5 * delta < late < 3 * delta
        assert early >= late
