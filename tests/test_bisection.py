"""Halving an interval: the ends stay on their sides, the same numbers as the loops that it replaced, and it ends."""

import math
from functools import partial

import numpy as np
import pytest

from dpexp.core.bisection import first_whole, narrow
from dpexp.core.brent import least, root
from dpexp.privacy.accounting.conversions import zcdp_eps, zcdp_of_eps
from dpexp.privacy.analyses.analysis import eps_of_delta


def test_the_ends_stay_on_their_sides():
    for threshold in (1e-80, 1e-3, 0.3, 0.7, math.pi / 4, 1 - 1e-15):
        found = narrow(lambda x, t=threshold: x >= t, 0.0, 1.0, relative=1e-9)
        assert found.below < threshold <= found.above
        assert found.above - found.below <= max(1e-9 * found.above, 2.0**-200)
        turned = narrow(lambda x, t=threshold: x <= t, 1.0, 0.0, absolute=1e-9)
        assert turned.above <= threshold < turned.below
        assert turned.below - turned.above <= 1e-9


def test_it_ends_where_no_number_lies_between_and_after_so_many_halvings():
    found = narrow(lambda x: x >= 0.3, 0.0, 1.0)
    assert math.nextafter(found.below, 1.0) == found.above == 0.3
    asked = []
    narrow(lambda x: bool(asked.append(x)), 0.0, 1.0, halvings=7)
    assert len(asked) == 7


@pytest.mark.parametrize("first", [1, 2, 17, 99, 100])
def test_the_first_whole_number(first):
    asked = []
    assert first_whole(lambda k: asked.append(k) or k >= first, 0, 100) == first
    assert set(asked) <= set(range(1, 100))  # neither end is asked


def test_the_numbers_are_bit_for_bit_those_of_a_loop_written_out():
    """Calibrated noise and stored columns rest on these: no digit may move."""
    for scale in (0.37, 1.3, 7.9, 40.0):

        def delta_at(eps, scale=scale):
            return math.exp(-eps / scale) * (1 + math.sin(1 / scale)) / 2

        for delta in (1e-3, 1e-5, 1e-9):
            low, high = 0.0, 1.0
            while delta_at(high) > delta:
                high *= 2
            for _ in range(200):
                middle = (low + high) / 2
                low, high = (middle, high) if delta_at(middle) > delta else (low, middle)
                if high - low <= 1e-12 * high:
                    break
            assert eps_of_delta(delta_at, delta) == high
            assert delta_at(high) <= delta < delta_at(high * (1 - 3e-12))  # rounded up, and no further
    low, high = 0.0, 1.0
    while zcdp_eps(high, 1e-5) <= 2.5:
        low, high = high, 2 * high
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if zcdp_eps(middle, 1e-5) <= 2.5 else (low, middle)
    assert zcdp_of_eps(2.5, 1e-5) == low


def test_brent_is_that_of_scipy_bit_for_bit():
    """Roots and minima of 300 functions each: smooth, steep, flat, with kinks, with the best place at an end."""
    from scipy.optimize import brentq, minimize_scalar

    rng = np.random.default_rng(5)
    shapes = [
        lambda x, c: math.tanh(3 * (x - c)) + 0.1 * (x - c),
        lambda x, c: (x - c) ** 3,
        lambda x, c: math.exp(4 * x) - math.exp(4 * c),
        lambda x, c: abs(x - c) * (x - c) + 1e-3 * (x - c),
        lambda x, c: math.copysign(1.0, x - c) if x != c else 0.0,
    ]
    for k in range(300):
        c = float(rng.uniform(-1, 2))
        shape = partial(lambda x, c, kind: kind(x, c), c=c, kind=shapes[k % len(shapes)])
        bumpy = partial(lambda x, shape: abs(shape(x)) + 0.1 * x, shape=shape)
        a, b = c - float(rng.exponential()), c + float(rng.exponential())
        xtol, end = float(10 ** rng.uniform(-14, -2)), b - (k % 3) * (b - a) / 3
        assert root(shape, a, b, xtol=xtol, most=900) == brentq(shape, a, b, xtol=xtol, maxiter=900)
        other = minimize_scalar(bumpy, bounds=(a, end), method="bounded", options={"xatol": xtol})
        assert least(bumpy, a, end, xatol=xtol) == (other.x, other.fun)
    with pytest.raises(ValueError, match="different signs"):
        root(lambda x: x * x + 1, -1, 1)
