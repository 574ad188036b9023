"""Composition: hockey-stick curves against integrals, loss distributions against another library, many distinct steps."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
from scipy.optimize import brentq

from dpexp.accounting import Curve, Unreachable, calibrate
from dpexp.accounting import pairs as curves
from dpexp.accounting.gaussian import delta_of, eps_of
from dpexp.accounting.loss_steps import StepLoss, Steps, step_loss
from tests.conftest import AT_LENGTH, share
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


@pytest.mark.parametrize("scheme", ["add-remove", "replace-one", "fixed-size"])
def test_a_gaussian_run_beside_sampled_steps_is_one_step_of_their_scheme(scheme):
    """Its noise counts in units of the scheme, whose means are two norms apart where records are replaced, else one."""
    sampled = step_loss(0.05, 1.0, scheme)
    alone = Steps([(sampled, 20)])
    _, (step, count) = alone.with_gaussian(0.8)
    exact = eps_of(0.8, 1e-5)
    assert exact <= step.times(count).eps(1e-5) <= exact * 1.002
    assert sampled.times(20).eps(1e-5) < alone.with_gaussian(0.8).eps(1e-5)
    assert alone.with_gaussian(0.0) == alone


def test_delta_and_epsilon_are_inverse_and_monotone():
    for loss in map(step_loss(0.05, 1.2, "fixed-size").times, (1, 7, 3000)):
        values = [loss.eps(delta) for delta in (1e-2, 1e-4, 1e-6, 1e-8)]
        assert values == sorted(values)
        for delta, eps in zip((1e-2, 1e-4, 1e-6, 1e-8), values, strict=True):
            assert loss.delta(eps) <= delta * (1 + 1e-9)
            if eps > 0:
                assert loss.delta(eps * 0.999) > delta
        assert loss.eps(1.0) == 0
    assert step_loss(0.0018, 2.67, "add-remove").times(9).eps(0.01) == 0  # and not what a sum of losses moves by
    loss = step_loss(0.05, 1.2, "fixed-size").times(10)
    assert loss.attained(1e-18) <= loss.eps(1e-18) < loss.attained(1e-18) * 1.001
    for wrong in ((0.0, 1.0), (1.1, 1.0), (0.5, 0.0), (0.5, math.inf)):
        with pytest.raises(ValueError):
            StepLoss(*wrong, "fixed-size")


PAIRS = {"add-remove": ("remove", "add"), "replace-one": ("opposite",), "fixed-size": ("symmetrised",)}
"""orders of the neighbours in the inversion"""


MANY = [
    (0.02, 0.8, 400, "add-remove", 1e-3),
    (0.02, 0.8, 400, "replace-one", 1e-3),
    (1e-3, 2.0, 20_000, "fixed-size", 1e-3),
    (0.01, 50.0, 10**6, "fixed-size", 2e-4),
    (0.001, 1.0, 10**7, "add-remove", 2e-3),
    (0.02, 50.0, 10**8, "replace-one", 2e-3),
    (0.01, 20.0, 10**9, "add-remove", 1e-2),
]
"""q, noise, steps, scheme, and how near the bounds are: the grid is coarser from a million steps on"""


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "delta"), share(itertools.product(MANY, (1e-6, 1e-12))))
def test_an_inversion_of_the_moments_lies_between_the_bounds_of_many_steps(setting, delta):
    """Epsilon by an integral along a contour, which shares no code and knows no grid."""
    q, noise, steps, scheme, near = setting
    exact = epsilon([(q, noise, steps)], delta, PAIRS[scheme])
    loss = StepLoss(q, noise, scheme).times(steps)
    assert exact * (1 - near) < loss.attained(delta) < exact < loss.eps(delta) < exact * (1 + near)


@pytest.mark.slow
def test_random_kinds_of_steps_beside_the_inversion():
    """Up to three kinds of 1e3 to 1e6 steps each: never below the exact epsilon, and near it."""
    rng = np.random.default_rng(1)
    compared = 0
    for _ in range(200 if AT_LENGTH else 3):
        scheme, pairs = list(PAIRS.items())[rng.integers(len(PAIRS))]
        count, delta = rng.integers(1, 4), 10 ** rng.uniform(-12, -2)
        kinds = [
            (10 ** rng.uniform(-3, -0.3), 10 ** rng.uniform(0, 2), int(10 ** rng.uniform(3, 6))) for _ in range(count)
        ]
        stated = Steps((StepLoss(q, noise, scheme), steps) for q, noise, steps in kinds).eps(delta)
        if 1e-3 < stated < 300:
            exact = epsilon(kinds, delta, pairs)
            assert exact * (1 - 1e-9) <= stated <= exact * 1.001
            compared += 1
    assert compared


def test_more_kinds_than_are_composed_are_bracketed_beside_a_plain_convolution():
    """300 steps of a q and a noise of their own: neighbours in both are joined, which opens the bracket by a tenth.

    Beside it histograms of each step's loss for a removed record, the larger side, multiplied as Fourier transforms.
    """
    rng, width, size = np.random.default_rng(0), 1e-3, 2**14
    kinds = list(zip(rng.uniform(0.01, 0.02, 300), rng.uniform(1, 2, 300), strict=True))
    x, total = np.linspace(-12, 13, 25_001), 1.0 + 0j
    for q, noise in kinds:
        loss = np.log1p(q * np.expm1((2 * noise * x - 1) / (2 * noise**2)))
        masses = np.exp(loss - x * x / 2)
        cells = np.rint(loss / width).astype(int) % size
        total = total * np.fft.rfft(np.bincount(cells, masses / masses.sum(), size))
    losses = width * np.fft.fftfreq(size, 1 / size)
    masses = np.fft.irfft(total, size)
    exact = brentq(lambda e: (masses * -np.expm1(np.minimum(e - losses, 0.0))).sum() - 1e-5, 0, 5)
    steps = Steps((StepLoss(q, noise, "add-remove"), 1) for q, noise in kinds)
    low, high = steps.attained(1e-5), steps.eps(1e-5)
    assert 0.9 * exact < low < exact * (1 + 1e-3)
    assert exact * (1 - 1e-3) < high < 1.1 * exact


def test_the_least_noise_for_a_target_needs_no_mechanism():
    noise = calibrate(lambda z: Steps.sampled(z, 0.01, 1000).curve, eps=1.0, delta=1e-5)
    at = Steps.sampled(noise, 0.01, 1000).curve
    assert at.side == "above"
    assert at.eps(1e-5) <= 1.0 < Steps.sampled(noise * (1 - 1e-5), 0.01, 1000).eps(1e-5)
    assert at.delta(at.eps(1e-5)) == pytest.approx(1e-5, rel=1e-4)
    with pytest.raises(Unreachable):
        calibrate(lambda z: Curve(lambda delta: math.inf), eps=1.0, delta=1e-5)


def test_hardly_any_noise_is_no_law_and_no_warning():
    """Densities of e^-220000 underflow; what holds is the same step on all records."""
    step = step_loss(0.5, 0.0015, "replace-one")
    assert step.times(10).attained(1e-5) == 0
    assert step.times(10).eps(1e-5) == pytest.approx(eps_of(math.sqrt(10) * 2 / 0.0015, 1e-5))


@pytest.mark.parametrize("scheme", PAIRS)
@pytest.mark.parametrize("noise", [1e-200, 1e-155, 1e16, 1e300])
def test_noise_whose_square_is_no_number_is_bounded_as_on_all_records(noise, scheme):
    steps, mu = Steps([(step_loss(0.01, noise, scheme), 100)]), 10 * (2 if scheme == "replace-one" else 1) / noise
    assert steps.attained(1e-9) == 0
    assert steps.eps(1e-9) == eps_of(mu, 1e-9)
    assert steps.delta(0.0) == pytest.approx(delta_of(mu, 0.0))
    assert 0 <= steps.rdp(2.0) <= math.inf
