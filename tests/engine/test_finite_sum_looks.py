"""Looks at all records, eight at once, beside sums record by record and beside numpy."""

import numpy as np
import pytest
from numba import njit

from dpexp.engine.finite_sum.looking import objectives, slope
from dpexp.engine.finite_sum.losses import LOSSES, mean_of
from dpexp.engine.finite_sum.momentum_loop import Data
from dpexp.engine.lanes.vectormath import expm1, sine_cosine
from dpexp.engine.lanes.vectors import load, store
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum

IN_LANES = sorted(LOSSES)


def data_of(name: str, n: int, d: int) -> tuple[FiniteSum, Data]:
    problem = PROBLEMS[name].model_validate({"N": n, "d": d})
    assert isinstance(problem, FiniteSum)
    return problem, Data(problem.record_loss, *problem.records, problem.constants)


@pytest.mark.slow
@pytest.mark.parametrize("name", IN_LANES)
@pytest.mark.parametrize(("n", "d"), [(3, 1), (8, 4), (77, 7)])
def test_the_lanes_agree_with_sums_record_by_record(name: str, n: int, d: int) -> None:
    """Sizes with and without a last group that is not full, and an odd last coordinate."""
    problem, data = data_of(name, n, d)
    one_by_one, rng = mean_of(data.loss), np.random.default_rng(3)
    for size in (0.0, 1e-3, 0.3, 1.0, 30.0):
        w = problem.start() + size * rng.standard_normal(d)
        found, wanted = np.empty(d), np.empty(d)
        value = slope(data, w, found)
        assert value == pytest.approx(one_by_one(w, *data.numbers, wanted), rel=1e-12)
        terms = np.empty((n, d))  # a sum that cancels is known to a share of its terms
        for i in range(n):
            data.loss.gradient(w, data.x[i], data.y[i], data.constants, terms[i])
        scale = np.abs(terms).mean(axis=0).max() + np.finfo(float).tiny
        np.testing.assert_allclose(found, wanted, rtol=1e-12, atol=1e-13 * scale * (1 + np.abs(w).max()))
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


@njit
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
