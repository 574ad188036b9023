"""The lowest frequencies of a sum of many losses: what is left out is nothing, and what is kept is known to its error."""

from __future__ import annotations

import mpmath
import numpy as np
import pytest

from dpexp.privacy.accounting import tilted
from dpexp.privacy.accounting.discrete_losses import Discrete
from dpexp.privacy.accounting.loss_distributions import StepLoss, _composed, eps_of_steps
from dpexp.privacy.accounting.tilted import Composed, TooWide
from dpexp.privacy.accounting.window_sums import LEFT_OUT, Factor, highest, transform
from tests.conftest import AT_LENGTH
from tests.oracles.composition import epsilon

PAIRS = {"add-remove": ("remove", "add"), "replace-one": ("opposite",), "fixed-size": ("symmetrised",)}
"""orders of the neighbours in the inversion"""


def factor(cells, weights, count):
    weights = np.asarray(weights, dtype=np.float64)
    return Factor(np.asarray(cells, dtype=np.int64), weights / weights.sum(), count)


def bell(deviation, count, middle=0):
    cells = np.arange(-int(9 * deviation), int(9 * deviation) + 1)
    return factor(cells + middle, np.exp(-0.5 * (cells / deviation) ** 2), count)


def skewed(deviation, count):
    cells = np.arange(int(30 * deviation))
    return factor(cells - int(deviation), np.exp(-cells / deviation) * (cells + 1.0), count)


def humps(distance, deviation, count):
    """A large loss that is rare beside many small ones, as of sampled steps."""
    cells = np.arange(-int(9 * deviation), distance + int(9 * deviation) + 1)
    near, far = (np.exp(-0.5 * ((cells - at) / deviation) ** 2) for at in (0, distance))
    return factor(cells, near + 0.02 * far, count)


def log_product(factors, size, first):
    """log |product| at the frequencies from `first` on, by a transform of all points."""
    total = np.zeros(size // 2 + 1)
    for cells, weights, count in factors:
        wrapped = np.bincount(cells % size, weights=weights, minlength=size)
        total += count * np.log(np.maximum(np.abs(np.fft.rfft(wrapped)), 1e-300))
    return total[first:]


@pytest.mark.parametrize(
    "factors",
    [
        [bell(20.0, 2000)],
        [bell(40.0, 50_000, middle=3)],
        [skewed(15.0, 20_000)],
        [humps(400, 6.0, 100_000)],
        [bell(10.0, 3000), skewed(20.0, 9000)],
        [bell(10.0, 100_000), humps(300, 4.0, 100)],
    ],
    ids=["bell", "moved", "skewed", "humps", "two kinds", "kinds of different counts"],
)
def test_the_frequencies_left_out_are_nothing_of_the_product(factors):
    size = 1 << 19
    last = highest(factors, size)
    assert last is not None
    logs = log_product(factors, size, 0)
    assert logs[last + 1 :].max() <= -LEFT_OUT
    assert logs[last // 4] > -LEFT_OUT, "far more are kept than are needed"


@pytest.mark.parametrize(
    "factors",
    [
        [factor(2 * np.arange(-200, 201), np.exp(-0.5 * (np.arange(-200, 201) / 30) ** 2), 10**5)],
        [factor([0, 300], [1, 1], 10**5)],
        [factor([0], [1], 10**6)],
        [bell(20.0, 30)],
        [bell(20.0, 2000)._replace(cells=np.sort(np.arange(-180, 181) * 7), weights=np.full(361, 1 / 361))],
    ],
    ids=["even cells alone", "two cells", "no deviation", "few factors", "every seventh cell"],
)
def test_what_comes_back_at_high_frequencies_or_is_too_wide_is_not_left_out(factors):
    """A law on a lattice has |F| = 1 at other frequencies again: no bound may say that it is gone."""
    assert highest(factors, 1 << 19) is None


def test_a_second_law_may_kill_what_a_lattice_leaves():
    lattice = factor(2 * np.arange(-200, 201), np.exp(-0.5 * (np.arange(-200, 201) / 30) ** 2), 3000)
    last = highest([lattice, bell(20.0, 3000)], 1 << 19)
    assert last is not None
    assert log_product([lattice, bell(20.0, 3000)], 1 << 19, last + 1).max() <= -LEFT_OUT


def test_a_transform_is_made_where_it_is_faster():
    """The frequencies that are kept grow with the window; fewer factors leave more of them."""
    assert highest([bell(1000.0, 300)], 1 << 18) is None
    assert highest([bell(1000.0, 3000)], 1 << 18) is not None


@pytest.mark.parametrize("one", [bell(5.0, 1, middle=-7), skewed(3.0, 1), factor([-9, 4, 1000], [1, 2, 3], 1)])
def test_each_frequency_is_known_to_its_error(one):
    size, last = 5 << 12, 40
    found = transform(one, last, size)
    assert found.error < 1e-13
    with mpmath.workdps(30):
        for k in (0, 1, 17, 40):
            turn = mpmath.expjpi(mpmath.mpf(-2) * k / size)
            pairs = zip(one.cells.tolist(), one.weights.tolist(), strict=True)
            exact = mpmath.fsum(mpmath.mpf(w) * turn ** int(n) for n, w in pairs)
            assert abs(mpmath.mpc(found.real[k], found.imaginary[k]) - exact) <= found.error


def brackets(monkeypatch, way, q, noise, steps, scheme):
    """What is attained and what is guaranteed at two deltas, with another `highest`."""
    with monkeypatch.context() as patch:
        patch.setattr(tilted, "highest", way)
        for cache in (eps_of_steps, _composed):
            cache.cache_clear()
        loss = StepLoss(q, noise, scheme)
        found = np.array([(loss.attained(steps, d), loss.eps(steps, d)) for d in (1e-3, 1e-6)])
    for cache in (eps_of_steps, _composed):
        cache.cache_clear()
    assert np.all(found[:, 0] <= found[:, 1])
    return found


def every(factors, size):
    return None


@pytest.mark.parametrize(
    ("q", "noise", "steps", "scheme"),
    [(0.01, 50.0, 10**5, "fixed-size"), (0.1, 10.0, 50_000, "add-remove"), (0.02, 5.0, 90_000, "replace-one")],
)
def test_both_ways_to_the_spectrum_give_one_epsilon(q, noise, steps, scheme, monkeypatch):
    """On one grid brackets differ by the errors that are charged: those of a few frequencies are smaller."""
    asked = []

    def watched(factors, size):
        asked.append(highest(factors, size))
        return asked[-1]

    few = brackets(monkeypatch, watched, q, noise, steps, scheme)
    assert any(last is not None for last in asked)
    all_of_them = brackets(monkeypatch, every, q, noise, steps, scheme)
    assert few == pytest.approx(all_of_them, rel=1e-7)
    assert np.all(few[:, 0] >= all_of_them[:, 0] * (1 - 1e-12))
    assert np.all(few[:, 1] <= all_of_them[:, 1] * (1 + 1e-12))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "noise", "steps", "scheme"),
    [
        (0.01, 50.0, 10**6, "fixed-size"),
        (0.1, 10.0, 10**6, "add-remove"),
        (0.02, 5.0, 10**7, "replace-one"),
        (0.01, 50.0, 10**9, "fixed-size"),
    ],
)
def test_many_steps_have_a_fine_grid(q, noise, steps, scheme, monkeypatch):
    """The bracket lies within that of the coarser grid, which a transform of the whole window can afford."""
    fine = brackets(monkeypatch, highest, q, noise, steps, scheme)
    coarse = brackets(monkeypatch, every, q, noise, steps, scheme)
    assert np.all(fine[:, 1] <= fine[:, 0] * (1 + 3e-4))
    assert np.all(coarse[:, 0] <= fine[:, 0])
    assert np.all(fine[:, 1] <= coarse[:, 1])
    assert np.all(coarse[:, 1] > coarse[:, 0] * (1 + 6e-4)), "the coarser grid is as good"


