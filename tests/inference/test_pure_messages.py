"""Messages that are eps-differentially private: the caps, the sampler beside a literal loop and its law, the bounds."""

import math

import numpy as np
import pytest
from scipy.special import betainc, expit, ndtr
from scipy.stats import binomtest

from dpexp.inference.fitting import fit_local, plan_local
from dpexp.inference.intervals import intervals
from dpexp.inference.messages import symmetric
from dpexp.inference.models import unit_model
from dpexp.inference.pure_messages import POOL, PureServer, pure
from dpexp.inference.staged_newton import Design
from dpexp.inference.user_blocks import TableUsers
from dpexp.privacy.cap import cap, deviation, eps_at, gaussian_mu
from tests.conftest import share
from tests.oracles.hessians import hessians

GOLDEN = [
    (3, 0.5, 0.1243530, 0.437824, 0.562177, 4.6428), (3, 4, 0.7615942, 0.119203, 0.880797, 0.7581),
    (7, 1, 0.1546971, 0.357269, 0.601750, 2.4433), (7, 2, 0.3006115, 0.234695, 0.693814, 1.2573),
    (7, 8, 0.8228324, 0.006060, 0.947851, 0.4593), (12, 4, 0.4249255, 0.073894, 0.813307, 0.6794),
    (22, 1, 0.0855485, 0.348968, 0.593009, 2.4922),
]  # fmt: skip
"""p, eps, gamma = m, q, P0 and the noise of a coordinate, by a program of its own"""


@pytest.mark.parametrize(("p", "eps", "gamma", "q", "inside", "noise"), GOLDEN)
def test_caps_are_those_of_another_program(p, eps, gamma, q, inside, noise):
    found = cap(eps, p)
    assert found.gamma == pytest.approx(gamma, abs=1e-6)
    assert found.m == pytest.approx(found.gamma, abs=1e-9)
    assert (found.q, found.inside) == pytest.approx((q, inside), abs=2e-6)
    assert deviation(eps, p, 1.0) == pytest.approx(noise, abs=1e-4)


@pytest.mark.parametrize(("p", "eps"), [(2, 1.0), (7, 0.3), (7, 8.0), (253, 8.0), (28, 20.0)])
def test_no_two_densities_differ_by_more_than_epsilon(p, eps):
    """The ratio of the densities, with q by another formula; a little more is wasted on nobody."""
    found = cap(eps, p)
    q = 1 - betainc((p - 1) / 2, (p - 1) / 2, (1 + found.gamma) / 2)
    ratio = math.log(found.inside / q) - math.log1p(-found.inside) + math.log1p(-q)
    assert ratio == pytest.approx(eps, abs=1e-7)
    assert ratio <= eps
    assert found.trials <= 200 * (1 + 1e-6)


@pytest.mark.parametrize("eps", [0.2, 1.0, 4.0])
def test_delta_is_that_of_opposite_directions(eps):
    """The hockey stick of three atoms: both caps, and what is outside of them."""
    found = cap(eps, 7)
    outside = (1 - found.inside) / (1 - found.q)
    p = np.array([found.inside, found.q * outside, (1 - 2 * found.q) * outside])
    for delta in (1e-9, 1e-3, 0.1):
        at = eps_at(eps, found.inside, delta)
        stick = np.maximum(p - math.exp(at) * p[[1, 0, 2]], 0).sum()
        assert at == 0 or delta - 3e-9 < stick <= delta * (1 + 1e-9)


def test_mu_is_that_of_randomised_response():
    assert gaussian_mu(0.80697) == pytest.approx(1, abs=1e-5)
    assert gaussian_mu(3.76017) == pytest.approx(4, abs=1e-5)


MODELS = {"huber": unit_model("huber-linear", 5), "known scale": unit_model("huber-linear", 3, scale_is_known=True),
          "logistic": unit_model("mallows-logistic", 4)}  # fmt: skip


