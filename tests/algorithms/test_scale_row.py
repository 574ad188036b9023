"""What `docs/ldp-sgd.md` says of messages whose scale row is stretched before the noise, by a program apart."""

import math

import numpy as np
import pytest

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Power
from dpexp.inference.models import largest_stretch
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from tests.oracles import scale_row

EXACT, PAPER = 2 * math.sqrt(2) * scale_row.C, math.sqrt(8 * scale_row.C**2 + scale_row.C**4 / 4)


@pytest.mark.parametrize(
    ("mu", "of_scale", "of_all", "over_paper"),
    [(0.5, 0.082, 0.724, 0.686), (1, 0.083, 0.725, 0.687), (2, 0.088, 0.730, 0.691), (3, 0.097, 0.736, 0.699)],
)
def test_asymptotic_errors(mu, of_scale, of_all, over_paper):
    """The numbers of the page; without the stretch the paper's own noise alone would cost 5%."""
    stretched, plain, crude = (scale_row.asymptotic_variances(mu, *at) for at in ((3.5, EXACT), (1, EXACT), (1, PAPER)))
    assert stretched[-1] / plain[-1] == pytest.approx(of_scale, abs=0.001)
    assert stretched.sum() / plain.sum() == pytest.approx(of_all, abs=0.002)
    assert stretched.sum() / crude.sum() == pytest.approx(over_paper, abs=0.002)
    assert stretched[:-1] == pytest.approx(plain[:-1], rel=1e-4)


def test_the_stretch_costs_no_sensitivity():
    """On a grid, and by random pairs of records; a larger stretch does cost."""
    assert scale_row.largest_distance(largest_stretch(scale_row.C)) == pytest.approx(EXACT, rel=1e-12)
    assert scale_row.largest_distance(3.55) > EXACT * (1 + 1e-4)
    rng = np.random.default_rng(5)
    theta = np.append(np.ones(3), 2.0)
    x, _ = scale_row.records(rng, 200_000, 2)
    y = x.sum(axis=1) + 4 * rng.standard_normal(len(x))
    g = scale_row.gradients(theta, x, y) * np.array([1, 1, 1, 3.5])
    assert np.max(np.linalg.norm(g[:100_000] - g[100_000:], axis=1)) <= EXACT
    assert HuberLinear(d=2, sensitivity="exact").noise_sensitivity() == pytest.approx(EXACT)


def test_paths_are_those_of_the_algorithm_and_gain_as_stated():
    """a = 1 is `ldp-sgd` of the package, with other random numbers; 3.5 gains in the scale."""
    n, runs = 3000, 400
    found = scale_row.averages(1.0, (1.0, 3.5), EXACT, n, runs, 7, d=2)
    of_scale, of_all = scale_row.squared_errors(found)
    problem = HuberLinear(d=2, sensitivity="exact")
    setting = (Power(eta=0.2, alpha=0.5), ConstantBudget(mu=1.0))
    passed = LdpSgd().simulate(problem, [setting], np.array([n]), 3, list(range(runs)))
    own = passed.values[0, 1, 0, 0]
    plain = np.sum((found[0] - np.append(np.ones(3), 2.0)) ** 2, axis=1)
    assert abs(own.mean() - plain.mean()) < 4.5 * math.hypot(own.std(), plain.std()) / math.sqrt(runs)
    assert of_all[1] < 0.9 * of_all[0]
    assert of_scale[1] < 0.6 * of_scale[0]
