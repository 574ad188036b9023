"""Toeplitz strategy matrices: every allowed set of steps and random directions, known cases, what is refused."""

from itertools import combinations, pairwise

import numpy as np
import pytest
from pydantic import ValidationError

from dpexp.privacy.accounting.gdp import eps_of
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian
from dpexp.privacy.mechanisms.strategy_matrix import StrategyMatrix


def mechanism(coefficients, steps, separation, participations, z=1.0, relation="add-remove"):
    return StrategyMatrix(
        coefficients=coefficients, steps=steps, separation=separation, participations=participations,
        noise_multiplier=z, neighboring_relation=relation,
    )  # fmt: skip


def matrix(coefficients, steps):
    found = np.zeros((steps, steps))
    for k, c in enumerate(coefficients[:steps]):
        found += c * np.eye(steps, k=-k)
    return found


def allowed(steps, separation, participations):
    for count in range(1, participations + 1):
        for places in combinations(range(steps), count):
            if all(b - a >= separation for a, b in pairwise(places)):
                yield places


@pytest.mark.parametrize("seed", range(5))
def test_no_allowed_steps_and_directions_move_the_sum_farther(seed):
    rng = np.random.default_rng(seed)
    steps, separation, participations = 9, int(rng.integers(1, 4)), int(rng.integers(1, 5))
    coefficients = tuple(np.sort(rng.random(rng.integers(1, 6)) + 0.01)[::-1])
    c = matrix(coefficients, steps)
    stated = mechanism(coefficients, steps, separation, participations).sensitivity
    alike = max(np.linalg.norm(c[:, list(places)].sum(axis=1)) for places in allowed(steps, separation, participations))
    assert stated == pytest.approx(alike, rel=1e-12)  # attained, and no more
    for places in allowed(steps, separation, participations):
        x = rng.standard_normal((len(places), 3))
        x /= np.maximum(1, np.linalg.norm(x, axis=1, keepdims=True))
        assert np.linalg.norm(c[:, list(places)] @ x) <= stated * (1 + 1e-12)


def test_without_correlation_it_is_a_cyclic_order():
    ours = mechanism((1.0,), 60, 20, 3, z=1.3)
    cyclic = SampledGaussian(noise_multiplier=1.3, sampling_probability=1 / 20, steps=60, sampling="cyclic")
    assert ours.analyses()[0].eps(1e-5) == pytest.approx(cyclic.analyses()[0].eps(1e-5), rel=1e-9)
    assert mechanism((1.0,) * 50, 50, 50, 1).sensitivity == pytest.approx(np.sqrt(50))  # noise of its own on every sum


def test_a_wrong_sensitivity_would_be_seen():
    """One step less of a record, or half of the replaced one's way, is attained to be more than is then stated."""
    whole = mechanism((1.0, 0.5), 30, 10, 3, z=2.0)
    (attained,) = whole.lower_bounds()
    assert attained.eps(1e-5) == pytest.approx(whole.analyses()[0].eps(1e-5), rel=1e-6)
    assert mechanism((1.0, 0.5), 30, 10, 2, z=2.0).analyses()[0].eps(1e-5) < attained.eps(1e-5)
    replaced = mechanism((1.0, 0.5), 30, 10, 3, z=2.0, relation="replace-one")
    assert replaced.analyses()[0].eps(1e-5) == pytest.approx(eps_of(whole.sensitivity, 1e-5), rel=1e-6)


@pytest.mark.parametrize("coefficients", [(0.5, 1.0), (1.0, -0.1), (), (0.0,), (1.0, 0.2, 0.3)])
def test_a_matrix_of_which_nothing_is_known_is_refused(coefficients):
    with pytest.raises(ValidationError):
        mechanism(coefficients, 10, 2, 2)
