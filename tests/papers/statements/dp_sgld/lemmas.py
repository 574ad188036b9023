"""Lemmas of `dp-sgld`: the diffusion, c-LSI and the sensitivity (3.1 to 3.3), and smoothness of logistic regression (5.1)."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from dpexp.reporting.checks import above


def sensitivity() -> dict[str, float]:
    """2 L / n over the difference of the mean drifts of linear losses with slope -+L: given the batch, and over all batches."""
    n, m, size = 6, 2, 1.0
    # the record's share of a batch's drift turns from -L / m into L / m where it is in the batch
    apart = [2 * size / m * (0 in batch) for batch in combinations(range(n), m)]
    return {"given the batch": 2 * size / n / max(apart), "over batches": 2 * size / n / (sum(apart) / len(apart))}


CLASSES, RECORDS, WIDTH, LAMBDA = 3, 12, 2, 0.01


def features(seed: int) -> np.ndarray:
    """Records [n, p], normal, the first of them three times as long."""
    x = np.random.default_rng(seed).standard_normal((RECORDS, WIDTH))
    x[0] *= 3
    return x


def record_hessian(weights: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Second derivative of -log softmax(W x)_y by the logits and the features, without the regulariser, [C p, C p]."""
    logits = weights @ x
    p = np.exp(logits - logits.max())
    p /= p.sum()
    return np.kron(np.diag(p) - np.outer(p, p), np.outer(x, x))


def between_two(x: np.ndarray) -> np.ndarray:
    """Weights for which the record lies halfway between two classes and far from the third."""
    weights = np.zeros((CLASSES, WIDTH))
    weights[2] = -60 * x / float(x @ x)
    return weights


def of_a_record() -> dict[str, float]:
    """The printed beta over the largest curvature of one record's loss, where it is halfway between two classes."""
    ratios = {}
    for seed in range(3):
        x = features(seed)
        # the curvature of a record grows with the square of its length
        longest = x[np.argmax((x * x).sum(axis=1))]
        top = float(np.linalg.eigvalsh(record_hessian(between_two(longest), longest))[-1]) + LAMBDA
        printed = float(np.linalg.eigvalsh(x.T @ x / len(x))[-1]) / 2 + LAMBDA
        ratios[f"data {seed}"] = printed / top
    return ratios


AT_ZERO = np.linalg.eigvalsh(record_hessian(np.zeros((CLASSES, WIDTH)), features(0)[0]))
"""curvatures of the loss at W = 0 without the regulariser; the printed loss has them with the other sign"""
CHECKS = {
    "dp-sgld/lemma-sensitivity": above(sensitivity, ""),
    "dp-sgld/lemma-smoothness": above(of_a_record, ""),
    "dp-sgld/section-5-1/sign": above(
        lambda: {"as printed": (2 * LAMBDA - float(AT_ZERO[-1])) / LAMBDA},
        "",
        verdict="reproduced",
        otherwise="misprint",
    ),
}
