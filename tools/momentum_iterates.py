"""How much the iterates of Algorithm 2 of `momentum` give away, where the nodes of its trees stay secret.

Only m_hat_1..m_hat_T, and hence w_1..w_T, leave. With one order of the records that repeats, m_hat = A g + noise, with
A_ts = (1 - alpha)^(t - s) for t >= s (the factor alpha is left out of the estimate and of all standard deviations) and
noise of covariance Sigma = C C', the same for every coordinate. Let neighbours differ in the record at place i of the
order, t_1 < ... < t_K its visits, U its columns of the identity, and d_k = grad f(w_{t_k}, x) - grad f(w_{t_k}, x').

Theorem. Let mu^2 be the largest over i of sup { sum_kl Q_kl <d_k, d_l> : |d_k| <= 2 G, |d_k - d_{k+1}| <= 2 L eta N }
with Q = (A U)' Sigma^-1 (A U). Then the release of m_hat_1..m_hat_T, hence of all iterates, is mu-GDP.

Proof. (a) Sigma is positive definite, since every step has a residual node of its own with positive variance. So
Sigma = B B' with B lower triangular with positive diagonal, and y = B^-1 m_hat is a bijection of m_hat that uses the
past only, both ways. y_t = [B^-1 A g]_t + xi_t with xi standard normal and independent over time, and since B^-1 A is
lower triangular and g_s is a function of w_s, hence of m_hat_1..m_hat_{s-1}, y_t given y_1..y_{t-1} is Gaussian with
variance one and a mean that the past and the data fix: an adaptive Gaussian release.
(b) Means for the two neighbours are compared at the same past, hence at the same w_1..w_t. Unchanged records cancel,
and the difference is a_t = [B^-1 A U d]_t with d taken on that public path. Every step has length eta exactly, so
|w_{t_k} - w_{t_{k+1}}| <= eta N on every path, hence |d_k - d_{k+1}| <= 2 L eta N and |d_k| <= 2 G, and
sum_t |a_t|^2 = sum_kl Q_kl <d_k, d_l> <= mu^2 on every path.
(c) Append a unit Gaussian shifted by sqrt(mu^2 - sum_t |a_t|^2), public given y, so that the sum is mu^2 exactly; that
only adds to what is released. The log likelihood ratio under the first data set is sum_t (<a_t, xi_t> + |a_t|^2 / 2).
With |a_t|^2 as the time that a Brownian motion runs in step t, the sum of <a_t, xi_t> is its value at time mu^2. So the
ratio has the law N(mu^2 / 2, mu^2), and N(-mu^2 / 2, mu^2) under the neighbour: that of N(0, 1) against N(mu, 1). QED

It needs steps of constant length, true G and L, an order that is independent of the data, and T fixed in advance.

Q from above, by dense algebra. With R the noise of the residuals' tree, sigma its deviation and C_win the rest,

(d) row t of W is the window (t - N, t] of one epoch, over the nodes of its cover;
(e) C_win = (1 - f E)^-1 (1 - (1 - gamma) J E)^-1 W, with f = (1 - alpha)^N, E the shift by an epoch and J the
    projection on the steps after 2 N;
(f) (R^-1 v)_t = v_t - (1 - alpha)^lb(t) v_{t - lb(t)}, lb(t) the lowest binary digit of t. So the noise of R^-1 m_hat
    over sigma has the covariance S = 1 + M M', M = R^-1 C_win / sigma, which is at least 1;
(g) with B = R^-1 A U / sigma, Q = B' S^-1 B. For any X, with F = B - S X, Q = X'B + F'(X + S^-1 F).
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from dpexp.engine.finite_sum.discounts import discounts
from tools.difference_bound import certified, largest_form

if TYPE_CHECKING:
    from scipy import sparse

DIGITS = 4
"""figures to which mu is rounded up, so that rounding errors of a machine do not show"""
LONGEST = 4.0
"""solvers that serve long runs lose about (1 - alpha)^(-2 N) in relative accuracy: at most this N |log(1 - alpha)|"""
_SLACK = 1.0001
"""programs are solved until no other place can have more than this times the largest mu^2 found"""
_BLOCK = 256
"""places that are bounded together"""


class Certified(NamedTuple):
    """mu of the iterates, from above, over every position of a record in the order."""

    mu: float
    lower: float
    """the lower end of the program for the matrix found at `position`: what program and rounding can have lost"""
    position: int
    """where that is reached, from 0"""
    weights: tuple[np.ndarray, ...]
    """dual weights, two sets for every number of visits: those that bound nearly all positions"""


def refusal(n: int, alpha: float, residual: float) -> str:
    """Why iterates cannot be accounted for, `residual` being the deviation of residual nodes; empty if they can."""
    if alpha >= 1 or -n * math.log1p(-alpha) > LONGEST:
        return f"the recursions need n |log(1 - momentum)| <= {LONGEST:g}"
    if residual <= 0:
        return "residual nodes without noise leave nothing to invert"
    return ""


def certify(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray, G: float, move: float) -> Certified:
    """mu of the iterates, over all N places, rounded up; `move` is L eta N.

    `stds` [4] of the nodes of the streams, in units without alpha. O(T^3): for runs of a few thousand steps. Raises
    ValueError where `refusal` says why.
    """
    from threadpoolctl import threadpool_limits

    if why := refusal(n, alpha, float(stds[3])):
        raise ValueError(why)
    with threadpool_limits(limits=1):  # matrices are small, and threads wait for each other on a busy machine
        return bounded(forms(n, steps, alpha, gamma, stds), G, move)


def bounded(every: Sequence[np.ndarray], G: float, move: float, allowed: float = 0.0) -> Certified:
    """mu of the iterates from Q [K, K] of every place; mu^2 is raised by `allowed`, relative, for errors of Q.

    The largest bound is one that was solved, or at most `_SLACK` times it.
    """
    best, lower, at, weights = 0.0, 0.0, 0, []
    for count in sorted({len(gram) for gram in every}, reverse=True):
        group = np.array([i for i, gram in enumerate(every) if len(gram) == count])
        bounds, solved = np.full(len(group), np.inf), np.zeros(len(group), dtype=bool)
        index, sets, most = len(group) // 2, [], (-1.0, 0)
        # the weights of the place with the largest bound so far bound all others: only places whose bound is still
        # above the best one solved are looked at again, until the largest bound is one that was solved
        while True:
            program = largest_form(every[group[index]], 2 * G, 2 * move)
            sets.append(program.weights)
            open_ = np.flatnonzero(~solved & (bounds > best))
            for first in range(0, len(open_), _BLOCK):
                block = open_[first : first + _BLOCK]
                grams = np.array([every[i] for i in group[block]])
                bounds[block] = np.minimum(bounds[block], certified(grams, program.weights, 2 * G, 2 * move))
            bounds[index], solved[index] = program.upper, True
            best, most = max(best, program.upper), max(most, (program.upper, len(sets) - 1))
            if program.lower > lower:
                lower, at = program.lower, int(group[index])
            index = int(np.argmax(np.where(solved, 0.0, bounds)))
            if solved[index] or bounds[index] <= best * _SLACK:
                break
        best = max(best, float(bounds.max()))
        weights += [sets[0], sets[most[1]]]
    return Certified(rounded_up(math.sqrt(best * (1 + allowed))), math.sqrt(lower), at, tuple(weights))


def forms(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray) -> list[np.ndarray]:
    """Q [K, K] from above for every place 0..N-1 that is visited."""
    fade, residual = discounts(alpha, max(steps, 2 * n) + 1), float(stds[3])
    windows = window_map(n, steps, alpha, gamma, stds)
    shown = (windows @ windows.T).toarray()  # (d)
    for _ in range(2):  # (e) and (f), for rows and then for columns
        for weight, begin in ((1 - gamma, 2 * n), (fade[n], n)):
            for first in range(begin, steps, n):
                shown[first : first + n] += weight * shown[first - n : min(first, steps - n)]
        shown = _without_tree(shown, fade).T
    # S of (f), and B of (g) for all places at once: column t of A U is that of A
    covariance = np.eye(steps) + shown / residual**2
    lag = np.subtract.outer(np.arange(steps), np.arange(steps))
    signal = _without_tree(np.where(lag >= 0, fade[np.maximum(lag, 0)], 0.0), fade) / residual
    solved = np.linalg.solve(covariance, signal)  # X of (g), for all places at once
    left = signal - covariance @ solved  # F
    grams = []
    # (g): X'B is off by a form of at most |F| (|X| + |F|), which is added, so that only the rounding of these products
    # is trusted; the Frobenius norms of F and X are no smaller
    for place in range(min(n, steps)):
        b, x, f = (part[:, place::n] for part in (signal, solved, left))
        form, off = x.T @ b, float(np.linalg.norm(f) * (np.linalg.norm(x) + np.linalg.norm(f)))
        grams.append((form + form.T) / 2 + off * np.eye(len(form)))
    return grams


def _without_tree(values: np.ndarray, fade: np.ndarray) -> np.ndarray:
    """R^-1 of columns, for residual nodes of unit deviation: step (f)."""
    times = np.arange(1, len(values) + 1)
    lowest = times & -times
    held = lowest < times
    out = values.copy()
    out[held] -= fade[lowest[held]][:, None] * values[(times - lowest)[held] - 1]
    return out


def cover(first: int, last: int) -> list[tuple[int, int]]:
    """COMPOSE(a, b): the fewest nodes whose disjoint union is [a, b], by always taking the longest that fits.

    At most 2 log2(b - a + 1) nodes when b > a; empty when b < a. Raises ValueError for a < 1.
    """
    if first < 1:
        raise ValueError(f"steps count from 1, not from {first}")
    nodes = []
    while first <= last:
        fits = (last - first + 1).bit_length() - 1
        # a node of length 2^k may start at `first` if 2^k divides first - 1: count its trailing zeros (0 has them all)
        aligned = ((first - 1) & -(first - 1)).bit_length() - 1 if first > 1 else fits
        end = first + (1 << min(fits, aligned)) - 1
        nodes.append((first, end))
        first = end + 1
    return nodes


def window_map(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray) -> sparse.csr_matrix:
    """W [T, nodes] of step (d), for unit normals at the nodes.

    Columns are nodes of G and of D, or of both together.
    """
    from scipy import sparse

    first, later, change = map(float, stds[:3])
    fade, keep = discounts(alpha, 2 * n + 1), 1 - gamma
    mixed = math.hypot(gamma * later, keep * change)
    names: dict[tuple[str, int, int], int] = {}

    def entries() -> Iterator[tuple[int, int, float]]:
        for t in range(1, steps + 1):
            for y, z in cover(max(1, t - n + 1), t):
                # nodes that end after two epochs enter as gamma G + (1 - gamma) D alone: one column holds both
                if z > 2 * n:
                    kinds = [("mixed", mixed)]
                elif t <= 2 * n:
                    kinds = [("gradient", first)]
                else:
                    kinds = [("gradient", gamma * first), ("change", keep * change)]
                for kind, std in kinds:
                    yield t - 1, names.setdefault((kind, y, z), len(names)), fade[t - z] * std

    # 16 bytes an entry, where a list of numbers takes a hundred: long runs have tens of millions
    every = np.fromiter(entries(), dtype=[("row", "i4"), ("column", "i4"), ("value", "f8")])
    return sparse.csr_matrix((every["value"], (every["row"], every["column"])), shape=(steps, len(names)))


def rounded_up(mu: float) -> float:
    """Up to four significant digits; at most 0.1 % too much."""
    # an allowance of 1e-9 is for the rounding of what came before
    places = DIGITS - 1 - math.floor(math.log10(mu))
    return round(math.ceil(mu * (1 + 1e-9) * 10**places) / 10**places, places + 1)
