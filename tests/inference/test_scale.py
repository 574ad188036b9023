"""The scale of a Huber model without its second-order bias, and lengths that make up for the noise of H."""

import math

import numpy as np
import pytest

from dpexp.inference import staged_newton as method
from dpexp.inference.models import model_of
from dpexp.inference.newton import Corrected, longer
from dpexp.inference.populations import Population, Simulated
from dpexp.inference.predicted import guessed_curvature
from dpexp.inference.third_derivatives import scale_bias
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.logistic import MallowsLogistic

MODEL = model_of(HuberLinear(d=2, sensitivity="exact"))


def errors_of_the_scale(runs, n=6_000, mu=1.5):
    """Errors of the estimated scale over their standard deviation."""
    design, found = method.Design(n, guessed_curvature(MODEL)), []
    for first in range(0, runs, 8):
        source = Simulated(MODEL, Population(2), ConstantBudget(mu=mu), 37, range(first, first + 8))
        final = method.staged_newton(MODEL, design, MODEL.problem.start(), source).final
        found.append(final.theta[:, -1] - MODEL.problem.optimum()[-1])
    return np.concatenate(found) / np.std(np.concatenate(found))


def test_the_scale_has_no_bias_that_shows_and_had_one(monkeypatch):
    runs = 800
    with_it = errors_of_the_scale(runs).mean()
    monkeypatch.setattr(method, "scale_bias", lambda *arguments: 0.0)
    without = errors_of_the_scale(runs).mean()
    assert without > 4 / math.sqrt(runs)
    assert abs(with_it) < 3 / math.sqrt(runs)


def test_a_model_without_a_scale_has_no_such_bias():
    found = Corrected(np.ones((8, 3)), np.ones((8, 3, 3)), np.ones((8, 3, 3)), np.ones(8))
    assert not scale_bias(model_of(MallowsLogistic(d=2)), None, found, np.ones(8)).any()


@pytest.mark.parametrize("e", [0.05, 0.15])
def test_lengths_make_up_for_what_their_variation_costs(e):
    """One coordinate: H known to a relative error e, an estimate whose error is that with the true H."""
    rng = np.random.default_rng(1)
    hessian = 1 + e * rng.standard_normal(400_000)
    errors = rng.standard_normal(len(hessian))
    inverse = (1 / hessian)[:, None, None]
    covariance = inverse * inverse
    factor = longer(covariance, inverse, np.full(len(hessian), e), np.ones(1))[:, 0]
    # the expansion is in the relative error of H, so lengths are taken linear in it
    covers = np.abs(errors) < 1.959964 * (2 - hessian)
    longer_ones = np.abs(errors) < 1.959964 * (2 - hessian) * np.median(factor)
    assert np.mean(covers) == pytest.approx(0.95 - 1.959964**3 * 0.0584451 * e**2, abs=2e-3)
    assert np.mean(longer_ones) == pytest.approx(0.95, abs=2e-3)


def test_units_of_the_messages_do_not_matter():
    """Other units of the parameters, with D that undoes them: the same factors."""
    rng = np.random.default_rng(2)
    root, spread = rng.standard_normal((3, 3)), rng.standard_normal((3, 3))
    hessian, scores = root @ root.T + np.eye(3), spread @ spread.T + np.eye(3)
    unit = np.array([1.0, 2.0, 0.5])

    def factor(h, s, scaling):
        inverse = np.linalg.inv(h)
        return longer((inverse @ s @ inverse)[None], inverse[None], np.array([0.05]), scaling)[0]

    plain = factor(hessian, scores, np.ones(3))
    other = factor(hessian / np.outer(unit, unit), scores / np.outer(unit, unit), unit)
    np.testing.assert_allclose(other, plain, rtol=1e-12)
    assert (plain > 1).all()
