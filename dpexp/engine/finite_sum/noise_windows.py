"""Noise of Algorithm 2 of `momentum` for one order repeated in every epoch: two recursions over windows of one epoch.

(a) With an order that repeats, the noisy estimate is the momentum plus a data-independent sequence. In the notation of
the algorithm, with b = (1 - alpha)^N and q = (t - 1) // N:

    q = 0:   C_t = G[1, t]
    q = 1:   H_t = G[t-N+1, t]
    q >= 2:  H_t = (1 - gamma)(H_{t-N} + D[t-N+1, t]) + gamma G[t-N+1, t]
    q >= 1:  C_t = b C_{t-N} + H_t
    noise_t = C_t + r[1, t]

where G[a, b] is the sum over COMPOSE(a, b) of (1 - alpha)^(b-z) times the noise of node (y, z), and r is `tree_noise`.
This is equation (3) of the paper, term by term, whose sums unroll the two recursions, at O(d) a step in the mean
instead of O(d T log N / N).

(b) The nodes of COMPOSE(a, b) first grow and then shrink. They grow up to the peak p: the number from a - 1 to b that
most powers of 2 divide. With c = a - 1 and low(k) the largest power of 2 that divides k, they end at

    c + low(c), and so on from there, up to p;     then at the prefixes of b in binary that are beyond p, up to b.

(c) As a window moves on by one step, its peak stays most of the time. The sum from p to b is then the newest node plus
the sum from p to b - low(b), and the sum from c to p the node that begins after c plus the sum from c + low(c) to p. So
both sums are kept for each power of 2.

Standard deviations are those of the node noise of the four streams `first`, `later`, `change`, `residual`
(`dpexp.privacy.momentum.tree_streams`) in units of the momentum, so the factor alpha is part of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.core.elementary import discounts as powers
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.noise_designs import lowest_digit, tree_noise, tree_slots, tree_variance


class Windows(NamedTuple):
    """What a run remembers between steps: about 6 N d floats. Rows of 2 d hold what is of G, then what is of D."""

    nodes: np.ndarray
    """noise of the nodes of the last N steps, level after level [rows, 2 d]"""
    offsets: np.ndarray
    """first row of each level [floor(log2 N) + 1]"""
    newest: np.ndarray
    """row of the node that ended last, counted within its level [floor(log2 N) + 1]; -1 before the first"""
    windows: np.ndarray
    """H of the last N steps [N, d]"""
    totals: np.ndarray
    """C of the last N steps [N, d]"""
    slots: np.ndarray
    """memory of the residuals' tree"""
    peak: np.ndarray
    """the peak of the last window [1]; -1 before the first"""
    rising: np.ndarray
    """the sum from c to the peak, as of the peak, for the c with low(c) = 2^level that came last
    [floor(log2 N) + 1, 2 d]"""
    falling: np.ndarray
    """the sum from the peak to t, as of t, for the t with low(t) = 2^level that came last [floor(log2 N) + 1, 2 d]"""
    discounts: np.ndarray
    """(1 - alpha)^k for k < N [N]; zeros before the first step"""


def empty_windows(n: int, steps: int, d: int) -> Windows:
    """The memory before the first step, for epochs of n steps. Raises ValueError for n < 1."""
    if n < 1:
        raise ValueError(f"N={n}: need at least one record")
    # nodes of length 2^level that fit into N steps: a ring of so many rows holds all that a window can need
    sizes = [n >> level for level in range(n.bit_length())]
    offsets = np.cumsum([0, *sizes[:-1]])
    rows = sum(sizes)
    return Windows(
        np.zeros((rows, 2 * d)),
        offsets,
        np.full(len(sizes), -1),
        np.zeros((n, d)),
        np.zeros((n, d)),
        tree_slots(steps, d),
        np.full(1, -1),
        np.zeros((len(sizes) + 1, 2 * d)),
        np.zeros((len(sizes) + 1, 2 * d)),
        np.zeros(n),
    )


def nodes_ending(first: int, last: int, n: int) -> int:
    """How many nodes no longer than n end in the steps first..last: the normals that G and D each need there."""
    # a node of length 2^level ends at every multiple of it
    return sum((last >> level) - ((first - 1) >> level) for level in range(n.bit_length()))


