"""How much steps contract, and the fewest that contract to a level: beside a search through all numbers of steps."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpexp.privacy.accounting.gdp import delta_of
from dpexp.privacy.analyses.contracted import Blocks, Extreme, any_loss, convex, powers
from dpexp.privacy.analyses.last_iterate import shift

LEVELS = [-1e-9, -0.01, -0.7, -3.0, -11.51, -40.0]


def by_search(bound, level, most=6000):
    return next((steps for steps in range(1, most) if bound(steps) <= level), math.inf)


def literally(eps, width, c, steps):
    """The best of all block lengths that fit, none left out."""
    deltas = [delta_of(width * math.sqrt(shift(b, c)), eps) for b in range(1, steps + 1)]
    logs = [math.log(delta) if delta > 0 else -math.inf for delta in deltas]
    return min(steps // (k + 1) * value for k, value in enumerate(logs))


def _each(log):
    """Steps that each leave so much."""
    return Blocks(np.array([1]), np.array([log]))


BOUNDS = {
    "powers": _each(-0.013),
    "no contraction": _each(0.0),
    "all at once": _each(-math.inf),
    "convex": convex(0.2, 5.0),
    "strongly convex": convex(0.0, 9.0, 0.95),
    "some blocks do not contract": Blocks(np.array([1, 2, 7, 50]), np.array([0.0, 0.0, -0.1, -1.3])),
    "one block": Blocks(np.array([3]), np.array([-math.inf])),
    "smaller": Extreme(min, (_each(-0.004), convex(0.3, 20.0))),
    "larger": Extreme(max, (_each(-0.02), convex(0.3, 4.0))),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_the_fewest_steps_are_those_of_a_search(name):
    bound = BOUNDS[name]
    for level in LEVELS:
        found, wanted = bound.fewest(level), by_search(bound, level)
        assert found == wanted or (wanted == math.inf and found >= 6000), level
    values = [bound(steps) for steps in range(1, 300)]
    assert values == sorted(values, reverse=True)


def test_levels_that_whole_numbers_of_blocks_meet_to_rounding():
    for each in (-0.1, -1 / 3, -math.pi / 7):
        for count in (1, 3, 7, 60, 999):
            for level in (count * each, math.nextafter(count * each, 0), math.nextafter(count * each, -9e9)):
                found = _each(each).fewest(level)
                assert found * each <= level < (found - 1) * each or found == 1


@pytest.mark.parametrize(("eps", "width", "c"), [(0.0, 6.0, 1.0), (0.4, 12.0, 1.0), (0.1, 6.0, 0.9)])
def test_blocks_of_some_lengths_lose_little_against_all_lengths(eps, width, c):
    for steps in (1, 5, 40, 300):
        found, least = convex(eps, width, c)(steps), literally(eps, width, c, steps)
        assert least * (1 + 1e-12) <= found
        assert found <= 0.85 * least or least < -700, "a delta of e^-700 is next to no number"


def test_any_loss_multiplies_what_one_step_leaves():
    assert any_loss(0.2, 3.0)(4) == pytest.approx(4 * math.log(delta_of(3.0, 0.2)))
    assert powers(0.0)(1) == -math.inf
    assert powers(1.0).fewest(-1.0) == math.inf
