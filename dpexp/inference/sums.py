"""What a server keeps of the messages of one stage: sums over users, O(p^2) numbers for each replicate.

Gradient users send m_i at the public point theta_{i-1} and count with the weight v_i; Hessian users send M_i and count
with u_i (inference, section 3.2). Symmetric matrices are kept as their upper triangle, row by row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpexp.engine.lanes.aligned import lanes_zeros


class Sums(NamedTuple):
    """Sums over the users of one stage, for eight replicates; float64, the last axis has length 8."""

    v: np.ndarray
    """[3, 8]: sum of v_i, of v_i^2, and the number of gradient users"""
    points: np.ndarray
    """A [p, 8]: sum of v_i theta_{i-1}"""
    gradients: np.ndarray
    """G [p, 8]: sum of v_i m_i"""
    squares: np.ndarray
    """Q [p (p + 1) / 2, 8]: sum of v_i^2 m_i m_i'"""
    u: np.ndarray
    """[3, 8]: sum of u_i, of (u_i Delta_H / mu_i)^2, and the number of Hessian users"""
    hessians: np.ndarray
    """M [p (p + 1) / 2, 8]: sum of u_i M_i"""

    def __add__(self, other: object) -> Sums:
        assert isinstance(other, Sums)
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))


def no_sums(p: int) -> Sums:
    """Sums over nobody."""
    triangle = p * (p + 1) // 2
    return Sums(*(lanes_zeros(rows) for rows in (3, p, p, triangle, 3, triangle)))


def symmetric(triangle: np.ndarray, p: int) -> np.ndarray:
    """Matrices [8, p, p] from upper triangles [p (p + 1) / 2, 8]."""
    rows, columns = np.triu_indices(p)
    full = np.empty((triangle.shape[-1], p, p))
    full[:, rows, columns] = full[:, columns, rows] = triangle.T
    return full
