"""Upper bounds on what the iterates of Algorithm 2 of `momentum` show of a record, for runs of any length.

`tools.momentum_iterates` needs Q = (A U)' Sigma^-1 (A U) and has it by dense algebra. Here nothing of T x T is
written down. d'Qd is the least |u|^2 with C u = A U d, so any such u gives an upper bound. C = [C_win R]: for any node
values u_win the residual nodes R^-1 (A U d - C_win u_win) complete them. So conjugate gradients may stop anywhere, and
M = R^-1 C_win, B = R^-1 A U, Z = M M' Y give Q <= Y'Z + (B - Z)'(B - Z) for any Y, up to rounding. Columns are solved
for differences that begin at a visit and then stay, because the worst d hardly changes over the epochs.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from tools.momentum_iterates import refusal
from tools.window_operator import Rule, conjugate_gradients, make_rule, make_workspace

FINE, COARSE = 1e-3, 0.3
"""relative residuals at which conjugate gradients stop: where the bound has to be close, and where it may be loose"""
MOST_ITERATIONS = 400


def visits(n: int, steps: int, position: int) -> np.ndarray:
    """The steps, from 1, at which the record at a position of the order is used."""
    return np.arange(position + 1, steps + 1, n)


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
