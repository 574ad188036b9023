"""Finite sums eight at once: looks beside sums record by record, and runs that have the bits that each has alone."""

import numpy as np
import pytest

from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.following import follow_all
from dpexp.engine.finite_sum.looking import Data, objectives, slope
from dpexp.engine.finite_sum.losses import LOSSES
from dpexp.engine.finite_sum.momentum_loop import Momentum, Order, Together
from dpexp.engine.finite_sum.noise_designs import Noise, tree_sequence
from dpexp.engine.lanes.vectormath import expm1, sine_cosine
from dpexp.engine.lanes.vectors import load, store
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum

N, D, STEPS = 13, 5, 90


def data_of(name: str, n: int = N, d: int = D) -> tuple[FiniteSum, Data]:
    problem = PROBLEMS[name].model_validate({"N": n, "d": d})
    assert isinstance(problem, FiniteSum)
    return problem, Data(problem.record_loss, *problem.records, problem.constants)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize(("n", "d"), [(3, 1), (8, 4), (77, 7)])
def test_the_lanes_agree_with_sums_record_by_record(name: str, n: int, d: int) -> None:
    """Sizes with and without a last group that is not full, and an odd last coordinate."""
    problem, data = data_of(name, n, d)
    rng = np.random.default_rng(3)
    for size in (0.0, 1e-3, 0.3, 1.0, 30.0):
        w = problem.start() + size * rng.standard_normal(d)
        found, terms = np.empty(d), np.empty((n, d))
        value = slope(data, w, found)
        values = [data.loss.gradient(w, data.x[i], data.y[i], data.constants, terms[i]) for i in range(n)]
        assert value == pytest.approx(np.mean(values), rel=1e-12)
        # a sum that cancels is known to a share of its terms
        scale = np.abs(terms).mean(axis=0).max() + np.finfo(float).tiny
        np.testing.assert_allclose(found, terms.mean(axis=0), rtol=1e-12, atol=1e-13 * scale * (1 + np.abs(w).max()))
        assert objectives(data, w[:, None], 1) == value


def test_a_literal_rippled_mean_in_numpy() -> None:
    """F(w) = mean of s / (1 + sqrt(1 + s)) + a sin(b w.x), s = |w - x|^2; and no record more or less."""
    _, data = data_of("rippled-mean", 45, 6)
    w = np.linspace(-1, 2, 6)
    (a, b), x = data.constants[:2], data.x
    s, phase = ((w - x) ** 2).sum(axis=1), b * x @ w
    values = s / (1 + np.sqrt(1 + s)) + a * np.sin(phase)
    gradients = (w - x) / np.sqrt(1 + s)[:, None] + a * b * np.cos(phase)[:, None] * x
    out = np.empty(6)
    assert slope(data, w, out) == pytest.approx(values.mean(), rel=1e-13)
    np.testing.assert_allclose(out, gradients.mean(axis=0), rtol=1e-12)
    assert abs(values[:-1].mean() - values.mean()) > 1e-6 * values.mean()


@compiled(cached=True)
def _functions(x: np.ndarray, out: np.ndarray) -> None:
    for k in range(len(x)):
        sine, cosine = sine_cosine(load(x, (k,)))
        store(out, (0, k), sine)
        store(out, (1, k), cosine)
        store(out, (2, k), expm1(load(x, (k,))))


def test_functions_of_lanes_beside_numpy() -> None:
    """Sine and cosine to 1e-15 where they are not NaN, also near multiples of pi / 2; exp(x) - 1 relative to itself."""
    rng = np.random.default_rng(1)
    near = np.arange(-400, 400) * np.pi / 2 + rng.standard_normal(800) * 1e-9
    x = np.concatenate([near, rng.standard_normal(800), 3e5 * rng.standard_normal(800), 1e-12 * near])
    out = np.empty((3, len(x) // 8, 8))
    _functions(x.reshape(-1, 8), out)
    sine, cosine, grown = out.reshape(3, -1)
    held = np.abs(x) < 1e6
    assert np.isnan(sine[~held]).all()
    assert np.isnan(cosine[~held]).all()
    np.testing.assert_allclose(sine[held], np.sin(x[held]), rtol=0, atol=1e-15)
    np.testing.assert_allclose(cosine[held], np.cos(x[held]), rtol=0, atol=1e-15)
    small = np.abs(x) < 600
    np.testing.assert_allclose(grown[small], np.expm1(x[small]), rtol=2e-15)


def runs_of(problem: FiniteSum, data: Data, count: int) -> list[Momentum]:
    """Runs that differ in everything that a lane has of its own."""
    made = []
    for k in range(count):
        order = Order(np.random.default_rng(k).integers(0, N, STEPS), False)
        noise = Noise(0.02 * (k + 1), tree_sequence, (7, k // 2, problem.dimension, STEPS, 0.1))
        start = problem.start() + 0.1 * k
        made.append(Momentum(data, start, order, noise, 0.1 + 0.05 * k, 0.01 * (k + 1), k % 3 != 1, STEPS))
    return made


def literal(run: Momentum, steps: int) -> np.ndarray:
    """The iterates of `steps` steps by the loss of one record, in numpy."""
    w, m = run.start, np.zeros(len(run.start))
    noise = run.noise.factor * run.noise.begun()(steps)
    path, g = [], np.empty(len(w))
    for i, z in zip(run.order.between(1, steps), noise, strict=True):
        run.data.loss.gradient(w, run.data.x[i], run.data.y[i], run.data.constants, g)
        m = (1 - run.alpha) * m + run.alpha * g
        step = (m + z) / np.sqrt(np.sum((m + z) ** 2)) if run.normalised else m + z
        w = w - run.eta * step
        path.append(w)
    return np.array(path)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(LOSSES))
@pytest.mark.parametrize("d", [1, D])
def test_every_loss_steps_as_its_gradient_of_one_record_says(name: str, d: int) -> None:
    problem, data = data_of(name, d=d)
    together = Together(runs_of(problem, data, 8))
    together.advance(1, 40)
    before = together.w.copy()
    together.advance(41, STEPS)
    for k, run in enumerate(runs_of(problem, data, 8)):
        path = literal(run, STEPS)
        np.testing.assert_allclose(before[:, k], path[39], atol=1e-11)
        np.testing.assert_allclose(together.w[:, k], path[-1], atol=1e-11)
        assert np.abs(path[-1] - path[39]).max() > 1e-3


@pytest.mark.parametrize("count", [1, 3, 8])
def test_a_run_has_the_same_bits_in_any_company(count: int) -> None:
    problem, data = data_of("rippled-mean")
    at, eta = np.array([1, 20, STEPS]), np.array([0.01 * (k + 1) for k in range(8)])
    whole = follow_all(runs_of(problem, data, 8), data, at, eta, problem.smoothness)
    for first in range(0, 8, count):
        own = slice(first, first + count)
        part = follow_all(runs_of(problem, data, 8)[own], data, at, eta[own], problem.smoothness)
        np.testing.assert_array_equal(part[0], whole[0][own])
        np.testing.assert_array_equal(part[1], whole[1][own])
