"""Linear algebra of many small matrices at once, with the same bits on every machine.

LAPACK and BLAS choose their order of summation by the machine, so the last digits of what they give differ from one
machine to the next. Here every sum has one order, as it is written, and nothing is contracted or reassociated.
Matrices are stacked, [..., p, p] with p <= 22; those of a stack do not meet, so each gives what it gives alone. What is
not finite gives NaN, and never an endless loop.

With eps = 2^-53 and the Frobenius norm |A|, errors are those of the methods of textbooks (Golub and Van Loan, Matrix
Computations, 2013): of eigenvalues a few p eps |A| (8.5), of an inverse a few p eps times the condition of the matrix
(3.4, partial pivoting), of a pseudo-inverse the same (8.6).
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.compiled import compiled

SWEEPS = 60
"""at most; once elements are small each sweep squares them, and six to nine are enough"""
NOTHING = 2.0**-54
"""of the norm: an element off the diagonal that is smaller changes eigenvalues by less than rounding does"""
PARALLEL = 2.0**-52
"""cosine of the angle between two columns that counts as 0"""
RANK = 1e-15
"""share of the largest singular value, below which one counts as 0; as in numpy.linalg.pinv"""


@compiled(error_model="numpy")
def _rotation(difference, twice):
    """(c, s) of the smaller rotation for which s / c solves t^2 + (difference / off) t - 1 = 0, twice = 2 off."""
    # twice is not 0: nobody asks for an element that is 0 already
    ratio = difference / twice
    t = (-1.0 if ratio < 0.0 else 1.0) / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    return c, t * c


@compiled(error_model="numpy")
def _rotate(a, j, k, c, s):
    """Rotate the rows j and k, in place."""
    for l in range(a.shape[1]):
        one, other = a[j, l], a[k, l]
        a[j, l] = c * one - s * other
        a[k, l] = s * one + c * other


@compiled(error_model="numpy")
def _inner(one, other):
    """The sum of products of two rows."""
    total = 0.0
    for l in range(len(one)):
        total += one[l] * other[l]
    return total


@compiled(kept=True, error_model="numpy")
def _make_diagonal(matrices, rows):
    """Turn symmetric matrices [R, p, p] into diagonal ones, and `rows` [R, p, p], from 1, into their eigenvectors.

    Cyclic Jacobi: a sweep visits all pairs.
    """
    p = matrices.shape[1]
    for number in range(matrices.shape[0]):
        a, square = matrices[number], 0.0
        for j in range(p):
            for k in range(p):
                square += a[j, k] * a[j, k]
        # a sweep is repeated until no entry off the diagonal is more than this
        small = NOTHING * math.sqrt(square)
        for _ in range(SWEEPS):
            done = True
            for j in range(p - 1):
                for k in range(j + 1, p):
                    off = a[j, k]
                    if abs(off) <= small:
                        continue
                    done = False
                    # with a_kk - a_jj = 2 r a_jk the rotation of columns j and k by t = tan, t^2 + 2 r t - 1 = 0, makes
                    # a_jk zero
                    c, s = _rotation(a[k, k] - a[j, j], 2.0 * off)
                    moved = s / c * off
                    a[j, j] -= moved
                    a[k, k] += moved
                    a[j, k] = a[k, j] = 0.0
                    for l in range(p):
                        if l not in (j, k):
                            one, other = a[j, l], a[k, l]
                            a[j, l] = a[l, j] = c * one - s * other
                            a[k, l] = a[l, k] = s * one + c * other
                    _rotate(rows[number], j, k, c, s)
            if done:
                break


@compiled(kept=True, error_model="numpy")
def _make_orthogonal(columns, rows):
    """Rotate columns of matrices A [R, p, p], which are the rows of `columns`, until they are orthogonal: B = A V.

    `rows`, from 1, become V'. One-sided Jacobi.
    """
    p = columns.shape[1]
    for number in range(columns.shape[0]):
        b = columns[number]
        for _ in range(SWEEPS):
            done = True
            for j in range(p - 1):
                for k in range(j + 1, p):
                    jj, kk, jk = _inner(b[j], b[j]), _inner(b[k], b[k]), _inner(b[j], b[k])
                    if not abs(jk) > PARALLEL * math.sqrt(jj) * math.sqrt(kk):
                        continue
                    done = False
                    # that of `_make_diagonal` for B'B
                    c, s = _rotation(kk - jj, 2.0 * jk)
                    _rotate(b, j, k, c, s)
                    _rotate(rows[number], j, k, c, s)
            if done:
                break


def _in_units(a: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """A stack [R, p, p] of matrices over their largest |element|, that [R, 1, 1], and as many matrices 1."""
    stack = np.asarray(a, dtype=np.float64).reshape(-1, *np.shape(a)[-2:])
    unit = np.abs(stack).max(axis=(1, 2), keepdims=True)
    # a matrix that is not finite is NaN, and so is its unit
    unit = np.where(unit > 0, np.where(unit < math.inf, unit, math.nan), unit + 1.0)
    # so no square overflows
    return stack / unit, unit, np.tile(np.eye(stack.shape[1]), (len(stack), 1, 1))


def eigensystems(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [..., p], ascending, and eigenvectors [..., p, p], as columns, of symmetric matrices [..., p, p].

    The first of the largest entries of each vector is positive: rounding does not decide among ties. Where eigenvalues
    are equal, any basis is one. Only the upper triangle is read.
    """
    stack, unit, rows = _in_units(a)
    stack = np.triu(stack) + np.triu(stack, 1).swapaxes(1, 2)
    _make_diagonal(stack, rows)
    values = np.diagonal(stack, axis1=1, axis2=2)
    order = np.argsort(values, axis=1, kind="stable")
    values, rows = np.take_along_axis(values, order, 1) * unit[:, 0], np.take_along_axis(rows, order[:, :, None], 1)
    size = np.abs(rows)
    first = np.argmax(size * (1.0 + 1e-9) >= size.max(axis=2, keepdims=True), axis=2)
    sign = np.where(np.take_along_axis(rows, first[:, :, None], 2) < 0, -1.0, 1.0) * (unit / unit)
    return values.reshape(np.shape(a)[:-1]), np.ascontiguousarray((sign * rows).swapaxes(1, 2)).reshape(np.shape(a))


