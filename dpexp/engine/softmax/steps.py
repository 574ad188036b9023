"""Compiled steps of softmax regression: gradients of four records and two classes at a time, from the rows of the data.

`dpexp.engine.softmax.loop` says what a step is; tests hold these kernels to a literal transcription. Sums over
features run in the order that vector units like, so bits can depend on the processor; they never depend on threads.
"""

from __future__ import annotations

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled

CLIP_SLACK = 1e-6
"""added to a norm before dividing, as Opacus does; a clipped norm exceeds `clip` by float32 rounding at most"""

_SUMS = {"reassoc", "contract"}  # not the rest of fastmath: a diverged run must show values that are not finite


@njit(nogil=True, fastmath=_SUMS)
def _scores(slopes, weights, c, d, features, rows):
    """Scores of classes c and d for four records, into slopes [4, classes]."""
    i0, i1, i2, i3 = rows
    a0 = a1 = a2 = a3 = b0 = b1 = b2 = b3 = weights.dtype.type(0)
    for j in range(weights.shape[1]):
        v, w = weights[c, j], weights[d, j]
        x0, x1, x2, x3 = features[i0, j], features[i1, j], features[i2, j], features[i3, j]
        a0 += v * x0
        a1 += v * x1
        a2 += v * x2
        a3 += v * x3
        b0 += w * x0
        b1 += w * x1
        b2 += w * x2
        b3 += w * x3
    slopes[0, c], slopes[1, c], slopes[2, c], slopes[3, c] = a0, a1, a2, a3
    slopes[0, d], slopes[1, d], slopes[2, d], slopes[3, d] = b0, b1, b2, b3


@njit(nogil=True, fastmath=_SUMS)
def _add(total, slopes, c, d, features, rows):
    """Add four records' gradients of classes c and d; once where these are the same."""
    i0, i1, i2, i3 = rows
    s0, s1, s2, s3 = slopes[0, c], slopes[1, c], slopes[2, c], slopes[3, c]
    t0, t1, t2, t3 = slopes[0, d], slopes[1, d], slopes[2, d], slopes[3, d]
    if c == d:
        t0 = t1 = t2 = t3 = total.dtype.type(0)
    for j in range(total.shape[1]):
        x0, x1, x2, x3 = features[i0, j], features[i1, j], features[i2, j], features[i3, j]
        total[c, j] += s0 * x0 + s1 * x1 + s2 * x2 + s3 * x3
        total[d, j] += t0 * x0 + t1 * x1 + t2 * x2 + t3 * x3


@njit(nogil=True)
def _clipped_slopes(scores, label, norm, clip):
    """softmax(scores) - e_label in place, scaled so that its length times `norm` is at most `clip`.

    The loss of one record is log sum_c exp(w_c x) - w_label x. Its gradient in w_c is s_c x with the slope
    s_c = softmax_c - 1{c = label}: the outer product of slopes and record. Its length over all classes is |s| |x|, so
    clipping needs no pass over the features, and clipping the slopes clips the gradient.
    """
    top = scores.max()
    total = square = scores.dtype.type(0)
    for c in range(len(scores)):
        scores[c] = np.exp(scores[c] - top)  # softmax is the same when all scores move; so none overflows
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


@compiled(kept=True)
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
        for r in range(runs):
            for c in range(0, classes, 2):
                _scores(slopes, weights[r], c, min(c + 1, classes - 1), features, rows)
            for k in range(4):
                if first + k <= last:
                    _clipped_slopes(slopes[k], labels[rows[k]], norms[rows[k]], clips[r])
                else:
                    slopes[k] = 0  # a last group of fewer than four repeats a record, which must not count
            for c in range(0, classes, 2):
                _add(totals[r], slopes, c, min(c + 1, classes - 1), features, rows)


@compiled(kept=True)
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
            # w - eta (mean gradient + lambda w) + noise. The factor 1 - eta lambda would round to 1 in float32, so the
            # ridge is subtracted by itself.
            moved = (w - mean * total[c, j]) - shrink * w
            weights[c, j] = moved + scale * draw[c, j]


@njit(nogil=True)
def _move_on(weights, previous, total, draw, mean, shrink, scale, momentum):
    """The same step, and `momentum` times the one before; `previous` becomes the weights of before this step."""
    for c in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            w = weights[c, j]
            moved = (w - mean * total[c, j]) - shrink * w
            weights[c, j] = (moved + scale * draw[c, j]) + momentum * (w - previous[c, j])
            previous[c, j] = w


@njit(nogil=True)
def _follow(average, weights, share):
    for c in range(weights.shape[0]):
        for j in range(weights.shape[1]):
            average[c, j] += share * (weights[c, j] - average[c, j])


@compiled(kept=True)
def steps(
    weights, previous, averages, features, labels, norms, index, ends, means, shrinks, scales, shares, draws, clips,
    radii, momenta,
):  # fmt: skip
    """Steps on the batches index[ends[k - 1]:ends[k]], in place on float32 weights [runs, classes, p].

    previous [runs, classes, p]: the weights one step earlier, for momenta [runs]; averages [runs or 0, classes, p]:
    averages of the iterates, each moved towards a new iterate by its share [K].

    means eta_k / m, shrinks eta_k lambda, scales the noise's standard deviations, all [runs, K]; draws [K, classes, p]
    standard normals that the runs share; clips and radii [runs]; all float32 but radii.
    """
    totals = np.empty_like(weights)
    begin = 0
    for k in range(len(ends)):
        gradient_sums(totals, weights, features, labels, norms, index[begin : ends[k]], clips)
        begin = ends[k]
        for r in range(len(weights)):
            mean, shrink, scale = means[r, k], shrinks[r, k], scales[r, k]
            if momenta[r] > 0:
                _move_on(weights[r], previous[r], totals[r], draws[k], mean, shrink, scale, momenta[r])
            else:
                _move(weights[r], totals[r], draws[k], mean, shrink, scale)
            if radii[r] < np.inf:
                project(weights[r], radii[r])
            if len(averages):
                _follow(averages[r], weights[r], shares[k])
