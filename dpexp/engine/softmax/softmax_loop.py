"""Multinomial logistic regression with per-example clipping and noise: DP-SGLD, DP-SGD and plain SGD, one code path.

(a) W <- Proj(W - eta (G / m + lambda W) + s Z), with G the sum over the batch of gradients of -log softmax(W x)_y, each
scaled down to norm at most `clip`, m the EXPECTED batch size, Z standard normal. x holds the bias entry, so norms and
the regulariser lambda/2 |W|^2 count it. With momentum b (heavy ball) a step adds b times the move before it. float32.
(b) DP-SGLD (`dp-sgld`, Algorithm 1) has s = sqrt(2 eta) sigma, DP-SGD has s = eta z clip / m: the same at
z = sqrt(2 / eta) sigma m / clip.
(c) Gradients (softmax - e_y) x^T have rank one, so a norm is a product of two, and |x| is computed once.
(d) Steps are taken in blocks, which end where the noise held at once is used up and at checkpoints. Noise is drawn
by the block; a source that gives the same numbers in any portions makes a run independent of its checkpoints.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

BLOCK_BYTES = 1 << 18
"""of noise held at once; it should stay in the cache of a core"""

Noise = Callable[[np.ndarray], object]
"""fills an array float32 [steps, classes, p] with the next standard normals, whole blocks at once"""


def gaussian(generator: np.random.Generator) -> Noise:
    """Standard normals of a numpy generator."""
    return lambda out: generator.standard_normal(dtype=np.float32, out=out)


def langevin_scale(steps: np.ndarray, sigma: float) -> np.ndarray:
    """Standard deviation sqrt(2 eta_k) sigma of DP-SGLD's noise on the parameter, [K]."""
    return np.sqrt(2 * steps) * sigma


def gradient_noise_scale(steps: np.ndarray, multiplier: float, clip: float, batch_size: int) -> np.ndarray:
    """Standard deviation eta_k z clip / m of DP-SGD's noise on the parameter, [K]."""
    return steps * multiplier * clip / batch_size


def start(
    classes: int, p: int, sigma: float, regulariser: float, generator: np.random.Generator, radius: float = math.inf
) -> np.ndarray:
    """theta_0 ~ Proj(N(0, (2 sigma^2 / lambda) I)), float32 [classes, p]."""
    from dpexp.engine.softmax import steps as kernel

    weights = generator.standard_normal((classes, p), dtype=np.float32) * np.float32(sigma * math.sqrt(2 / regulariser))
    kernel.project(weights, radius)
    return weights


def record_norms(features: np.ndarray) -> np.ndarray:
    """Norms of the rows of [n, p], summed in float64, float32 [n]."""
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return np.sqrt(squares).astype(np.float32)


class SoftmaxRun(NamedTuple):
    """One of the runs that share batches and noise directions."""

    start: np.ndarray  # float32 [classes, p]
    steps: np.ndarray  # step sizes eta_k [K]
    regulariser: float
    clip: float = math.inf
    scale: np.ndarray | None = None  # standard deviation of the noise on the parameter [K]; None: no noise
    radius: float = math.inf
    momentum: float = 0.0  # share of the move before that a step repeats; only without projection


class Iterates(NamedTuple):
    """What runs give after some numbers of steps, float32 [runs, checkpoints, classes, p]."""

    last: np.ndarray
    average: np.ndarray  # of no run without averaging


def average_shares(count: int) -> np.ndarray:
    """By what share the average moves towards the iterate of each step k = 1 .. count: 4 / (k + 3).

    Then w_j has the weight j (j + 1)(j + 2) over K (K + 1)(K + 2)(K + 3) / 4 in the average after K steps: a new share
    4 / (k + 3) leaves (k - 1) / (k + 3) to what was before. This is the polynomial-decay average of Shamir and Zhang
    (2013, section 3) with eta = 3. The weight grows like j^3, so the second half of the steps has 15 / 16 of it.
    """
    return 4 / (np.arange(1, count + 1) + 3.0)


def train(
    features: np.ndarray,
    labels: np.ndarray,
    runs: Sequence[SoftmaxRun],
    batches: Iterable[np.ndarray],
    *,
    batch_size: int,
    noise: Noise | None = None,
    checkpoints: Sequence[int],
    averaging: bool = False,
) -> Iterates:
    """Iterates of each run after `checkpoints` steps, and with `averaging` their averages so far (`average_shares`).

    features float32 [n, p] with the bias entry, labels [n], batches a generator of `dpexp.engine.softmax.batches`,
    batch_size the expected one by which sums are divided, noise the source of the directions. The numbers of a run do
    not depend on the others. Raises ValueError for shapes that do not fit, noise without a source, or batches that end
    early. A diverged run returns values that are not finite.
    """
    from dpexp.engine.softmax import steps as kernel

    features, labels = np.ascontiguousarray(features, np.float32), np.ascontiguousarray(labels, np.int64)
    weights = np.array([run.start for run in runs], np.float32)
    if weights.ndim != 3 or weights.shape[2] != features.shape[1] or len(labels) != len(features):
        raise ValueError("starts must be [classes, p], features [n, p], labels [n]")
    etas = np.array([run.steps for run in runs])
    # (a): factors of G and of W in a step
    means, shrinks = etas / batch_size, etas * np.array([[run.regulariser] for run in runs])
    scales = np.array([np.zeros(etas.shape[1]) if run.scale is None else run.scale for run in runs])
    noisy = any(run.scale is not None for run in runs)
    if scales.shape != etas.shape or (noisy and noise is None):
        raise ValueError("noise needs its source and a standard deviation for each step")
    # (c)
    norms = record_norms(features) if any(run.clip < math.inf for run in runs) else np.zeros(len(features), np.float32)
    clips, radii = np.array([run.clip for run in runs], np.float32), np.array([run.radius for run in runs])
    momenta = np.array([run.momentum for run in runs], np.float32)
    if any(run.momentum and run.radius < math.inf for run in runs):
        raise ValueError("momentum goes without projection")
    # the move before the first step is 0, and nobody reads averages where none are wanted
    previous, averages = weights.copy(), weights.copy() if averaging else weights[:0].copy()
    states = {0: (weights.copy(), averages.copy())}
    count, size = etas.shape[1], max(1, BLOCK_BYTES // weights[0].nbytes)
    draws, shares = np.zeros((size, *weights.shape[1:]), np.float32), average_shares(count).astype(np.float32)
    done, work = 0, kernel.workspace(weights)
    # (d)
    for stop in sorted({*range(size, count, size), *(k for k in checkpoints if 0 < k <= count)}):
        block = list(islice(batches, stop - done))
        if len(block) < stop - done:
            raise ValueError(f"the batches ended after {done + len(block)} of {count} steps")
        if noisy and noise is not None:
            noise(draws[: stop - done])
        index, ends = np.concatenate(block), np.cumsum([len(batch) for batch in block])
        mean, shrink, scale = (np.ascontiguousarray(a[:, done:stop], np.float32) for a in (means, shrinks, scales))
        kernel.steps(
            weights, previous, averages, features, labels, norms, index, ends, mean, shrink, scale, shares[done:stop],
            draws, clips, radii, momenta, work, work.rows,
        )  # fmt: skip
        done = stop
        if done in checkpoints:
            states[done] = weights.copy(), averages.copy()
    if not set(checkpoints) <= states.keys():
        raise ValueError("checkpoints must lie in 0 .. number of steps")
    return Iterates(*(np.stack([states[k][which] for k in checkpoints], axis=1) for which in (0, 1)))
