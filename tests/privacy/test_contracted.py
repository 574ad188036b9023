"""How much steps contract: blocks of some lengths beside those of all lengths."""

from __future__ import annotations

import math

import numpy as np
import pytest

from dpexp.privacy.accounting.gdp import delta_of
from dpexp.privacy.analyses.hybrid import any_loss, blocks, convex, powers
from dpexp.privacy.analyses.last_iterate import shift


def literally(eps, width, c, steps):
    """The best of all block lengths that fit, none left out."""
    deltas = [delta_of(width * math.sqrt(shift(b, c)), eps) for b in range(1, steps + 1)]
    logs = [math.log(delta) if delta > 0 else -math.inf for delta in deltas]
    return min(steps // (k + 1) * value for k, value in enumerate(logs))


BOUNDS = {
    "powers": powers(0.987),
    "no contraction": powers(1.0),
    "all at once": powers(0.0),
    "convex": convex(0.2, 5.0),
    "strongly convex": convex(0.0, 9.0, 0.95),
    "some blocks do not contract": blocks(np.array([1, 2, 7, 50]), np.array([0.0, 0.0, -0.1, -1.3])),
    "one block": blocks(np.array([3]), np.array([-math.inf])),
}


@pytest.mark.parametrize("name", BOUNDS)
def test_more_steps_never_leave_more(name):
    values = [BOUNDS[name](steps) for steps in range(1, 300)]
    assert values == sorted(values, reverse=True)
    assert max(values) <= 0


@pytest.mark.parametrize(("eps", "width", "c"), [(0.0, 6.0, 1.0), (0.4, 12.0, 1.0), (0.1, 6.0, 0.9)])
def test_blocks_of_some_lengths_lose_little_against_all_lengths(eps, width, c):
    for steps in (1, 5, 40, 300):
        found, least = convex(eps, width, c)(steps), literally(eps, width, c, steps)
        assert least * (1 + 1e-12) <= found
        assert found <= 0.85 * least or least < -700, "a delta of e^-700 is next to no number"


def test_any_loss_multiplies_what_one_step_leaves():
    assert any_loss(0.2, 3.0)(4) == pytest.approx(4 * math.log(delta_of(3.0, 0.2)))
    assert powers(0.0)(1) == -math.inf
