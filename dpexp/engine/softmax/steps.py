"""Compiled steps of softmax regression: gradients of sixteen records at once, in tiles of 4 records and 5 classes.

`softmax_loop` defines a step; tests hold these kernels to a literal transcription. All sums over features and
records are on lanes (`dpexp.engine.lanes`), in one fixed order, so every machine returns the same bits.

(a) Sixteen records of a batch are copied to rows of whole lanes, filled up with zeros, once for all runs.
(b) Scores w_c x are sums over the features, which lie along the lanes. A tile of 4 records and 5 classes has 20 of them
on their way: a row that is read serves four or five products.
(c) Slopes s_c = softmax_c - 1{c = label} have the records along the lanes. The gradient of a record in w_c is s_c x.
(d) The gradients are added to the total in the same tiles, the features along the lanes again.
(e) The step itself, coordinate by coordinate.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler exp on lanes
from dpexp.engine.lanes.elementwise import exp, maximum, sqrt, where
from dpexp.engine.lanes.tiles import keep_rows, keep_totals, no_sums, outer, rows_at, spread_at, weighted
from dpexp.engine.lanes.vectors import VECTOR_BYTES, load, store

CLIP_SLACK = 1e-6
"""added to a norm before dividing, as Opacus does; a clipped norm exceeds `clip` by float32 rounding at most"""


@njit(nogil=True, inline="always")
def _score(slopes, weights, records, cs, ks):
    """Scores of the classes `cs` for the four records `ks`, into slopes [classes, records]."""
    sums = no_sums(weights, cs, ks)
    for v in range(weights.shape[1]):
        sums = outer(sums, rows_at(weights, cs, v), rows_at(records, ks, v))
    keep_totals(slopes, cs, ks[0], sums)


@njit(nogil=True, inline="always")
def _add(total, slopes, records, cs, ks):
    """Add the gradients of the classes `cs` for the four records `ks`."""
    factors = spread_at(slopes, cs, ks)
    for v in range(total.shape[1]):
        keep_rows(total, cs, v, weighted(rows_at(total, cs, v), factors, rows_at(records, ks, v)))


@njit(nogil=True, inline="always")
def _in_tiles(visit, out, factors, records, count):
    """`visit` all classes, which are the rows of out, for the first `count` records: in fives, the rest singly."""
    for k in range(0, count, 4):
        c, ks = 0, (k, k + 1, k + 2, k + 3)
        while c + 5 <= len(out):
            visit(out, factors, records, (c, c + 1, c + 2, c + 3, c + 4), ks)
            c += 5
        while c < len(out):
            visit(out, factors, records, (c,), ks)
            c += 1


@njit(nogil=True, inline="always")
def _clipped_slopes(slopes, labels, norms, clip):
    """softmax(scores) - e_label in place [classes, records], scaled so that its length times `norms` is at most `clip`.

    The loss of one record is log sum_c exp(w_c x) - w_label x. Its gradient in w_c is s_c x with the slope
    s_c = softmax_c - 1{c = label}: the outer product of slopes and record.
    """
    classes = len(slopes)
    # softmax is the same when all scores move; less the largest, none overflows
    top = load(slopes, (0,))
    for c in range(1, classes):
        top = maximum(load(slopes, (c,)), top)
    total = top - top
    for c in range(classes):
        share = exp(load(slopes, (c,)) - top)
        store(slopes, (c,), share)
        total = total + share
    for c in range(classes):
        store(slopes, (c,), load(slopes, (c,)) / total)
    for k in range(len(labels)):
        slopes[labels[k], k] -= slopes.dtype.type(1)
    # the length of the gradient over all classes is |s| |x|: no pass over the features, and to clip the slopes clips it
    square = total - total  # 0 in every lane, and NaN where the scores are
    for c in range(classes):
        slope = load(slopes, (c,))
        square = square + slope * slope
    length = sqrt(square) * load(norms, (0,)) + CLIP_SLACK
    factor = where(length > clip, clip / length, 1.0)
    for c in range(classes):
        store(slopes, (c,), load(slopes, (c,)) * factor)


class Work(NamedTuple):
    """Memory of the kernels, zeros at first. They are given it: to allocate takes long to compile."""

    weights: np.ndarray  # [runs, classes, v, lanes], v = ceil(p / lanes): rows of whole lanes
    totals: np.ndarray  # sums of gradients, of the same shape
    records: np.ndarray  # [lanes, v, lanes]: some records, in rows of whole lanes
    slopes: np.ndarray  # [classes, lanes], for these records
    labels: np.ndarray  # [lanes] int64
    norms: np.ndarray  # [1, lanes]

    @property
    def rows(self) -> Work:
        """The same memory, with the last two axes of weights, totals and records as one."""
        weights, totals, records = (a.reshape(*a.shape[:-2], -1) for a in self[:3])
        return self._replace(weights=weights, totals=totals, records=records)


def workspace(weights: np.ndarray) -> Work:
    """Memory for weights [runs, classes, p]."""
    runs, classes, p = weights.shape
    lanes = VECTOR_BYTES // weights.itemsize
    row = -(-p // lanes), lanes
    inside = (runs, classes, *row)
    shapes = (inside, inside, (lanes, *row), (classes, lanes))
    own, total, records, slopes = (np.zeros(shape, weights.dtype) for shape in shapes)
    return Work(own, total, records, slopes, np.zeros(lanes, np.int64), np.zeros((1, lanes), weights.dtype))


@njit(nogil=True, inline="always")
def _copy(to, a):
    """Copy [runs, classes, p] or as much of it as fits. Slices of several axes would take seconds to compile."""
    for r in range(len(to)):
        for c in range(to.shape[1]):
            for j in range(min(to.shape[2], a.shape[2])):
                to[r, c, j] = a[r, c, j]


@njit(nogil=True, inline="always")
def _sums(work, rows, features, labels, norms, index, clips):
    """Sums over the records `index` of the clipped data gradients of all runs, from work.weights into work.totals."""
    lanes = len(work.records)
    rows.totals[:] = 0
    for first in range(0, len(index), lanes):
        # (a)
        count = min(lanes, len(index) - first)
        for k in range(lanes):
            i = index[first + min(k, count - 1)]
            work.labels[k], work.norms[0, k] = labels[i], norms[i]
            share = features.dtype.type(1 if k < count else 0)  # beyond the batch: zeros, whose gradient is zero
            for j in range(features.shape[1]):
                rows.records[k, j] = share * features[i, j]
        for r in range(len(work.weights)):
            # (b), (c), (d)
            _in_tiles(_score, work.slopes, work.weights[r], work.records, count)
            _clipped_slopes(work.slopes, work.labels, work.norms, clips[r])
            _in_tiles(_add, work.totals[r], work.slopes, work.records, count)


@compiled(cached=True)
def project(weights, radius):
    """Project [classes, p] on the ball |W| <= radius (Frobenius), in place."""
    square = 0.0
    for c in range(len(weights)):
        for j in range(weights.shape[1]):
            square += float(weights[c, j]) * float(weights[c, j])
    if square > radius * radius:
        share = weights.dtype.type(radius / np.sqrt(square))
        for c in range(len(weights)):
            for j in range(weights.shape[1]):
                weights[c, j] *= share


@njit(nogil=True, inline="always")
def _move(weights, previous, total, draw, mean, shrink, scale, momentum):
    """A step, with momentum also that share of the one before; `previous` becomes the weights of before this step."""
    for c in range(draw.shape[0]):
        for j in range(draw.shape[1]):
            w = weights[c, j]
            # w - eta (mean gradient + lambda w) + noise. The factor 1 - eta lambda would round to 1 in float32, so the
            # ridge is subtracted by itself.
            moved = ((w - mean * total[c, j]) - shrink * w) + scale * draw[c, j]
            if momentum > 0:
                moved += momentum * (w - previous[c, j])
                previous[c, j] = w
            weights[c, j] = moved


@njit(nogil=True, inline="always")
def _follow(average, weights, share):
    for c in range(average.shape[0]):
        for j in range(average.shape[1]):
            average[c, j] += share * (weights[c, j] - average[c, j])


@compiled(cached=True)
def steps(
    weights, previous, averages, features, labels, norms, index, ends, means, shrinks, scales, shares, draws, clips,
    radii, momenta, work, rows,
):  # fmt: skip
    """Steps on the batches index[ends[k - 1]:ends[k]], in place on float32 weights [runs, classes, p].

    previous [runs, classes, p]: the weights one step earlier, for momenta [runs]; averages [runs or 0, classes, p]:
    averages of the iterates, each moved towards a new iterate by its share [K].

    means eta_k / m, shrinks eta_k lambda, scales the noise's standard deviations, all [runs, K]; draws [K, classes, p]
    standard normals that the runs share; clips and radii [runs]; all float32 but radii. work is `workspace(weights)`,
    and rows are `work.rows`.
    """
    runs = len(weights)
    w, total = rows.weights, rows.totals
    _copy(w, weights)
    begin = 0
    for k in range(len(ends)):
        _sums(work, rows, features, labels, norms, index[begin : ends[k]], clips)
        begin = ends[k]
        # (e)
        for r in range(runs):
            mean, shrink, scale = means[r, k], shrinks[r, k], scales[r, k]
            _move(w[r], previous[r], total[r], draws[k], mean, shrink, scale, momenta[r])
            if radii[r] < np.inf:
                project(w[r], radii[r])
            if len(averages):
                _follow(averages[r], w[r], shares[k])
    _copy(weights, w)
