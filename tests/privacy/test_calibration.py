"""The least noise: from above, as close as asked, with few evaluations, and where there is none."""

import math

import pytest

from dpexp.privacy.accounting.calibration import Unreachable, least_noise


def counted(eps_of_noise):
    asked = []

    def eps(noise):
        asked.append(noise)
        return eps_of_noise(noise)

    return eps, asked


@pytest.mark.parametrize("target", [1e-6, 0.01, 1.0, 30.0, 1e6])
@pytest.mark.parametrize(
    "eps_of_noise",
    [lambda z: 4 / z, lambda z: 4 / z + 0.5 / z**2, lambda z: 2 * z**-1.6, lambda z: math.expm1(min(3 / z, 600))],
)
def test_the_noise_is_the_least_from_above(target, eps_of_noise):
    eps, asked = counted(eps_of_noise)
    noise = least_noise(eps, target, 1e-6)
    assert eps_of_noise(noise) <= target < eps_of_noise(noise * (1 - 3e-6))
    assert len(asked) == len(set(asked))
    if 0.01 <= target <= 30:
        assert len(asked) <= 10


def test_a_step_function_is_met_from_above():
    for edge in (0.03, 0.9, 1.0, 1.1, 55.0):
        eps, _ = counted(lambda z, edge=edge: 3.0 if z < edge else 0.5)
        assert edge <= least_noise(eps, 1.0, 1e-4) <= edge * (1 + 2e-4)


@pytest.mark.parametrize("floor", [1.0001, 2.0, math.inf])
def test_a_target_below_all_is_unreachable_and_few_are_asked(floor):
    eps, asked = counted(lambda z: floor + 1 / z)
    with pytest.raises(Unreachable):
        least_noise(eps, 1.0)
    assert len(asked) <= 30


def test_where_all_noise_is_enough_the_search_ends():
    eps, asked = counted(lambda z: 0.0)
    assert least_noise(eps, 1.0) <= math.exp(-44)
    assert len(asked) <= 30
