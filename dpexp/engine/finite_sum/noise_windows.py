"""Noise of Algorithm 2 of `momentum` for one order repeated in every epoch: two recursions over windows of one epoch.

With an order that repeats, the noisy estimate is the momentum plus a data-independent sequence. In the notation of the
algorithm, with b = (1 - alpha)^N and q = (t - 1) // N:

    q = 0:   C_t = G[1, t]
    q = 1:   H_t = G[t-N+1, t]
    q >= 2:  H_t = (1 - gamma)(H_{t-N} + D[t-N+1, t]) + gamma G[t-N+1, t]
    q >= 1:  C_t = b C_{t-N} + H_t
    noise_t = C_t + r[1, t]

where G[a, b] is the sum over COMPOSE(a, b) of (1 - alpha)^(b-z) times the noise of node (y, z), and r is `tree_noise`.
This is equation (3) of the paper, term by term, at O(d log N) a step instead of O(d T log N / N).

Why: C_t stands for the discounted sum over all steps to t, which is that of the last N steps plus b times the one N
steps ago. H_t stands for the sum over the last N steps. The step N earlier used the same record, so that sum is the one
of an epoch ago plus the changes of its gradients, and H_t mixes this estimate with a fresh one in the shares 1 - gamma
and gamma. The paper's sums only unroll the two recursions.

Standard deviations are those of the node noise of the four streams `first`, `later`, `change`, `residual`
(`dpexp.privacy.momentum.tree_streams`) in units of the momentum, so the factor alpha is part of them.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.discounts import discounts as powers
from dpexp.engine.finite_sum.noise_designs import tree_noise, tree_slots, tree_variance


class Windows(NamedTuple):
    """What a run remembers between steps: about 6 N d floats."""

    nodes: np.ndarray
    """noise of the nodes of the last N steps, level after level: that of G, then that of D beside it [rows, 2 d]"""
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
    discounts = memory.discounts
    if discounts[0] == 0.0:  # each is computed once for all blocks
        discounts[0] = 1.0
        for k in range(1, n):
            discounts[k] = math.exp(rate * k)
    levels = len(memory.offsets)
    newest = memory.newest
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

        # 2. COMPOSE over the last N steps: from the left, always the longest node that starts there and ends by t
        sums[:] = 0.0
        start = max(1, t - n + 1)
        while start <= t:
            level = 0
            while (start - 1) & ((2 << level) - 1) == 0 and start + (2 << level) - 1 <= t:
                level += 1
            end = start + (1 << level) - 1
            back = newest[level] - ((t >> level) - (end >> level))  # so many nodes before the newest, around the ring
            row = memory.offsets[level] + (back if back >= 0 else back + (n >> level))
            factor = discounts[t - end]
            for j in range(2 * d):
                sums[j] += factor * memory.nodes[row, j]
            start = end + 1

        # 3. the two recursions; windows[place] and totals[place] still hold H and C of step t - N
        place = (t - 1) % n
        for j in range(d):
            plain, moved = sums[j], sums[d + j]
            if t <= n:
                memory.totals[place, j] = plain
            else:
                window = plain
                if t > 2 * n:
                    window = (1.0 - gamma) * (memory.windows[place, j] + moved) + gamma * plain
                memory.windows[place, j] = window
                memory.totals[place, j] = epoch_discount * memory.totals[place, j] + window
            out[i, j] += memory.totals[place, j]


def stream_variances(n: int, steps: int, alpha: float, gamma: float) -> np.ndarray:
    """Variance of the noise of step t = 1..T for unit node noise in one stream at a time; [4, T]. O(T log N) time.

    The variance for standard deviations `stds` is stds^2 @ this. All windows behind one step are disjoint, so the
    three moments of (C_t, H_t) follow a linear recursion over epochs, for each step of the epoch at once: with
    H_t = k H_{t-N} + new and C_t = b C_{t-N} + H_t, new being independent of the past,

        Var H' = k^2 Var H + Var new,     Cov(C', H') = b k Cov(C, H) + Var H',
        Var C' = b^2 Var C + 2 b k Cov(C, H) + Var H',      k = 1 - gamma, and 0 in the second epoch.
    """
    out = np.zeros((4, steps))
    out[3] = tree_variance(alpha, steps)
    held = powers(alpha, 2 * n + 1)
    keep, fade = 1 - gamma, float(held[n])
    weights = held[::2]  # a variance takes the square of a discount
    window, both, total = np.zeros((3, n)), np.zeros((3, n)), np.zeros((3, n))
    for start in range(0, steps, n):
        t = np.arange(start + 1, start + n + 1)
        early, late = _window_variances(t, n, weights)
        fresh = np.stack([early, late, np.zeros(n)])
        if start == 0:
            total = fresh
        else:
            carried = 0.0 if start == n else keep
            added = fresh if start == n else np.stack([gamma**2 * early, gamma**2 * late, keep**2 * (early + late)])
            window = carried**2 * window + added
            total = fade**2 * total + 2 * fade * carried * both + window
            both = fade * carried * both + window
        out[:3, start : start + n] = total[:, : steps - start]
    return out


def _window_variances(t: np.ndarray, n: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """sum of weights[t-z] over COMPOSE(max(1, t - N + 1), t): nodes with z <= 2 N, and the others.

    From the step before the window the ends climb by the lowest binary digit while they stay within t; what remains
    are the digits of t, taken away from the lowest up.
    """
    early, late = np.zeros(len(t)), np.zeros(len(t))

    def add(end: np.ndarray, open_: np.ndarray) -> None:
        weight = np.where(open_, weights[np.minimum(t - end, n)], 0.0)
        near = np.where(end <= 2 * n, weight, 0.0)
        early[:] += near
        late[:] += weight - near

    covered = np.maximum(0, t - n)
    while True:
        longer = covered + (covered & -covered)
        open_ = (longer > covered) & (longer <= t)
        if not open_.any():
            break
        covered = np.where(open_, longer, covered)
        add(covered, open_)
    rest, end = [], t
    while (end > covered).any():
        rest.append((end, end > covered))
        end = np.where(end > covered, end & (end - 1), end)
    for last, open_ in reversed(rest):
        add(last, open_)
    return early, late
