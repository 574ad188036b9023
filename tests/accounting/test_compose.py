"""Composition at any delta: brackets against an inversion of the moment generating function, its parts one by one."""

import math
from functools import partial

import mpmath
import numpy as np
import pytest

from dpexp.accounting import pairs as curves
from dpexp.accounting.compose import Tilted
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_grid import Discrete, from_above, from_below
from dpexp.accounting.loss_steps import StepLoss
from tests.oracles.composition import epsilon

# Inversions of the moment generating function with their own code, in November 2026; add/remove, Poisson sampling.
EXACT = [
    (0.01, 1, 1000, {1e-12: 3.91429816, 1e-14: 4.54370199, 3e-15: 4.70666223}),
    (0.02, 5, 10**5, {1e-12: 9.48240259, 1e-14: 10.28855693, 3e-15: 10.48895957}),
    (0.9, 20, 10**4, {1e-12: 41.18841945, 1e-14: 43.98012334, 3e-15: 44.67461946}),
    (0.5, 20, 10**4, {1e-12: 20.26039364, 1e-14: 21.82193140, 3e-15: 22.21029576}),
    (1e-4, 0.3, 2, {1e-5: 1.331145706, 1e-6: 4.211210017}),  # by an integral; of rare losses the hull is far from 0
    (1e-3, 1, 10**5, {1e-12: 2.89411006, 1e-14: 3.17265334, 3e-15: 3.24226802}),
]


@pytest.mark.parametrize(("q", "noise", "steps", "values"), EXACT)
def test_tiny_deltas_are_bracketed(q, noise, steps, values):
    loss = StepLoss(q, noise, "add-remove").times(steps)
    for delta, exact in values.items():
        low, up = loss.attained(delta), loss.eps(delta)
        assert low <= exact + 5e-9
        assert exact - 5e-9 <= up <= low * 1.001
        # the other way round: delta at that epsilon is bracketed too
        assert loss.delta(up) <= delta * (1 + 1e-6)
        assert loss.delta(low) >= delta


@pytest.mark.slow
def test_the_inversion_knows_gaussians():
    assert epsilon([(1.0, 20.0, 100)], 1e-5) == pytest.approx(eps_of(0.5, 1e-5), rel=1e-10)
    assert epsilon([(1.0, 20.0, 100)], 1e-14, ("opposite",)) == pytest.approx(eps_of(1.0, 1e-14), rel=1e-10)
    assert epsilon([(1.0, 5.0, 9), (1.0, 10.0, 64)], 1e-9) == pytest.approx(eps_of(1.0, 1e-9), rel=1e-10)


@pytest.mark.parametrize("scheme", ["add-remove", "replace-one", "fixed-size"])
def test_gaussians_down_to_the_smallest_deltas(scheme):
    reach = 2 if scheme == "replace-one" else 1
    for multiplier, steps in ((5.0, 20), (200.0, 10**4), (1.0, 1)):
        for delta in (0.3, 1e-3, 1e-15, 1e-60, 1e-200):
            exact = eps_of(reach * math.sqrt(steps) / multiplier, delta)
            loss = StepLoss(1.0, multiplier, scheme).times(steps)
            assert loss.attained(delta) <= exact <= loss.eps(delta) <= exact * 1.001
    # below 1e-250 nothing is read off a transform, and plainer bounds hold
    loss = StepLoss(0.5, 1.0, scheme).times(1)
    assert loss.eps(1e-249) < loss.eps(1e-290) <= eps_of(reach, 1e-290)
    assert loss.attained(1e-290) == 0


