"""Persons with several rows: one bounded message each, whatever the rows and however many; literal loops beside it."""

import math
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import dpexp
from dpexp.commands.fit import entering
from dpexp.commands.fit_request import Request
from dpexp.core.text import standard_json
from dpexp.data.public_inputs import PublicInputs
from dpexp.inference.central_newton import Owner
from dpexp.inference.fitting import fit_central, plan_central
from dpexp.inference.intervals import intervals
from dpexp.inference.messages import symmetric
from dpexp.inference.models import MODELS, unit_model
from dpexp.inference.pure_messages import PureServer, pure
from dpexp.inference.staged_newton import Server
from dpexp.inference.user_blocks import TableUsers
from tests.oracles.hessians import hessians
from tests.oracles.private_messages import Loss, huber, logistic, stage

HUBER, LOGISTIC = (unit_model(name, 2) for name in ("huber-linear", "mallows-logistic"))
AWAY = {"huber-linear": np.array([0.3, -0.2, 0.4, 0.8]), "mallows-logistic": np.array([0.3, -0.2, 0.4])}
FORMATS = "who,a,b,y\n"


def rows_of(rng, who, count):
    """Lines of a file, some of them far out and some that cannot be read."""
    values = rng.standard_normal((count, 3)) * rng.choice([0.1, 1, 30], (count, 1))
    return [f"{who},{a:.6g},{'x' if rng.random() < 0.2 else f'{b:.6g}'},{y:.6g}" for a, b, y in values]


def persons(seed, count=60, most=4):
    """Lines by person; some have none that can be read."""
    rng = np.random.default_rng(seed)
    return {f"p{k:02d}": rows_of(rng, f"p{k:02d}", rng.integers(1, most + 1)) for k in range(count)}


def read(folder, lines, model="huber-linear", **more):
    """What enters the fit of a file, as the command reads it."""
    path = folder / "t.csv"
    path.write_text(FORMATS + "\n".join(lines) + "\n")
    binary = PublicInputs(categories={"y": ("0", "1")}) if model == "mallows-logistic" else PublicInputs()
    request = Request(path, "y", model=model, mu="1", person="who", public=binary, **more)
    return entering(request, 7)[0]


def quiet(shape):
    return np.zeros(shape)


def local_sums(model, records, at, every=2):
    """The sums of what all users send at one point, without noise: every second one a Hessian."""
    users = TableUsers(model, records.x, records.y, np.full(records.n, math.inf), quiet, records.owners)
    server = Server(model, at)
    sums = server.ask(users, np.zeros(records.n), every)
    return sums.gradients[:, 0], symmetric(sums.hessians[:, :1], model.p)[0]


def central_sums(model, records, at):
    """n times the means that the owner releases, without noise."""
    owner = Owner(model, records.x, records.y, records.n, quiet, records.owners)
    means = owner.moments(), owner.gradient(at), owner.hessian(at), owner.scores(at)
    return [records.n * mean for mean in means]


def replaced(file, rng, who):
    """The file with all rows of a person replaced: none that can be read, one, or many."""
    count = int(rng.choice([0, 1, 2, 7]))
    return {**file, who: rows_of(rng, who, count) or [f"{who},,,"]}


def test_a_person_moves_the_sums_by_no_more_than_the_sensitivity(tmp_path):
    """All rows of a person are replaced in the file, by any number; what the owner sums, and what users send.

    Sums over rows that are no means move by more, so a mean that was forgotten would be seen.
    """
    at, delta = AWAY["huber-linear"], HUBER.gradient_sensitivity
    scaling, stretch = np.outer(HUBER.hessian_scaling, HUBER.hessian_scaling), HUBER.gradient_scaling
    bounds = (
        2 * math.sqrt(2),
        delta,
        HUBER.hessian_sensitivity(at[-1]),
        math.sqrt(2) * HUBER.problem.gradient_bound() ** 2,
    )
    moved, of_sums = np.zeros(6), 0.0
    for seed in range(6):
        rng, file = np.random.default_rng([seed, 1]), persons(seed)
        first = read(tmp_path, [line for lines in file.values() for line in lines])
        one, sent = central_sums(HUBER, first, at), local_sums(HUBER, first, at)
        for who in rng.choice(list(file), 12, replace=False):
            other = read(tmp_path, [line for lines in replaced(file, rng, who).values() for line in lines])
            assert other.n == first.n == 60
            assert sum(not same_rows(first, other, k) for k in range(60)) <= 1
            moments, gradient, hessian, scores = (
                b - a for a, b in zip(one, central_sums(HUBER, other, at), strict=True)
            )
            gradients, hessians = (b - a for a, b in zip(sent, local_sums(HUBER, other, at), strict=True))
            assert np.linalg.norm(gradients) < 1e-12 or np.linalg.norm(hessians) < 1e-12  # nobody's turn is another one
            changes = moments, gradient * stretch, hessian * scaling, scores, gradients * stretch, hessians
            moved = np.maximum(moved, [np.linalg.norm(change) for change in changes])
            rows = (np.insert(records.x, 0, 1.0, axis=1) for records in (first, other))
            sums = [
                HUBER.problem.gradient(at, x, own.y).sum(axis=0) for x, own in zip(rows, (first, other), strict=True)
            ]
            of_sums = max(of_sums, float(np.linalg.norm(sums[1] - sums[0])))
    assert np.all(moved <= np.array([*bounds, *bounds[1:3]]) + 1e-9)
    assert np.all(moved > 0.4 * np.array([*bounds, *bounds[1:3]]))
    assert of_sums > 1.2 * delta


