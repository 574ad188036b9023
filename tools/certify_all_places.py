"""What the iterates of Algorithm 2 give away, for all places of a record in the order at once, without iterations.

`tools.momentum_iterates` needs Q = (A U)' Sigma^-1 (A U) for every place p of the order, U the columns of the
identity at the visits p + 1, p + 1 + N, .. . Here Sigma^-1 is not solved with once a place. A change of variables makes
the signal of a place stay at that place, so that the K x K blocks on the diagonal of one inverse give every Q.

With B the shift by one step and E the shift by an epoch (both fill in zeros), beta = 1 - alpha, f = beta^N and J the
projection on the steps after 2 N, the noise of m_hat is C_win u + R r, C_win = (1 - f E)^-1 (1 - (1 - gamma) J E)^-1 W,
where row t of W is the window (t - N, t] of one epoch. Put

    x = F (1 - beta B) m_hat,    F = (1 - (1 - gamma) J E)(1 - f E),

an invertible map. (1 - beta B) A is the identity, so that the signal of a visit at t is F e_t: at steps of the same
place only. B and E commute, and (1 - (1 - gamma) J E)(1 - beta B) is (1 - beta B)(1 - (1 - gamma) J E) but in row
2 N + 1, where it has (1 - gamma) beta more in column N. Hence the noise of x is (1 - beta B) W u, with (1 - gamma) beta
times row N of W added to row 2 N + 1, plus F (1 - beta B) R r. A node enters and leaves the windows at few steps, all
of them within about its own length of its two ends: the matrix P of this noise is sparse, and the steps that share a
node of length l lie at places near each other, up to l.

So S = P P' is factored by nested dissection of the places (a multifrontal Cholesky factorisation): an interval of
places keeps, of all its steps, only those that share a node with a step outside, about log N a visit; the others are
eliminated. Two neighbouring intervals then join. On the way back the inverse is known on the steps of an interval that
are kept, from the interval around it, and the eliminated ones follow (Takahashi's equations, one front at a time).
The cost is about N (K log N)^3 / (places of a leaf) operations for all N places together.

Rounding. Cholesky's factors are exact for S + D with |D_ij| <= c u sqrt(S_ii S_jj), c a small multiple of the size of
a front. The identity sum_ij (S^-1)_ij S_ij = T, whose terms are all at hand because S is zero elsewhere, measures the
loss; `all_grams` refuses to answer where it fails by more than CHECKED, and the bound on mu^2 is raised by ALLOWED.

Memory. The factors of all fronts take 16 GB for N = 8000 and 120 epochs, nearly all that is needed. Runs of more than
LONG steps therefore keep those of the first KEPT halvings alone. Each smaller interval is eliminated once more when the
way back comes to it, from the same numbers in the same order, so that the answer is the same to the last bit.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from tools.momentum_iterates import Certified, bounded, cover, refusal, window_map

if TYPE_CHECKING:
    from scipy import sparse

CHECKED = 1e-9
"""relative error of the identity beyond which the factors are not trusted"""
ALLOWED = 1e-6
"""what mu^2 is raised by, relative: a thousand times the largest error that passes"""
LONG = 400_000
"""steps beyond which factors are computed twice rather than kept"""
KEPT = 3
"""halvings whose factors are kept then: about as much memory as the factors inside one interval that is left"""
_LEAF = 700
"""steps of a leaf interval: about as many as a front of two joined intervals keeps"""
_SMALL = 1e-9
"""entries of P below it, beside 1, are differences of equal numbers"""


class _Problem(NamedTuple):
    """The covariance S [T, T] of x, and what the dissection needs of it."""

    covariance: sparse.csr_matrix
    place: np.ndarray
    """of each step, [T]"""
    low: np.ndarray
    """least place of the steps that share a node with the step, [T]"""
    high: np.ndarray
    leaf: int
    """places of an interval that is not divided"""
    kept: int
    """halvings from the whole whose fronts are kept until the way back"""


class _Forgotten(NamedTuple):
    """An interval of places whose front is not kept."""

    first: int
    last: int
    outer: np.ndarray
    """as of its front"""


class _Front(NamedTuple):
    """An interval of places after its inner steps are eliminated."""

    first: int
    last: int
    inner: np.ndarray
    """steps that share nodes only with steps of the interval and are not eliminated further down, from 0"""
    outer: np.ndarray
    """steps that are kept"""
    factor: np.ndarray
    """lower triangular L, L L' the front's block of the inner steps"""
    across: np.ndarray
    """L^-1 times the block (inner, outer)"""
    parts: tuple[_Front | _Forgotten, ...]
    """its two halves; none in a leaf"""


def all_grams(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray) -> list[np.ndarray]:
    """Q [K, K] for every place 0..N-1 that is visited, `stds` [4] of the nodes, in units without alpha.

    Raises ArithmeticError where rounding shows.
    """
    noise = noise_map(n, steps, alpha, gamma, np.asarray(stds, dtype=float))
    covariance = (noise @ noise.T).tocsr()
    covariance.sort_indices()
    place = np.arange(steps) % n
    del noise
    kept = KEPT if steps > LONG else steps
    problem = _Problem(covariance, place, *_reach(covariance, place), max(1, _LEAF * n // steps), kept)
    root, _ = _eliminate(problem, 0, min(n, steps), kept)
    inverse: list[np.ndarray] = []
    total = _restore(problem, root, np.zeros((0, 0)), inverse)
    if not abs(total - steps) <= CHECKED * steps:
        raise ArithmeticError(f"the inverse is off by {abs(total / steps - 1):.1e}")
    keep, fade = 1 - gamma, math.exp(n * math.log1p(-alpha))
    signals = _signals(-(-steps // n), keep, fade)
    for p, block in enumerate(inverse):  # one at a time, since all of them are large
        count = len(block)
        shaped = signals[:count, :count]
        inverse[p] = shaped.T @ block @ shaped
    return inverse


def certify_all(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray, G: float, move: float) -> Certified:
    """mu of the iterates over all N places, `move` being L eta N; see `tools.momentum_iterates`.

    Raises ValueError where `refusal` says why.
    """
    import scipy.linalg  # noqa: F401  # only libraries that are loaded already are held to one thread
    from threadpoolctl import threadpool_limits

    why = refusal(n, alpha, float(stds[3]))
    if why:
        raise ValueError(why)
    with threadpool_limits(limits=1):  # fronts are small, and threads wait for each other on a busy machine
        return bounded(all_grams(n, steps, alpha, gamma, stds), G, move, ALLOWED)


def _signals(count: int, keep: float, fade: float) -> np.ndarray:
    """F at one place, [K, K]: (1 - keep J E)(1 - fade E), J leaving out the first two visits."""
    shift = np.eye(count, k=-1)
    gated = shift.copy()
    gated[:2] = 0.0
    return (np.eye(count) - keep * gated) @ (np.eye(count) - fade * shift)


def noise_map(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray) -> sparse.csr_matrix:
    """P [T, nodes]: the noise of x for unit normals at the nodes of the windows, then at the residuals' left nodes."""
    from scipy import sparse

    keep, fade = 1 - gamma, np.exp(math.log1p(-alpha) * np.arange(n + 1))
    windows, held = window_map(n, steps, alpha, gamma, stds), _tree(steps, alpha, float(stds[3]))
    step = sparse.eye(steps) - fade[1] * _later(steps, 1)
    epoch = _later(steps, n)
    late = sparse.diags((np.arange(steps) >= 2 * n).astype(float), format="csr")
    filtered = (sparse.eye(steps) - keep * late @ epoch) @ (sparse.eye(steps) - fade[n] * epoch)
    moved = step @ windows
    if steps > 2 * n:
        moved = moved + sparse.csr_matrix(([keep * fade[1]], ([2 * n], [n - 1])), shape=(steps, steps)) @ windows
    whole = sparse.hstack([moved, filtered @ step @ held]).tocsr()
    whole.data[np.abs(whole.data) < _SMALL * float(np.max(stds))] = 0.0
    whole.eliminate_zeros()
    return whole


