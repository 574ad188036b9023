"""Parts of the accounting beside their formulas: sizes of Poisson batches, and where the grid of a sampled step ends."""

import math

import pytest
from scipy.stats import binom, norm

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.loss_steps import StepLoss


@pytest.mark.parametrize(
    ("records", "q"), [(0, 0.3), (1, 0.5), (37, 0.9), (1000, 0.01), (10**6, 1e-4), (50, 0.0), (50, 1.0)]
)
def test_sizes_of_poisson_batches_are_binomial_and_what_is_left_out_is_charged(records, q):
    sizes = poisson_sizes(records, q)
    assert sizes.masses == pytest.approx(binom.pmf(sizes.counts, records, q), rel=1e-9)
    least, most = int(sizes.counts[0]), int(sizes.counts[-1])
    rest = binom.cdf(least - 1, records, q) + binom.sf(most, records, q)
    assert rest <= sizes.dropped <= 1e-19
    assert len(sizes.counts) == most - least + 1


@pytest.mark.parametrize("scheme", ["add-remove", "replace-one"])
@pytest.mark.parametrize("q", [0.01, 0.3, 1.0])
@pytest.mark.parametrize("noise", [0.4, 3.0])
def test_the_grid_of_a_step_ends_at_a_loss_beyond_which_it_charges_the_mass(scheme, q, noise):
    """By the laws (1 - q) N(0, 1) + q N(+-mu, 1) at mu + reach."""
    step, mu = StepLoss(q, noise, scheme), 1 / noise
    for reach in (1.0, 4.0):
        x = mu + reach
        likelihood = [1 - q + q * math.exp(sign * mu * x - mu**2 / 2) for sign in (1, -1)]
        loss = math.log(likelihood[0]) - (math.log(likelihood[1]) if scheme == "replace-one" else 0)
        assert step.top(reach) == pytest.approx(loss, rel=1e-12)
        mass = (1 - q) * norm.sf(x) + q * norm.sf(reach)
        assert mass <= step.beyond(reach) <= (mass + q * norm.sf(x)) * (1 + 2e-9)
