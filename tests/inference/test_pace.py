"""Steps that follow from the measured curvature, careful plans, who measures H; the scale's bias; lengths made up for."""

import math
from unittest.mock import patch

import numpy as np
import pytest

from dpexp.inference import central_newton as central
from dpexp.inference import staged_newton as method
from dpexp.inference.fitting import fit_central, plan_central, plan_local
from dpexp.inference.messages import no_sums
from dpexp.inference.models import model_of, unit_model
from dpexp.inference.newton import Corrected, lengthened, regularise, relative_errors
from dpexp.inference.scale_bias import scale_bias
from dpexp.inference.simulated import Simulated
from dpexp.inference.staged_newton import FARTHEST_PACE, guessed_curvature, guessed_median, measured_pace
from dpexp.privacy.budgets import ConstantBudget
from dpexp.problems.huber_linear import HuberLinear
from dpexp.problems.linear_losses import MallowsLogistic

HUBER = model_of(HuberLinear(d=2, sensitivity="exact"))


def measured(hessian, error):
    """Sums of one Hessian with this noise."""
    sums = no_sums(len(hessian))
    sums.u[0], sums.u[1] = 1.0, error**2
    sums.hessians[:] = hessian[np.triu_indices(len(hessian))][:, None]
    return sums


@pytest.mark.parametrize("wrong", [0.25, 1.0, 4.0])
def test_a_wrong_guess_is_made_up_for_where_the_curvature_is_known(wrong):
    pace = measured_pace(HUBER, wrong * guessed_median(HUBER), measured(1.5 * HUBER.guessed_hessian, 1e-6))
    assert pace == pytest.approx(wrong / 1.5, rel=1e-6)


def test_pure_noise_changes_no_step_and_no_pace_is_wild():
    h = guessed_median(HUBER)
    assert measured_pace(HUBER, h, measured(HUBER.guessed_hessian, 1e6)) == pytest.approx(1, rel=1e-6)
    assert (measured_pace(HUBER, h, measured(-HUBER.guessed_hessian, 1e-6)) == FARTHEST_PACE).all()
    assert (measured_pace(HUBER, h, no_sums(HUBER.p)) == 1).all()  # nobody sent a Hessian


def test_fewer_users_measure_where_noise_is_small():
    model = unit_model("huber-linear", 5)
    assert [plan_local(model, np.array([mu]), 60_000).every for mu in (1.0, 2.0, math.inf)] == [3, 5, 5]


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
    own = covariance[:, :, 0]
    factor = lengthened(relative_errors(covariance, inverse, own, np.full(len(hessian), e), np.ones(1)))[:, 0]
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
        covariance = inverse @ s @ inverse
        return lengthened(relative_errors(covariance, inverse, np.diag(covariance), np.array(0.05), scaling))

    plain = factor(hessian, scores, np.ones(3))
    other = factor(hessian / np.outer(unit, unit), scores / np.outer(unit, unit), unit)
    np.testing.assert_allclose(other, plain, rtol=1e-12)
    assert (plain > 1).all()


# --- the steps of a central fit --------------------------------------------------------------------------------------

SETTINGS = [("huber-linear", 3000, 1.0), ("mallows-logistic", 6000, 1.0), ("mallows-logistic", 30_000, 1.0),
            ("huber-linear", 600, 0.5), ("mallows-logistic", 1000, 0.5)]  # fmt: skip


def records(model, n, rng):
    x = rng.standard_normal((n, model.d)) / math.sqrt(model.d)
    t = x.sum(axis=1)
    return x, t + rng.standard_normal(n) if model.has_scale else (rng.random(n) < 1 / (1 + np.exp(-t))).astype(float)


@pytest.mark.parametrize(("name", "n", "mu"), SETTINGS)
def test_a_step_goes_to_what_the_last_gradients_say_together(name, n, mu):
    """Every point follows from the messages before it, by the weighted means of the text."""
    model, rng = unit_model(name, 2), np.random.default_rng(4)
    asked, sent, ask, send = [], [], central._Owner.gradient, central._Owner.sent
    with (
        patch.object(central._Owner, "gradient", lambda self, at: asked.append(at) or ask(self, at)),
        patch.object(central._Owner, "sent", lambda self, *given: sent.append(send(self, *given)) or sent[-1]),
    ):
        fit_central(plan_central(model, n), *records(model, n, rng), mu, rng.standard_normal)
    shares, q = central.allocation(model, n, mu), model.d + 1
    gradients = [message / model.gradient_scaling for message in sent if message.ndim == 1]
    matrices = [message for message in sent if message.ndim == 2]
    assert len(asked) == len(gradients) == len(shares.steps)
    # P(|e| <= c) and E e^2 1{|e| <= c} of a normal e and c = 1.345; the guessed p (1 - p) of a logistic model
    inside = math.erf(1.345 / math.sqrt(2))
    square = inside - 2 * 1.345 * math.exp(-(1.345**2) / 2) / math.sqrt(2 * math.pi)
    moments = (inside, square) if model.has_scale else (0.15, 1.0)
    guess = np.zeros((model.p, model.p))
    guess[:q, :q] = moments[0] * matrices[0]
    if model.has_scale:
        guess[q, q] = moments[1] * matrices[0][0, 0]
    for k in range(len(asked) - 1):
        newton = k >= len(shares.quasi_newton)
        preconditioner = guess
        if newton:
            own = shares.hessians[: k - len(shares.quasi_newton) + 1]
            last = max(j for j, share in enumerate(own) if share)
            error = float(model.hessian_sensitivity(1.0)) / (n * mu * math.sqrt(own[last]))
            scale = asked[len(shares.quasi_newton) + last][-1] if model.has_scale else 1.0
            both = np.outer(model.hessian_scaling, model.hessian_scaling)
            measured = matrices[sum(share > 0 for share in own)]
            preconditioner = regularise(scale * measured, np.array(error)) / both
        scale = asked[k][-1] if model.has_scale else 1.0
        first = min(k, len(shares.steps) - shares.used - 1)
        total = sum(shares.steps[first : k + 1])
        point = sum(s * at for s, at in zip(shares.steps[first : k + 1], asked[first : k + 1], strict=True)) / total
        gradient = sum(s * g for s, g in zip(shares.steps[first:], gradients[first : k + 1], strict=False)) / total
        wanted = point - np.linalg.solve(preconditioner / scale, gradient)
        step = (wanted - asked[k])[:q]
        if math.sqrt(step @ matrices[0] @ step) < (2 if newton else 3) * scale:  # no step that is cut
            assert asked[k + 1][:q] == pytest.approx(wanted[:q], rel=1e-9, abs=1e-12)
        else:
            assert k < 3  # a cut step, far from the target


def test_points_stay_near_the_coefficient_of_a_rare_level():
    """A level of 3% in a logistic model: with a step for each gradient the median distance is .54."""
    model, far = unit_model("mallows-logistic", 5), []
    for seed in range(60):
        rng = np.random.default_rng([8, seed])
        z = rng.standard_normal((5000, 5))
        z[:, -1] = np.where(rng.random(5000) < 0.03, 1.0, -1.0)
        x = z / math.sqrt(5)
        y = (rng.random(5000) < 1 / (1 + np.exp(-1 - x.sum(axis=1)))).astype(float)
        asked, ask = [], central._Owner.gradient
        with patch.object(
            central._Owner, "gradient", lambda self, at, to=asked, ask=ask: to.append(at) or ask(self, at)
        ):
            fit_central(plan_central(model, 5000), x, y, 1.0, rng.standard_normal)
        far += [abs(at[-1] - 1) for at in asked[-4:]]
    assert np.median(far) < 0.45
