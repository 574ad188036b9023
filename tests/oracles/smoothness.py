"""Constants of multinomial logistic regression other than those that `dp-sgld` uses, from features [n, p]."""

import math

import numpy as np

from dpexp.theory.dp_sgld.softmax_constants import data_lipschitz, smoothness_of_norm


def smoothness_per_example(features: np.ndarray, regulariser: float) -> float:
    """beta of every record's loss: max |x|^2 / 2 + lambda, features [n, p]."""
    x = np.asarray(features, dtype=np.float64)
    return smoothness_of_norm(math.sqrt(float(np.max(np.sum(x * x, axis=1)))), regulariser)


def smoothness_batches(features: np.ndarray, batch_size: int, regulariser: float = 0.0) -> float:
    """Mean over consecutive batches of lmax(sum x x^T / m) / 2; the authors' code computes it so, without lambda."""
    x = np.asarray(features, dtype=np.float64)
    batches = [x[k : k + batch_size] for k in range(0, len(x), batch_size)]
    return float(np.mean([np.linalg.norm(b, 2) ** 2 / len(b) for b in batches])) / 2 + regulariser


def lipschitz_on_ball(norm: float, regulariser: float, radius: float) -> float:
    """L of the whole loss on |W| <= radius: L0 + lambda radius."""
    return data_lipschitz(norm) + regulariser * radius
