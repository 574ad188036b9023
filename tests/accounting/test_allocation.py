"""Batches that are drawn epoch by epoch: brackets against another program, quadrature, draws, and the normal law."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.special import ndtr

from dpexp.accounting.allocation import FINE, EpochLoss, losses_of, normal
from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.mechanisms import MECHANISMS, EpochGaussian
from tests.conftest import share

# adversary.md 5.2, by another program: batches, epochs, noise, and brackets of epsilon at 1e-3 and 1e-5, each for a
# record that is removed and for one that is added
BALLS_IN_BINS = [
    ((100, 10, 1.0), (1.1054, 1.1074), (1.0399, 1.0422), (1.7006, 1.7033), (1.5467, 1.5497)),
    ((100, 1, 1.0), (0.2979, 0.2984), (0.2560, 0.2565), (0.6207, 0.6212), (0.4216, 0.4226)),
    ((50, 5, 0.8), (1.9055, 1.9087), (1.4949, 1.4985), (3.1502, 3.1539), (2.1394, 2.1447)),
    ((10, 20, 2.0), (2.2037, 2.2147), (2.1822, 2.1933), (3.1518, 3.1667), (3.1106, 3.1253)),
    ((1000, 3, 0.6), (0.6492, 0.6521), (0.4068, 0.4119), (1.7819, 1.7847), (0.6297, 0.6367)),
    ((20, 50, 3.0), (1.4848, 1.4936), (1.4829, 1.4917), (2.1752, 2.1873), (2.1714, 2.1835)),
]
# the same for one secret batch in all epochs, at 1e-5: removed, and added to the digits printed there
ONE_SECRET_BATCH = [
    ((100, 10, 1.0), (13.2514, 13.2522), 3.333),
    ((50, 5, 0.8), (11.3106, 11.3114), 3.295),
    ((10, 20, 2.0), (9.1774, 9.1780), 4.207),
    ((20, 50, 3.0), (9.2666, 9.2674), 3.445),
]
KNOWN_ORDER = {(100, 10, 1.0): 17.857, (100, 1, 1.0): 4.3772, (50, 5, 0.8): 15.223, (10, 20, 2.0): 11.480, (1000, 3, 0.6): 15.867, (20, 50, 3.0): 12.262}  # fmt: skip


@pytest.mark.parametrize("mu", [0.03, 1.0, 7.0])
def test_a_normal_loss_has_as_many_points_in_a_deviation_as_are_stated_and_no_more_than_twice(mu):
    assert FINE <= mu / normal(mu, "above").interval < 2 * FINE


def of(noise=1.0, batches=100, epochs=10, **more):
    return EpochGaussian(noise_multiplier=noise, batches=batches, epochs=epochs, **more)


def bracket(mechanism, delta=1e-5):
    """What is attained and what is stated of all iterates by the loss distribution."""
    (low,) = [b for b in mechanism.lower_bounds() if b.name == "exact-composition"]
    (high,) = [a for a in mechanism.upper_bounds() if a.name == "pld-composition"]
    return low.eps(delta), high.eps(delta)


def sides(loss, epochs, delta):
    """Brackets of epsilon for a record that is removed, and for one that is added."""
    pairs = zip(
        ("remove", "add"), losses_of(((loss, epochs),), "below"), losses_of(((loss, epochs),), "above"), strict=True
    )
    return {name: (low.eps(delta), high.eps(delta)) for name, low, high in pairs}


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "remove", "add", "remove_5", "add_5"), share(BALLS_IN_BINS, 2))
def test_brackets_meet_those_of_another_program(setting, remove, add, remove_5, add_5):
    batches, epochs, noise = setting
    loss = EpochLoss(1 / noise, batches)
    for delta, wanted in ((1e-3, (remove, add)), (1e-5, (remove_5, add_5))):
        for (low, high), (other_low, other_high) in zip(sides(loss, epochs, delta).values(), wanted, strict=True):
            assert low < high < low * 1.004
            assert low < other_high
            assert other_low < high
    assert eps_of(math.sqrt(epochs) / noise, 1e-5) == pytest.approx(KNOWN_ORDER[setting], rel=5e-5)


@pytest.mark.parametrize(("setting", "remove", "add"), ONE_SECRET_BATCH)
def test_one_secret_batch_is_one_epoch_with_less_noise(setting, remove, add):
    batches, epochs, noise = setting
    both = sides(EpochLoss(math.sqrt(epochs) / noise, batches), 1, 1e-5)
    assert both["remove"][0] < remove[1]
    assert remove[0] < both["remove"][1] < 1.0006 * both["remove"][0]
    assert both["add"][0] < add + 1e-3
    assert add - 1e-3 < both["add"][1] < 1.003 * both["add"][0]


def test_a_mechanism_states_its_own_scheme():
    """One scheme's number is never another's: fresh batches, a group's coins, and known orders."""
    fresh = bracket(of())
    assert 1.7006 < fresh[0] < fresh[1] < 1.7033
    for sampling, low in (("reshuffled", 1.7006), ("shuffled", 13.249)):
        (stated,) = of(sampling=sampling).upper_bounds()
        assert stated.eps(1e-5) == pytest.approx(17.857, rel=1e-4)
        assert "even if the order of the records is public" in stated.source
        assert "exact" not in stated.source
        assert of(sampling=sampling).lower_bounds()[0].eps(1e-5) == pytest.approx(low, rel=1e-3)
    coins = of(sampling="cyclic-poisson", sampling_probability=0.2)
    same = MECHANISMS["sampled-gaussian"](noise_multiplier=1.0, sampling_probability=0.2, steps=10)
    for here, there in zip(coins.upper_bounds(), same.upper_bounds(), strict=True):
        assert here.eps(1e-5) == there.eps(1e-5)
    assert bracket(coins)[0] == same.lower_bounds()[0].eps(1e-5)
    # the noise of all steps is in the last iterate, the record in those of its group alone
    assert coins.lower_bounds()[1].eps(1e-5) < same.lower_bounds()[1].eps(1e-5) / 5


