"""Batches that every record draws for itself, epoch by epoch: what is drawn, what is stated of it, and what is run."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.special import ndtr
from scipy.stats import binom, chi2, norm

from dpexp.accounting.allocation import AllocatedEpochs, epoch_loss
from dpexp.accounting.gaussian import eps_of
from dpexp.engine.softmax.batches import balls_in_bins, batches_of, poisson, shuffled
from dpexp.privacy.mechanisms import EpochGaussian
from tests.algorithms.test_softmax_runs import CONSTANT, DIGITS, DP_SGD, TARGET
from tests.oracles import binned_epochs
from tests.oracles.cells import Cells, EitherOrder
from tests.oracles.composition import epsilon


def rng(seed):
    return np.random.default_rng(seed)


def inclusions(scheme, n, batch_size, steps, runs):
    """Whether each record is in each batch: bool [runs, steps, n]."""
    found = np.zeros((runs, steps, n), dtype=bool)
    for seed, run in enumerate(found):
        for row, batch in zip(run, scheme(n, batch_size, rng(seed)), strict=False):
            assert len(np.unique(batch)) == len(batch)
            row[batch] = True
    return found


def p_value(seen, cells):
    """Of Pearson's test that the outcomes 0 .. cells - 1 are equally likely; 0 for an outcome outside."""
    if min(seen) < 0 or max(seen) >= cells:
        return 0.0
    expected = len(seen) / cells
    return float(chi2.sf(np.sum((np.bincount(seen, minlength=cells) - expected) ** 2) / expected, cells - 1))


def law_of_bins(scheme, fresh):
    """How likely six records in three bins, two epochs: one bin an epoch; fresh or kept; each record for itself."""
    found = inclusions(scheme, 6, 2, 6, 4000)
    by_epoch = found.reshape(4000, 2, 3, 6)
    if not np.all(by_epoch.sum(axis=2) == 1):
        return 0.0
    place = by_epoch.argmax(axis=2)
    first, second = place[:, 0], place[:, 1]
    kept = bool(np.all(first == second))
    # all records of an epoch at once: 3^6 outcomes, all equally likely
    code = first @ 3 ** np.arange(6)
    values = [p_value(code, 3**6)]
    if fresh:  # the two epochs of a record, and of two records
        values += [p_value(3 * first[:, i] + second[:, j], 9) for i, j in ((0, 0), (4, 4), (0, 5), (5, 0))]
    return min(values) if kept != fresh else 0.0


@pytest.mark.slow
def test_the_law_of_bins_and_wrong_ones():
    assert law_of_bins(balls_in_bins, fresh=True) > 1e-5
    wrong = [
        (balls_in_bins, False),
        (shuffled, True),  # batches of equal size: records exclude each other
        (poisson, True),  # not one batch in every epoch
        (lambda n, m, g: balls_in_bins(n, 3, g), True),  # two bins in place of three
    ]
    for scheme, fresh in wrong:
        assert law_of_bins(scheme, fresh) < 1e-9


def test_one_group_is_poisson_and_a_group_of_one_is_sure():
    one, same = poisson(30, 4, rng(3), groups=1), poisson(30, 4, rng(3))
    assert all(np.array_equal(next(one), next(same)) for _ in range(50))
    whole = poisson(7, 1, rng(0), groups=7)
    assert [next(whole).tolist() for _ in range(8)] == [[k] for k in (*range(7), 0)]
    assert (batches_of(10, 3), batches_of(9, 3), batches_of(9, 9)) == (4, 3, 1)


def stated(algorithm, n, schedule=CONSTANT):
    return algorithm.mechanism(DIGITS, schedule, TARGET, n)


