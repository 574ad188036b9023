"""A minimum found through a polynomial of the part that costs: as low as a search by values, with fewer questions."""

from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from dpexp.accounting.surrogate import least_modelled

GRID = np.linspace(-3.0, 4.0, 15).tolist()


def counted(function: Callable[[float], float]) -> tuple[Callable[[float], float], list[float]]:
    asked: list[float] = []

    def at(x: float) -> float:
        asked.append(x)
        return function(x)

    return at, asked


@pytest.mark.parametrize("centre", [-2.3, 0.1, 1.7, 3.6])
def test_a_smooth_part_is_asked_a_few_times(centre):
    def part(x):
        return math.cosh(0.9 * (x - centre)) + 0.1 * math.sin(2 * x)

    def value(x, y):
        return y + 0.05 * x * x

    costly, asked = counted(part)
    found = least_modelled([(x, part(x)) for x in GRID], value, costly, xatol=1e-5)
    best = min(GRID, key=lambda x: value(x, part(x)))
    direct = minimize_scalar(
        lambda x: value(x, part(x)), bounds=(best - 0.5, best + 0.5), method="bounded", options={"xatol": 1e-9}
    )
    assert found.value <= direct.fun * (1 + 1e-9)
    assert (found.y, found.value) == (part(found.x), value(found.x, found.y))
    assert len(asked) <= 5


def test_what_is_returned_was_asked_for_even_where_the_part_jumps():
    """The polynomial is wrong about a part with a jump; the search by values takes over and is no worse than a grid."""

    def part(x):
        return (x - 0.8) ** 2 + (0.5 if x < 0.77 else 0.0)

    costly, asked = counted(part)
    found = least_modelled([(x, part(x)) for x in GRID], lambda x, y: y, costly, xatol=1e-5)
    assert found.x in {*asked, *GRID}
    assert found.value == part(found.x)
    assert found.value == pytest.approx(0.0, abs=1e-8)


def test_infinite_parts_are_left_out():
    def part(x):
        return math.inf if x > 1.2 else math.exp(-x)

    found = least_modelled([(x, part(x)) for x in GRID], lambda x, y: y, part, xatol=1e-6)
    assert 1.2 - 1e-5 < found.x <= 1.2
    nothing = least_modelled([(x, math.inf) for x in GRID], lambda x, y: y, lambda x: math.inf, xatol=1e-6)
    assert nothing.value == math.inf


def test_a_part_of_minus_infinity_is_taken_as_it_is():
    """A divergence of 0 has the logarithm -inf."""
    found = least_modelled([(x, -math.inf) for x in GRID], lambda x, y: math.exp(y) + x * x, lambda x: -math.inf, 1e-6)
    assert found.value == pytest.approx(0.0, abs=1e-10)