def test_of_more_epochs_than_can_be_composed_nothing_is_attained():
    loss = EpochLoss(1.0, 4)
    assert loss.times(10**9).attained(1e-5) == 0
    assert loss.times(10**6).attained(1e-5) < loss.times(10**6).eps(1e-5) < loss.times(10**9).eps(1e-5) < math.inf


def exact_of_two(mu, eps, swapped):
    """delta of 1/2 (N(mu e_1) + N(mu e_2)) against N(0) on the plane: one coordinate in closed form, one by quadrature."""
    x = np.linspace(-14, 14 + mu, 40_001)
    weight = np.exp(-x * x / 2) / math.sqrt(2 * math.pi) * (x[1] - x[0])
    rest = 2 * math.exp(-eps if swapped else eps) - np.exp(mu * x - mu * mu / 2)  # the other ratio exceeds it, or not
    z = (np.log(np.maximum(rest, 1e-300)) + mu * mu / 2) / mu
    if swapped:  # Q - e^eps P = e^eps / 2 (rest - ratio) where positive
        return float(np.sum(weight * np.where(rest > 0, math.exp(eps) / 2 * (rest * ndtr(z) - ndtr(z - mu)), 0)))
    return float(np.sum(weight * np.where(rest > 0, (ndtr(mu - z) - rest * ndtr(-z)) / 2, (1 - rest) / 2)))


@pytest.mark.parametrize("mu", [0.1, 1.0, 4.0])
def test_two_batches_against_quadrature(mu):
    eps = mu * np.array([0.0, 0.2, 0.7, 1.5])
    above, below = EpochLoss(mu, 2).dominating, EpochLoss(mu, 2).dominated
    other = replace(below, masses=below.masses[::-1])
    for swapped, law, low in ((False, above.removed, below), (True, above.added, other)):
        exact = np.array([exact_of_two(mu, float(e), swapped) for e in eps])
        losses = above.interval * (law.start + np.arange(len(law.masses)))
        high = [float(np.sum(law.masses * -np.expm1(np.minimum(e - losses, 0)))) + law.unbounded for e in eps]
        assert np.all((low.curve(eps) <= exact * (1 + 1e-12)) & (exact <= high))
        assert np.all(high - low.curve(eps) <= 2e-3 * exact + 1e-6)


def test_literal_draws_are_in_the_bracket_and_those_of_other_noise_are_not():
    """delta is the mean under Q of (ratio - e^eps)_+: batches, epochs and noise are drawn as the words say."""
    batches, epochs, noise, draws, eps = 20, 3, 1.0, 40_000, 0.5
    rng = np.random.default_rng(5)

    def estimate(noise):
        x = rng.standard_normal((draws, epochs, batches)) * noise
        where = rng.integers(0, batches, (draws, epochs, 1))
        removed = np.take_along_axis(x, where, 2)
        np.put_along_axis(x, where, removed + 1, 2)  # the record is there: losses under P
        loss = np.log(np.mean(np.exp((x - 0.5) / noise**2), 2)).sum(1)
        values = np.maximum(0, -np.expm1(eps - loss))
        return values.mean(), values.std() / math.sqrt(draws)

    loss = EpochLoss(1 / noise, batches)
    high, low = (losses_of(loss.times(epochs), side)[0].delta(eps) for side in ("above", "below"))
    mean, error = estimate(noise)
    assert low - 4 * error < mean < high + 4 * error
    for factor in (0.8, 1.25):
        mean, error = estimate(noise * factor)
        assert not low - 4 * error < mean < high + 4 * error


def opposite_delta(mu, eps):
    """delta of the half-half mixture of N(mu e_j) against that of N(-mu e_j), two batches, on a grid."""
    x = np.linspace(-9 - mu, 9 + mu, 1201)
    one, two = np.meshgrid(x, x)
    base = np.exp(-(one**2 + two**2 + mu**2) / 2) / (2 * math.pi) * (x[1] - x[0]) ** 2
    p, r = (base * (np.exp(sign * mu * one) + np.exp(sign * mu * two)) / 2 for sign in (1, -1))
    return float(np.maximum(p - math.exp(eps) * r, 0).sum())


def test_a_replaced_record_is_covered():
    """The opposite record attains more than one of gradient 0, and stays below the statement."""
    for noise, delta in ((1.0, 1e-2), (2.0, 1e-4), (0.7, 1e-3)):
        low, high = bracket(of(noise, 2, 1, neighboring_relation="replace-one"), delta)
        assert low < high
        assert opposite_delta(1 / noise, high) <= delta
        assert opposite_delta(1 / noise, low) > delta
    shown = of(0.2, 2, 1, neighboring_relation="replace-one").upper_bounds()
    assert shown[0].eps(1e-5) <= shown[1].eps(1e-5)
