"""Softmax regression as a problem, and DP-SGLD, DP-SGD and SGD on it: data, constants, accounting, mismatches, runs."""

import math
from functools import partial

import numpy as np
import pytest

from dpexp.algorithms import ALGORITHMS
from dpexp.algorithms.schedules import SCHEDULES
from dpexp.core.seeds import generator
from dpexp.engine.softmax.batches import SAMPLING
from dpexp.engine.softmax.softmax_metrics import tallies
from dpexp.privacy.budgets import Target
from dpexp.problems.softmax import Softmax
from tests.oracles import softmax as oracle

DIGITS = Softmax(regulariser=1e-2)
CONSTANT, DECREASING = SCHEDULES["langevin"](), SCHEDULES["langevin"](decreasing=True)
TARGET, FREE = Target(eps=1.0, delta=1e-5), Target(eps=math.inf)
DP_SGLD, DP_SGD, SGD = (ALGORITHMS[name] for name in ("dp-sgld", "dp-sgd", "sgd"))


def test_constants_hold_for_every_record():
    """Gradient norms never exceed L, and never expand faster than beta, at any weights."""
    rng = np.random.default_rng(4)
    train, lam = DIGITS.train, DIGITS.regulariser
    for size in (0.0, 1.0, 30.0):
        weights = (size * rng.standard_normal((10, 65))).astype(np.float32)
        for k in range(0, 60):
            x, y = train.features[k : k + 1], train.labels[k : k + 1]
            gradient = oracle.clipped_sum(weights, x, y, None, math.inf)
            assert np.linalg.norm(gradient) <= DIGITS.lipschitz * (1 + 1e-5)
            step = 0.1 * rng.standard_normal(weights.shape).astype(np.float32)
            moved = oracle.clipped_sum(weights + step, x, y, None, math.inf) - gradient + lam * step
            assert np.linalg.norm(moved) <= DIGITS.smoothness * np.linalg.norm(step) * (1 + 1e-3)
    assert DIGITS.shape[1:] == (65, 10)
    assert pytest.approx(math.sqrt(2 * math.log(10) / 1e-2)) == DIGITS.radius


def by_hand(algorithm, sizes, scale, start, clip, seed, replicate):
    """The update rule, one line a step, on the named random streams: the last iterate and the weighted average."""
    train, velocity, iterates = DIGITS.train, 0.0, []
    scheme = SAMPLING[algorithm.sampling]
    scheme = partial(scheme, groups=algorithm.groups) if algorithm.groups else scheme
    order = scheme(len(train), algorithm.batch_size, generator(seed, replicate, "order"))
    noise = generator(seed, replicate, "noise")
    w = start
    for k, (index, eta) in enumerate(zip(order, sizes, strict=False)):
        x, y = train.features[index].astype(np.float64), train.labels[index]
        p = np.exp(x @ w.T - np.max(x @ w.T, axis=1, keepdims=True))
        p /= p.sum(axis=1, keepdims=True)
        p[np.arange(len(y)), y] -= 1
        gradients = p[:, :, None] * x[:, None, :]
        lengths = np.linalg.norm(gradients, axis=(1, 2), keepdims=True)
        gradients *= np.minimum(1, clip / (lengths + 1e-6))
        z = noise.standard_normal(w.shape, dtype=np.float32) if scale is not None else 0.0
        step = -eta * (gradients.sum(axis=0) / algorithm.batch_size + DIGITS.regulariser * w)
        velocity = getattr(algorithm, "momentum", 0.0) * velocity + step + (0.0 if scale is None else scale[k] * z)
        w = w + velocity
        if isinstance(algorithm, DP_SGLD):
            w *= min(1.0, DIGITS.radius / np.linalg.norm(w))
        iterates.append(w)
    weights = np.array([j * (j + 1) * (j + 2) for j in range(1, len(iterates) + 1)])
    return w, np.tensordot(weights / weights.sum(), iterates, 1)


