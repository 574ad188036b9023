"""How long steps should be, from the Hessians that were measured: a public guess of the curvature is the start alone.

Steps that are too short leave the start unforgotten. For a logistic model Hessians are then measured where the risk is
more curved than at the target, and intervals come out too short (.922 to .931 where the guess was twice too large).
Steps that are too long throw the iterate about, and intervals come out too long. So after every stage the server
compares what was measured with its guess. It does so with messages that it has, which costs no privacy.
"""

from __future__ import annotations

import numpy as np

from dpexp.inference.models import Model
from dpexp.inference.newton import mean_hessian
from dpexp.inference.small_matrices import eigenvalues
from dpexp.inference.sums import Sums

FARTHEST_PACE = 16.0
"""steps become at most so many times longer or shorter than they were planned"""


def guessed_median(model: Model) -> float:
    """The median eigenvalue of the guessed Hessian, as steps are planned for."""
    return float(np.median(eigenvalues(model.guessed_hessian)))


def curvature_ratio(model: Model, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """How many times as curved as guessed the risk is where Hessians were measured [8], and the variance of that [8].

    In coordinates in which the Frobenius norm is Euclidean the noise of the mean Hessian M is N(0, se_H^2 I). For a
    guess G the ratio that fits best is <M, G> / |G|^2, with the variance se_H^2 / |G|^2. It uses all entries, so it is
    known much better than any eigenvalue.
    """
    guess = model.guessed_hessian * np.outer(model.hessian_scaling, model.hessian_scaling)
    norm_sq = float(np.sum(guess * guess))
    mean, error = mean_hessian(sums, model.p)
    return np.sum(mean * guess, axis=(1, 2)) / norm_sq, error**2 / norm_sq


def measured_pace(model: Model, curvature: float, sums: Sums) -> np.ndarray:
    """By how much longer steps should be than those that were planned with the guess `curvature` h [8].

    The measured ratio r of variance V and the guess g = h / guessed_median are averaged by their precisions. The guess
    counts as right up to a factor of about 2, that is with the standard deviation g:

        r~ = (r g^2 + g V) / (g^2 + V),        pace = g / r~

    A guess that is wrong by a factor 4 weighs little wherever V is small enough for an interval.
    """
    ratio, variance = curvature_ratio(model, sums)
    guess = curvature / guessed_median(model)
    mixed = (ratio * guess**2 + guess * variance) / (guess**2 + variance)
    mixed = np.where(np.isfinite(mixed), mixed, guess)  # nobody sent a Hessian
    return np.asarray(np.clip(guess / np.maximum(mixed, 1e-300), 1 / FARTHEST_PACE, FARTHEST_PACE))
