"""The noise of every message of a fit is that of its statement: a check over estimators, of each kind of message.

What the server sees of a fit is recorded, and what it would be without noise is computed again from the records by the
formulas of the model. What remains, divided by the deviation that the sheet's composition asks for, has to be standard
normal: of mean 0, of the right size, without correlation in a message or from one to the next. The same check rejects
noise of 2/3 and 3/2 of its size in any one kind of message, with every seed.
"""

import math
from collections import defaultdict
from functools import partial
from unittest.mock import patch

import numpy as np
import pytest
from scipy.stats import chi2, norm

from dpexp.inference import central_newton as central
from dpexp.inference.fitting import fit_central, fit_local, plan_central, plan_local
from dpexp.inference.messages import Sums, symmetric
from dpexp.inference.models import unit_model
from dpexp.inference.staged_newton import Server
from dpexp.inference.user_blocks import TableUsers, hessian_users
from tests.conftest import AT_LENGTH, share
from tests.oracles.hessians import hessians

SEEDS = range(1, 6)
SCALES = (2 / 3, 3 / 2)
MODELS = ("huber-linear", "mallows-logistic")
LEVEL = 1e-5
"""of each test of one kind of message; there are about 300 in this file"""


def records(model, n, seed):
    rng = np.random.default_rng(seed)
    x = rng.standard_normal((n, model.d)) / math.sqrt(model.d)
    t = x.sum(axis=1)
    if model.has_scale:
        return x, t + rng.standard_normal(n)
    return x, (rng.random(n) < 1 / (1 + np.exp(-t))).astype(float)


def with_ones(x):
    return np.concatenate([np.ones((len(x), 1)), x], axis=1)


def received(before, after, theta, moved, v, eta, least):
    """The gradient message [8, p] that the server used, from theta [p, 8] before and after it; v and eta [8].

    What the sums grew by is one message, and theta has to have moved by the same one; its last coordinate is at least
    `least`.
    """
    of_sums = (after.gradients - before.gradients) / v
    free = theta - eta * v * of_sums
    free[-1] = np.maximum(free[-1], least)
    assert np.max(np.abs(free - moved)) <= 1e-9 * (1 + np.max(np.abs(moved)))
    return of_sums.T


