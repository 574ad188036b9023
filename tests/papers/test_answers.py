"""Open questions: certified answers under a second program, which shares no code with the first."""

import math

import numpy as np
import pytest

from dpexp.accounting.allocation import epoch_loss, losses_of
from dpexp.accounting.loss_steps import step_loss
from dpexp.privacy.exact.walk import renyi
from research import answers


def composed(losses, masses, times, delta, width):
    """Epsilon at delta of a loss that is drawn so often, by one Fourier transform of its histogram."""
    at = losses / width
    first = math.floor(at.min())
    cell = np.floor(at - first).astype(int)
    ahead = at - first - cell
    weights = np.bincount(np.concatenate([cell, cell + 1]), np.concatenate([masses * (1 - ahead), masses * ahead]))
    one = width * (first + np.arange(len(weights)))
    mean = weights @ one
    deviation = math.sqrt(times * (weights @ (one - mean) ** 2))
    size = 2 ** math.ceil(math.log2(40 * deviation / width + len(weights)))
    found = np.fft.irfft(np.fft.rfft(weights, size) ** times, size)
    cells = np.arange(size) + round(times * mean / width) - size // 2
    total, mass = cells * width, np.maximum(found[(cells - times * first) % size], 0)
    low, high = 0.0, float(total[-1])
    for _ in range(60):
        middle = (low + high) / 2
        more = (mass * np.where(total > middle, -np.expm1(np.minimum(middle - total, 0)), 0)).sum() > delta
        low, high = (middle, high) if more else (low, middle)
    return low


def normal(mu, width):
    """Densities of N(0, 1) times a cell, and likelihood ratios of N(mu, 1), at the middles of cells."""
    x = np.arange(-9, 9 + mu, width) + width / 2
    return np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * width, np.exp(mu * x - mu * mu / 2)


def test_two_certified_brackets_do_not_overlap_and_a_second_program_is_inside_both():
    """A removed record, two batches of an epoch, noise 1: balls in bins has the larger epsilon at 1e-2."""
    q, ratio = normal(1.0, 0.02)
    both = (ratio[:, None] + ratio) / 2
    joint = (q[:, None] * q * both).ravel()
    fine, y = normal(1.0, 0.001)
    for epochs in (60, 200):
        both_sides = (losses_of(epoch_loss(1.0, 2).times(epochs), side)[0] for side in ("below", "above"))
        low, high = (removed.eps(1e-2) for removed in both_sides)
        independent = step_loss(0.5, 1.0, "add-remove").times(2 * epochs)
        below, over = independent.attained(1e-2), independent.eps(1e-2)
        assert below < over < low < high
        assert low < composed(np.log(both).ravel(), joint / joint.sum(), epochs, 1e-2, 0.004) < high
        step = fine * (1 + y) / 2
        found = composed(np.log((1 + y) / 2), step / step.sum(), 2 * epochs, 1e-2, 0.002)
        assert below < found < over


def test_a_replaced_record_of_two_batches_beside_draws():
    """Delta at the epsilon that Poisson batches have at 1e-2, by draws of balls in bins: almost twice as much."""
    x = np.random.default_rng(1).standard_normal((400_000, 2))
    x[:, 0] += 1
    most = step_loss(0.5, 1.0, "replace-one").times(2).eps(1e-2)
    loss = np.log(np.exp(x).sum(axis=1)) - np.log(np.exp(-x).sum(axis=1))
    share = np.where(loss > most, -np.expm1(np.minimum(most - loss, 0)), 0)
    mean, error = share.mean(), share.std() / math.sqrt(len(share))
    assert mean - 5 * error > 1.8e-2
    law = answers.Opposite(1.0, 2).times(1)
    assert law.attained(mean - 4 * error) > most > law.attained(mean + 4 * error) > 0.97 * most


@pytest.mark.parametrize(("t", "z"), [(2, 1.0), (10, 1.0), (16, 2.0)])
def test_neither_scheme_dominates_the_other(t, z):
    """The Kullback-Leibler divergence of an epoch is larger with balls in bins, the one of order 2 with Poisson."""
    pair = epoch_loss(1 / z, t).dominating
    q, ratio = normal(1 / z, 0.001)
    y = 1 + (ratio - 1) / t
    independent = t * (q * y * np.log(y)).sum()
    assert (pair.p * pair.losses).sum() > 1.002 * independent
    v = math.expm1(z**-2) / t
    assert (q * y**2).sum() ** t == pytest.approx((1 + v / t) ** t)
    assert (pair.p * np.exp(pair.losses)).sum() == pytest.approx(1 + v, rel=2e-3)
    assert 1 + v < (1 + v / t) ** t


def test_the_unit_of_the_limit_is_the_slope_of_the_gaussian_curve():
    """Perturbed cumulants move delta by (c / 2) f(epsilon) (1 - epsilon / mu^2), c = (1 - 1/t) v mu^2."""
    mu, v, share = 1.7, 1e-6, 1 - 1 / 5
    x = np.linspace(-15, 25, 400_001)
    density = np.exp(-(((x - mu**2 / 2) / mu) ** 2) / 2) / mu / math.sqrt(2 * math.pi)
    c, deviate = share * v * mu**2, (x - mu**2 / 2) / mu
    # first cumulants more by c / 4, -c / 2 and -3 c: the Hermite polynomials of orders 1, 2 and 3
    moved = (
        density * c * (deviate / (4 * mu) - (deviate**2 - 1) / (4 * mu**2) - (deviate**3 - 3 * deviate) / (2 * mu**3))
    )
    for eps in (0.5, mu**2, 6.0):
        kept = np.where(x > eps, -np.expm1(np.minimum(eps - x, 0)), 0)
        change = np.trapezoid(moved * kept, x)
        slope = np.trapezoid(density * np.where(x > eps, np.exp(np.minimum(eps - x, 0)), 0), x)
        one = answers.Compared(5, 1.0, 1, 0.1, mu, (0.0, 0.0), (eps, eps))
        unit = -eps / one.scaled[0]
        assert change / slope == pytest.approx(unit * v / mu**2 * (1 - eps / mu**2), rel=1e-3, abs=1e-12)


def test_the_private_regime_is_a_square_whose_constant_is_a_variance():
    theta, order = 0.01, 3.0
    for shape, power in answers.POWERS.items():
        u = np.linspace(-0.5, 0.5, 100_001)
        density = np.exp(-answers.AT_THE_WALL * np.abs(2 * u) ** power)
        wanted = 2 * order * theta**2 * (density @ u**2) / density.sum()
        assert answers.limit(shape, theta, order) == pytest.approx(wanted, rel=1e-3)
    p, q = (np.exp(sign * 4 * u) / np.exp(sign * 4 * u).sum() for sign in (1, -1))
    divergence = np.log((p**order * q ** (1 - order)).sum()) / (order - 1)
    assert answers.limit("flat", 4.0, order) == pytest.approx(divergence, rel=1e-3)


def test_the_walk_of_the_law_is_the_one_of_the_cells(monkeypatch):
    monkeypatch.setattr(answers, "WIDTH", 40.0)
    ours = renyi(*answers._laws.__wrapped__("flat", 0.05, 10**6), 2.0)
    assert ours == pytest.approx(answers.limit("flat", 0.05, 2.0) * (1 + 2 * 0.5826 / 40) ** 2, rel=2e-3)
