"""Where the steps of a central fit go, written out from its messages; what that leaves of the bias; and a rare level."""

import math
from unittest.mock import patch

import numpy as np
import pytest

from dpexp.inference import central_newton as central
from dpexp.inference.fitting import fit_central, plan_central
from dpexp.inference.models import unit_model
from dpexp.inference.newton import regularise

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
        fit_central(plan_central(model, mu, n), *records(model, n, rng), mu, rng.standard_normal)
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
            error = float(model.hessian_sensitivity(1.0)) / (n * mu * math.sqrt(shares.first_hessian))
            scale = asked[len(shares.quasi_newton)][-1] if model.has_scale else 1.0
            both = np.outer(model.hessian_scaling, model.hessian_scaling)
            preconditioner = regularise(scale * matrices[1], np.array(error)) / both
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


@pytest.mark.parametrize(("shares", "used", "wanted"), [((0.05, *(0.115,) * 4), 4, -0.082), ((0.06,) * 7, 6, -0.038)])
def test_the_third_derivative_counts_as_the_text_says(shares, used, wanted):
    """By simulation of errors in one dimension: E ebar^2 - mean e^2 / 2 - E ebar eta, in units of V; and lone steps."""
    rng, runs = np.random.default_rng(2), 400_000
    noise = [rng.standard_normal(runs) / math.sqrt(share) for share in shares]  # of -H^-1 times a gradient

    def constant(points):
        e, eta = np.array(points[-used:]), np.mean(noise[-used:], axis=0)
        mean = e.mean(axis=0)
        return float(np.mean(mean**2 - np.mean(e**2, axis=0) / 2 - mean * eta)) * shares[-1]

    together = [np.average(noise[:k], axis=0, weights=shares[:k]) for k in range(1, len(shares))]
    assert constant(together) == pytest.approx(wanted, abs=0.01)
    if used == 4:
        assert constant(noise[:-1]) == pytest.approx(-0.518, abs=0.01)


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
            fit_central(plan_central(model, 1.0, 5000), x, y, 1.0, rng.standard_normal)
        far += [abs(at[-1] - 1) for at in asked[-4:]]
    assert np.median(far) < 0.45