@pytest.mark.parametrize("q", [1e-3, 0.2, 1.0])
@pytest.mark.parametrize("mu", [0.05, 0.8, 3.0])
@pytest.mark.parametrize(
    "names", [("removing", "adding"), ("adding", "removing"), ("opposite",) * 2, ("symmetrised",) * 2]
)
def test_one_step_lies_between_its_two_grids(q, mu, names):
    """The curves of both grids against the given one, at random epsilons of either sign."""
    one, other = (partial(getattr(curves, name), q=q, mu=mu) for name in names)
    step = StepLoss(q, 1 / mu, "replace-one" if names[0] == "opposite" else "add-remove")
    interval = max(step.spread / 15, step.top(10.0) / 4000)
    cells = math.ceil(step.top(10.0) / interval)
    eps = np.random.default_rng(5).uniform(-5 * step.spread, 8 * step.spread, 200)
    exact = one(eps)

    def curve(law):
        losses = interval * (law.start + np.arange(len(law.masses)))
        gaps = np.minimum(eps[:, None] - losses, 0)
        return law.unbounded + (law.masses * -np.expm1(gaps)).sum(axis=1)

    at = interval * np.arange(cells + 1)
    up = curve(from_above(one(at), other(at), interval, 1e-12))
    at = interval / 2 * np.arange(2 * cells + 1)
    low = curve(from_below(one(at), other(at), interval, 1e-12))
    assert np.all(up >= exact * (1 - 1e-13))
    assert np.all(low <= exact * (1 + 1e-13))
    if q > 1e-3 or mu < 1:  # elsewhere the bulk of the losses lies within one cell here
        seen = exact > 1e-3 * exact.max()
        assert np.median(up[seen]) < 1.3 * np.median(low[seen])
    assert not np.all(up <= exact)  # a law from above is not one from below


def test_curves_have_the_stated_digits():
    """Relative error at most a fifth of what the grids allow for, beside 60 digits."""
    mpmath.mp.dps = 60

    def phi(x):
        return mpmath.erfc(-x / mpmath.sqrt(2)) / 2

    def removing(eps, q, mu):
        k = (mpmath.expm1(eps) + q) / q
        a = mu / 2 - mpmath.log(k) / mu
        return q * (phi(a) - k * phi(a - mu))

    def opposite(eps, q, mu):
        gap, a = mpmath.expm1(eps), q * mpmath.exp(-mu * mu / 2)
        y = ((1 - q) * gap + mpmath.sqrt(((1 - q) * gap) ** 2 + 4 * a * a * mpmath.exp(eps))) / (2 * a)
        z = mpmath.log(y) / mu
        return -(1 - q) * gap * phi(-z) + q * (phi(mu - z) - mpmath.exp(eps) * phi(-mu - z))

    rng = np.random.default_rng(0)
    for mu in (1e-3, 0.03, 0.6, 5.0):
        allowed = 3e-14 * 14**2 * (1 + 1 / mu) / 5
        for _ in range(15):
            q, z = 10 ** rng.uniform(-4, 0), rng.uniform(-2, 13)
            eps = math.log1p(q * math.expm1(mu * z - mu * mu / 2))
            for ours, exact in ((curves.removing, removing), (curves.opposite, opposite)):
                truth = exact(mpmath.mpf(eps), mpmath.mpf(q), mpmath.mpf(mu))
                assert abs(float(ours(np.array([eps]), q, mu)[0]) / truth - 1) < allowed


def test_other_kernels_beside_a_plain_convolution():
    """The mean of S_+ and the tails of nine sums of a law with a heavy cell at 0, and one of another law."""
    rng = np.random.default_rng(2)
    masses, last = (rng.dirichlet(np.where(np.arange(41) == 20, heavy, 0.3)) for heavy in (30.0, 0.3))
    sums = last
    for _ in range(9):
        sums = np.convolve(sums, masses)
    places = 0.25 * (np.arange(len(sums)) - 200)
    mean, tails = float((sums * np.maximum(places, 0)).sum()), np.cumsum(sums[::-1])[::-1]
    for rate in (0.1, 0.5, 2.0):
        parts = [(Discrete(-20, masses, 0.0), 9), (Discrete(-20, last, 0.0), 1)]
        up, low = (Tilted(parts, 0.25, rate, side) for side in ("above", "below"))
        assert low.positive_part <= mean * (1 + 1e-12)
        assert mean * (1 - 1e-12) <= up.positive_part
        for found, sign in ((up, 1), (low, -1)):
            exact = np.log(tails[200 + found.first : 200 + found.first + found.cells])
            assert np.all(sign * (found.log_tails - exact) >= -1e-12)
        if rate < 1:  # others are loose
            assert up.positive_part < low.positive_part * (1 + 1e-6)
            assert up.log_tails[0] - low.log_tails[0] < 1e-6