def same_rows(one, other, k):
    """Whether the k-th person holds the same rows in both, bit by bit."""
    return all(
        getattr(one, name)[one.owners == k].tobytes() == getattr(other, name)[other.owners == k].tobytes()
        for name in ("x", "y")
    )


@pytest.mark.parametrize("words", [{"central": True, "mu": 1.0}, {"mu": 3.0}, {"eps": 4.0}])
def test_the_order_of_rows_in_the_file_changes_no_bit(tmp_path, words):
    rng, n = np.random.default_rng(3), 3200
    frame = pd.DataFrame({"a": rng.standard_normal(n), "who": rng.permutation(np.arange(n) // 3)})
    frame["y"] = frame.a + rng.standard_normal(n)
    told = []
    for k in range(2):
        frame.sample(frac=1, random_state=k).to_csv(tmp_path / "t.csv", index=False)
        report = dpexp.fit(tmp_path / "t.csv", target="y", person="who", **words)
        told.append((standard_json(report.document()), str(report)))
        assert report.document()["glance"]["nobs"] == len(set(frame.who)) == 1067
    assert told[0] == told[1]


def of_mean(loss: Loss) -> Loss:
    """The loss of a person: the mean over rows, 0 where there is none."""

    def over(one, shape, theta, x, y):
        return sum((np.array(one(theta, a, b)) for a, b in zip(x, y, strict=True)), np.zeros(shape)) / max(len(y), 1)

    p = 4 if loss.known_scale is None else 3
    return loss._replace(gradient=partial(over, loss.gradient, p), hessian=partial(over, loss.hessian, (p, p)))


def held(seed, n, binary):
    """Rows x [rows, 2], y, owners: nobody, or up to four rows each."""
    rng = np.random.default_rng(seed)
    owners = np.repeat(np.arange(n), rng.integers(0, 5, n))
    x = rng.standard_normal((len(owners), 2)) * 1.3
    y = rng.standard_normal(len(owners)) * 2 + x.sum(axis=1)
    return x, (y > 0).astype(float) if binary else y, owners


@pytest.mark.parametrize("name", MODELS)
def test_messages_are_those_of_a_literal_loop(name):
    model, n, mu = {"huber-linear": HUBER, "mallows-logistic": LOGISTIC}[name], 400, 2.0
    x, y, owners = held(5, n, name == "mallows-logistic")
    eta, noise = np.full(n, 0.05), np.random.default_rng(8).standard_normal
    given = []
    users = TableUsers(model, x, y, np.full(n, mu), lambda shape: given.append(noise(shape)) or given[-1], owners)
    server = Server(model, model.problem.start())
    sums = server.ask(users, eta, 4, 101)
    rows = [np.concatenate([np.ones(((owners == k).sum(), 1)), x[owners == k]], axis=1).tolist() for k in range(n)]
    drawn = ((row, y[owners == k].tolist(), mu, 1.0, 1.0) for k, row in enumerate(rows))
    c, kappa = model.constants[:2] if model.has_scale else (0.0, 0.0)
    delta = model.gradient_sensitivity / np.array([1, 1, 1, 3.501])
    loss = huber(c, kappa, delta, model.problem.scale_min) if model.has_scale else logistic()
    plain, p = of_mean(loss), model.p
    # the oracle knows of no scaled rows, so Hessians are compared where the server's scaling is taken away
    theta, kept = stage(
        plain, model.problem.start(), drawn, iter(given[0].ravel()), iter(np.zeros(n * p * p)), eta, 4, 101
    )
    assert server.theta[:, 0] == pytest.approx(theta, abs=1e-11)
    assert sums.gradients[:, 0] == pytest.approx(kept.g, abs=1e-9)
    assert symmetric(sums.squares[:, :1], p)[0] == pytest.approx(kept.q, abs=1e-8)
    silent = TableUsers(model, x, y, np.full(n, math.inf), quiet, owners)
    fixed = Server(model, model.problem.start())
    hessians = symmetric(fixed.ask(silent, np.zeros(n), 4, 101).hessians[:, :1], p)[0]
    drawn = ((row, y[owners == k].tolist(), math.inf, 1.0, 1.0) for k, row in enumerate(rows))
    _, kept = stage(
        plain, model.problem.start(), drawn, iter(np.zeros(n * p)), iter(np.zeros(n * p * p)), np.zeros(n), 4, 101
    )
    scaling = np.outer(model.hessian_scaling, model.hessian_scaling)
    assert hessians / scaling == pytest.approx(kept.m, abs=1e-11)


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("chunk", [7, 10**6])
def test_means_of_the_owner_are_those_of_a_literal_loop(name, chunk, monkeypatch):
    """Also where parts of the table end between persons, some of whom hold more rows than a part."""
    monkeypatch.setattr("dpexp.inference.central_newton.CHUNK", chunk)
    model, n = {"huber-linear": HUBER, "mallows-logistic": LOGISTIC}[name], 50
    x, y, owners = held(9, n, name == "mallows-logistic")
    owners[owners == 3] = 4  # more rows than 7 for one of them
    at, z = AWAY[name], np.concatenate([np.ones((len(x), 1)), x], axis=1)
    owner = Owner(model, x, y, n, quiet, owners)
    assert owner.cuts[0] == 0 or not len(x)
    assert owner.cuts[-1] == len(x)
    assert all(a < b for a, b in pairwise(owner.cuts))
    gradients, moments, seconds = np.zeros((n, model.p)), np.zeros((n, 3, 3)), np.zeros((n, model.p, model.p))
    for k in set(owners.tolist()):
        own = owners == k
        gradients[k] = model.problem.gradient(at, z[own], y[own]).mean(axis=0)
        seconds[k] = hessians(model, at, z[own], y[own]).mean(axis=0)
        moments[k] = np.mean([w * np.outer(a, a) for w, a in zip(model.problem.weight(z[own]), z[own], strict=True)], 0)
    assert owner.gradient(at) == pytest.approx(gradients.mean(axis=0), abs=1e-13)
    assert owner.hessian(at) == pytest.approx(seconds.mean(axis=0), abs=1e-13)
    assert owner.moments() == pytest.approx(moments.mean(axis=0), abs=1e-13)
    assert owner.scores(at) == pytest.approx(gradients.T @ gradients / n, abs=1e-13)


def test_messages_of_caps_have_the_mean_of_the_rows():
    """The same three rows held by all: the mean of gradients and of Hessians that is sent is that of the rows."""
    model, n = pure(HUBER, 6.0), 40_000
    x, y = np.array([[0.5, -1.0], [1.5, 2.0], [0.0, 0.3]]), np.array([3.0, -1.0, 0.2])
    at, z = AWAY["huber-linear"], np.concatenate([np.ones((3, 1)), x], axis=1)
    rng = np.random.default_rng(1)
    users = TableUsers(model, np.tile(x, (n, 1)), np.tile(y, n), np.full(n, 1.0), np.zeros, np.repeat(np.arange(n), 3))
    server = PureServer(model, at, rng.standard_normal)
    sums = server.ask(users, np.zeros(n), 2)
    error = model.gradient_noise / math.sqrt(n / 2)
    wanted = model.problem.gradient(at, z, y).mean(axis=0)
    assert np.all(np.abs(sums.gradients[:, 0] / (n / 2) - wanted) < 5 * error)
    hessian = hessians(model, at, z, y).mean(axis=0) * np.outer(model.hessian_scaling, model.hessian_scaling)
    found = symmetric(sums.hessians[:, :1], model.p)[0] / (n / 2)
    assert np.all(np.abs(found - hessian) < 5 * model.hessian_noise(at[-1]) / math.sqrt(n / 2))
    assert np.abs(wanted).max() > 20 * error.max()  # so that a sum, or another row's gradient, would be seen


def panels(persons, runs, seed):
    """Of central fits of panels: estimates and ends of intervals, [runs, 4] each.

    A person has 1 + Poisson(2) rows, whose errors of variance 1 are correlated by .49, as are two covariates.
    """
    plan, root, found = plan_central(HUBER, persons), math.sqrt(0.51), []
    for run in range(runs):
        rng = np.random.default_rng([seed, run])
        owners = np.repeat(np.arange(persons), 1 + rng.poisson(2, persons))
        z = 0.7 * rng.standard_normal((persons, 2))[owners] + root * rng.standard_normal((len(owners), 2))
        errors = 0.7 * rng.standard_normal(persons)[owners] + root * rng.standard_normal(len(owners))
        fitted = fit_central(plan, z / math.sqrt(2), 0.5 * z.sum(axis=1) + errors, 1.0, rng.standard_normal, owners)
        assert not fitted.checked.reasons
        each = intervals(fitted.release, fitted.theta, np.eye(4), 0.95)[0]
        found.append([fitted.theta, [one.low for one in each], [one.high for one in each]])
    return np.array(found).transpose(1, 0, 2)


@pytest.mark.slow
def test_intervals_cover_the_target_of_persons_whose_rows_depend_on_each_other():
    """150 panels."""
    target = np.array([0, math.sqrt(0.5), math.sqrt(0.5), 1])

    def coverage(low, high):
        return np.mean((low <= target) & (target <= high), axis=0)

    theta, low, high = panels(800, 150, 3)
    assert np.all(np.abs(coverage(low, high) - 0.95) < 3 * 0.0178)
    assert np.median((high - low) / (2 * 1.959964), axis=0) == pytest.approx(theta.std(axis=0, ddof=1), rel=0.2)
