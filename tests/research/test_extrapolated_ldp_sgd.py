"""The path extrapolated to step size 0: the least squares intercept, its variance, and that of two halves of the users."""

import itertools
import math

import numpy as np
import pytest

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import Power
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.linear_losses import HuberLinear
from tests.algorithms.test_ldp_sgd import snapshots
from tests.research import module

extrapolated = module("research/extrapolated/extrapolated_ldp_sgd.py")
ExtrapolatedLdpSgd, ends, weights = extrapolated.ExtrapolatedLdpSgd, extrapolated.ends, extrapolated.weights
PROBLEM = HuberLinear(d=3)
SETTINGS = [(Power(eta=0.3, alpha=alpha), ConstantBudget(mu=mu)) for alpha in (1 / 3, 0.55) for mu in (1.0, math.inf)]


def test_it_is_the_intercept_of_the_literal_path_and_the_rest_is_ldp_sgd():
    """Every iterate of a short run, regressed window by window with numpy's least squares."""
    n, lanes = 300, [0, 1, 2]
    path = snapshots(LdpSgd(), PROBLEM, SETTINGS, np.arange(1, n + 1), 5, lanes).theta
    look = np.array([40, n])
    ours = ExtrapolatedLdpSgd().simulate(PROBLEM, SETTINGS, look, 5, lanes)
    plain = LdpSgd().simulate(PROBLEM, SETTINGS, look, 5, lanes)
    assert np.array_equal(ours.values[:, :2], plain.values)
    for k, steps in enumerate(look.tolist()):
        bounds = ends(steps)
        root = np.sqrt(np.diff(bounds))
        for s, (schedule, _) in enumerate(SETTINGS):
            means = np.array([path[a:b, 0, s].mean(axis=0) for a, b in itertools.pairwise(bounds)])
            sizes = schedule.step_sizes(1, steps)
            size = np.array([sizes[a:b].mean() for a, b in itertools.pairwise(bounds)])
            design = np.stack([root, root * size], axis=1)
            fit = np.linalg.lstsq(
                design, root[:, None] * means[:, :, : len(lanes)].reshape(len(means), -1), rcond=None
            )[0]
            error = fit[0].reshape(PROBLEM.p, -1) - PROBLEM.optimum()[:, None]
            assert ours.values[s, 2, k, 0] == pytest.approx((error**2).sum(axis=0), rel=1e-9)
