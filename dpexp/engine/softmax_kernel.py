"""Compiled steps of softmax regression: gradients of four records at a time, straight from the rows of the data.

`dpexp.engine.softmax` says what a step is; tests hold these kernels to a literal transcription. Sums over features run
in the order that vector units like, so bits can depend on the processor; they never depend on threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

CLIP_SLACK = 1e-6
"""added to a norm before dividing, as Opacus does; a clipped norm exceeds `clip` by float32 rounding at most"""

_SUMS = {"reassoc", "contract"}  # not the rest of fastmath: a diverged run must show values that are not finite


@njit(nogil=True, fastmath=_SUMS)
def _scores(w, x0, x1, x2, x3):
    a0 = a1 = a2 = a3 = w.dtype.type(0)
    for j in range(len(w)):
        a0 += w[j] * x0[j]
        a1 += w[j] * x1[j]
        a2 += w[j] * x2[j]
        a3 += w[j] * x3[j]
    return a0, a1, a2, a3


@njit(nogil=True, fastmath=_SUMS)
def _add(total, s0, s1, s2, s3, x0, x1, x2, x3):
    for j in range(len(total)):
        total[j] += s0 * x0[j] + s1 * x1[j] + s2 * x2[j] + s3 * x3[j]


@njit(nogil=True)
def _clipped_slopes(scores, label, norm, clip):
    """softmax(scores) - e_label in place, scaled so that its length times `norm` is at most `clip`."""
    top = scores.max()
    total = square = scores.dtype.type(0)
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - top)
        total += scores[c]
    for c in range(len(scores)):
        scores[c] /= total
        if c == label:
            scores[c] -= scores.dtype.type(1)
        square += scores[c] * scores[c]
    length = np.sqrt(square) * norm + scores.dtype.type(CLIP_SLACK)
    if length > clip:
        for c in range(len(scores)):
            scores[c] *= clip / length


@njit(nogil=True)
def gradient_sums(totals, weights, features, labels, norms, index, clips):
    """Sums over the records `index` of clipped data gradients, into totals, for each of weights [runs, classes, p].

    A record is read once for all runs. clips [runs]; everything of one float type.
    """
    runs, classes, _ = weights.shape
    last = len(index) - 1
    slopes = np.empty((4, classes), weights.dtype)
    totals[:] = 0
    for first in range(0, last + 1, 4):
        rows = index[first], index[min(first + 1, last)], index[min(first + 2, last)], index[min(first + 3, last)]
        x0, x1, x2, x3 = features[rows[0]], features[rows[1]], features[rows[2]], features[rows[3]]
        for r in range(runs):
            for c in range(classes):
                slopes[0, c], slopes[1, c], slopes[2, c], slopes[3, c] = _scores(weights[r, c], x0, x1, x2, x3)
            for k in range(4):
                if first + k <= last:
                    _clipped_slopes(slopes[k], labels[rows[k]], norms[rows[k]], clips[r])
                else:
                    slopes[k] = 0
            for c in range(classes):
                _add(totals[r, c], slopes[0, c], slopes[1, c], slopes[2, c], slopes[3, c], x0, x1, x2, x3)


@njit(nogil=True)
def project(weights, radius):
    """Project [classes, p] on the ball |W| <= radius (Frobenius), in place."""
    square = 0.0
    for w in weights.flat:
        square += float(w) * float(w)
    if square > radius * radius:
        weights *= weights.dtype.type(radius / np.sqrt(square))


@njit(nogil=True)
def _move(weights, total, draw, mean, shrink, scale):
    for c in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            w = weights[c, j]
            moved = (w - mean * total[c, j]) - shrink * w  # 1 - eta lambda would round to 1
            weights[c, j] = moved + scale * draw[c, j]


@njit(nogil=True)
def steps(weights, features, labels, norms, index, ends, means, shrinks, scales, draws, clips, radii):
    """Steps on the batches index[ends[k - 1]:ends[k]], in place on float32 weights [runs, classes, p].

    means eta_k / m, shrinks eta_k lambda, scales the noise's standard deviations, all [runs, K]; draws [K, classes, p]
    standard normals that the runs share; clips and radii [runs]; all float32 but radii.
    """
    totals = np.empty_like(weights)
    begin = 0
    for k in range(len(ends)):
        gradient_sums(totals, weights, features, labels, norms, index[begin : ends[k]], clips)
        begin = ends[k]
        for r in range(len(weights)):
            _move(weights[r], totals[r], draws[k], means[r, k], shrinks[r, k], scales[r, k])
            if radii[r] < np.inf:
                project(weights[r], radii[r])
