"""Balls in bins, from below: a record that is in one batch of an epoch, uniformly, and fresh in every epoch.

All noisy sums of an epoch of t batches are released. With constant gradients the pair of an epoch is P = 1/t sum_j
N(mu e_j), Q = N(0) on R^t; epochs are independent. For a group of a bins and one of b,

    P = a / (a + b) P_A x Q_B + b / (a + b) Q_A x P_B,    Q = Q_A x Q_B,

and after every combination the atoms (p, q) whose log ratio lies in one cell are merged. Merging is post-processing,
which only lowers divergences, in either order of the pair; so the result is a lower bound for any width of the cells.
"""

from __future__ import annotations

import numpy as np

from tests.oracles.cells import Cells

Atoms = tuple[np.ndarray, np.ndarray]
"""masses under P and under Q"""
CELLS = 20_000
"""intervals of the outcome of one bin"""
MOST = 1000
"""cells that are kept: wider ones are only lower"""
_LEAST = 1e-60


def epochs(mu: float, bins: int, times: int, width: float = 0.02) -> Cells:
    """The pair of `times` epochs of `bins` batches; mu is the distance of the means over the noise."""
    from scipy.special import ndtr

    edges = np.linspace(-12.0, 12.0 + mu, CELLS + 1)
    masses = []
    for mean in (mu, 0.0):
        below, above = ndtr(edges - mean), ndtr(mean - edges)
        inner = np.where(edges[:-1] > mean, above[:-1] - above[1:], below[1:] - below[:-1])
        masses.append(np.concatenate([[below[0]], inner, [above[-1]]]))
    one = _merged(masses[0], masses[1], width)
    group, size, total, held = one, 1, None, 0
    left = bins
    while left:
        if left & 1:
            total, held = (group, size) if total is None else (_allocated(total, held, group, size, width), held + size)
        left >>= 1
        if left:
            group, size = _allocated(group, size, group, size, width), 2 * size
    assert total is not None
    result, power, left = None, total, times
    while left:
        if left & 1:
            result = power if result is None else product(result, power, width)
        left >>= 1
        if left:
            power = product(power, power, width)
    assert result is not None
    return Cells(result[0], result[1], 1e-11)


def _allocated(a: Atoms, size_a: int, b: Atoms, size_b: int, width: float) -> Atoms:
    share = size_a / (size_a + size_b)
    p = share * np.outer(a[0], b[1]) + (1 - share) * np.outer(a[1], b[0])
    return _merged(p.ravel(), np.outer(a[1], b[1]).ravel(), width)


def product(a: Atoms, b: Atoms, width: float) -> Atoms:
    return _merged(np.outer(a[0], b[0]).ravel(), np.outer(a[1], b[1]).ravel(), width)


def _merged(p: np.ndarray, q: np.ndarray, width: float) -> Atoms:
    """Atoms whose log ratio is in one cell, as one; what is hardly likely under either is one atom on each side."""
    seen = (p > _LEAST) & (q > _LEAST)
    far = ~seen & (p > q), ~seen & (p <= q)
    out_p, out_q = (np.array([v[where].sum() for where in far]) for v in (p, q))
    if seen.any():
        ratio = np.log(p[seen]) - np.log(q[seen])
        width = max(width, float(np.ptp(ratio)) / MOST)
        cell = np.floor(ratio / width).astype(np.int64)
        first = int(cell.min())
        out_p = np.append(out_p, np.bincount(cell - first, weights=p[seen]))
        out_q = np.append(out_q, np.bincount(cell - first, weights=q[seen]))
    kept = (out_p > 0) | (out_q > 0)
    return out_p[kept], out_q[kept]
