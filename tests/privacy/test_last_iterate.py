"""Last-iterate analyses beyond the papers: the hybrid bound, partitions, lower bounds; judged by exact laws."""

import math
from itertools import product

import mpmath
import numpy as np
import pytest

from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.search import eps_of_delta
from dpexp.privacy.analyses.hidden_state import last_iterate_delta
from dpexp.privacy.analyses.hybrid import convex as convex_steps
from dpexp.privacy.analyses.hybrid import hybrid_eps, powers
from dpexp.privacy.analyses.last_iterate import cyclic_convex, full_batch_convex, over_steps
from dpexp.privacy.exact.walk import HockeyStick, Walk, WalkLaw, renyi, shifting
from dpexp.privacy.mechanisms import MECHANISMS
from tests.conftest import share


def convex(width, c=1.0):
    return lambda e1: convex_steps(e1, width, c)


def test_golden_epsilons_of_the_hybrid_bound():
    """n = 1000, b = 100, L = 1, eta = 0.1, sigma = 0.5, D = 1, opposite slopes: at most the 0.86672 of a coarser search."""
    loss, clipped = (step_loss(*setting, "replace-one").times for setting in ((0.1, 50.0), (0.05, 2.0)))
    for steps, low, high in ((5000, 0.86, 0.86672), (10**6, 0.86, 0.86672), (1000, 0.44002, 0.4401)):
        assert low < hybrid_eps(lambda t, share: loss(t).eps(share), convex(20.0), steps, 1e-5) <= high
    of_any = lambda e1: powers(last_iterate_delta(e1, 2.0, 1.0, 1))  # noqa: E731
    for eps, delta in ((0.5, 2.8e-3), (1.0, 3.4e-5)):
        assert 0.85 * eps < hybrid_eps(lambda t, share: clipped(t).eps(share), of_any, 10**6, delta) <= eps


def test_a_contraction_that_is_no_number_leaves_no_room():
    """e^-800 is 0, and e^(900 - 800) is above every delta: nothing but the composition of all steps holds."""
    found = hybrid_eps(lambda steps, _: 900.0 * steps, lambda e1: lambda _: -800.0 if e1 else 0.0, 10, 1e-5)
    assert found == 9000
    clipped = MECHANISMS["clipped-noisy-sgd"](
        n=10, batch_size=1, step_size=0.1, steps=100, noise_std=0.1, clip=1.0, diameter=1.0
    )
    (hybrid,) = (a for a in clipped.upper_bounds() if a.name == "hybrid")
    assert hybrid.delta(1000.0) <= hybrid.delta(10.0) < 1


def test_cyclic_bounds_reduce_to_composition_and_to_full_batches():
    assert cyclic_convex(0.2, math.inf, 5, 9) == pytest.approx(0.6)
    assert cyclic_convex(0.2, 3.0, 5, 1) == pytest.approx(0.2)
    printed = math.sqrt(3 * 3.0 * 0.2 / 5 + 0.2**2 + 0.2**2 / 5 * math.ceil(3.0 / 0.2))
    assert cyclic_convex(0.2, 3.0, 5, 400) <= printed


BATCHES = {"n": 100, "batch_size": 10, "step_size": 0.1, "noise_std": 0.4, "lipschitz": 1.0, "diameter": 1.0, "smoothness": 1.0}  # fmt: skip


def test_a_lower_bound_is_the_exact_law():
    (bound,) = MECHANISMS["noisy-sgd"](**BATCHES, steps=10_000).lower_bounds()
    assert bound.eps(1e-5) == pytest.approx(1.27148, rel=1e-5)
    laws = [WalkLaw(shifting(12.5, ((0.9, 0), (0.1, s))), 10_000) for s in (-0.25, 0.25)]
    assert eps_of_delta(HockeyStick(*laws), 1e-5) == pytest.approx(bound.eps(1e-5), rel=1e-6)
    assert renyi(*laws, 2.0) == pytest.approx(0.499884, rel=1e-5)
    assert last_iterate_delta(bound.eps(1e-5), 30.0, 0.1, 10_000) > 1e-5


@pytest.mark.parametrize(
    ("q", "slope", "eps"), [(0.01, 3.0, 13.569), (0.01, 3.0, 8.5), (0.3, 1.0, 6.0), (1.0, 4.0, 30.0)]
)
def test_far_tails_of_a_walk_keep_their_digits(q, slope, eps):
    """One step of a wide set is a plain mixture of two normal laws, whose curve has a formula, here with 30 digits.

    A tail of 1e-14 as a difference of two numbers next to 1, times e^13, is off by some per cent.
    """
    one = WalkLaw(shifting(30.0, ((1 - q, 0.0), (q, slope))), 1)
    stick = HockeyStick(one, WalkLaw(shifting(30.0, ((1 - q, 0.0), (q, -slope))), 1))
    with mpmath.workdps(30):
        p, a = mpmath.mpf(q), mpmath.mpf(slope)

        def log_ratio(x):
            near = (1 - p) * mpmath.npdf(x)
            return mpmath.log((near + p * mpmath.npdf(x, a)) / (near + p * mpmath.npdf(x, -a)))

        def above(x, mean):
            return (1 - p) * mpmath.erfc(x / mpmath.sqrt(2)) / 2 + p * mpmath.erfc((x - mean) / mpmath.sqrt(2)) / 2

        cut = mpmath.findroot(lambda x: log_ratio(x) - eps, (0, 20), solver="anderson")
        wanted = float(above(cut, a) - mpmath.exp(eps) * above(cut, -a))
    assert stick(eps) == pytest.approx(wanted, rel=1e-11)