@compiled(kept=True)
def window_noise(
    gradient: np.ndarray,
    change: np.ndarray,
    residual: np.ndarray,
    first: int,
    n: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    memory: Windows,
    out: np.ndarray,
) -> None:
    """Fills out [B, d] with the noise of steps first..first + B - 1.

    `gradient` and `change` [nodes_ending(first, first + B - 1, n), d] hold the standard normals of the nodes in order
    of their ends, shortest first (those of D that start in the first epoch are not used); `residual` [B, d] holds one a
    step. `stds` [4] are in the order of the streams. Call it for consecutive blocks with the same `memory`; the split
    into blocks changes no bit.
    """
    rate = math.log1p(-alpha) if alpha < 1.0 else -math.inf
    epoch_discount = math.exp(rate * n)
    discounts, newest = memory.discounts, memory.newest
    if discounts[0] == 0.0:  # each is computed once for all blocks
        discounts[0] = 1.0
        for k in range(1, n):
            discounts[k] = math.exp(rate * k)
    levels = len(memory.offsets)
    steps, d = out.shape
    tree_noise(residual, first, alpha, stds[3], memory.slots, out)
    drawn = 0
    sums = np.zeros(2 * d)  # over the window: of G, then of D
    for i in range(steps):
        t = first + i
        # 1. the nodes that end at t, one for every power of 2 that divides t, take the places of the oldest
        std = stds[0] if t <= 2 * n else stds[1]
        level = 0
        while level < levels and t & ((1 << level) - 1) == 0:
            newest[level] = newest[level] + 1 if newest[level] + 1 < n >> level else 0
            row = memory.offsets[level] + newest[level]
            for j in range(d):
                memory.nodes[row, j] = std * gradient[drawn, j]
                memory.nodes[row, d + j] = stds[2] * change[drawn, j]
            drawn += 1
            level += 1

        # 2. COMPOSE over the last N steps (b): the sum from c to the peak, and from there to t
        c = max(0, t - n)
        peak = _peak(c, t)
        # a new peak comes a few times in an epoch, and all are then added up afresh
        if peak != memory.peak[0]:
            memory.peak[0] = peak
            if c < peak:
                _climb(memory, n, t, c, peak, peak)
            end = peak
            # the digits of t that are 0 in the peak, from the highest
            for digit in range(levels - 1, -1, -1):
                if (t - peak) >> digit & 1 == 1:
                    _fall(memory, n, t, end, digit, peak)
                    end += 1 << digit
        else:
            # (c): the rest of it was computed at the step t - low(t)
            _fall(memory, n, t, t & (t - 1), lowest_digit(t), peak)
            # where c is even, the same was needed for c - 1; where it is odd, the sums from c, c + 1, c + 3, ... are
            # missing, up to (c - 1) + low(c - 1): a logarithm of N of them at worst, and one a step in the mean
            # (c > 1 here, since c = 1 has another peak than 0)
            if c & 1 == 1:
                _climb(memory, n, t, c, c - 1 + ((c - 1) & (1 - c)), peak)
        up, factor = -1, 0.0
        if c < peak:
            up, factor = lowest_digit(c), discounts[t - peak]
        down = lowest_digit(t) if peak < t else -1
        _combine(factor, memory.rising[up], 1.0, memory.falling[down], sums)

        # 3. the two recursions of (a); windows[place] and totals[place] still hold H and C of step t - N
        place = (t - 1) % n
        if t <= n:
            for j in range(d):
                memory.totals[place, j] = sums[j]
                out[i, j] += sums[j]
        else:
            keep, fresh = (1.0 - gamma, gamma) if t > 2 * n else (0.0, 1.0)  # the second epoch has no H before it
            for j in range(d):
                # the sum over the last N steps: step t - N used the same record, so that it is the one of an epoch ago
                # plus the changes of its gradients, mixed with a fresh one
                window = keep * (memory.windows[place, j] + sums[d + j]) + fresh * sums[j]
                # the discounted sum over all steps: that of the last N, and b times the one N steps ago
                total = epoch_discount * memory.totals[place, j] + window
                memory.windows[place, j], memory.totals[place, j] = window, total
                out[i, j] += total


@njit(nogil=True, forceinline=True)
def _peak(c: int, t: int) -> int:
    """The number from c to t > c that most powers of 2 divide; 0 is divided by all."""
    if c == 0:
        return 0
    # t without the digits below the highest one in which it differs from c - 1: a multiple of that power of 2 lies
    # beyond c - 1 and not beyond t, and one of no higher power does
    below = ((c - 1) ^ t) >> 1
    for shift in (1, 2, 4, 8, 16, 32):
        below |= below >> shift
    return t & ~below


@njit(nogil=True, forceinline=True)
def _row(memory: Windows, n: int, t: int, level: int, end: int) -> int:
    """Where the node of length 2^level is that ended at `end`; t is now."""
    # so many nodes before the newest, around the ring
    back = memory.newest[level] - ((t >> level) - (end >> level))
    return memory.offsets[level] + (back if back >= 0 else back + (n >> level))


