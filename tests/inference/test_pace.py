"""The estimated scale of a local fit has no bias, and lengths make up for what their variation costs."""

import math

import numpy as np
import pytest

from dpexp.inference import staged_newton as method
from dpexp.inference.models import model_of
from dpexp.inference.newton import lengthened, relative_errors
from dpexp.inference.simulated import Simulated
from dpexp.inference.staged_newton import guessed_curvature
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.linear_losses import HuberLinear

HUBER = model_of(HuberLinear(d=2, sensitivity="exact"))


def errors_of_the_scale(runs, n=6_000, mu=1.5):
    """Errors of the estimated scale over their standard deviation."""
    design, found = method.Design(n, guessed_curvature(HUBER)), []
    for first in range(0, runs, 8):
        source = Simulated(HUBER, HUBER.problem, ConstantBudget(mu=mu), 37, range(first, first + 8))
        final = method.staged_newton(HUBER, design, HUBER.problem.start(), source).final
        found.append(final.theta[:, -1] - HUBER.problem.optimum()[-1])
    return np.concatenate(found) / np.std(np.concatenate(found))


def test_the_scale_has_no_bias_that_shows_and_had_one(monkeypatch):
    runs = 800
    with_it = errors_of_the_scale(runs).mean()
    monkeypatch.setattr(method, "scale_bias", lambda *arguments: 0.0)
    without = errors_of_the_scale(runs).mean()
    assert without > 4 / math.sqrt(runs)
    assert abs(with_it) < 3 / math.sqrt(runs)


@pytest.mark.parametrize("e", [0.05, 0.15])
def test_lengths_make_up_for_what_their_variation_costs(e):
    """One coordinate: H known to a relative error e, an estimate whose error is that with the true H."""
    rng = np.random.default_rng(1)
    hessian = 1 + e * rng.standard_normal(400_000)
    errors = rng.standard_normal(len(hessian))
    inverse = (1 / hessian)[:, None, None]
    covariance = inverse * inverse
    own = covariance[:, :, 0]
    factor = lengthened(relative_errors(covariance, inverse, own, np.full(len(hessian), e), np.ones(1)))[:, 0]
    # the expansion is in the relative error of H, so lengths are taken linear in it
    covers = np.abs(errors) < 1.959964 * (2 - hessian)
    longer_ones = np.abs(errors) < 1.959964 * (2 - hessian) * np.median(factor)
    assert np.mean(covers) == pytest.approx(0.95 - 1.959964**3 * 0.0584451 * e**2, abs=2e-3)
    assert np.mean(longer_ones) == pytest.approx(0.95, abs=2e-3)
