"""Linear algebra of many small matrices at once, stacked as [..., p, p]: numpy's, with NaN for what has no result.

A matrix of a stack that is not finite gives NaN and leaves the others alone.
"""

from __future__ import annotations

import math

import numpy as np

RANK = 1e-15
"""share of the largest singular value, below which one counts as 0"""


def _finite(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The stack with a matrix 1 where one is not finite, and NaN there and 1 elsewhere [..., 1, 1]."""
    a = np.asarray(a, dtype=np.float64)
    finite = np.isfinite(a).all(axis=(-1, -2), keepdims=True)
    return np.where(finite, a, np.eye(a.shape[-1])), np.where(finite, 1.0, math.nan)


def eigensystems(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [..., p], ascending, and eigenvectors [..., p, p], as columns, of symmetric matrices [..., p, p].

    Only the upper triangle is read.
    """
    finite, mark = _finite(a)
    values, vectors = np.linalg.eigh(finite, UPLO="U")
    return values * mark[..., 0], vectors * mark


def eigenvalues(a: np.ndarray) -> np.ndarray:
    """Eigenvalues [..., p], ascending, of symmetric matrices [..., p, p]."""
    return eigensystems(a)[0]


def inverses(a: np.ndarray) -> np.ndarray:
    """Inverses of square matrices [..., p, p]; NaN where one is singular."""
    finite, mark = _finite(a)
    regular = np.linalg.slogdet(finite)[0][..., None, None] != 0
    return np.where(regular, np.linalg.inv(np.where(regular, finite, np.eye(finite.shape[-1]))) * mark, math.nan)


def pseudo_inverses(a: np.ndarray) -> np.ndarray:
    """Moore and Penrose's inverses of square matrices [..., p, p]; singular values below 1e-15 of the largest are 0."""
    finite, mark = _finite(a)
    return np.asarray(np.linalg.pinv(finite, rcond=RANK)) * mark


def times(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """a x [..., p] of matrices [..., p, q] and vectors [..., q]."""
    return np.asarray((a @ x[..., None])[..., 0])
