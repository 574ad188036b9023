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

Q from above. d'Qd is the least |u|^2 with C u = A U d, so any such u gives an upper bound. C = [C_win R]: for any node
values u_win the residual nodes R^-1 (A U d - C_win u_win) complete them. So conjugate gradients may stop anywhere, and
M = R^-1 C_win, B = R^-1 A U, Z = M M' Y give Q <= Y'Z + (B - Z)'(B - Z) for any Y, up to rounding. Columns are solved
for differences that begin at a visit and then stay, because the worst d hardly changes over the epochs.
"""

from __future__ import annotations

import math
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from dpexp.engine.finite_sum.window_operator import Rule, conjugate_gradients, make_rule, make_workspace
from dpexp.engine.lanes.vectors import LANES
from dpexp.privacy.momentum.difference_bound import certified, largest_form

FINE = 1e-3
"""relative residual at which conjugate gradients stop for the positions that may be the largest"""
MOST_ITERATIONS = 400


class Effort(NamedTuple):
    """How closely mu is sought: tighter is less noise, at more time."""

    coarse: float
    """relative residual at which conjugate gradients stop for every position"""
    slack: float
    """positions are solved closely until the next coarse bound on mu^2 is below this times the largest close one"""


SHORT, LONG = Effort(0.1, 1.01), Effort(0.3, 1.06)
"""for at most MANY epochs, and for more, where coarse bounds of 0.1 would take three times as many steps"""
MANY = 20
DIGITS = 4
"""figures to which mu is rounded up, so that rounding errors of a machine do not show"""
LONGEST = 4.0
"""the recursions lose about (1 - alpha)^(-2 N) in relative accuracy: at most this N |log(1 - alpha)|"""


class Certified(NamedTuple):
    """mu of the iterates, from above, over every position of a record in the order."""

    mu: float
    lower: float
    """the lower end of the program for the matrix found at `position`: what program and rounding can have lost"""
    position: int
    """where that is reached, from 0"""
    weights: tuple[np.ndarray, ...]
    """dual weights, two sets for every number of visits: those that bound nearly all positions"""


def visits(n: int, steps: int, position: int) -> np.ndarray:
    """The steps, from 1, at which the record at a position of the order is used."""
    return np.arange(position + 1, steps + 1, n)


def refusal(n: int, alpha: float, residual: float) -> str:
    """Why iterates cannot be accounted for, `residual` being the deviation of residual nodes; empty if they can."""
    if alpha >= 1 or -n * math.log1p(-alpha) > LONGEST:
        return f"the recursions need n |log(1 - momentum)| <= {LONGEST:g}"
    if residual <= 0:
        return "residual nodes without noise leave nothing to invert"
    return ""


def grams(
    n: int,
    steps: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    positions: np.ndarray,
    tolerance: float = FINE,
    threads: int = 1,
    whole: bool = False,
) -> np.ndarray:
    """Upper bounds [P, K, K] on Q, in the sense of semidefinite order, for positions with K visits each.

    The nodes used for a visit begin at most about two epochs before it, which loses 0.1 % of mu over 30 to 60 epochs,
    or anywhere in the run if `whole`.
    `stds` [4] of the nodes of the streams, in units without alpha. Raises ValueError where `refusal` says why, and for
    positions with different numbers of visits.
    """
    why = refusal(n, alpha, float(stds[3]))
    if why:
        raise ValueError(why)
    counts = {len(visits(n, steps, int(i))) for i in positions}
    if len(counts) != 1 or 0 in counts:
        raise ValueError("positions must all have the same number of visits, at least one")
    (count,) = counts
    ratios = stds[0] / stds[3], stds[1] / stds[3], stds[2] / stds[3]
    rule, out = make_rule(n, steps, alpha, gamma, ratios), np.empty((len(positions), count, count))

    def solve(first: int) -> None:
        some = np.asarray(positions[first : first + LANES])
        padded = np.concatenate([some, np.full(LANES - len(some), some[-1])])
        times = np.array([visits(n, steps, int(i)) for i in padded])
        out[first : first + len(some)] = _solved(rule, times, tolerance, whole)[: len(some)]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(solve, range(0, len(positions), LANES)))
    return out / stds[3] ** 2


def _solved(rule: Rule, times: np.ndarray, tolerance: float, whole: bool) -> np.ndarray:
    """Upper bounds on Q for eight records that are used at `times` [8, K], residual nodes of unit deviation."""
    count, steps = times.shape[1], rule.steps
    y, z, b = (np.zeros((count, steps + 1, LANES)) for _ in range(3))
    work, memory = make_workspace(rule.n, steps), np.zeros((4, steps + 1, LANES))
    right, apart = np.zeros((steps + 1, LANES)), 1 << rule.n.bit_length()
    for k in reversed(range(count)):
        for lane in range(LANES):
            ends = node_ends(int(times[lane, k]), steps)
            right[ends, lane] += rule.fade[ends - ends[0]]
        start = 0 if whole else max(0, int(times[:, k].min()) - 1 - 2 * rule.n) // apart * apart
        conjugate_gradients(rule, right, start, MOST_ITERATIONS, tolerance, work, memory)
        y[k], z[k], b[k] = memory[0], memory[1], right
    out = np.empty((LANES, count, count))
    for lane in range(LANES):
        ours, mapped = np.ascontiguousarray(y[:, :, lane]), np.ascontiguousarray(z[:, :, lane])
        left = b[:, :, lane] - mapped
        nodes = np.triu(ours @ mapped.T)  # (j, k >= j): the nodes of column k are among those of column j
        held = nodes + np.triu(nodes, 1).T + left @ left.T
        held[:-1] -= held[1:].copy()  # from differences that stay to differences at one visit
        held[:, :-1] -= held[:, 1:].copy()
        out[lane] = held
    return out


def node_ends(time: int, steps: int) -> np.ndarray:
    """Where the left nodes end that hold a step, the step itself first: R^-1 A e_time is not zero there alone."""
    ends = []
    while time <= steps:
        ends.append(time)
        time += time & -time
    return np.array(ends)


def certify(
    n: int,
    steps: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    G: float,
    move: float,
    positions: np.ndarray | None = None,
    threads: int = 1,
) -> Certified:
    """mu of the iterates, over all N positions (or those given, which is then no bound for the others).

    `move` is L eta N, the most that a gradient of one record changes between epochs. Every position gets a coarse
    bound; the largest ones are then solved closely, until the next coarse one is within half a per cent of the largest
    close one, or within 3 per cent where there are more than MANY epochs. The answer is rounded up.
    """
    from threadpoolctl import threadpool_limits

    with threadpool_limits(limits=1):  # matrices are small, and threads wait for each other on a busy machine
        return _certified(n, steps, alpha, gamma, stds, G, move, positions, threads)


def _certified(
    n: int,
    steps: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    G: float,
    move: float,
    some: np.ndarray | None,
    threads: int,
) -> Certified:
    effort = SHORT if steps <= MANY * n else LONG
    everyone = np.arange(min(n, steps)) if some is None else np.asarray(some)
    lengths = np.array([len(visits(n, steps, int(i))) for i in everyone])
    best, lower, at, weights = 0.0, 0.0, int(everyone[0]), []
    for count in sorted(set(lengths.tolist()), reverse=True):
        group = everyone[lengths == count]
        coarse = grams(n, steps, alpha, gamma, stds, group, effort.coarse, threads)
        typical = largest_form(coarse[len(group) // 2], 2 * G, 2 * move).weights
        bounds = certified(coarse, typical, 2 * G, 2 * move)
        shared = largest_form(coarse[int(np.argmax(bounds))], 2 * G, 2 * move).weights
        bounds = np.minimum(bounds, certified(coarse, shared, 2 * G, 2 * move))
        weights += [typical, shared]
        order = np.argsort(-bounds, kind="stable")
        for first in range(0, len(order), LANES):
            few = order[first : first + LANES]
            if bounds[few[0]] <= best * effort.slack:
                break
            close = grams(n, steps, alpha, gamma, stds, group[few], FINE)
            for gram, index in zip(close, few, strict=True):
                found = largest_form(gram, 2 * G, 2 * move)
                bounds[index] = min(bounds[index], found.upper)
                if found.lower > lower:
                    lower, at = found.lower, int(group[index])
                best = max(best, bounds[index])
        best = max(best, float(bounds.max()))
    return Certified(rounded_up(math.sqrt(best)), math.sqrt(lower), at, tuple(weights))


def rounded_up(mu: float) -> float:
    """Up to four significant digits, after an allowance of 1e-9 for rounding; at most 0.1 % too much."""
    places = DIGITS - 1 - math.floor(math.log10(mu))
    return round(math.ceil(mu * (1 + 1e-9) * 10**places) / 10**places, places + 1)