def own_vectors(model, x, y, theta):
    """What records hold before a cap hides it, by arrays: gradients as they are sent, and triangles of Hessians."""
    full = np.hstack([np.ones((len(x), 1)), x])
    w = np.minimum(1, 2 / np.sum(full**2, axis=1))
    t = full @ theta[: model.d + 1]
    if model.has_scale:
        c, kappa = model.constants[:2]
        psi = np.clip((y - t) / theta[-1], -c, c)
        gradient = np.hstack([-(w * psi)[:, None] * full, (w * (kappa - psi**2) / 2)[:, None]])
        sent = gradient.copy()
        sent[:, -1] = 2 * math.sqrt(2) / c * (gradient[:, -1] + (c**2 - kappa) / 2)
    else:
        c = model.constants[0]
        g = expit(t) - y if model.bends else -np.clip(y - t, -c, c)
        sent = (w * g)[:, None] * full
    found = hessians(model, theta, full, y) * np.outer(model.hessian_scaling, model.hessian_scaling)
    rows, columns = np.triu_indices(model.p)
    return sent, found[:, rows, columns] * np.where(rows == columns, 1, math.sqrt(2))


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_no_vector_is_longer_than_its_bound_and_the_bound_is_attained(name):
    model, rng = pure(MODELS[name], 1.0), np.random.default_rng(4)
    size = rng.choice([1e-3, 0.3, 1.0, 30.0], (200_000, 1))
    x = rng.standard_normal((200_000, model.d)) * size
    y = rng.standard_normal(200_000) * rng.choice([0.1, 1.0, 2.0, 100.0], 200_000)
    y = (y > 0).astype(float) if model.bends else y
    sent = hessians = 0.0
    for slope in (0.0, 30.0):
        theta = np.append([0.0, slope], [0.0] * (model.d - 1) + [1.0] * model.has_scale)
        both = [np.linalg.norm(v, axis=1).max() for v in own_vectors(model, x, y, theta)]
        sent, hessians = max(sent, both[0]), max(hessians, both[1])
    assert 0.95 * model.radius < sent <= model.radius
    assert 0.95 * model.curvature_bound < hessians <= model.curvature_bound * (1 + 1e-12)


def literal(model, design, x, y, draws, uniforms):
    """All three stages user by user without a jump: theta after the first stage alone."""
    theta, eta = np.array(model.problem.start(), dtype=float), design.step_sizes(0)
    pools = {"gradient": iter(()), "hessian": iter(())}
    sizes = {"gradient": model.p, "hessian": model.entries}
    sums = {"gradient": np.zeros(model.p), "hessian": np.zeros(model.entries), "count": 0}

    def direction(kind):
        found = next(pools[kind], None)
        if found is None:
            for one in ("gradient", "hessian"):
                if one == kind:
                    normals = draws((POOL, sizes[one]))
                    pools[one] = iter(normals / np.linalg.norm(normals, axis=1, keepdims=True))
            found = next(pools[kind])
        return found

    for i in range(1, len(eta) + 1):
        kind = "hessian" if i % design.every == 0 else "gradient"
        if kind == "hessian" and i < len(eta) // 2 + 1:
            continue
        sent, triangle = own_vectors(model, x[i - 1 : i], y[i - 1 : i], theta)
        vector = (sent if kind == "gradient" else triangle)[0]
        scale = theta[-1] if model.has_scale else 1.0
        radius = model.radius if kind == "gradient" else model.curvature_bound / scale
        found, norm = cap(model.eps, sizes[kind]), np.linalg.norm(vector)
        first = direction(kind)
        target = vector / norm if uniforms[i - 1, 0] * radius < norm else first
        while True:
            u = direction(kind)
            if (u @ target >= found.gamma) == (uniforms[i - 1, 1] < found.inside):
                break
        message = radius / found.m * u
        if kind == "hessian":
            sums["hessian"] += message
            continue
        if model.has_scale:
            message[-1] = message[-1] / model.stretch - model.shift
        sums["gradient"] += message if i >= len(eta) // 2 + 1 else 0
        sums["count"] += i >= len(eta) // 2 + 1
        theta = theta - eta[i - 1] * message
        if model.has_scale:
            theta[-1] = max(theta[-1], model.problem.scale_min)
    return theta, sums


def server_of(model, seed):
    return PureServer(model, model.problem.start(), np.random.default_rng(seed).standard_normal)


def asked(server, x, y, eta, every, summed=1):
    """The sums of users who hold these records, asked by one stage."""
    records = TableUsers(server.model, x, y, np.ones(len(y)), np.zeros)
    return server.ask(records, eta, every, summed)