@njit(nogil=True, forceinline=True)
def _climb(memory: Windows, n: int, t: int, c: int, known: int, peak: int) -> None:
    """Sums to the peak from c and from where its nodes end, as far as `known`: that one is the peak, or has its sum."""
    end = known
    for level in range(min(len(memory.offsets), lowest_digit(known)) - 1, -1, -1):
        begin = ((c - 1 >> level) + 1) << level  # the least multiple of 2^level from c on
        if begin < end:  # by 2^level
            row, factor = _row(memory, n, t, level, end), memory.discounts[peak - end]
            beyond = memory.rising[lowest_digit(end)] if end < peak else memory.rising[-1]
            _combine(factor, memory.nodes[row], 1.0, beyond, memory.rising[level])
            end = begin


@njit(nogil=True, forceinline=True)
def _fall(memory: Windows, n: int, t: int, begin: int, level: int, peak: int) -> None:
    """The sum from the peak to the end of the node of length 2^level after `begin`: the peak, or what has its sum."""
    row = _row(memory, n, t, level, begin + (1 << level))
    before, factor = memory.falling[-1], 0.0
    if begin > peak:
        before, factor = memory.falling[lowest_digit(begin)], memory.discounts[1 << level]
    _combine(1.0, memory.nodes[row], factor, before, memory.falling[level])


@njit(nogil=True, forceinline=True)
def _combine(a: float, left: np.ndarray, b: float, right: np.ndarray, out: np.ndarray) -> None:
    """out becomes a left + b right."""
    for j in range(len(out)):
        out[j] = a * left[j] + b * right[j]


def stream_variances(n: int, steps: int, alpha: float, gamma: float) -> np.ndarray:
    """Variance of the noise of step t = 1..T for unit node noise in one stream at a time; [4, T]. O(T log N) time.

    The variance for standard deviations `stds` is stds^2 @ this. With H_t = k H_{t-N} + new and C_t = b C_{t-N} + H_t,

        Var H' = k^2 Var H + Var new,     Cov(C', H') = b k Cov(C, H) + Var H',
        Var C' = b^2 Var C + 2 b k Cov(C, H) + Var H',      k = 1 - gamma, and 0 in the second epoch.
    """
    out = np.zeros((4, steps))
    out[3] = tree_variance(alpha, steps)
    held = powers(alpha, 2 * n + 1)
    keep, fade = 1 - gamma, float(held[n])
    window, both, total = np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, n))
    for start, (early, late) in zip(range(0, steps, n), _new_in_windows(n, steps, alpha), strict=True):
        fresh = np.stack([early, late, np.zeros(n)])
        if start == 0:
            total = fresh
        else:
            carried = 0.0 if start == n else keep
            added = fresh if start == n else np.stack([gamma**2 * early, gamma**2 * late, keep**2 * (early + late)])
            # all windows behind one step are disjoint, so that what is new is independent of the past: three moments
            # follow a linear recursion over epochs, for each step of the epoch at once
            window = carried**2 * window + added
            total = fade**2 * total + 2 * fade * carried * both + window
            both = fade * carried * both + window
        out[:3, start : start + n] = total[:, : steps - start]
    return out


# settings that differ in gamma alone follow each other
@kept_once(1)
def _new_in_windows(n: int, steps: int, alpha: float) -> list[np.ndarray]:
    """`_window_variances` of the steps of each epoch."""
    weights = np.ascontiguousarray(powers(alpha, 2 * n + 1)[::2])  # a variance takes the square of a discount
    return [_window_variances(start, n, weights) for start in range(0, steps, n)]


@compiled(kept=True)
def _window_variances(start: int, n: int, weights: np.ndarray) -> np.ndarray:
    """sum of weights[t-z] over COMPOSE(max(1, t - N + 1), t) for the N steps after `start`: nodes with z <= 2 N, and
    the others; [2, N].
    """
    sums, rest = np.zeros((2, n)), np.empty(64, np.int64)
    for k in range(n):
        t = start + k + 1
        end = max(0, t - n)
        # from the step before the window the ends climb by the lowest binary digit while they stay within t
        while end > 0 and end + (end & -end) <= t:
            end += end & -end
            sums[1 if end > 2 * n else 0, k] += weights[t - end]
        count, last = 0, t
        # what remains are the digits of t, taken away from the lowest up
        while last > end:
            rest[count] = last
            count, last = count + 1, last & (last - 1)
        for place in range(count - 1, -1, -1):
            sums[1 if rest[place] > 2 * n else 0, k] += weights[t - rest[place]]
    return sums
