"""Thresholds, roots and minima: the ends stay on their sides, the numbers are those of scipy and of plain loops."""

import math
from functools import partial

import numpy as np
import pytest

from dpexp.accounting.curve import eps_of_delta
from dpexp.accounting.search import first_reached, first_whole, least, narrow, root


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


def asked_for(score, below, above, **known):
    asked = []
    return first_reached(lambda k: asked.append(k) or score(k), below, above, **known), asked


def test_a_score_finds_what_halving_finds():
    """Straight, bent, with steps, infinite on either side, from a good guess, a bad one and none."""
    rng = np.random.default_rng(11)
    shapes = [
        lambda k, c: 1e-3 * (k - c),
        lambda k, c: math.log(max(k, 0.5) / c),
        lambda k, c: (k / c) ** 9 - 1,
        lambda k, c: -1.0 if k < c else 1.0,
        lambda k, c: -math.inf if k < c - 7 else k - c,
        lambda k, c: math.inf if k > c + 7 else k // 5 - c // 5,
    ]
    for n in range(300):
        c, above = float(10 ** rng.uniform(0, 6)), int(10 ** rng.uniform(1, 6))
        score = partial(shapes[n % len(shapes)], c=c)
        near = {"guess": c * float(rng.uniform(0.9, 1.1)), "slope": 1e-3}
        known = [{}, near, {"guess": 1e300, "slope": 1e-300}][n // 6 % 3]
        found, asked = asked_for(score, 0, above, **known)
        assert found == first_whole(lambda k, score=score: score(k) >= 0, 0, above)
        assert len(set(asked)) == len(asked) <= 4 * math.ceil(math.log2(above)) + 4
        assert all(0 < k < above for k in asked)


def test_a_straight_score_takes_few_questions():
    assert len(asked_for(lambda k: 1e-3 * (k - 123456.7), 0, 10**6)[1]) <= 5
    assert len(asked_for(lambda k: math.log(k / 123456.7), 0, 10**6, guess=120e3, slope=8e-6)[1]) <= 5


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


def test_roots_and_minima_are_those_of_scipy():
    """Of 150 functions each: smooth, steep, flat, with kinks, with the best place at an end."""
    from scipy.optimize import minimize_scalar

    rng = np.random.default_rng(5)
    shapes = [
        lambda x, c: math.tanh(3 * (x - c)) + 0.1 * (x - c),
        lambda x, c: (x - c) ** 3,
        lambda x, c: math.exp(4 * x) - math.exp(4 * c),
        lambda x, c: abs(x - c) * (x - c) + 1e-3 * (x - c),
        lambda x, c: math.copysign(1.0, x - c) if x != c else 0.0,
    ]
    for k in range(150):
        c = float(rng.uniform(-1, 2))
        shape = partial(lambda x, c, kind: kind(x, c), c=c, kind=shapes[k % len(shapes)])
        bumpy = partial(lambda x, shape: abs(shape(x)) + 0.1 * x, shape=shape)
        a, b = c - float(rng.exponential()), c + float(rng.exponential())
        xtol, end = float(10 ** rng.uniform(-14, -2)), b - (k % 3) * (b - a) / 3
        assert abs(root(shape, a, b, xtol=xtol) - c) <= xtol + 2**-49 * abs(c)
        other = minimize_scalar(bumpy, bounds=(a, end), method="bounded", options={"xatol": xtol})
        found = least(bumpy, a, end, xatol=xtol)
        assert found.value <= other.fun or abs(found.x - other.x) <= xtol + 3e-8
    with pytest.raises(ValueError, match="different signs"):
        root(lambda x: x * x + 1, -1, 1)