def _tree(steps: int, alpha: float, residual: float) -> sparse.csr_matrix:
    """The noise [T, T] of the residuals' tree, by the ends of its left nodes."""
    from scipy import sparse

    every = range(1, steps + 1)
    columns = np.fromiter((z - 1 for t in every for _, z in cover(1, t)), dtype=np.int32)
    rows = np.repeat(np.arange(steps, dtype=np.int32), [t.bit_count() for t in every])  # a node for each binary digit
    values = residual * np.exp(math.log1p(-alpha) * (rows - columns))
    return sparse.csr_matrix((values, (rows, columns)), shape=(steps, steps))


def _later(steps: int, count: int) -> sparse.csr_matrix:
    """The shift by some steps, [T, T]."""
    from scipy import sparse

    to = np.arange(count, steps)
    return sparse.csr_matrix((np.ones(len(to)), (to, to - count)), shape=(steps, steps))


def _reach(covariance: sparse.csr_matrix, place: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The least and the greatest place of the steps that a step shares nodes with (it shares some with itself)."""
    other = place[covariance.indices]
    return np.minimum.reduceat(other, covariance.indptr[:-1]), np.maximum.reduceat(other, covariance.indptr[:-1])


def _eliminate(problem: _Problem, first: int, last: int, kept: int) -> tuple[_Front, np.ndarray]:
    """The front of an interval of places, and what is left [outer, outer] of the covariance of the kept steps.

    Fronts inside it are kept for `kept` halvings.
    """
    from scipy.linalg import cholesky

    covariance = problem.covariance
    parts: tuple[_Front | _Forgotten, ...] = ()
    if last - first <= problem.leaf:
        held = np.flatnonzero((problem.place >= first) & (problem.place < last))
        block = covariance[held][:, held].toarray()
    else:
        middle = (first + last) // 2
        one, left = _eliminate(problem, first, middle, kept - 1)
        two, right = _eliminate(problem, middle, last, kept - 1)
        held, size = np.concatenate([one.outer, two.outer]), len(one.outer)
        parts = (one, two) if kept > 0 else tuple(_Forgotten(f.first, f.last, f.outer) for f in (one, two))
        block = np.zeros((len(held), len(held)))
        block[:size, :size], block[size:, size:] = left, right
        block[:size, size:] = covariance[one.outer][:, two.outer].toarray()
        block[size:, :size] = block[:size, size:].T
    done = (problem.low[held] >= first) & (problem.high[held] < last)
    inner, outer = held[done], held[~done]
    factor = block[np.ix_(done, done)]
    if len(inner):
        factor = cholesky(factor, lower=True, check_finite=False)
    across = _solved(factor, block[np.ix_(done, ~done)])
    front = _Front(first, last, inner, outer, factor, across, parts)
    return front, block[np.ix_(~done, ~done)] - across.T @ across


def _restore(problem: _Problem, front: _Front, known: np.ndarray, out: list[np.ndarray]) -> float:
    """Appends the inverse's blocks [K, K] of the places of an interval, `known` [outer, outer] being its inverse.

    Returns the part of sum_ij (S^-1)_ij S_ij of pairs of which one is eliminated here and the other is not earlier.
    """
    size = len(front.inner)
    held = np.concatenate([front.inner, front.outer])
    back = _solved(front.factor, front.across, transposed=True)
    whole = np.empty((len(held), len(held)))
    whole[size:, size:] = known
    whole[:size, size:] = -back @ known
    whole[size:, :size] = whole[:size, size:].T
    root = _solved(front.factor, np.eye(size))
    whole[:size, :size] = root.T @ root - whole[:size, size:] @ back.T
    shared = problem.covariance[front.inner][:, held].multiply(whole[:size]).tocsr()
    total = float(shared[:, :size].sum() + 2 * shared[:, size:].sum())
    order = np.argsort(held, kind="stable")
    if not front.parts:
        for p in range(front.first, front.last):
            at = order[problem.place[held[order]] == p]
            out.append(whole[np.ix_(at, at)])
        return total
    places = [order[np.searchsorted(held, part.outer, sorter=order)] for part in front.parts]
    inside = [whole[np.ix_(at, at)] for at in places]
    del whole, known, back, root  # an interval within an interval, a dozen deep: none keeps more than it must
    for part in front.parts:
        if isinstance(part, _Forgotten):
            part, _ = _eliminate(problem, part.first, part.last, len(problem.place))
        total += _restore(problem, part, inside.pop(0), out)
    return total


def _solved(factor: np.ndarray, right: np.ndarray, transposed: bool = False) -> np.ndarray:
    """L^-1 or L'^-1 times some columns, L lower triangular.

    Short runs have fronts without a step to eliminate, or none that is kept; scipy 1.13 refuses empty matrices there.
    """
    from scipy.linalg import solve_triangular

    if not right.size:
        return np.zeros(right.shape)
    return np.asarray(solve_triangular(factor, right, lower=True, trans="T" if transposed else "N", check_finite=False))
