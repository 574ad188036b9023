"""Multinomial logistic regression with per-example clipping and noise: DP-SGLD, DP-SGD and plain SGD, one code path.

W <- Proj(W - eta (G / m + lambda W) + s Z), with G the sum over the batch of gradients of -log softmax(W x)_y, each
scaled down to norm at most `clip`, m the EXPECTED batch size, Z standard normal. x holds the bias entry, so norms and
the regulariser lambda/2 |W|^2 count it. DP-SGLD (`dp-sgld`, Algorithm 1) has s = sqrt(2 eta) sigma, DP-SGD has
s = eta z clip / m: the same at z = sqrt(2 / eta) sigma m / clip. Gradients (softmax - e_y) x^T have rank one, so their
norms cost nothing. float32; run it with one BLAS thread, on which the bits can depend.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from itertools import islice

import numpy as np

CLIP_SLACK = 1e-6
"""added to a norm before dividing, as Opacus does; a clipped norm exceeds `clip` by float32 rounding at most"""

Noise = Callable[[np.ndarray], object]
"""fills an array float32 [classes, p] with standard normals"""


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
    weights = generator.standard_normal((classes, p), dtype=np.float32) * np.float32(sigma * math.sqrt(2 / regulariser))
    project(weights, radius)
    return weights


def project(weights: np.ndarray, radius: float) -> None:
    """Project on the ball |W| <= radius (Frobenius), in place."""
    if radius < math.inf:
        norm = float(np.linalg.norm(weights))
        if norm > radius:
            weights *= np.float32(radius / norm)


def record_norms(features: np.ndarray) -> np.ndarray:
    """Norms of the rows of [n, p], summed in float64, float32 [n]."""
    squares = np.einsum("ij,ij->i", features, features, dtype=np.float64)
    return np.sqrt(squares).astype(np.float32)


def clipped_sum(
    weights: np.ndarray, x: np.ndarray, labels: np.ndarray, norms: np.ndarray | None, clip: float
) -> np.ndarray:
    """Sum over records of their data gradients, each of norm at most `clip` (inf: unclipped), [classes, p].

    weights [classes, p], x [m, p], labels [m], norms = |x| [m] (needed if clip is finite).
    """
    slopes = np.ascontiguousarray((x @ weights.T).T)  # [classes, m]: short sums run along the long axis
    slopes -= slopes.max(axis=0)
    np.exp(slopes, out=slopes)
    slopes /= slopes.sum(axis=0)
    slopes[labels, np.arange(len(labels))] -= 1
    if clip < math.inf:
        if norms is None:
            raise ValueError("clipping needs the norms of the records")
        lengths = np.sqrt(np.square(slopes).sum(axis=0)) * norms
        slopes *= np.minimum(1, np.float32(clip) / (lengths + np.float32(CLIP_SLACK)))
    return slopes @ x


def train(
    features: np.ndarray,
    labels: np.ndarray,
    weights: np.ndarray,
    batches: Iterable[np.ndarray],
    steps: np.ndarray,
    *,
    batch_size: int,
    regulariser: float,
    clip: float = math.inf,
    scale: np.ndarray | None = None,
    noise: Noise | None = None,
    radius: float = math.inf,
    checkpoints: Sequence[int] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Run len(steps) steps; the last iterate [classes, p] and those after `checkpoints` steps [*, classes, p], float32.

    features float32 [n, p] with the bias entry, labels [n], weights the start (not changed), batches a generator of
    `dpexp.engine.batches`, steps eta_k [K], batch_size the expected one by which sums are divided, scale the noise's
    standard deviation on the parameter [K] (None: no noise). Raises ValueError for shapes that do not fit, noise
    without a source, or batches that end early. A diverged run returns values that are not finite.
    """
    features = np.ascontiguousarray(features, np.float32)
    if weights.ndim != 2 or weights.shape[1] != features.shape[1] or len(labels) != len(features):
        raise ValueError("weights must be [classes, p], features [n, p], labels [n]")
    if scale is not None and (noise is None or len(scale) != len(steps)):
        raise ValueError("noise needs its source and a standard deviation for each step")
    current = np.array(weights, np.float32)
    before, draws = np.empty_like(current), np.empty_like(current)
    norms = record_norms(features) if clip < math.inf else None
    wanted = set(checkpoints)
    kept = {0: current.copy()} if 0 in wanted else {}
    done = 0
    for done, (index, step) in enumerate(zip(islice(batches, len(steps)), steps.tolist(), strict=False), start=1):
        before[:] = current
        x = features.take(index, axis=0)
        total = clipped_sum(current, x, labels[index], None if norms is None else norms[index], clip)
        total *= np.float32(step / batch_size)
        current -= total
        np.multiply(before, np.float32(step * regulariser), out=total)  # 1 - eta lambda would round to 1
        current -= total
        if scale is not None and noise is not None:
            noise(draws)
            draws *= np.float32(scale[done - 1])
            current += draws
        project(current, radius)
        if done in wanted:
            kept[done] = current.copy()
    if done < len(steps):
        raise ValueError(f"the batches ended after {done} of {len(steps)} steps")
    stored = [kept[k] for k in checkpoints if k in kept]
    if len(stored) != len(checkpoints):
        raise ValueError("checkpoints must lie in 0 .. number of steps")
    return current, np.array(stored, np.float32).reshape(len(stored), *current.shape)


def loss(weights: np.ndarray, features: np.ndarray, labels: np.ndarray, regulariser: float) -> float:
    """Mean of -log softmax(W x)_y plus lambda/2 |W|^2, summed in float64."""
    logits = features @ weights.T
    logits -= logits.max(axis=1, keepdims=True)
    own = logits[np.arange(len(labels)), labels]
    mean = float(np.mean(np.log(np.exp(logits).sum(axis=1)) - own, dtype=np.float64))
    return mean + regulariser / 2 * float(np.sum(np.square(weights, dtype=np.float64)))


def accuracy(weights: np.ndarray, features: np.ndarray, labels: np.ndarray) -> float:
    """Share of records whose class has the largest score."""
    return float(np.mean(np.argmax(features @ weights.T, axis=1) == labels))