def isometric(matrices):
    """Symmetric matrices [8, p, p] as vectors of the same norm: the diagonal, and sqrt 2 times what is above it."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    # an entry off the diagonal stands twice in the matrix, and once here
    return matrices[:, rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2))


# --- estimators: (name, seed, kind of message, scale of its noise) -> residuals of each kind [messages, k] ----------


def of_central(name, seed, wrong="", scale=1.0, runs=30, mu=1.3, n=300):
    """Messages A, gradients, H and S of so many fits; shares of mu^2 are those of fit2, section 5.2.

    With mu = 1.3 there are twelve quasi-Newton steps, with mu = 8 five Newton steps after eleven of the others. The
    scale's entry of a gradient is sent 3.501 times as large.
    """
    model = unit_model(name, 3, name == "mallows-logistic")
    x, y = records(model, n, seed)
    rows, found, noise = with_ones(x), defaultdict(list), np.random.default_rng([seed, 1])
    kinds = [("moments", 0.06), *12 * [("gradient", 0.06)], ("hessian", 0.16), ("scores", 0.06)]
    if mu > 4:
        before = [*6 * [("gradient", 0.01)], *5 * [("gradient", 0.03)], ("hessian", 0.07)]
        kinds = [
            ("moments", 0.05),
            *before,
            ("gradient", 0.05),
            *4 * [("gradient", 0.115)],
            ("hessian", 0.1),
            ("scores", 0.06),
        ]
    assert sum(share for _, share in kinds) == pytest.approx(1)
    at, stretch = [], np.append(np.ones(model.d + 1), [3.501] * model.has_scale)
    weight = model.problem.weight(rows)
    true_sent, true_gradient, true_hessian = central.Owner.sent, central.Owner.gradient, central.Owner.hessian

    def clean(kind):
        if kind == "moments":
            return (rows * weight[:, None]).T @ rows / n
        g = model.problem.gradient(at[-1], rows, y)
        if kind == "gradient":
            return g.mean(axis=0) * stretch
        scaling = np.outer(model.hessian_scaling, model.hessian_scaling)
        return g.T @ g / n if kind == "scores" else hessians(model, at[-1], rows, y).mean(axis=0) * scaling

    def deviation(kind, share):
        s = float(model.scale_of(at[-1])) if at else 1.0
        sensitivity = {
            "moments": 2 * math.sqrt(2),
            "gradient": model.gradient_sensitivity,
            "hessian": float(model.hessian_sensitivity(s)),
            "scores": math.sqrt(2) * model.problem.gradient_bound() ** 2,
        }[kind]
        return sensitivity / (n * mu * math.sqrt(share))

    def sent(self, mean, own):
        kind, share = order.pop(0)
        message = true_sent(self, mean, own * (scale if kind == wrong else 1.0))
        rest = (message - clean(kind)) / deviation(kind, share)
        found[kind].append(rest if rest.ndim == 1 else isometric(rest[None])[0])
        return message

    def moved(true):
        return lambda self, theta: at.append(np.array(theta)) or true(self, theta)

    with (
        patch.object(central.Owner, "sent", sent),
        patch.object(central.Owner, "gradient", moved(true_gradient)),
        patch.object(central.Owner, "hessian", moved(true_hessian)),
    ):
        for _ in range(runs):
            order = list(kinds)
            fit_central(plan_central(model, n), x, y, mu, noise.standard_normal)
            assert not order
    return {kind: np.array(rests) for kind, rests in found.items()}


def of_local(name, seed, wrong="", scale=1.0, n=1200):
    """Every record's message, with budgets of its own; the server is served one user at a time."""
    model = unit_model(name, 2, name == "mallows-logistic")
    x, y = records(model, n, seed)
    mu = np.resize([1.0, 2.0, 4.0], n)
    plan = plan_local(model, mu, n)
    model, number, found = plan.model, iter(range(n)), defaultdict(list)
    noise, true_serve, true_block = np.random.default_rng([seed, 1]), Server.serve, TableUsers.block
    rows, scaling = with_ones(x), np.outer(model.hessian_scaling, model.hessian_scaling)

    def block(self, count, first, every):
        users = true_block(self, count, first, every)
        factor = {kind: scale if kind == wrong else 1.0 for kind in ("gradient", "hessian")}
        return users._replace(
            omega=users.omega * factor["gradient"], hessian_noise=users.hessian_noise * factor["hessian"]
        )

    def serve(self, users, first, eta, every, summed, sums):
        for k in range(len(eta)):
            sent, i = hessian_users(k, first, every), next(number)
            one = type(users)(*(part[k : k + 1] for part in users))
            one = one._replace(hessian_noise=users.hessian_noise[sent : sent + 1], rows=users.rows[:2])
            own, theta = self.begin(), self.theta.copy()
            before = Sums(*(part.copy() for part in own))
            true_serve(self, one, first + k, eta[k : k + 1], every, 0, own)
            at, row, response = theta[:, 0], rows[i : i + 1], y[i : i + 1]
            if every and (first + k + 1) % every == 0:
                message = isometric(symmetric(own.hessians / one.u[0], model.p))[0]
                size = float(model.hessian_sensitivity(float(model.scale_of(at)))) / mu[i]
                rest = message - isometric(hessians(model, at, row, response) * scaling)[0]
                found["hessian"].append(rest / size)
            else:
                least = model.problem.scale_min if model.has_scale else -math.inf
                step = eta[k] * self.pace[0]
                message = received(before, own, theta, self.theta, one.v[0], step, least)[0]
                stretch = np.append(np.ones(model.d + 1), [3.501] * model.has_scale)
                rest = (message - model.problem.gradient(at, row, response)[0]) * stretch
                found["gradient"].append(rest / (model.gradient_sensitivity / mu[i]))
            if first + k + 1 >= summed:
                for total, part in zip(sums, own, strict=True):
                    total += part

    with patch.object(Server, "serve", serve), patch.object(TableUsers, "block", block):
        fit_local(plan, x, y, mu, noise.standard_normal)
    assert next(number, None) is None
    return {kind: np.array(rests) for kind, rests in found.items()}