@pytest.mark.slow
@pytest.mark.parametrize("name", MODELS)
def test_the_compiled_loop_is_the_literal_one(name):
    """The same uniforms, and the same directions in the same order. Both pools are filled at the first user."""
    model, n = pure(MODELS[name], 2.0), 900
    design = Design(10 * n, 0.3)
    rng = np.random.default_rng(8)
    x, y = rng.standard_normal((n, model.d)) / math.sqrt(model.d), rng.standard_normal(n)
    y = (y > 0).astype(float) if model.bends else y
    server = server_of(model, 3)
    sums = asked(server, x, y, design.step_sizes(0), design.every, n // 2 + 1)

    drawn = np.random.default_rng(3).standard_normal
    uniforms = ndtr(drawn((n, 2)))
    both = {size: drawn((POOL, size)) for size in (model.p, model.entries)}  # as the server fills them
    theta, expected = literal(model, design, x, y, lambda shape: both.pop(shape[1]), uniforms)
    assert server.theta[:, 0] == pytest.approx(theta, rel=1e-10)
    assert sums.gradients[:, 0] == pytest.approx(expected["gradient"], rel=1e-9, abs=1e-9)
    off = np.triu_indices(model.p)
    scaled = expected["hessian"] / np.where(off[0] == off[1], 1, math.sqrt(2))
    assert sums.hessians[:, 0] == pytest.approx(scaled, rel=1e-9, abs=1e-9)
    assert sums.v[2, 0] == expected["count"]


@pytest.mark.parametrize("seed", share(range(5), 5))
@pytest.mark.parametrize(("name", "eps"), [("huber", 1.0), ("logistic", 4.0)])
def test_messages_have_the_mean_and_the_covariance_of_their_law(name, eps, seed):
    """Of one record, again and again; a message that is 2% longer would be noticed."""
    model, n, rng = pure(MODELS[name], eps), 200_000, np.random.default_rng([17, seed])
    x, y = rng.standard_normal(model.d), np.float64(1.0)
    server = server_of(model, [18, seed])
    theta = server.theta[:, 0].copy()
    sums = asked(server, np.tile(x, (n, 1)), np.full(n, y), np.zeros(n), 0)
    vector, _ = own_vectors(model, x[None], np.array([y]), theta)
    found, p, r = cap(eps, model.p), model.p, np.linalg.norm(vector) / model.radius
    second = (found.gamma * _edge(p, found.gamma) + found.q) / p  # E T^2 on the cap
    tau = found.inside * second / found.q + (1 - found.inside) * (1 / p - second) / (1 - found.q)
    u = vector[0] / np.linalg.norm(vector)
    law = (r * (1 - tau) / (p - 1) + (1 - r) / p) * np.eye(p) + r * (p * tau - 1) / (p - 1) * np.outer(u, u)
    moment = (model.radius / found.m) ** 2 * law
    back = np.diag(np.append(np.ones(p - 1), 1 / model.stretch))
    shift = np.append(np.zeros(p - 1), model.shift)
    mean = back @ vector[0] - shift
    moment = (
        back @ moment @ back - np.outer(shift, mean + shift) - np.outer(mean + shift, shift) + np.outer(shift, shift)
    )
    covariance = moment - np.outer(mean, mean)
    z = (sums.gradients[:, 0] / n - mean) / np.sqrt(np.diag(covariance) / n)
    assert np.abs(z).max() < 4.5
    measured = symmetric(sums.squares[:, :1], p)[0] / n
    assert measured == pytest.approx(moment, abs=0.01 * np.trace(moment))
    assert np.trace(1.02**2 * measured) != pytest.approx(np.trace(moment), rel=0.01)


def test_hessian_messages_have_the_mean_of_their_law_whenever_directions_run_out():
    """Of one record; a message takes several of the 4,096 directions that are drawn at a time."""
    model, n, rng = pure(MODELS["huber"], 4.0), 20_000, np.random.default_rng(5)
    x, y, server = rng.standard_normal(model.d), 1.0, server_of(model, 6)
    _, triangle = own_vectors(model, x[None], np.array([y]), server.theta[:, 0])
    sums = asked(server, np.tile(x, (n, 1)), np.full(n, y), np.zeros(n), 1)
    rows, columns = np.triu_indices(model.p)
    away = sums.hessians[:, 0] / n * np.where(rows == columns, 1, math.sqrt(2)) - triangle[0]
    error = deviation(4.0, model.entries, model.curvature_bound) / math.sqrt(n)
    assert np.abs(away).max() < 4.5 * error < 0.2 * np.abs(triangle).max()


def _edge(p, gamma):
    """The density part of E[T^2; T >= gamma]: c_p (1 - gamma^2)^alpha, with alpha = (p - 1) / 2."""
    alpha = (p - 1) / 2
    return math.gamma(alpha + 0.5) / math.gamma(alpha) / math.sqrt(math.pi) * (1 - gamma**2) ** alpha


@pytest.mark.slow
def test_intervals_hold():
    """Over all runs; 5% at random are lost."""
    model, n, runs = pure(MODELS["huber"], 4.0), 10_000, 8
    plan = plan_local(model, np.ones(1), n)
    truth, covered = np.array([0.3, 0.8, -0.5, 0.3, 0.0, 0.2, 1.0]), 0
    for run in range(runs):
        rng = np.random.default_rng([29, run])
        x = rng.standard_normal((n, 5)) / math.sqrt(5)
        y = truth[0] + x @ truth[1:6] + rng.standard_normal(n)
        fitted = fit_local(plan, x, y, np.ones(n), rng.standard_normal)
        found, _ = intervals(fitted.release, fitted.theta, np.eye(7), 0.95)
        covered += sum(one.low <= true <= one.high for one, true in zip(found, truth, strict=True))
    assert binomtest(covered, 7 * runs, 0.95).pvalue > 1e-4
