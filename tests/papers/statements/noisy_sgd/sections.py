"""Sentences of `noisy-sgd`: the diameter and T-bar (1.2, 1.3), the sampled Gaussian mechanism (2.3), clipped gradients (6)."""

from __future__ import annotations

import math
from bisect import bisect_left
from functools import cache

import numpy as np

from dpexp.papers.noisy_sgd.claims.instances import SLOPE, Q, both, opposite
from dpexp.reporting.checks import above


def divergence_in(width: float, q: float, slope: float, steps: int) -> float:
    """Order 2, opposite slopes."""
    return both(opposite(slope, width / 2, q), steps, 2.0)


WIDTH = 25.0
RANGES = {
    f"theta = {2 * q * slope * WIDTH:g}": (q, slope)
    for q, slope in ((Q, SLOPE / 10), (Q, SLOPE), (1.0, SLOPE), (1.0, 4 * SLOPE))
}
"""theta = 2 L D / (n eta sigma^2) = 2 q slope width: the loss of the limit is of that order, up to alpha"""


@cache
def half_of_the_limit() -> dict[str, float]:
    """Steps to half of the limit over T-bar, from the private regime to one without privacy."""
    found = {}
    for label, (q, slope) in RANGES.items():
        knee = math.ceil(WIDTH / (q * slope))
        limit, steps = _half(q, slope, knee)
        found[f"{label}, limit {limit:.3g}"] = steps / knee
    return found


CONSTANT = 10.0
"""what a reader may take for a constant"""


def _half(q: float, slope: float, most: int) -> tuple[float, int]:
    """The limit of the divergence of order 2, and the first number of steps up to `most` with half of it."""
    limit = divergence_in(WIDTH, q, slope, 10**6)
    return limit, 1 + bisect_left(range(1, most), True, key=lambda T: divergence_in(WIDTH, q, slope, T) >= limit / 2)


CLIP = 1.0
FEATURES = np.array([[3.0, 0.0], [1.0, -2.0], [0.5, 0.5]])
"""records of a logistic loss; its smoothness for a record x is |x|^2 / 4"""
CURVATURES = np.array([1.0, 9.0])
"""of a convex quadratic that is no generalised linear model; its smoothness is the larger one"""
ROUNDING = 1e-12
"""an asymmetry below it is that of a symmetric matrix in floating point"""
PLACES = np.stack(np.meshgrid(np.linspace(-4, 4, 41), np.linspace(-4, 4, 41)), axis=-1).reshape(-1, 2)


def clipped(gradient: np.ndarray, jacobian: np.ndarray) -> np.ndarray:
    """Jacobian [A, 2, 2] of the clipped gradient at A places, from that of the gradient [A, 2].

    Of clip(g) = C g / |g| where |g| > C it is C / |g| (I - u u') J with u = g / |g|: symmetric only where u is an
    eigenvector of J. Elsewhere it is J.
    """
    size = np.linalg.norm(gradient, axis=1)
    u = gradient / np.maximum(size, 1e-300)[:, None]
    across = np.eye(2) - u[:, :, None] * u[:, None, :]
    # where the gradient is short it is not clipped, and its Jacobian is its own
    long = size > CLIP
    return np.where(long[:, None, None], (CLIP / np.maximum(size, CLIP))[:, None, None] * (across @ jacobian), jacobian)


def logistic(x: np.ndarray) -> tuple[np.ndarray, float]:
    """The clipped Jacobian of log(1 + exp(-x'w)) at `PLACES`, and the smoothness."""
    share = 1 / (1 + np.exp(PLACES @ x))
    curvature = (share * (1 - share))[:, None, None] * np.outer(x, x)
    return clipped(-share[:, None] * x, curvature), float(x @ x) / 4


def quadratic() -> tuple[np.ndarray, float]:
    """The same of sum of c_i w_i^2 / 2."""
    curvature = np.broadcast_to(np.diag(CURVATURES), (len(PLACES), 2, 2))
    return clipped(PLACES * CURVATURES, curvature), float(max(CURVATURES))


def asymmetry(jacobian: np.ndarray) -> float:
    """The largest |J - J'| over J: 0 where a field is a gradient."""
    return float(np.max(np.abs(jacobian - np.swapaxes(jacobian, 1, 2))) / np.max(np.abs(jacobian)))


SHARES = (0.1, 0.5, 1.0, 2.0)
"""eta M, up to the largest that the theorems allow"""


def stretch(jacobian: np.ndarray, smoothness: float) -> list[float]:
    """The largest factor by which a step takes two near places apart, for each eta M of `SHARES`."""
    moved = (np.eye(2) - share / smoothness * jacobian for share in SHARES)
    return [float(np.max(np.linalg.norm(matrix, ord=2, axis=(1, 2)))) for matrix in moved]


def clipped_gradients() -> dict[str, float]:
    """Symmetric Jacobians and steps that contract for logistic losses, and a plainly asymmetric one for a quadratic."""
    models = [logistic(x) for x in FEATURES]
    return {
        f"{ROUNDING:g} over the asymmetry, logistic": min(1.0, ROUNDING / max(asymmetry(field) for field, _ in models)),
        "1 over the factor of a step, logistic": (1 + ROUNDING) / max(max(stretch(*model)) for model in models),
        "asymmetry over 0.001, a quadratic with curvatures 1 and 9": asymmetry(quadratic()[0]) / 1e-3,
    }


def expansion() -> dict[str, float]:
    """The factor by which a step takes two near places apart, by the derivative."""
    found = zip(SHARES, stretch(*quadratic()), strict=True)
    return {f"eta M = {share:g}": (factor - 1) / 1e-3 for share, factor in found}


CHECKS = {
    "noisy-sgd/section-1-3/true-answer": above(
        lambda: {label: CONSTANT * share for label, share in half_of_the_limit().items()},
        "",
        verdict="reproduced",
        otherwise="misleading",
    ),
    "noisy-sgd/section-6/clipped": above(clipped_gradients, "", verdict="reproduced"),
    "noisy-sgd/section-6/clipped-expands": above(expansion, "", verdict="reproduced"),
}
