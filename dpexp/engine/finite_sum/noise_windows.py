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

Standard deviations are those of the node noise of the four streams `first`, `later`, `change`, `residual`
(`dpexp.privacy.momentum.tree_streams`) in units of the momentum, so the factor alpha is part of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.discounts import discounts as powers
from dpexp.engine.finite_sum.noise_designs import Normals, Take, lowest_digit, tree_noise, tree_slots, tree_variance


class WindowMemory(NamedTuple):
    """What a run remembers between steps: about 6 N d floats. Rows of 2 d hold what is of G, then what is of D."""

    nodes: np.ndarray  # noise of the nodes of the last N steps, level after level [rows, 2 d]
    offsets: np.ndarray  # first row of each level [floor(log2 N) + 1]
    newest: np.ndarray  # row of the node that ended last, within its level [floor(log2 N) + 1]; -1 before the first
    windows: np.ndarray  # H of the last N steps [N, d]
    totals: np.ndarray  # C of the last N steps [N, d]
    slots: np.ndarray  # memory of the residuals' tree
    discounts: np.ndarray  # (1 - alpha)^k for k < N [N]; zeros before the first step


def empty_windows(n: int, steps: int, d: int) -> WindowMemory:
    """The memory before the first step, for epochs of n steps."""
    # nodes of length 2^level that fit into N steps: a ring of so many rows holds all that a window can need
    sizes = [n >> level for level in range(n.bit_length())]
    offsets = np.cumsum([0, *sizes[:-1]])
    nodes, newest, (windows, totals) = np.zeros((sum(sizes), 2 * d)), np.full(len(sizes), -1), np.zeros((2, n, d))
    return WindowMemory(nodes, offsets, newest, windows, totals, tree_slots(steps, d), np.zeros(n))


def nodes_ending(first: int, last: int, n: int) -> int:
    """How many nodes no longer than n end in the steps first..last: the normals that G and D each need there."""
    # a node of length 2^level ends at every multiple of it
    return sum((last >> level) - ((first - 1) >> level) for level in range(n.bit_length()))


def window_sequence(
    seed: int, replicate: int, d: int, steps: int, n: int, alpha: float, gamma: float, stds: tuple[float, ...]
) -> Take:
    """Algorithm 2; `stds` [4] are those of the nodes of its streams."""
    # three sources, so that how a run is split into blocks changes no bit
    sources = [Normals(seed, replicate, "noise", source) for source in range(3)]
    memory, of_streams, done = empty_windows(n, steps, d), np.array(stds), 0

    def take(count: int) -> np.ndarray:
        nonlocal done
        # gradients and changes have one normal a node, residuals one a step, each in order of the steps
        nodes, out = nodes_ending(done + 1, done + count, n), np.empty((count, d))
        gradient, change, residual = (
            source.standard_normal((k, d)) for source, k in zip(sources, (nodes, nodes, count), strict=True)
        )
        window_noise(gradient, change, residual, done + 1, n, alpha, gamma, of_streams, memory, out)
        done += count
        return out

    return take


@compiled(cached=True)
def window_noise(
    gradient: np.ndarray,
    change: np.ndarray,
    residual: np.ndarray,
    first: int,
    n: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    memory: WindowMemory,
    out: np.ndarray,
) -> None:
    """Fills out [B, d] with the noise of steps first..first + B - 1.

    `gradient` and `change` [nodes_ending(first, first + B - 1, n), d] hold the standard normals of the nodes in order
    of their ends, shortest first (those of D that start in the first epoch are not used); `residual` [B, d] holds one a
    step. `stds` [4] are in the order of the streams. Call it for consecutive blocks with the same `memory`.
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
    # over the window, of G and then of D: before the peak, which becomes the whole, and from it on
    up, down = np.zeros(2 * d), np.zeros(2 * d)
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
        peak = _window_peak(c, t)
        up[:], down[:] = 0.0, 0.0
        if c < peak:
            end = peak
            for level in range(min(levels, lowest_digit(peak)) - 1, -1, -1):
                begin = ((c - 1 >> level) + 1) << level  # the least multiple of 2^level from c on
                if begin < end:  # by 2^level
                    _combine(discounts[peak - end], memory.nodes[_row(memory, n, t, level, end)], 1.0, up)
                    end = begin
        end = peak
        # the digits of t that are 0 in the peak, from the highest
        for level in range(levels - 1, -1, -1):
            if (t - peak) >> level & 1 == 1:
                fade = discounts[1 << level] if end > peak else 0.0
                end += 1 << level
                _combine(1.0, memory.nodes[_row(memory, n, t, level, end)], fade, down)
        _combine(1.0, down, discounts[t - peak] if c < peak else 0.0, up)

        # 3. the two recursions of (a); windows[place] and totals[place] still hold H and C of step t - N
        place = (t - 1) % n
        if t <= n:
            for j in range(d):
                memory.totals[place, j] = up[j]
                out[i, j] += up[j]
        else:
            keep, fresh = (1.0 - gamma, gamma) if t > 2 * n else (0.0, 1.0)  # the second epoch has no H before it
            for j in range(d):
                # the sum over the last N steps: step t - N used the same record, so that it is the one of an epoch ago
                # plus the changes of its gradients, mixed with a fresh one
                window = keep * (memory.windows[place, j] + up[d + j]) + fresh * up[j]
                # the discounted sum over all steps: that of the last N, and b times the one N steps ago
                total = epoch_discount * memory.totals[place, j] + window
                memory.windows[place, j], memory.totals[place, j] = window, total
                out[i, j] += total


@njit(nogil=True, forceinline=True)
def _window_peak(c: int, t: int) -> int:
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
def _row(memory: WindowMemory, n: int, t: int, level: int, end: int) -> int:
    """Where the node of length 2^level is that ended at `end`; t is now."""
    # so many nodes before the newest, around the ring
    back = memory.newest[level] - ((t >> level) - (end >> level))
    return memory.offsets[level] + (back if back >= 0 else back + (n >> level))


@njit(nogil=True, forceinline=True)
def _combine(a: float, added: np.ndarray, b: float, out: np.ndarray) -> None:
    """out becomes a added + b out."""
    for j in range(len(out)):
        out[j] = a * added[j] + b * out[j]


def stream_variances(n: int, steps: int, alpha: float, gamma: float) -> np.ndarray:
    """Variance of the noise of step t = 1..T for unit node noise in one stream at a time; [4, T]. O(T log N) time.

    The variance for standard deviations `stds` is stds^2 @ this. With H_t = k H_{t-N} + new and C_t = b C_{t-N} + H_t,

        Var H' = k^2 Var H + Var new,     Cov(C', H') = b k Cov(C, H) + Var H',
        Var C' = b^2 Var C + 2 b k Cov(C, H) + Var H',      k = 1 - gamma, and 0 in the second epoch.
    """
    out = np.zeros((4, steps))
    out[3] = tree_variance(alpha, steps)
    discounts_of = powers(alpha, 2 * n + 1)
    keep, fade = 1 - gamma, float(discounts_of[n])
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


@compiled(cached=True)
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
