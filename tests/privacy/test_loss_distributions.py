"""Composition: hockey-stick curves against integrals, loss distributions against another library, many distinct steps."""

from __future__ import annotations

import math

import mpmath
import numpy as np
import pytest

from dpexp.privacy.accounting import hockey_sticks as curves
from dpexp.privacy.accounting import tilted
from dpexp.privacy.accounting.discrete_losses import Discrete
from dpexp.privacy.accounting.gdp import eps_of
from dpexp.privacy.accounting.loss_distributions import StepLoss, _composed, eps_of_steps, step_loss
from dpexp.privacy.accounting.tilted import Composed, TooWide
from dpexp.privacy.accounting.window_sums import LEFT_OUT, Factor, highest, transform
from tests.conftest import AT_LENGTH
from tests.oracles.composition import epsilon

Z = np.linspace(-18, 24, 400_001)


def normal(mean):
    return np.exp(-((Z - mean) ** 2) / 2) / math.sqrt(2 * math.pi)


def integral(p, r, eps):
    return float(np.sum(np.maximum(p - math.exp(eps) * r, 0))) * (Z[1] - Z[0])


@pytest.mark.parametrize("q", [1e-3, 0.2, 1.0])
@pytest.mark.parametrize("mu", [0.05, 0.8, 3.0])
def test_curves_are_integrals(q, mu):
    base, far, back = normal(0), normal(mu), normal(-mu)
    mixture, opposite = (1 - q) * base + q * far, (1 - q) * base + q * back
    for eps in (-1.0, -1e-3, 0.0, 0.02, 0.7, 2.5):
        at = np.array([eps])
        assert curves.removing(at, q, mu)[0] == pytest.approx(integral(mixture, base, eps), abs=2e-9)
        assert curves.adding(at, q, mu)[0] == pytest.approx(integral(base, mixture, eps), abs=2e-9)
        assert curves.opposite(at, q, mu)[0] == pytest.approx(integral(mixture, opposite, eps), abs=2e-9)
        both = max(integral(mixture, base, eps), integral(base, mixture, eps))
        assert curves.symmetrised(at, q, mu)[0] == pytest.approx(both, abs=2e-9)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("q", "multiplier", "steps"),
    [(0.1, 4.0, 1000), (0.01, 1.0, 1000), (0.04, 1.5, 2250), (0.05, 0.8, 1)],
)
@pytest.mark.parametrize("relation", ["add-remove", "replace-one"])
def test_the_accountant_of_another_library(q, multiplier, steps, relation):
    from dp_accounting import GaussianDpEvent, NeighboringRelation, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.pld import PLDAccountant

    kind = {"add-remove": "ADD_OR_REMOVE_ONE", "replace-one": "REPLACE_ONE"}[relation]
    theirs = PLDAccountant(NeighboringRelation[kind], value_discretization_interval=1e-4)
    theirs.compose(SelfComposedDpEvent(PoissonSampledDpEvent(q, GaussianDpEvent(multiplier)), steps))
    for delta in (1e-3, 1e-5, 1e-9):
        assert step_loss(q, multiplier, relation).eps(steps, delta) == pytest.approx(
            theirs.get_epsilon(delta), rel=2e-4
        )


@pytest.mark.parametrize("scheme", ["add-remove", "replace-one", "fixed-size"])
def test_a_gaussian_run_beside_sampled_steps_is_one_step_of_their_scheme(scheme):
    """Its noise counts in units of the scheme, whose means are two norms apart where records are replaced, else one."""
    sampled = step_loss(0.05, 1.0, scheme)
    ((step, count),) = sampled.gaussian(0.8)
    exact = eps_of(0.8, 1e-5)
    assert exact <= step.eps(count, 1e-5) <= exact * 1.002
    assert sampled.eps(20, 1e-5) < sampled.eps_among(((sampled, 20), (step, 1)), 1e-5)
    assert sampled.gaussian(0.0) == ()


def test_batches_of_fixed_size_lie_between_a_true_pair_and_the_renyi_bound():
    """q = 0.01, multiplier 0.7, 500 steps at 1e-5: an attained pair needs 3.597, Renyi composition 4.722."""
    eps = step_loss(0.01, 0.7, "fixed-size").eps(500, 1e-5)
    assert step_loss(0.01, 0.7, "add-remove").eps(500, 1e-5) == pytest.approx(3.597, abs=2e-3)
    assert 3.597 < eps < 4.722


def test_delta_and_epsilon_are_inverse_and_monotone():
    loss = step_loss(0.05, 1.2, "fixed-size")
    for steps in (1, 7, 3000):
        values = [loss.eps(steps, delta) for delta in (1e-2, 1e-4, 1e-6, 1e-8)]
        assert values == sorted(values)
        for delta, eps in zip((1e-2, 1e-4, 1e-6, 1e-8), values, strict=True):
            assert loss.delta(steps, eps) <= delta * (1 + 1e-9)
            if eps > 0:
                assert loss.delta(steps, eps * 0.999) > delta
    assert loss.eps(1, 1.0) == 0
    assert loss.attained(10, 1e-18) <= loss.eps(10, 1e-18) < loss.attained(10, 1e-18) * 1.001
    for wrong in ((0.0, 1.0), (1.1, 1.0), (0.5, 0.0), (0.5, math.inf)):
        with pytest.raises(ValueError):
            StepLoss(*wrong, "fixed-size")


# --- the lowest frequencies of a sum of many losses ------------------------------------------------------------------

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
    for _ in range(400 if AT_LENGTH else 3):
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