@pytest.mark.parametrize("schedule", [CONSTANT, DECREASING])
@pytest.mark.parametrize(
    "algorithm",
    [
        DP_SGLD(batch_size=32), DP_SGD(batch_size=32, clip=0.5), DP_SGD(batch_size=32, clip=0.5, momentum=0.6),
        SGD(batch_size=32),
        SGD(batch_size=2, sampling="balls-in-bins"),
        SGD(batch_size=2, sampling="cyclic-poisson", groups=4),
    ],
)  # fmt: skip
def test_runs_are_the_update_rules(algorithm, schedule):
    """A slow transcription on the same streams gives the same iterate; sums are divided by the nominal size of a batch."""
    budget, steps, seed, replicate = (FREE if algorithm.name == "sgd" else TARGET), 25, 11, 4
    sizes = schedule.for_losses(DIGITS.smoothness, DIGITS.regulariser).step_sizes(1, steps)
    start, scale, clip = np.zeros((10, 65)), None, math.inf
    if algorithm.name == "dp-sgld":
        sigma = algorithm.sigma(DIGITS, schedule, budget, steps)
        scale = np.sqrt(2 * sizes) * sigma
        draws = generator(seed, replicate, "init").standard_normal((10, 65), dtype=np.float32)
        start = draws * np.float32(sigma * math.sqrt(2 / DIGITS.regulariser))
        start = start * min(1.0, DIGITS.radius / np.linalg.norm(start))
    elif algorithm.name == "dp-sgd":
        scale = sizes * algorithm.multiplier(DIGITS, budget, steps) * 0.5 / 32
        clip = 0.5
    both = by_hand(algorithm, sizes, scale, start, clip, seed, replicate)
    passed = algorithm.simulate(DIGITS, [(schedule, budget)], np.array([steps]), seed, [replicate])
    assert passed.estimators == ("last", "average")[: 1 if algorithm.name == "dp-sgld" else 2]
    test, train = DIGITS.split.test, DIGITS.split.train
    for wanted, values in zip(both, passed.values[0, :, 0, :, 0], strict=False):
        mean = tallies(wanted[None], train.features, train.labels)[0].loss / len(train)
        right = tallies(wanted[None], test.features, test.labels)[0].right / len(test)
        size = np.sum(wanted**2)
        assert values[[0, 2]] == pytest.approx([size, mean + DIGITS.regulariser / 2 * size], rel=1e-4)
        assert values[1] == pytest.approx(right, abs=0.004)
    assert abs(np.sum(both[0] ** 2) / np.sum(both[1] ** 2) - 1) > 0.01  # the two are not each other


MIXED = """\
experiment: mixed
schedule: {name: langevin, decreasing: false}
problem: {name: softmax, data: {name: digits}}
run: {replicates: 2, seed: 5, checkpoints: 2}
cases:
  - problem: {regulariser: [1e-5, 1e-2]}
    algorithm: {name: dp-sgld, batch_size: 50, epochs: 1, sampling: fixed-size, accountant: [published, pld]}
    privacy: {eps: 1, delta: 1e-5}
  - problem: {regulariser: [1e-5, 1e-2]}
    algorithm: {name: dp-sgd, batch_size: 50, epochs: 1, clip: [0.5, 1]}
    privacy: {eps: 1, delta: 1e-5}
  - algorithm: {name: sgd, batch_size: 50, epochs: 1, momentum: [0, 0.9]}
    privacy: {eps: inf, delta: 1e-5}
  - algorithm: {name: sgd, batch_size: 40, epochs: 1}
    privacy: {eps: inf, delta: 1e-5}
"""


def test_cells_of_one_pass_are_what_each_is_alone():
    """Cells that share records and batches run together, whatever their algorithm; no bit depends on the company."""
    from collections import defaultdict

    from dpexp.config.experiment_file import read_experiment
    from dpexp.store.simulating import simulate

    passes = defaultdict(list)
    for cell in read_experiment(MIXED, "mixed.yaml").cells:
        passes[cell.pass_key].append(cell)
    names = [sorted(cell.algorithm.name for cell in cells) for cells in passes.values()]
    assert sorted(names) == [["dp-sgd"] * 4 + ["sgd"] * 2, ["dp-sgld"] * 4, ["sgd"]]
    for cells in passes.values():
        together = simulate(cells, [0, 3])
        assert isinstance(together, list), together
        for cell, part in zip(cells, together, strict=True):
            alone = simulate([cell], [3])
            assert isinstance(alone, list)
            assert np.array_equal(part.data.values[..., 1:], alone[0].data.values)
        first = {part.data.values[0, -1, 0, 0] for part in together}
        assert len(first) == len(cells), "every setting has numbers of its own"


def test_a_group_has_its_own_share_in_its_own_steps():
    """Of 1,438 records in 6 groups, 30 are drawn a step: each of the group in turn with 180 / 1,438; all of it at most."""
    algorithm = DP_SGD(batch_size=30, sampling="cyclic-poisson", groups=6)
    assert algorithm.by_epochs(1438) == (6, pytest.approx(180 / 1438))
    assert algorithm.by_epochs(170) == (6, 1.0)
