"""What the algorithms on softmax regression share: their common random numbers, metrics, and numbers of steps."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.engine import softmax as engine
from dpexp.engine.batches import SAMPLING
from dpexp.engine.result import Passed
from dpexp.seeds import generator

if TYPE_CHECKING:
    from dpexp.privacy.budgets import Budget
    from dpexp.problems.softmax import Softmax
    from dpexp.schedules import Schedule

ESTIMATORS = ("last",)
METRICS = ("param_norm_sq", "test_accuracy", "train_loss")
"""of the last iterate: held-out accuracy; mean loss on the training records with the regulariser, a private number"""


SMOKE_SIZE = (50, 3)
"""steps and replicates of `--profile smoke`"""


class Noise(NamedTuple):
    """How one setting differs from plain SGD."""

    clip: float = math.inf
    """bound on a record's gradient norm"""
    scale: np.ndarray | None = None
    """standard deviation of each step's noise on the parameter [K]"""
    start: float = 0.0
    """sigma of the prescribed start N(0, (2 sigma^2 / lambda) I); 0 starts at 0"""
    radius: float = math.inf
    """of the ball to which iterates are projected"""


def target(budget: Budget) -> tuple[float, float]:
    """(eps, delta) of a target; eps inf where there is no privacy."""
    if budget.constant is not None and math.isinf(budget.constant):
        return math.inf, 1.0
    return float(budget.eps), float(budget.delta)  # type: ignore[attr-defined]


def no_target(budget: Budget) -> list[str]:
    """A complaint where a budget is not an (eps, delta) for the whole run."""
    unbounded = budget.constant is not None and math.isinf(budget.constant)
    known = unbounded or (hasattr(budget, "eps") and hasattr(budget, "delta"))
    return [] if known else ["noise is set for a whole run: write privacy: {eps: 1, delta: 1e-5} in place of mu"]


def step_count(problem: Softmax, batch_size: int, epochs: int) -> int:
    """Steps of so many passes over the training records."""
    return max(1, round(epochs * problem.n / batch_size))


def step_sizes(problem: Softmax, schedule: Schedule, count: int) -> np.ndarray:
    """eta_k of the steps, [count]."""
    return schedule.for_losses(problem.smoothness, problem.regulariser).step_sizes(1, count)


def simulate(
    problem: Softmax,
    settings: Sequence[tuple[Schedule, Budget]],
    noise_of: Callable[[Schedule, Budget, np.ndarray], Noise],
    sampling: str,
    batch_size: int,
    steps: np.ndarray,
    seed: int,
    replicates: Sequence[int],
) -> Passed:
    """Every setting on the same batches, noise directions and start; metrics of the iterates after `steps` steps."""
    steps = np.asarray(steps, dtype=np.int64)
    train = problem.train
    values = np.empty((len(settings), 1, len(steps), len(METRICS), len(replicates)))
    shape = (problem.shape.classes, train.features.shape[1])
    for s, (schedule, budget) in enumerate(settings):
        sizes = step_sizes(problem, schedule, int(steps[-1]))
        noise = noise_of(schedule, budget, sizes)
        for r, replicate in enumerate(replicates):
            weights = np.zeros(shape, np.float32)
            if noise.start:
                init = generator(seed, replicate, "init")
                weights = engine.start(*shape, noise.start, problem.regulariser, init, noise.radius)
            with np.errstate(over="ignore", invalid="ignore"):  # a diverged replicate is a result
                _, kept = engine.train(
                    train.features,
                    train.labels,
                    weights,
                    SAMPLING[sampling](len(train), batch_size, generator(seed, replicate, "order")),
                    sizes,
                    batch_size=batch_size,
                    regulariser=problem.regulariser,
                    clip=noise.clip,
                    scale=noise.scale,
                    noise=engine.gaussian(generator(seed, replicate, "noise")),
                    radius=noise.radius,
                    checkpoints=steps.tolist(),
                )
                for k, iterate in enumerate(kept):
                    values[s, 0, k, :, r] = _metrics(problem, iterate)
    return Passed(steps, ESTIMATORS, METRICS, values)


def _metrics(problem: Softmax, weights: np.ndarray) -> tuple[float, float, float]:
    train, test = problem.split
    size = float(np.sum(np.square(weights, dtype=np.float64)))
    if not math.isfinite(size):
        return size, math.nan, math.nan
    held_out = engine.accuracy(weights, test.features, test.labels)
    return size, held_out, engine.loss(weights, train.features, train.labels, problem.regulariser)


def seconds(problem: Softmax, batch_size: int, n: int) -> float:
    """Estimated time of one replicate: products over the batch, noise, and a fixed cost a step."""
    shape = problem.shape
    return n * (
        2e-5 + batch_size * shape.width * (shape.classes * 1.0e-10 + 6e-10) + shape.classes * shape.width * 8e-9
    )
