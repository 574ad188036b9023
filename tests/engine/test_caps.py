"""Runs with `privacy: {eps: E, delta: 0}` (`caps`): messages in lanes against the closed forms of cap sampling in R^3.

There the cosine of a uniform direction is uniform, so that gamma = m = tanh(eps / 4), P0 = 1 / (1 + exp(-eps / 2)) and
q = (1 - gamma) / 2, and a message about v with |v| = r R has the covariance (R / m)^2 [(r (1 - tau) / 2 + (1 - r) / 3) I
+ r (3 tau - 1) / 2 u u'] - v v', with tau the mean square of the cosine.
"""

import math

import numpy as np
import pytest

from dpexp.algorithms.ldp_sgd import LdpSgd
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.engine.linear.designs import ErrorShape, RowShape
from dpexp.engine.linear.linear_pass import run_lane_group
from dpexp.privacy.budgets import ConstantBudget, PureBudget
from dpexp.problems import PROBLEMS

LOGISTIC = PROBLEMS["mallows-logistic"](d=2)
FLAT = SCHEDULES["constant"](eta=1e-9)
USERS = 20_000


def messages(algorithm, eps):
    """Messages [USERS, 8, 3] about one and the same record, x = (1, 0, 0) and y = 1, at theta = 0."""
    model = LOGISTIC.model()
    law = model.law._replace(beta=np.array([1e3, 0, 0]), design=model.law.design._replace(a=np.zeros(2)))
    model = model._replace(law=law, shape=model.shape._replace(design=RowShape(), errors=ErrorShape("uniform")))
    ((_, settings, radius),) = algorithm.passes(LOGISTIC, [(FLAT, PureBudget(eps=eps))])
    steps = np.arange(1, USERS + 1)
    theta = run_lane_group(model, algorithm.rule(), settings, radius, steps, 5, range(8)).theta[:, 0, 0]
    before = np.concatenate([np.zeros((1, 3, 8)), theta[:-1]])
    return ((before - theta) / 1e-9).transpose(0, 2, 1).reshape(-1, 3), radius


@pytest.mark.parametrize("eps", [1.0, 4.0])
def test_messages_have_the_law_of_cap_sampling(eps):
    norm = 0.5
    sent, radius = messages(LdpSgd(), eps)
    assert radius == pytest.approx(math.sqrt(2))
    gamma, inside = math.tanh(eps / 4), 1 / (1 + math.exp(-eps / 2))
    r, q = norm / radius, (1 - gamma) / 2
    # the gradient of y = 1 at 0 is -x / 2
    u, v = np.array([-1.0, 0, 0]), np.array([-norm, 0, 0])
    np.testing.assert_allclose(np.linalg.norm(sent, axis=1), radius / gamma, rtol=1e-5)
    tau = inside * (1 + gamma + gamma**2) / 3 + (1 - inside) * (1 - gamma + gamma**2) / 3
    spread = (r * (1 - tau) / 2 + (1 - r) / 3) * np.eye(3) + r * (3 * tau - 1) / 2 * np.outer(u, u)
    covariance = (radius / gamma) ** 2 * spread - np.outer(v, v)
    error = np.sqrt(np.diag(covariance) / len(sent))
    assert np.all(np.abs(sent.mean(axis=0) - v) < 4 * error)
    np.testing.assert_allclose(np.cov(sent.T), covariance, atol=0.02 * covariance.max())
    hits, chance = np.mean(sent @ u > gamma * radius / gamma), r * inside + (1 - r) * q
    assert hits == pytest.approx(chance, abs=4 * math.sqrt(chance / len(sent)))
    # as likely in the cap as eps allows, and no more: what the law of the message says, by its two likelihoods
    assert math.log(inside / q) - math.log((1 - inside) / (1 - q)) == pytest.approx(eps)


def test_settings_with_caps_and_with_noise_share_a_call_and_not_their_numbers():
    settings = [(FLAT, PureBudget(eps=1)), (FLAT, ConstantBudget(mu=1)), (FLAT, PureBudget(eps=math.inf))]
    steps = np.array([50])
    together = LdpSgd().simulate(LOGISTIC, settings, steps, 3, range(9)).values
    for s, setting in enumerate(settings):
        np.testing.assert_array_equal(LdpSgd().simulate(LOGISTIC, [setting], steps, 3, range(9)).values[0], together[s])
    none = LdpSgd().simulate(LOGISTIC, [(FLAT, ConstantBudget(mu=math.inf))], steps, 3, range(9)).values
    np.testing.assert_array_equal(together[2], none[0])
