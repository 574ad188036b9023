"""Accountants against published values, high precision, other libraries and, above all, exact laws in one dimension."""

import itertools
import math

import mpmath
import numpy as np
import pytest
from scipy.special import logsumexp

from dpexp.accounting import renyi as step
from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.renyi import eps_of_curve, improved_eps
from dpexp.accounting.search import eps_of_delta
from dpexp.papers.noisy_sgd.claims.upper import largest_order
from dpexp.privacy.analyses import last_iterate as bounds
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.exact.walk import WalkLaw, renyi, shifting
from tests.conftest import share

STEPS = """
1.1 .02 .8 6.720579978031e-4 7.485020049315e-4 1.266603725523e-3
1.5 .01 1 1.214759930640e-4 1.272537433274e-4 2.101879071539e-4
2 .01 1 1.602226498186e-4 1.718134220745e-4 2.806392913427e-4
8 .01 1 5.723888949020e-4 8.936439076060e-4 1.258827712200e-3
32 .01 1 1.692336779965e-3 1.124627593705e+1 1.124627593705e+1
2 .001 4 6.448172699278e-8 6.449445683809e-8 7.723812357210e-8
64.5 .001 4 2.071032498066e-6 2.088549445159e-6 2.491044873238e-6
2 .1 .5 4.468581229303e-2 4.291695905979e-1 4.505222774509e-1
4.25 .1 .5 5.828724988107e-2 5.488953841340 5.488953842006
10 .1 .5 7.178338442851e-2 1.744157211890e+1 1.744157211890e+1
5.5 .5 2 1.320675943268e-1 2.416050341238e-1 2.446978894647e-1
3 1e-4 2 4.259851564034e-9 4.260513694047e-9 5.906871299012e-9
100 .01 5 1.960571481763e-4 2.127109378363e-4 2.371504049128e-4
"""
ROWS = [tuple(map(float, line.split())) for line in STEPS.strip().splitlines()]


@pytest.mark.parametrize("row", ROWS)
def test_one_step_divergences(row):
    order, q, sigma, *wanted = row
    found = [f(order, q, sigma) for f in (step.base_from_mixture, step.mixture_from_base, step.symmetrised)]
    assert found == pytest.approx(wanted, rel=2e-12)
    assert found[0] <= found[1] <= found[2] * (1 + 1e-12)


PLACES = [
    *itertools.product((1.05, 12.5), (1e-4, 0.01, 0.2, 0.9), share([0.3, 1.0, 7.0]), (1e-9,)),
    # the two laws 12 to 50 deviations apart
    *itertools.product((1.001, *share([1.1, 40.0], 2)), (1e-6, 0.01, 0.5), share([0.021, 0.03, 0.051]), (1e-11,)),
    # a peak that is far from both laws' means, and an order next to 1, where digits cancel
    *((*at, 1e-12) for at in [(1554.13, 0.18672, 24.3), (2066.3, 0.406, 7.994), (1118.3, 0.1516, 22.83), (1.0007, 0.07, 7.3)]),
]  # fmt: skip
"""order, q, sigma, and the error that is allowed"""


