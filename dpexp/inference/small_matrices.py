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
def _unit(a):
    """The largest |element|, and 1 if all are 0, so that squares over it do not overflow; NaN if one is not finite."""
    most = 0.0
    for j in range(a.shape[0]):
        for k in range(a.shape[1]):
            size = abs(a[j, k])
            if not size < math.inf:
                return math.nan
            most = max(most, size)
    return most if most > 0.0 else 1.0


@compiled(error_model="numpy")
def _rotation(difference, twice):
    """(c, s) of the smaller rotation for which s / c solves t^2 + (difference / off) t - 1 = 0, twice = 2 off."""
    if twice == 0.0:
        return 1.0, 0.0
    ratio = difference / twice
    if abs(ratio) > 1e150:  # its square is not a number; t is about 1 / (2 ratio)
        t = 0.5 / ratio
    else:
        t = 1.0 / (abs(ratio) + math.sqrt(ratio * ratio + 1.0))
        if ratio < 0.0:
            t = -t
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
def _eigensystems(matrices, values, vectors):
    """Eigenvalues [R, p] in ascending order and eigenvectors [R, p, p], as columns, of symmetric matrices [R, p, p].

    (a) Cyclic Jacobi. With a_kk - a_jj = 2 r a_jk the rotation of columns j and k by t = tan, t^2 + 2 r t - 1 = 0,
    makes a_jk vanish. Both diagonal entries then move by t a_jk, in opposite directions.
    (b) A sweep visits all pairs. It is repeated until no entry off the diagonal is more than `NOTHING`.
    (c) Eigenvalues are put in order, and each vector gets a sign that rounding does not decide.

    Only the upper triangle is read.
    """
    p = matrices.shape[1]
    a, v, rows = np.empty((p, p)), np.empty((p, p)), np.empty(p, dtype=np.int64)
    for number in range(matrices.shape[0]):
        unit = _unit(matrices[number])
        if not unit < math.inf:
            values[number] = math.nan
            vectors[number] = math.nan
            continue
        square = 0.0
        for j in range(p):
            for k in range(p):
                a[j, k] = matrices[number, min(j, k), max(j, k)] / unit
                square += a[j, k] * a[j, k]
                v[j, k] = 1.0 if j == k else 0.0  # row j is the vector j
        # (b)
        small = NOTHING * math.sqrt(square)
        for _ in range(SWEEPS):
            done = True
            for j in range(p - 1):
                for k in range(j + 1, p):
                    off = a[j, k]
                    if abs(off) <= small:
                        continue
                    done = False
                    # (a)
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
                    _rotate(v, j, k, c, s)
            if done:
                break
        # (c), by insertion, so that equal ones keep their order
        for j in range(p):
            place = j
            while place > 0 and a[rows[place - 1], rows[place - 1]] > a[j, j]:
                rows[place] = rows[place - 1]
                place -= 1
            rows[place] = j
        for j in range(p):
            row, largest = rows[j], 0
            values[number, j] = a[row, row] * unit
            for l in range(1, p):  # the first of the largest entries is positive; rounding does not decide among ties
                if abs(v[row, l]) > abs(v[row, largest]) * (1.0 + 1e-9):
                    largest = l
            sign = -1.0 if v[row, largest] < 0.0 else 1.0
            for l in range(p):
                vectors[number, l, j] = sign * v[row, l]


