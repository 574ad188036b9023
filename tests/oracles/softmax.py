"""Langevin SGD for softmax regression, one record, class and coordinate at a time, in float64 (`dp-sgld`, Algorithm 1)."""

import math

import numpy as np

from dpexp.engine.softmax import steps as kernel


def clipped_sum(weights, x, labels, norms, clip):
    """By the kernel: the sum over records of their data gradients, each of norm at most `clip`, [classes, p].

    weights [classes, p], x [m, p] and norms = |x| [m] (None: unclipped) of one float type, labels [m].
    """
    weights, norms = weights[None].copy(), np.zeros(len(x), x.dtype) if norms is None else norms
    one, work = np.ones((1, 1), x.dtype), kernel.workspace(weights)
    # a step leaves the sum that it has taken
    kernel.steps(
        weights, weights, weights[:0], x, labels, norms, np.arange(len(x)), np.array([len(x)]), one, 0 * one, 0 * one,
        one[0], weights, one[0] * clip, np.array([np.inf]), 0 * one[0], work, work.rows,
    )  # fmt: skip
    return work.rows.totals[0, :, : x.shape[1]]


def record_gradient(weights, x, y):
    """Gradient of -log softmax(W x)_y, [classes][p]."""
    scores = [sum(w * v for w, v in zip(row, x, strict=True)) for row in weights]
    top = max(scores)
    total = sum(math.exp(s - top) for s in scores)
    shares = [math.exp(s - top) / total for s in scores]
    return [[(share - (c == y)) * v for v in x] for c, share in enumerate(shares)]


def clipped(gradient, clip):
    """The gradient times min(1, clip / (norm + 1e-6))."""
    norm = math.sqrt(sum(g * g for row in gradient for g in row))
    factor = min(1.0, clip / (norm + 1e-6))
    return [[factor * g for g in row] for row in gradient]


def run(features, labels, weights, batches, steps, batch_size, regulariser, clip, scales, draws, radius):
    """The last iterate; batches, steps, scales and draws have one entry for each step."""
    weights = [[float(w) for w in row] for row in weights]
    classes, p = len(weights), len(weights[0])
    for index, step, scale, draw in zip(batches, steps, scales, draws, strict=True):
        total = [[0.0] * p for _ in range(classes)]
        for i in index:
            gradient = clipped(record_gradient(weights, [float(v) for v in features[i]], int(labels[i])), clip)
            for c in range(classes):
                for j in range(p):
                    total[c][j] += gradient[c][j]
        for c in range(classes):
            for j in range(p):
                mean = total[c][j] / batch_size + regulariser * weights[c][j]
                weights[c][j] = weights[c][j] - step * mean + scale * float(draw[c][j])
        norm = math.sqrt(sum(w * w for row in weights for w in row))
        if norm > radius:
            weights = [[w * radius / norm for w in row] for row in weights]
    return weights