def in_30_digits(order, q, sigma):
    """The three divergences: r^k - 1 - k (r - 1) has the mean E r^k - 1, and no digits cancel in its integral."""
    a, share, s = mpmath.mpf(order), mpmath.mpf(q), mpmath.mpf(sigma)

    def ratio(z):
        return 1 - share + share * mpmath.exp(z / s - 1 / (2 * s * s))

    def divergence(function, low, high):
        known = {c + e for c in (0, 1 / (2 * s), 1 / s, a / s) for e in (-5, -2, 0, 2, 5)}
        between = mpmath.linspace(low, high, min(30, 2 + int(high - low) // 4))
        ends = sorted(z for z in {*known, *between} if low <= z <= high)
        found = mpmath.quadgl(lambda z: mpmath.npdf(z) * function(ratio(z)), ends, maxdegree=4)
        return float(mpmath.log1p(found) / (a - 1))

    top = a / s + 40
    return {
        step.mixture_from_base: divergence(lambda r: r**a - 1 - a * (r - 1), -40, top),
        step.base_from_mixture: divergence(lambda r: r ** (1 - a) - 1 - (1 - a) * (r - 1), -80, 40 + 1 / s),
        step.symmetrised: divergence(lambda r: r**a + r ** (1 - a) - r - 1, 1 / (2 * s), top),
    }


@pytest.mark.slow
@pytest.mark.parametrize(("order", "q", "sigma", "error"), share(PLACES, 8))
def test_one_step_divergences_have_their_digits(order, q, sigma, error):
    with mpmath.workdps(30):
        wanted = in_30_digits(order, q, sigma)
    for function, value in wanted.items():
        assert function(order, q, sigma) == pytest.approx(value, rel=error), function.__name__


def test_of_a_large_order_the_middle_of_the_normal_law_counts_far_from_0_too():
    """At z = 60, between 2 / sigma and 2 sigma; by a plain sum."""
    order, q, sigma, z = 33_000.0, 0.1, 100.0, np.linspace(-20, 400, 200_001)
    logs = order * np.log1p(q * np.expm1(z / sigma - 1 / (2 * sigma**2))) - z * z / 2
    wanted = (logsumexp(logs) + math.log((z[1] - z[0]) / math.sqrt(2 * math.pi))) / (order - 1)
    assert step.mixture_from_base(order, q, sigma) == pytest.approx(wanted, rel=1e-9)


def test_one_step_edges():
    for f in (step.base_from_mixture, step.mixture_from_base, step.symmetrised):
        assert f(3.0, 0.0, 1.0) == 0
        assert f(3.0, 0.1, math.inf) == 0
        assert f(3.0, 1.0, 2.0) == pytest.approx(3 / 8)
        for wrong in ((1.0, 0.1, 1.0), (2.0, 1.1, 1.0), (2.0, 0.1, -1.0)):
            with pytest.raises(ValueError):
                f(*wrong)
    assert step.mixture_from_base(3.0, 0.1, 0.0) == math.inf
    assert step.base_from_mixture(50.0, 0.1, 1e-6) == pytest.approx(-math.log(0.9))


@pytest.mark.slow
def test_the_renyi_accountant_of_another_library():
    """dp_accounting at whole orders, where it is accurate, and its conversion."""
    from dp_accounting import GaussianDpEvent, PoissonSampledDpEvent, SelfComposedDpEvent
    from dp_accounting.rdp import RdpAccountant

    orders = [2.0, 3.0, 5.0, 8.0, 16.0, 32.0]
    accountant = RdpAccountant(orders)
    accountant.compose(SelfComposedDpEvent(PoissonSampledDpEvent(0.02, GaussianDpEvent(1.1)), 800))
    theirs = accountant.get_epsilon(1e-5)
    ours = min(improved_eps(a, 800 * step.mixture_from_base(a, 0.02, 1.1), 1e-5) for a in orders)
    assert ours == pytest.approx(theirs, rel=1e-6)
    best = eps_of_curve(lambda a: 800 * step.mixture_from_base(a, 0.02, 1.1), 1e-5)
    assert step_loss(0.02, 1.1, "add-remove").times(800).eps(1e-5) < best <= theirs * (1 + 1e-9)


def dimensionless(n, b, lipschitz, eta, sigma, diameter):
    return b / n, b * sigma / (2 * lipschitz), diameter / (eta * sigma)


def test_golden_values_of_the_convex_bound():
    q, multiplier, width = dimensionless(1e4, 100, 1, 0.01, 1, 1)
    for steps, literal, optimum in ((100_000, 1.600262959e-2, 0.5760946149), (10**7, 1.600262959, 0.3200525862)):
        assert bounds.composed(8, q, multiplier, steps, "literal") == pytest.approx(literal, rel=1e-9)
        assert bounds.last_iterate(8, q, multiplier, width, steps, "literal") == pytest.approx(optimum, rel=1e-9)
    q, multiplier, width = dimensionless(1000, 50, 1, 0.05, 0.5, 2)
    for order, *wanted in ((2, 1.28291274, 1.33698746), (16, 10.2197181, 10.6980311)):
        found = [bounds.last_iterate(order, q, multiplier, width, 10**6, k) for k in ("literal", "symmetrised")]
        assert found == pytest.approx(wanted, rel=1e-8)
    full = bounds.last_iterate(4, 1.0, 100 * 0.5 / 2, 1 / (0.1 * 0.5), 10**5, "literal")
    assert full == pytest.approx(1.6 * 4, rel=1e-9)


def test_golden_values_of_the_strongly_convex_bound():
    q, multiplier, _ = dimensionless(1000, 50, 1, 0.05, 0.5, 2)
    for eta, c, order, printed, ours in (
        (2 / 11, 1 - 2 / 11, 2, 0.00138709787, 8.05409041e-4),
        (0.05, 0.95, 8, 0.0231398302, 0.0125786998),
        (0.05, 0.995, 2, 0.0519454, 0.0243958165),
    ):
        width = 2 / (eta * 0.5)
        assert bounds.printed_strongly_convex(order, q, multiplier, width, 10**6, "literal", c, 0.5) == pytest.approx(
            printed, rel=1e-8
        )
        assert bounds.last_iterate(order, q, multiplier, width, 10**6, "literal", c) == pytest.approx(ours, rel=1e-8)


def test_contraction_coefficients():
    for eps, steps, delta in (
        (0, 10, 6.3874623455e-4),
        (1, math.inf, 1.5474993582e-4),
        (4, math.inf, 6.7572836831e-8),
        (0.1, 1, 3.5967278907e-4),
    ):
        assert last_iterate_delta(eps, 1.02, 0.001, steps) == pytest.approx(delta, rel=1e-9)
    for delta, eps in ((1e-4, 1.263904157937), (1e-6, 3.216875091322)):
        assert eps_of_delta(lambda e: last_iterate_delta(e, 1.02, 0.001, math.inf), delta) == pytest.approx(
            eps, rel=1e-9
        )
    assert last_iterate_delta(1.0, 1.02, 0.001, 0) == 0
    assert last_iterate_delta(0.0, 1e9, 1.0, 5) == 1
    assert eps_of_delta(lambda e: 0.5, 0.1) == math.inf


def test_shifted_interpolation_is_exact_on_quadratics():
    """Full batches: the gap between two Gaussian recursions, and published values of cyclic batches."""
    for c, steps in ((0.9, 10), (0.99, 100)):
        gap, variance = 0.0, 0.0
        for _ in range(steps):
            gap, variance = c * gap + 0.1, c * c * variance + 1
        assert bounds.full_batch_strongly_convex(0.1, c, steps) >= gap / math.sqrt(variance)
    assert bounds.full_batch_strongly_convex(0.1, 0.9, 10) == pytest.approx(0.302914679533, rel=1e-11)
    assert bounds.full_batch_strongly_convex(0.1, 0.9, math.inf) == pytest.approx(0.435889894354, rel=1e-11)
    assert bounds.cyclic_strongly_convex(1, 0.99, 10, 50) == pytest.approx(1.67038405, rel=1e-8)
    assert bounds.full_batch_convex(0.1, math.inf, 9) == pytest.approx(0.3)


HALF, SLOPE, Q = 12.5, 0.25, 0.1
ZERO, ONE = shifting(HALF, ((1, 0),)), shifting(HALF, ((1 - Q, 0), (Q, SLOPE)))
MINUS = shifting(HALF, ((1 - Q, 0), (Q, -SLOPE)))


def both_ways(p, q, order):
    return max(renyi(p, q, order), renyi(q, p, order))


@pytest.mark.parametrize(
    ("steps", "paper2", "paper8", "pm2", "pm8"),
    [
        (1, 6.44736702e-4, 2.67449862e-3, 2.48708415e-3, 9.96969204e-3),
        (10, 6.30134307e-3, 0.0261053311, 0.0248623431, 0.0996291912),
        (1000, 0.138977625, 0.403808903, 0.499504394, 0.959509142),
        (10**7, 0.139097151, 0.404086539, 0.499884233, 0.959987978),
    ],
)
def test_golden_renyi_divergences(steps, paper2, paper8, pm2, pm8):
    zero, one, minus = (WalkLaw(walk, steps) for walk in (ZERO, ONE, MINUS))
    found = [both_ways(zero, one, 2), both_ways(zero, one, 8), both_ways(minus, one, 2), both_ways(minus, one, 8)]
    assert found == pytest.approx([paper2, paper8, pm2, pm8], rel=1e-8)


def test_the_largest_order_of_the_sampling_lemma():
    """alpha*(q, sigma) from a grid of 4000 points (published table of the sheet)."""
    for q, sigma, order in ((1e-4, 4, 41.3597), (0.01, 4, 14.3429), (0.19, 4, 4.17922), (0.1, 20, 21.2593)):
        assert largest_order(q, sigma) == pytest.approx(order, rel=2e-5)
    with pytest.raises(ValueError):
        largest_order(1.0, 4.0)
