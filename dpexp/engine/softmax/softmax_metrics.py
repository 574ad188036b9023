"""Loss and accuracy of an iterate, and products of matrices, each summed in one fixed order.

A library's product of matrices rounds as the processor has it, so the last digits of a loss would depend on the
machine. Here one row after the other is added, which any processor may do for many columns at once.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled

RECORDS = 512
"""whose scores are held at once: with their features they stay in the cache of a core"""


class Tally(NamedTuple):
    """What records say of an iterate."""

    loss: float  # sum over the records of -log softmax(W x)_y
    right: int  # records whose class has the largest score, the first of those that tie


@compiled(cached=True)
def add_product(out: np.ndarray, a: np.ndarray, b: np.ndarray) -> None:
    """Add the product of left [n, m] and right [m, count] to out [n, count]."""
    for i in range(len(a)):
        for j in range(len(b)):
            factor = a[i, j]
            for c in range(b.shape[1]):
                out[i, c] += factor * b[j, c]


@compiled(cached=True)
def _tallied(scores: np.ndarray, labels: np.ndarray) -> tuple[float, int]:
    """The sums of `Tally` over records with the scores [classes, records]; exponentials and logarithms are float64."""
    loss, right = 0.0, 0
    for k in range(scores.shape[1]):
        best = 0
        for c in range(len(scores)):
            if scores[c, k] > scores[best, k]:
                best = c
        # softmax is the same when all scores move; so none overflows
        top = scores[best, k]
        total = 0.0
        for c in range(len(scores)):
            total += math.exp(scores[c, k] - top)
        loss += math.log(total) - (scores[labels[k], k] - top)
        right += best == labels[k]
    return loss, right


def tallies(weights: np.ndarray, features: np.ndarray, labels: np.ndarray) -> list[Tally]:
    """Of each of weights [runs, classes, p] on features [n, p] and labels [n]; a loss is NaN where scores overflow.

    Scores are of the type of the weights. In float32 the error of one is at most p 6e-8 times the sum of the sizes of
    its terms; that of the mean loss is smaller.
    """
    weights = np.ascontiguousarray(weights)
    sums = [(0.0, 0)] * len(weights)
    for first in range(0, len(features), RECORDS):
        # turned into columns once for all runs
        columns = np.ascontiguousarray(features[first : first + RECORDS].T, weights.dtype)
        for r, own in enumerate(weights):
            scores = np.zeros((len(own), columns.shape[1]), weights.dtype)
            add_product(scores, own, columns)
            loss, right = _tallied(scores, labels[first : first + RECORDS])
            sums[r] = sums[r][0] + loss, sums[r][1] + right
    return [Tally(float(loss), int(right)) for loss, right in sums]
