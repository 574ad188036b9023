"""The largest value of a quadratic form over slowly changing vectors, with a certificate that needs no trust.

(a) For a positive semidefinite Q [K, K], a radius a and a step b:

    sup { sum_kl Q_kl <d_k, d_l> : d_1..d_K vectors of any dimension, |d_k| <= a, |d_k - d_{k+1}| <= b }

With X the matrix of the inner products it is the maximum of <Q, X> over X >= 0 with X_kk <= a^2 and
X_kk + X_{k+1,k+1} - 2 X_{k,k+1} <= b^2, a semidefinite program.

(b) Weak duality: for weights x = (lambda, nu) >= 0 let S = diag(lambda) + Dif' diag(nu) Dif, Dif the first differences.
If S - Q >= 0 then for every such X

    <Q, X> <= <S, X> = sum_k lambda_k X_kk + sum_k nu_k (X_kk + X_{k+1,k+1} - 2 X_{k,k+1}) <= c'x,

c = (a^2, ..., b^2, ...). Other pairs of vectors than neighbours, each with a step of its own, are constrained likewise.

(c) Good weights are found by a barrier method: Newton steps on t c'x - log det(S(x) - Q) - sum log x for growing t.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

ROUNDING = 1e-10
"""relative allowance for the rounding of eigenvalues, of K x K matrices of condition at most 1e5"""


class Bound(NamedTuple):
    """lower <= the supremum <= upper, and the weights that prove the upper end."""

    upper: float
    lower: float
    weights: np.ndarray
    """[K + pairs]: lambda, then nu"""


Pairs = Sequence[tuple[int, int]]


def certified(
    grams: np.ndarray, weights: np.ndarray, radius: float, step: float | np.ndarray, pairs: Pairs | None = None
) -> np.ndarray:
    """The upper bounds [P] that one set of weights proves for the forms `grams` [P, K, K].

    Raises ValueError for weights that are negative or make S singular.
    """
    count = grams.shape[-1]
    if np.any(weights < 0):
        raise ValueError("weights must not be negative")
    # (b)
    try:
        factor = np.linalg.inv(np.linalg.cholesky(form_of(weights, count, pairs)))
    except np.linalg.LinAlgError:
        raise ValueError("the weights make no positive definite form") from None
    # any weights give an upper bound: the largest eigenvalue of Q relative to S, times what the weights cost
    relative = np.linalg.eigvalsh(factor @ grams @ factor.T)[:, -1]
    return np.maximum(relative, 0.0) * float(costs_of(count, radius, step, pairs) @ weights) * (1 + ROUNDING)


def largest_form(
    gram: np.ndarray, radius: float, step: float | np.ndarray, pairs: Pairs | None = None, gap: float = 1e-5
) -> Bound:
    """Both ends for Q = `gram`, found by a barrier method to a relative gap of about `gap`.

    `pairs` are those whose distance is at most `step` (one for all, or one each): neighbours where they are left out.
    """
    count = gram.shape[0]
    costs, vectors = costs_of(count, radius, step, pairs), _vectors(count, pairs)
    size = len(costs)
    scale = float(np.linalg.eigvalsh(gram)[-1])
    if scale <= 0:
        return Bound(0.0, 0.0, np.ones(size))
    # the form is scaled to eigenvalue 1, so that one start serves all
    form = gram / scale
    # feasible, as the largest eigenvalue of the form is 1
    x = np.concatenate([np.full(count, 1.5), np.full(size - count, 0.1)])
    # (c); t is `sharp`, and (K + number of weights) / t bounds the gap at each of the minima
    sharp = 1.0 / float(costs @ x)
    for _ in range(60):
        for _ in range(30):
            inverse = np.linalg.inv((vectors * x) @ vectors.T - form)
            # the form is linear in x with rank-one terms v v', so that with P = V' (S - Q)^-1 V the gradient is t c -
            # diag(P) - 1 / x and the Hessian P * P + diag(1 / x^2), entry by entry
            seen = vectors.T @ inverse @ vectors
            gradient = sharp * costs - np.diag(seen) - 1 / x
            move = -np.linalg.solve(seen * seen + np.diag(1 / x**2), gradient)
            decrement = float(-gradient @ move)
            # damped Newton steps on a self-concordant barrier stay inside; halving is for rounding
            length = 1.0 if decrement < 0.25 else 1 / (1 + np.sqrt(decrement))
            while not _inside(x + length * move, form, vectors):
                length /= 2
            x = x + length * move
            if decrement < 1e-4:
                break
        if (count + size) / sharp < gap * float(costs @ x):
            break
        sharp *= 4
    x *= scale
    upper = float(certified(gram[None], x, radius, step, pairs)[0])
    # at a minimum X = (S - Q)^-1 / t satisfies the constraints up to a small excess, which is scaled away: the lower
    # end, whatever t was
    inner = np.linalg.inv((vectors * x) @ vectors.T - gram)
    with np.errstate(divide="ignore"):
        fit = float(np.min(costs / np.einsum("ik,ij,jk->k", vectors, inner, vectors)))
    return Bound(upper, max(0.0, fit * float(np.sum(gram * inner))), x)


def _inside(x: np.ndarray, form: np.ndarray, vectors: np.ndarray) -> bool:
    if np.any(x <= 0):
        return False
    try:
        np.linalg.cholesky((vectors * x) @ vectors.T - form)
    except np.linalg.LinAlgError:
        return False
    return True


def _vectors(count: int, pairs: Pairs | None) -> np.ndarray:
    """Columns e_k, and e_j - e_k for every pair, [K, K + pairs]."""
    unit = np.eye(count)
    chosen = _neighbours(count) if pairs is None else pairs
    return np.hstack([unit, *((unit[:, j] - unit[:, k])[:, None] for j, k in chosen)])


def _neighbours(count: int) -> Pairs:
    return [(k, k + 1) for k in range(count - 1)]


def form_of(weights: np.ndarray, count: int, pairs: Pairs | None = None) -> np.ndarray:
    """S [K, K] of some weights."""
    vectors = _vectors(count, pairs)
    return (vectors * weights) @ vectors.T


def costs_of(count: int, radius: float, step: float | np.ndarray, pairs: Pairs | None = None) -> np.ndarray:
    """c [K + pairs], so that weights x cost c'x."""
    chosen = _neighbours(count) if pairs is None else pairs
    return np.concatenate([np.full(count, radius**2), np.broadcast_to(np.square(step), (len(chosen),))])
