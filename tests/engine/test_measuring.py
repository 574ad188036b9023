"""What is measured of states in lanes, beside numpy; and quadrature with several rules, beside each rule alone."""

from __future__ import annotations

import numpy as np
import pytest

from dpexp.engine.lanes.vectors import LANES
from dpexp.engine.linear.measuring import Centres, in_lanes, measure


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