@pytest.mark.slow
@pytest.mark.parametrize("delta", [1e-6, 1e-12])
@pytest.mark.parametrize(
    ("q", "noise", "steps", "scheme"),
    [
        (0.01, 50.0, 10**6, "fixed-size"),
        (0.01, 20.0, 10**9, "add-remove"),
        (0.02, 50.0, 10**8, "replace-one"),
        (0.001, 1.0, 10**7, "add-remove"),
    ],
)
def test_an_inversion_of_the_moments_lies_between_the_bounds_of_many_steps(q, noise, steps, scheme, delta):
    """Epsilon by an integral along a contour, which shares no code and knows no grid."""
    exact = epsilon([(q, noise, steps)], delta, PAIRS[scheme])
    loss = StepLoss(q, noise, scheme)
    assert exact * (1 - 5e-4) < loss.attained(steps, delta) < exact < loss.eps(steps, delta) < exact * (1 + 5e-4)


@pytest.mark.slow
def test_random_kinds_of_steps_beside_the_inversion_and_the_whole_window(monkeypatch):
    """Up to three kinds of 1e3 to 3e7 steps each: never below the exact epsilon, never above what all frequencies give."""
    rng = np.random.default_rng(1)
    fewer = compared = 0
    for _ in range(400 if AT_LENGTH else 12):
        scheme, pairs = list(PAIRS.items())[rng.integers(len(PAIRS))]
        count, delta = rng.integers(1, 4), 10 ** rng.uniform(-12, -2)
        kinds = [
            (10 ** rng.uniform(-3, -0.3), 10 ** rng.uniform(0, 2), int(10 ** rng.uniform(3, 7.5))) for _ in range(count)
        ]
        parts = tuple((StepLoss(q, noise, scheme), steps) for q, noise, steps in kinds)
        stated = eps_of_steps(parts, delta)
        with monkeypatch.context() as patch:
            patch.setattr(tilted, "highest", every)
            for cache in (eps_of_steps, _composed):
                cache.cache_clear()
            whole = eps_of_steps(parts, delta)
        for cache in (eps_of_steps, _composed):
            cache.cache_clear()
        assert stated <= whole * (1 + 1e-9)
        fewer += stated < whole
        if 1e-3 < stated < 300:
            exact = epsilon(kinds, delta, pairs)
            assert exact * (1 - 1e-9) <= stated <= exact * 1.001
            compared += 1
    assert fewer
    assert compared


def test_where_many_frequencies_are_left_the_coarser_grid_answers():
    """A window that is too wide for a transform is made of few frequencies or of another grid, and says which."""
    lattice = Discrete(-2, np.array([0.25, 0.0, 0.5, 0.0, 0.25]), 0.0)
    coarser = Composed([(lattice, 1000)], 0.01, "above")
    asked = Composed([(lattice, 1000)], 0.01, "above", lambda: coarser)
    assert asked.eps(1e-3) == coarser.eps(1e-3) > 0
    assert asked.delta(1.0) == coarser.delta(1.0) > 0
    with pytest.raises(TooWide, match="many frequencies"):
        tilted.Tilted([(lattice, 1000)], 0.01, 1.0, "above", few=True)
