"""Phases of different noise or sampling, and the largest order of a lemma."""

import math

import pytest

from dpexp.accounting.gaussian import eps_of
from dpexp.papers.noisy_sgd.claims.upper import largest_order
from dpexp.privacy.mechanisms import SampledGaussian

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