OF_CENTRAL = ("moments", "gradient", "hessian", "scores")
ESTIMATORS = {"central": (of_central, OF_CENTRAL), "central, Newton steps": (partial(of_central, mu=8.0), OF_CENTRAL),
              "local": (of_local, ("gradient", "hessian"))}  # fmt: skip


def wrong_in(residuals):
    """Kinds of messages whose residuals are not standard normal: size, mean, and correlation here and from one to the next."""
    found = set()
    for kind, rest in residuals.items():
        count, k = rest.shape
        total = float(np.sum(rest**2))
        size = 2 * min(chi2.cdf(total, rest.size), chi2.sf(total, rest.size))
        mean = 2 * norm.sf(np.abs(rest.mean(axis=0)).max() * math.sqrt(count)) * k
        inside = [rest[:, i] @ rest[:, j] for i in range(k) for j in range(i)]
        lagged = (rest[1:].T @ rest[:-1]).ravel()
        products = np.abs(np.concatenate([inside, lagged])) / math.sqrt(count)
        correlated = 2 * norm.sf(products.max() * 0.8) * len(products)  # sums of products have heavier tails than sums
        each = np.sum(rest**2, axis=0)
        every = 2 * k * min(float(chi2.cdf(each, count).min()), float(chi2.sf(each, count).min()))
        if min(size, mean, correlated, every) < LEVEL:
            found.add(kind)
    return found


CASES = [(estimator, model) for estimator in ESTIMATORS for model in MODELS]
WRONG = [(*case, kind, scale) for case in CASES for kind in ESTIMATORS[case[0]][1] for scale in SCALES]


@pytest.mark.parametrize(("estimator", "model"), CASES)
@pytest.mark.parametrize("seed", share(SEEDS, 5))
def test_the_noise_of_every_message_is_that_of_the_statement(estimator, model, seed):
    messages, kinds = ESTIMATORS[estimator]
    residuals = messages(model, seed)
    assert set(residuals) == set(kinds)
    assert wrong_in(residuals) == set()


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "model", "kind", "scale"), WRONG if AT_LENGTH else WRONG[1::3])
def test_noise_of_another_size_is_rejected(estimator, model, kind, scale):
    """In one kind of message alone; by `make soak` with every seed."""
    messages, _ = ESTIMATORS[estimator]
    more = {"runs": 20} if estimator != "local" else {"n": 800}
    for seed in share(SEEDS, 5):
        assert kind in wrong_in(messages(model, seed, kind, scale, **more))


@pytest.mark.parametrize("model", MODELS)
def test_the_owners_fit_follows_from_its_messages_alone(model):
    """With the messages of one fit in place of all that the records say, the same bits come out."""
    law = unit_model(model, 3, model == "mallows-logistic")
    x, y = records(law, 300, 1)
    sent, true = [], central.Owner.sent
    noise = np.random.default_rng(7)
    with patch.object(central.Owner, "sent", lambda self, *given: sent.append(true(self, *given)) or sent[-1]):
        first = fit_central(plan_central(law, 300), x, y, 1.0, noise.standard_normal)
    with patch.object(central.Owner, "sent", lambda self, *given: sent.pop(0)):
        again = fit_central(plan_central(law, 300), np.zeros_like(x), np.zeros_like(y), 1.0, noise.standard_normal)
    assert not sent
    assert np.array_equal(first.theta, again.theta)
    assert all(np.array_equal(one, other) for one, other in zip(first.release, again.release, strict=True))
    assert first.checked == again.checked
