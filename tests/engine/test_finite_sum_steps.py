"""Eight runs side by side: each has the bits that it has alone, follows its own record, and noise is shared rightly."""

import numpy as np
import pytest

from dpexp.engine.finite_sum.following import follow_all
from dpexp.engine.finite_sum.losses import LOSSES
from dpexp.engine.finite_sum.momentum_loop import Data, Momentum, Order, Together
from dpexp.engine.finite_sum.noise_process import Noise, TreeNoise
from dpexp.problems import PROBLEMS
from dpexp.problems.finite_sum import FiniteSum

N, D, STEPS = 13, 5, 90


def data_of(name: str, d: int = D) -> tuple[FiniteSum, Data]:
    problem = PROBLEMS[name].model_validate({"N": N, "d": d})
    assert isinstance(problem, FiniteSum)
    return problem, Data(problem.record_loss, *problem.records, problem.constants)


def runs_of(problem: FiniteSum, data: Data, count: int) -> list[Momentum]:
    """Runs that differ in everything that a lane has of its own."""
    made = []
    for k in range(count):
        order = Order(np.random.default_rng(k).integers(0, N, STEPS), False)
        noise = Noise(0.02 * (k + 1), TreeNoise, (7, k // 2, problem.dimension, STEPS, 0.1))
        start = problem.start() + 0.1 * k
        made.append(Momentum(data, start, order, noise, 0.1 + 0.05 * k, 0.01 * (k + 1), k % 3 != 1, STEPS))
    return made


def literal(run: Momentum, steps: int) -> np.ndarray:
    """The iterates of `steps` steps by the loss of one record, in numpy."""
    w, m = run.w.copy(), np.zeros(len(run.w))
    noise = run.noise.factor * run.noise.begun().take(steps)
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
    problem, data = data_of(name, d)
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
        few = runs_of(problem, data, 8)[first : first + count]
        part = follow_all(few, data, at, eta[first : first + count], problem.smoothness)
        np.testing.assert_array_equal(part, whole[first : first + count])