KEPT = (0.9, 1.0, 0.0)
PAIRS_OF_WALKS = {
    "a small slope, forgotten": ([KEPT, (0.1, 1.0, 0.25)], [KEPT, (0.1, 1.0, -0.25)], 12.5, 10_000),
    "beside no record": ([(0.8, 0.99, 0.0), (0.2, 0.99, 0.5)], [(1.0, 0.99, 0.0)], 6.0, 30),
    "steps that turn": ([(0.5, -0.3, 0.0), (0.5, -0.4, 1.0)], [(0.5, -0.3, 0.0), (0.5, -0.4, 0.0)], 3.0, 3),
    "hardly any noise": ([(1.0, 1.0, 9.0)], [(1.0, 1.0, 0.0)], 2.0, 50),
    "nothing to tell": ([(1.0, 1.0, 1e-7)], [(1.0, 1.0, 0.0)], 4.0, 2),
}


@pytest.mark.parametrize(("name", "lost"), share(product(PAIRS_OF_WALKS, (0.0, 1e-8, 3e-4)), 2))
def test_the_epsilon_of_the_best_event_is_that_of_halving_the_curve(name, lost):
    """Both orders: what is attained exceeds delta, and hardly a larger epsilon does."""
    first, second, half, steps = PAIRS_OF_WALKS[name]
    maps = ([(p, lambda y, c=c, s=s: c * y + s) for p, c, s in moves] for moves in (first, second))
    laws = [WalkLaw(Walk(half, tuple(own)), steps) for own in maps]
    for p, q in (laws, laws[::-1]):
        stick = HockeyStick(p, q)
        for delta in (0.2, 1e-2, 1e-5, 1e-9):

            def at(eps, stick=stick):
                return (1 - lost) * stick(eps) - math.exp(min(eps, 700)) * lost

            found = stick.eps(delta, lost)
            assert found == 0 or at(found) > delta * (1 - 1e-12)
            wanted = eps_of_delta(at, delta)
            assert min(wanted, 600.0) * (1 - 1e-7) - 1e-8 <= found <= wanted


def test_the_delta_of_the_hybrid_bound_is_above_what_is_attained_and_no_looser_than_its_epsilon():
    mechanism = MECHANISMS["clipped-noisy-sgd"](
        n=10, batch_size=2, step_size=1.0, noise_std=1.0, diameter=0.5, steps=40, sampling="poisson", clip=2.0
    )
    named, (attained,) = {a.name: a for a in mechanism.upper_bounds()}, mechanism.lower_bounds()
    for eps in (0.1, 0.5, 1.5):
        delta = named["hybrid"].delta(eps)
        assert attained.eps(delta) <= eps
        assert delta < 0.85 * named["pld-composition"].delta(eps)
        assert named["hybrid"].eps(delta) >= eps * (1 - 1e-9)


@pytest.mark.parametrize(
    ("per_step", "width", "times"), [(1e-3, 5.0, 30_000), (0.1, 3.0, 7), (0.01, 0.0, 50), (2.0, 0.5, 400)]
)
def test_mu_on_a_bounded_set_is_the_least_over_how_many_steps_share_the_width(per_step, width, times):
    """Every number of last steps or epochs is tried, in the formulas as they are printed."""
    r = np.arange(1, times + 1)
    shared = np.min((width + r * per_step) / np.sqrt(r))
    assert full_batch_convex(per_step, width, times) == pytest.approx(
        min(math.sqrt(times) * per_step, shared), rel=1e-12
    )
    k, batches = r[:-1], 3
    spread = np.min(np.sqrt(per_step**2 + (width + k * per_step) ** 2 / (k * batches)))
    cyclic = min(math.sqrt(times) * per_step, spread)
    assert cyclic_convex(per_step, width, batches, times) == pytest.approx(cyclic, rel=1e-12)


@pytest.mark.parametrize("c", [0.0, 0.5, 0.999, 1.0, 1.002])
def test_the_steps_that_pay_for_the_shift_are_the_best_of_all_numbers(c):
    r = np.arange(1, 3001)
    shift = 1 / r if c == 1 else c ** (2.0 * r) * (1 - c * c) / (1 - c ** (2.0 * r))
    for cost, spread in ((1e-3, 20.0), (1e-6, 0.3), (1e-9, 50.0), (0.1, 0.01)):
        for most in (1, 40, 3000):
            wanted = np.min((cost * r + spread * shift)[:most])
            assert over_steps(cost, spread, most, c) == pytest.approx(wanted, rel=1e-9)
