"""Parts of the accounting beside their formulas: sizes of batches, the grid of a step, caps, and repeated runs."""

import math

import numpy as np
import pytest
from scipy.special import gammaln
from scipy.stats import binom, norm

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.gaussian import delta_of, rdp_of
from dpexp.accounting.loss_grid import from_above, from_below
from dpexp.accounting.loss_steps import StepLoss, step_loss, truncated
from dpexp.accounting.renyi import best_of, mean_runs


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


@pytest.mark.parametrize(("n", "q", "cap"), [(1000, 1e-9, 900), (1000, 0.01, 1000), (50, 0.1, 70), (2000, 0.01, 1500)])
def test_a_cap_that_no_batch_reaches_changes_nothing(n, q, cap):
    plain = step_loss(q, 1.0, "add-remove").times(10).eps(1e-5)
    assert truncated(n, q, cap, 1.0).times(10).eps(1e-5) == pytest.approx(plain, rel=1e-6, abs=1e-12)


@pytest.mark.parametrize("shape", [-0.5, 0.0, 0.3, 1.0, 4.0])
@pytest.mark.parametrize("gamma", [0.05, 0.5, 0.9, 1.0])
def test_the_mean_of_the_number_of_runs_is_its_sum(shape, gamma):
    """P(K = k) is proportional to Gamma(k + shape) / k! (1 - gamma)^k for k >= 1."""
    k = np.arange(1, 3000)
    logs = gammaln(k + shape) - gammaln(k + 1) + k * math.log1p(-gamma) if gamma < 1 else np.where(k == 1, 0.0, -np.inf)
    weights = np.exp(logs - logs.max())
    assert mean_runs(shape, gamma) == pytest.approx(weights @ k / weights.sum(), rel=1e-9)


def test_the_best_of_a_poisson_number_of_runs_costs_what_theorem_6_of_papernot_and_steinke_says():
    """rdp(l) + m delta(eps) + log(m) / (l - 1) at eps = log(1 + 1 / (l - 1))."""
    mu, runs = 0.7, 12.0
    found = best_of(lambda order: rdp_of(mu, order), lambda eps: delta_of(mu, eps), runs, math.inf)
    for order in (1.5, 3.0, 20.0):
        price = runs * delta_of(mu, math.log1p(1 / (order - 1))) + math.log(runs) / (order - 1)
        assert found(order) == pytest.approx(order * mu**2 / 2 + price, rel=1e-12)
    assert rdp_of(0.0, 3.0) == delta_of(0.0, 0.5) == 0


@pytest.mark.parametrize("seed", range(40))
def test_grids_enclose_pairs_with_kinks_at_and_between_their_points(seed):
    """Pairs of a few outcomes, whose hockey-stick curves have a kink at every loss: at 400 places."""
    rng, interval, cells = np.random.default_rng(seed), 0.5, 16
    p, q = (rng.dirichlet(np.full(1 + seed % 5, 0.7)) + 1e-3 for _ in range(2))
    p, q = p / p.sum(), q / q.sum()

    def height(eps, one, other):
        return np.maximum(one - np.exp(eps)[:, None] * other, 0.0).sum(axis=1)

    def of_law(law, eps):
        losses = interval * (law.start + np.arange(len(law.masses)))
        return np.maximum(1 - np.exp(eps[:, None] - losses), 0.0) @ law.masses + law.unbounded

    fine, coarse = interval / 2 * np.arange(2 * cells + 1), interval * np.arange(cells + 1)
    low = from_below(height(fine, p, q), height(fine, q, p), interval, 1e-12)
    high = from_above(height(coarse, p, q), height(coarse, q, p), interval, 1e-12)
    eps = np.linspace(-cells * interval, cells * interval, 400)
    assert np.all(of_law(low, eps) <= height(eps, p, q) + 1e-13)
    assert np.all(of_law(high, eps) >= height(eps, p, q) * (1 - 1e-12) - 1e-13)


def test_a_polygon_from_below_sinks_by_the_largest_gap_that_convexity_leaves():
    """At many places of each cell: its chord over the lines through neighbours on the grid of half the interval."""
    interval, eps = 0.5, 0.25 * np.arange(-8, 9)
    gamma = np.exp(eps)
    curve = norm.cdf(0.5 - eps) - gamma * norm.cdf(-0.5 - eps)
    half = [delta_of(1.0, e) for e in interval / 2 * np.arange(33)]
    low = from_below(np.array(half), np.array(half), interval, 1e-12)

    def line(i, j, x):
        return curve[i] + (curve[j] - curve[i]) / (gamma[j] - gamma[i]) * (x - gamma[i])

    def gap(a):
        left, right = (np.linspace(gamma[k], gamma[k + 1], 4001) for k in (a, a + 1))
        first = line(a, a + 2, left) - np.maximum(line(a - 1, a, left), line(a + 1, a + 2, left))
        second = line(a, a + 2, right) - np.maximum(line(a, a + 1, right), line(a + 2, a + 3, right))
        return max(first.max(), second.max())

    losses = interval * (low.start + np.arange(len(low.masses)))
    for a in range(4, 13, 2):
        found = low.masses @ np.maximum(1 - np.exp(eps[a] - losses), 0.0) + low.unbounded
        assert found == pytest.approx(curve[a] - max(gap(a - 2), gap(a)), abs=1e-5)
