"""Where composition passes a level: beside the place itself, and how often delta is asked for."""

import math

import pytest

from dpexp.papers.hidden_state.slides import CLOSE, crossing


@pytest.mark.parametrize("place", [2, 3, 17, 38, 59.5, 1000, 20_500, 3.3e5, 9e7, 1.4e9])
@pytest.mark.parametrize("shape", [0.5, 1.0, 3.0, 12.0])
def test_the_steps_are_within_two_percent(place, shape):
    asked = []

    def delta(steps):
        asked.append(steps)
        return 1e-3 * (steps / place) ** shape / (1 + (steps / place) ** (shape / 2))

    found = crossing(delta, 5e-4)
    assert found == round(found)
    assert place * (1 - 1e-12) <= found <= max(math.ceil(place), place * (1 + CLOSE))
    assert len(asked) == len(set(asked)) <= 18  # a delta of 10^9 steps takes half a second


def test_there_may_be_none():
    assert crossing(lambda steps: 1e-9, 1e-3) == math.inf


def test_it_begins_where_it_is_told_to():
    asked = []
    assert crossing(lambda steps: asked.append(steps) or steps / 1e6, 0.05, (40_000, 90_000)) == pytest.approx(5e4, rel=CLOSE)  # fmt: skip
    assert min(asked) >= 40_000
    assert max(asked) <= 90_000


def test_a_jump_is_found():
    assert crossing(lambda steps: 1e-9 if steps < 777 else 1.0, 1e-3) == pytest.approx(777, rel=CLOSE)
    assert crossing(lambda steps: 0.0 if steps < 21 else 1.0, 1e-3) == 21