@compiled(kept=True, error_model="numpy")
def _pseudo_inverses(matrices, out):
    """Pseudo-inverses [R, p, p] of square matrices [R, p, p], by one-sided Jacobi rotations.

    The columns of B = A V are made orthogonal by rotations V, each of which is that of `_eigensystems` for B'B. Then
    the norms of the columns are the singular values, and A^+ = sum_j v_j b_j' / |b_j|^2.
    """
    p = matrices.shape[1]
    b, v = np.empty((p, p)), np.empty((p, p))
    for number in range(matrices.shape[0]):
        unit = _unit(matrices[number])
        if not unit < math.inf:
            out[number] = math.nan
            continue
        for j in range(p):
            for k in range(p):
                b[j, k] = matrices[number, k, j] / unit  # row j is column j of A
                v[j, k] = 1.0 if j == k else 0.0
        for _ in range(SWEEPS):
            done = True
            for j in range(p - 1):
                for k in range(j + 1, p):
                    jj, kk, jk = _inner(b[j], b[j]), _inner(b[k], b[k]), _inner(b[j], b[k])
                    if not abs(jk) > PARALLEL * math.sqrt(jj) * math.sqrt(kk):
                        continue
                    done = False
                    c, s = _rotation(kk - jj, 2.0 * jk)
                    _rotate(b, j, k, c, s)
                    _rotate(v, j, k, c, s)
            if done:
                break
        largest = 0.0
        for j in range(p):
            largest = max(largest, _inner(b[j], b[j]))
        out[number] = 0.0
        for j in range(p):
            square = _inner(b[j], b[j])
            # a column of no length has no direction, and adds nothing
            if square > RANK * RANK * largest:
                for k in range(p):
                    part = v[j, k] / square
                    for l in range(p):
                        out[number, k, l] += part * b[j, l]
        out[number] /= unit


def _stack(a: np.ndarray) -> np.ndarray:
    """[R, p, q] of [..., p, q], in one piece."""
    a = np.asarray(a, dtype=np.float64)
    return np.ascontiguousarray(a.reshape(-1, *a.shape[-2:]))


def eigensystems(a: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues [..., p], ascending, and eigenvectors [..., p, p], as columns, of symmetric matrices [..., p, p].

    The first of the largest entries of each vector is positive. Where eigenvalues are equal, any basis is one.
    """
    stack = _stack(a)
    values, vectors = np.empty(stack.shape[:2]), np.empty_like(stack)
    _eigensystems(stack, values, vectors)
    return values.reshape(np.shape(a)[:-1]), vectors.reshape(np.shape(a))


def eigenvalues(a: np.ndarray) -> np.ndarray:
    """Eigenvalues [..., p], ascending, of symmetric matrices [..., p, p]."""
    return eigensystems(a)[0]


def inverses(a: np.ndarray) -> np.ndarray:
    """Inverses of square matrices [..., p, p], by elimination with row pivots; NaN where one is singular."""
    p, all_of = np.shape(a)[-1], np.arange(np.size(a) // np.shape(a)[-1] ** 2)
    stack = np.concatenate([_stack(a), np.broadcast_to(np.eye(p), _stack(a).shape)], axis=2)
    # (a) the matrix beside the identity, made upper triangular
    with np.errstate(all="ignore"):
        for j in range(p):
            best = j + np.argmax(np.abs(stack[:, j:, j]), axis=1)
            pivots = stack[all_of, best]
            stack[all_of, best], stack[:, j] = stack[:, j], pivots
            stack[:, j + 1 :] -= (stack[:, j + 1 :, j] / pivots[:, None, j])[:, :, None] * pivots[:, None]
        # (b) then the identity, with as many rows done as are below
        out = stack[:, :, p:]
        for j in range(p - 1, -1, -1):
            for k in range(j + 1, p):
                out[:, j] -= stack[:, j, k, None] * out[:, k]
            out[:, j] /= stack[:, j, j, None]
    out[~np.isfinite(stack).all(axis=(1, 2))] = math.nan
    return out.reshape(np.shape(a))


def pseudo_inverses(a: np.ndarray) -> np.ndarray:
    """Moore and Penrose's inverses of square matrices [..., p, p]; singular values below 1e-15 of the largest are 0."""
    stack = _stack(a)
    out = np.empty_like(stack)
    _pseudo_inverses(stack, out)
    return out.reshape(np.shape(a))


def products(a: np.ndarray, b: np.ndarray, *more: np.ndarray) -> np.ndarray:
    """a b ... of matrices [..., p, q], [..., q, r], ...; leading axes are broadcast."""
    found = sum(a[..., :, k, None] * b[..., None, k, :] for k in range(np.shape(a)[-1]))
    return products(np.asarray(found), *more) if more else np.asarray(found)


def times(a: np.ndarray, x: np.ndarray) -> np.ndarray:
    """a x [..., p] of matrices [..., p, q] and vectors [..., q]."""
    return products(a, np.asarray(x)[..., None])[..., 0]