def test_noise_is_set_by_the_upper_end_of_the_schemes_own_bracket():
    """The exact law of the scheme as it runs, by another program, is at the target or just below it."""
    sampling = "balls-in-bins"
    algorithm = DP_SGD(batch_size=120, epochs=3, sampling=sampling)
    n = algorithm.steps(DIGITS, CONSTANT, TARGET)
    t = batches_of(DIGITS.n, 120)
    assert (n, t) == (36, 12)
    mechanism = stated(algorithm, n)
    assert mechanism.name == "epoch-gaussian"
    assert (mechanism.neighboring_relation, mechanism.sampling) == ("add-remove", sampling)
    assert (mechanism.mechanism.batches, mechanism.mechanism.epochs, mechanism.mechanism.unfinished) == (t, 3, None)
    row = mechanism.row((1e-5,))
    assert 0.999 < row["eps_1e-05"] <= 1
    assert row["guarantee"]
    assert row["accountant"] == "pld"
    z = row["noise_multiplier"]
    exact = EitherOrder(binned_epochs.epochs(1 / z, t, 3)).eps
    assert 0.985 < exact(1e-5) <= 1


def test_groups_are_sampled_in_their_own_steps_alone():
    algorithm = DP_SGD(batch_size=30, epochs=2, sampling="cyclic-poisson", groups=6)
    n = algorithm.steps(DIGITS, CONSTANT, TARGET)
    mechanism = stated(algorithm, n)
    used, q = -(-n // 6), 30 * 6 / DIGITS.n
    assert mechanism.mechanism.sampling_probability == q
    z = mechanism.row((1e-5,))["noise_multiplier"]
    low, high = (epsilon([(q, z, k)], 1e-5) for k in (used - 1, used))
    assert low < 0.995
    assert 0.98 < high <= 1
    # all of a group in turn: nothing is random but the noise
    whole = DP_SGD(batch_size=719, epochs=4, sampling="cyclic-poisson", groups=2)
    row = stated(whole, 8).row((1e-5,))
    assert eps_of(math.sqrt(4) / row["noise_multiplier"], 1e-5) == pytest.approx(1, rel=1e-6)


def delta_of_one_coin(q, mu, eps):
    """(1 - q) N(0, 1) + q N(mu, 1) against N(0, 1) at eps, both orders: half lines."""
    x = (math.log1p(math.expm1(eps) / q)) / mu + mu / 2
    removed = q * ndtr(mu - x) + (1 - q) * ndtr(-x) - math.exp(eps) * ndtr(-x)
    inside = math.expm1(-eps) / q + 1
    y = math.log(inside) / mu + mu / 2 if inside > 0 else -math.inf
    return max(removed, ndtr(y) - math.exp(eps) * (q * ndtr(y - mu) + (1 - q) * ndtr(y)))


@pytest.mark.parametrize("left_out", [0.05, 0.4])
def test_a_record_that_may_be_left_out_of_an_epoch_of_one_batch_is_a_coin(left_out):
    shown = epoch_loss(1.0, 1, left_out).times(1).attained(1e-3)
    assert 1e-3 <= delta_of_one_coin(1 - left_out, 1.0, shown) <= 1.02e-3


def test_an_epoch_that_ends_early_is_counted_and_what_is_attained_is_not():
    """One of two batches is released: a coin, whose exact loss lies between the two. Whole epochs are not affected."""
    sampling = "balls-in-bins"
    mechanism = EpochGaussian(noise_multiplier=1.0, batches=2, epochs=0, sampling=sampling, unfinished=1)
    assert mechanism.lower_bounds() == []
    upper = mechanism.upper_bounds()[0].eps(1e-3)
    assert delta_of_one_coin(0.5, 1.0, upper) < 1e-3
    assert upper == EpochGaussian(noise_multiplier=1.0, batches=2, epochs=1, sampling=sampling).upper_bounds()[0].eps(
        1e-3
    )
    more = EpochGaussian(noise_multiplier=1.0, batches=5, epochs=3, sampling=sampling, unfinished=2)
    whole = [EpochGaussian(noise_multiplier=1.0, batches=5, epochs=k, sampling=sampling) for k in (3, 4)]
    assert more.upper_bounds()[0].eps(1e-5) == whole[1].upper_bounds()[0].eps(1e-5)
    low, last = more.lower_bounds()
    assert low.eps(1e-5) == whole[0].lower_bounds()[0].eps(1e-5) < more.upper_bounds()[0].eps(1e-5)
    assert last.eps(1e-5) == pytest.approx(eps_of(3 / math.sqrt(17), 1e-5))  # the noise of all 17 steps
    # as an algorithm has it: 100 steps of 12 an epoch
    algorithm = DP_SGD(batch_size=120, sampling=sampling)
    found = stated(algorithm, 100).mechanism
    assert (found.epochs, found.unfinished) == (8, 4)
    assert stated(algorithm, 100).row((1e-5,))["noise_multiplier"] == algorithm.multiplier(DIGITS, TARGET, 108)


def test_groups_in_an_epoch_that_ends_early():
    """The first group's turn has come once more, so that its loss is that of one more step, and attained."""
    early = EpochGaussian(noise_multiplier=2.0, batches=4, epochs=3, sampling="cyclic-poisson", sampling_probability=0.3, unfinished=1)  # fmt: skip
    (high,) = [a.eps(1e-5) for a in early.upper_bounds() if a.name == "pld-composition"]
    everything, last = (b.eps(1e-5) for b in early.lower_bounds())
    assert epsilon([(0.3, 2.0, 4)], 1e-5) <= high <= 1.001 * everything
    # the last iterate: binomially many of four steps against the noise of thirteen
    x = np.linspace(-40, 45, 400_001)
    counts, spread = binom.pmf(np.arange(5), 4, 0.3), 2.0 * math.sqrt(13)
    p = sum(c * norm.pdf(x, k, spread) for k, c in enumerate(counts))
    delta = np.sum(np.maximum(p - math.exp(last) * norm.pdf(x, 0, spread), 0)) * (x[1] - x[0])
    assert delta == pytest.approx(1e-5, rel=1e-2)


def product(epochs, t):
    """The pair of epochs of several distances, from below, by the other program."""
    total = None
    for mu, count in epochs:
        one = binned_epochs.epochs(mu, t, count)
        total = (one.p, one.q) if total is None else binned_epochs.product(total, (one.p, one.q), 0.02)
    return Cells(*total, 1e-11)


def kinds(mu, batches, groups):
    return [(mu / noise, batches, count) for noise, count in groups]


def test_epochs_whose_noise_differs():
    """One batch is normal; equal noises are one; more noise helps; at most so many laws; another program is below."""
    mu, groups = 0.8, ((1.0, 2), (1.2, 3), (1.7, 1))
    total = mu * math.sqrt(sum(count / noise**2 for noise, count in groups))
    assert AllocatedEpochs.of(kinds(mu, 1, groups)).eps(1e-5) == pytest.approx(eps_of(total, 1e-5), rel=1e-9)
    same = AllocatedEpochs.of(kinds(mu, 10, ((1.0, 2), (1.0, 3)))).eps(1e-5)
    assert same == pytest.approx(epoch_loss(mu, 10).times(5).eps(1e-5), rel=1e-6)
    found = AllocatedEpochs.of(kinds(mu, 10, groups)).eps(1e-5)
    assert epoch_loss(mu / 1.7, 10).times(6).eps(1e-5) < found < epoch_loss(mu, 10).times(6).eps(1e-5)
    low = EitherOrder(product([(mu / noise, count) for noise, count in groups], 10)).eps(1e-5)
    assert low < found < 1.02 * low
    many = [(1.05**k, 1) for k in range(16)]
    pairs = AllocatedEpochs.of(kinds(mu, 10, [(noise, 2) for noise, _ in many[::2]])).eps(
        1e-5
    )  # the least noise stands for both
    assert AllocatedEpochs.of(kinds(mu, 10, many)).eps(1e-5) == pairs
    # too little noise for a law: the batches shown
    assert AllocatedEpochs.of(kinds(80.0, 10, ((1.0, 1), (2.0, 1)))).eps(1e-5) == eps_of(80.0 * math.sqrt(1.25), 1e-5)