def eigenvalues(a: np.ndarray) -> np.ndarray:
    """Eigenvalues [..., p], ascending, of symmetric matrices [..., p, p]."""
    return eigensystems(a)[0]


def inverses(a: np.ndarray) -> np.ndarray:
    """Inverses of square matrices [..., p, p], by elimination with row pivots; NaN where one is singular."""
    p, a = np.shape(a)[-1], np.asarray(a, dtype=np.float64)
    # the matrix beside the identity, made upper triangular
    both = np.concatenate([a, np.broadcast_to(np.eye(p), a.shape)], axis=-1).reshape(-1, p, 2 * p)
    all_of = np.arange(len(both))
    with np.errstate(all="ignore"):
        for j in range(p):
            best = j + np.argmax(np.abs(both[:, j:, j]), axis=1)
            pivots = both[all_of, best]
            both[all_of, best], both[:, j] = both[:, j], pivots
            both[:, j + 1 :] -= (both[:, j + 1 :, j] / pivots[:, None, j])[:, :, None] * pivots[:, None]
        # then the identity, from its last row on
        out = both[:, :, p:]
        for j in range(p - 1, -1, -1):
            for k in range(j + 1, p):
                out[:, j] -= both[:, j, k, None] * out[:, k]
            out[:, j] /= both[:, j, j, None]
    out[~np.isfinite(both).all(axis=(1, 2))] = math.nan
    return out.reshape(a.shape)


def pseudo_inverses(a: np.ndarray) -> np.ndarray:
    """Moore and Penrose's inverses of square matrices [..., p, p]; singular values below 1e-15 of the largest are 0.

    With the columns b_j of B = A V orthogonal, their norms are the singular values, and A^+ = sum_j v_j b_j' / |b_j|^2.
    """
    stack, unit, rows = _in_units(a)
    columns = np.ascontiguousarray(stack.swapaxes(1, 2))
    _make_orthogonal(columns, rows)
    squares = sum(columns[:, :, l] * columns[:, :, l] for l in range(columns.shape[2]))
    # a column of no length has no direction, and adds nothing
    held = squares > RANK * RANK * squares.max(axis=1, keepdims=True)
    parts = np.where(held[:, :, None], rows / np.where(held, squares, 1.0)[:, :, None], 0.0)
    return (products(parts.swapaxes(1, 2), columns) / unit).reshape(np.shape(a))


def products(a: np.ndarray, b: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """a b ... of matrices [..., p, q], [..., q, r], ...; leading axes are broadcast."""
    found = sum(a[..., :, k, None] * b[..., None, k, :] for k in range(np.shape(a)[-1]))
    return products(np.asarray(found), *more) if more else np.asarray(found)


def times(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """a x [..., p] of matrices [..., p, q] and vectors [..., q]."""
    return products(a, np.asarray(x)[..., None])[..., 0]
