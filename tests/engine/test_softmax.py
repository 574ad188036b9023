"""Softmax regression steps against a literal transcription, finite differences and Opacus; sampling schemes."""

import math
from pathlib import Path

import numpy as np
import pytest

from dpexp.algorithms.schedules import LangevinSchedule
from dpexp.engine.softmax import softmax_loop as softmax
from dpexp.engine.softmax.batches import SAMPLING
from dpexp.engine.softmax.softmax_metrics import RECORDS, tallies
from tests.oracles import softmax as oracle

RNG = np.random.default_rng


def problem(seed, n=40, p=6, classes=4):
    rng = RNG(seed)
    features = rng.standard_normal((n, p)).astype(np.float32)
    features[:, -1] = 0.25
    return features, rng.integers(0, classes, n), rng.standard_normal((classes, p)).astype(np.float32) / 2


def trained(features, labels, run, batches, batch_size, noise=None, checkpoints=None):
    """Iterates of a single run after `checkpoints` steps."""
    wanted = [len(run.steps)] if checkpoints is None else checkpoints
    return softmax.train(features, labels, [run], batches, batch_size=batch_size, noise=noise, checkpoints=wanted).last[
        0
    ]


@pytest.mark.parametrize("scheme", SAMPLING)
@pytest.mark.parametrize(
    ("clip", "radius", "noisy"), [(math.inf, math.inf, False), (0.4, math.inf, True), (0.7, 1.5, True)]
)
@pytest.mark.parametrize("classes", [2, 5])
def test_the_kernel_is_the_printed_algorithm(classes, scheme, clip, radius, noisy):
    features, labels, weights = problem(1, classes=classes)
    steps = LangevinSchedule(decreasing=True).for_losses(0.8, 0.3).step_sizes(1, 30)
    scale = softmax.langevin_scale(steps, 0.05 if noisy else 0.0)
    noise = softmax.gaussian(RNG(9))
    draws = np.empty((len(steps), *weights.shape), np.float32)
    noise(draws)
    batches = SAMPLING[scheme](40, 7, RNG(4))
    listed = [next(batches) for _ in steps]
    run = softmax.SoftmaxRun(weights, steps, 0.3, clip, scale if noisy else None, radius)
    kept = trained(features, labels, run, SAMPLING[scheme](40, 7, RNG(4)), 7, softmax.gaussian(RNG(9)), [0, 12, 30])
    last = kept[2]
    literal = oracle.run(features, labels, weights, listed, steps, 7, 0.3, clip, scale, draws, radius)
    assert np.max(np.abs(last - literal)) < 1e-6
    half = oracle.run(features, labels, weights, listed[:12], steps[:12], 7, 0.3, clip, scale[:12], draws[:12], radius)
    assert np.max(np.abs(kept[1] - half)) < 1e-6
    assert np.array_equal(kept[0], weights)
    assert last.dtype == np.float32
    if radius < math.inf:
        assert np.linalg.norm(last) <= radius * (1 + 1e-6)


def test_fixed_size_and_shuffled_batches():
    fixed = SAMPLING["fixed-size"](30, 4, RNG(1))
    seen = np.array([next(fixed) for _ in range(3000)])
    assert all(len(set(row)) == 4 for row in seen)
    assert np.bincount(seen.ravel(), minlength=30) == pytest.approx(400, abs=90)
    shuffled = SAMPLING["shuffled"](30, 4, RNG(1))
    for _ in range(3):
        epoch = [next(shuffled) for _ in range(8)]
        assert [len(b) for b in epoch] == [4] * 7 + [2]
        assert sorted(np.concatenate(epoch)) == list(range(30))
    for scheme in SAMPLING.values():
        again = scheme(30, 4, RNG(8)), scheme(30, 4, RNG(8))
        assert all(np.array_equal(next(again[0]), next(again[1])) for _ in range(10))
        with pytest.raises(ValueError, match="between 1 and n"):
            next(scheme(3, 4, RNG(0)))


def test_fifty_steps_of_opacus_as_recorded():
    """torch.nn.Linear with weight decay under Opacus' DPOptimizer, without noise, and with the noise that it drew."""
    with np.load(Path(__file__).parents[1] / "data" / "opacus_softmax.npz") as recorded:
        features, labels, batches, start, plain, noisy, noise = (
            recorded[name] for name in ("features", "labels", "batches", "start", "plain", "noisy", "noise")
        )
    m, multiplier, clip, steps = batches.shape[1], 1.1, 0.3, np.full(len(batches), 0.5)
    run = softmax.SoftmaxRun(start, steps, 0.01, clip)
    (ours,) = trained(features, labels, run, iter(batches), m)
    assert np.max(np.abs(ours - plain)) < 1e-6
    draws = -noise / np.float32(multiplier * clip)
    run = run._replace(scale=softmax.gradient_noise_scale(steps, multiplier, clip, m))
    (ours,) = trained(features, labels, run, iter(batches), m, lambda out: np.copyto(out, draws[: len(out)]))
    assert np.max(np.abs(ours - noisy)) < 1e-6
    assert np.max(np.abs(noisy - plain)) > 0.05


def literal(weights, features, labels):
    """Record by record: log of the sum of exp(score), less the score of the own class."""
    total, right = 0.0, 0
    for x, label in zip(features.astype(float), labels, strict=True):
        scores = [math.fsum(w * x) for w in weights.astype(float)]
        total += math.log(math.fsum(math.exp(s) for s in scores)) - scores[label]
        right += scores.index(max(scores)) == label
    return total, right


@pytest.mark.parametrize("n", [1, RECORDS - 1, RECORDS + 3])
def test_sums_over_records_are_the_literal_ones(n):
    rng = np.random.default_rng(n)
    weights, features = rng.normal(0, 2, (7, 33)).astype(np.float32), rng.normal(0, 0.5, (n, 33)).astype(np.float32)
    labels = rng.integers(0, 7, n)
    found, wanted = tallies(weights[None], features, labels)[0], literal(weights, features, labels)
    assert found.loss == pytest.approx(wanted[0], rel=1e-6)
    assert found.right == wanted[1]
    other = rng.normal(0, 2, (7, 33)).astype(np.float32)  # several are what each is alone, to the last bit
    assert tallies(np.stack([other, weights]), features, labels) == [*tallies(other[None], features, labels), found]


def test_large_scores_do_not_overflow_and_overflowed_ones_are_nan():
    features, labels = np.ones((3, 5), np.float32), np.arange(3)
    assert tallies(np.diag(np.full(5, 1e30, np.float32))[None], features, labels)[0].loss == pytest.approx(
        3 * math.log(5)
    )
    assert math.isnan(tallies(np.full((1, 5, 5), 3e38, np.float32), features, labels)[0].loss)
