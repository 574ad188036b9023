"""What is measured of states in lanes, beside numpy; and quadrature with several rules, beside each rule alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpexp.engine.lanes.vectors import LANES
from dpexp.engine.linear.measuring import Centres, expectations, in_lanes, measure


@pytest.mark.parametrize("scale", [False, True])
@pytest.mark.parametrize("slope", [False, True])
def test_measures_are_those_of_numpy(scale: bool, slope: bool) -> None:
    rng = np.random.default_rng(3)
    q = 4
    p = q + scale
    theta = rng.standard_normal((19, p))  # no multiple of the lanes
    optimum, origin = rng.standard_normal(p), rng.standard_normal(q)
    linear = rng.standard_normal(q) if slope else np.zeros(0)
    lanes = in_lanes(theta)
    assert lanes.shape == (3, p, LANES)
    measured = measure(lanes, Centres(optimum, origin, linear, 1.5, 0.7))
    found = {name: a.ravel()[:19] for name, a in measured._asdict().items()}
    wanted = {
        "param_distance_sq": np.sum((theta - optimum) ** 2, axis=1),
        "coef_distance_sq": np.sum((theta - optimum)[:, :q] ** 2, axis=1),
        "location": theta[:, 0] - origin[0],
        "spread": 1.5 * np.sqrt(np.sum((theta[:, 1:q] - origin[1:]) ** 2, axis=1)),
        "scale": theta[:, q] if scale else np.full(19, 0.7),
        "linear": theta[:, :q] @ linear if slope else np.zeros(19),
    }
    assert found.keys() == wanted.keys()
    for name, values in wanted.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("place", [0, 2, 4])
def test_a_state_that_is_not_finite_has_no_risk_and_spoils_no_other(wrong: float, place: int) -> None:
    theta = np.ones((LANES, 5))
    theta[3, place] = wrong
    measured = measure(in_lanes(theta), Centres(np.zeros(5), np.zeros(4), np.zeros(0), 1.0, 1.0))
    assert np.isnan(measured.linear[0]).tolist() == [lane == 3 for lane in range(LANES)]
    np.testing.assert_array_equal(np.delete(measured.param_distance_sq[0], 3), 5.0)


def _cube(t, scale, k):  # type: ignore[no-untyped-def]
    return k[0] * t * t * t + scale


def test_every_state_is_evaluated_by_the_first_rule_that_reaches_it() -> None:
    """Each rule has a mass of its own, so that the value says by which rule it was made."""
    rng = np.random.default_rng(4)
    rules = [(reach, rng.standard_normal(n), rng.uniform(0.5, 1.5, n)) for reach, n in ((0.5, 2), (1.0, 5), (0.0, 9))]
    spread = np.concatenate([rng.uniform(0, 2, 60), [0.5, 1.0, np.nextafter(0.5, 1), np.nan, np.inf, 0.0]])
    location, scale = rng.standard_normal((2, len(spread)))
    found = expectations(_cube, location, spread, scale, rules, np.array([0.3]))
    for a, b, c, value in zip(location, spread, scale, found, strict=True):
        _, nodes, weights = rules[0 if b <= 0.5 else 1 if b <= 1.0 else 2]
        with np.errstate(invalid="ignore"):
            wanted = np.sum(weights * (0.3 * (a + b * nodes) ** 3 + c))
        np.testing.assert_allclose(value, wanted, rtol=1e-12, atol=1e-12)


def test_a_value_depends_on_its_own_parameters_alone() -> None:
    rng = np.random.default_rng(5)
    rules = [(1.0, rng.standard_normal(3), np.ones(3)), (0.0, rng.standard_normal(7), np.ones(7))]
    a, b, c = rng.uniform(0, 2, (3, 45))
    together = expectations(_cube, a, b, c, rules, np.array([0.3]))
    turned = expectations(_cube, a[::-1].copy(), b[::-1].copy(), c[::-1].copy(), rules, np.array([0.3]))
    np.testing.assert_array_equal(turned[::-1], together)
    alone = [
        expectations(_cube, a[i : i + 1], b[i : i + 1], c[i : i + 1], rules, np.array([0.3]))[0] for i in range(45)
    ]
    np.testing.assert_array_equal(alone, together)


def _itself(t, scale, k):  # type: ignore[no-untyped-def]
    return t


def test_a_rule_that_reaches_no_further_than_one_before_it_is_never_taken() -> None:
    ones = np.ones(2)
    rules = [(1.0, 1 * ones, ones), (3.0, 3 * ones, ones), (2.0, 2 * ones, ones), (0.0, 9 * ones, ones)]
    spread = np.array([0.5, 1.0, 1.5, 3.0, 3.5, np.nan])
    zeros = np.zeros(len(spread))
    found = expectations(_itself, zeros, spread, zeros + 1, rules, np.zeros(1))
    assert (found[:5] / spread[:5]).tolist() == [2.0, 2.0, 6.0, 6.0, 18.0]
    assert np.isnan(found[5])
