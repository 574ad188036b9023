"""The noise of Algorithm 2 of `momentum` as a matrix and its transpose, eight columns at a time, in O(1) a step.

`dpexp.engine.finite_sum.noise_windows` draws the noise C z of one run; what is proved about long runs
(`tools.solved_forms`) needs to solve equations with it. The noise is C z = C_win u + R r, with u the nodes
of G and D and r the left nodes of the residuals' tree, and R^-1 is known: (R^-1 v)_t = v_t - beta^lb(t) v_{t - lb(t)},
lb(t) the lowest binary digit of t. Here M = R^-1 C_win, for nodes of unit variance and residual nodes of unit standard
deviation.

A window (s, t] of one epoch, s = max(0, t - N), is covered by climbing from s with the lowest digits of s to the point
j of [s, t] with the most trailing zeros, and then by the binary digits of t - j. A climb from s is the right nodes
(s, s + lb(s)], and the digits are the left nodes (t - lb(t), t], so that every step has one node of each kind. With

    F(t) = node(t - lb(t), t] + beta^lb(t) F(t - lb(t)),     P(s) = beta^-lb(s) (node(s, s + lb(s)] + P(s + lb(s)))

the window is beta^(t-s) P(s) + F(t) - beta^(t-j) (P(j) + F(j)), where nodes longer than an epoch, which no window
uses, end both sums. The differences cost about beta^(-2 N) in relative rounding, so alpha N must not be large.

From the third epoch on G and D enter as gamma G + (1 - gamma) D only, so that nodes which end after two epochs are one
stream of nodes; those before have one of each, with G scaled by gamma in all windows and back in those of two epochs.

Arrays are [T + 1, 8] float64, row t for step t and row 0 unused; the last axis is eight columns.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled
from dpexp.engine.finite_sum.discounts import discounts
from dpexp.engine.lanes.vectors import LANES, load, reals, store


class Rule(NamedTuple):
    """The matrix: sizes, weights and the standard deviations of nodes over that of a residual node."""

    n: int
    steps: int
    fade: np.ndarray
    """(1 - alpha)^k for k = 0..T"""
    gamma: float
    early: float
    """gamma times the deviation of a node of G that ends within two epochs"""
    moved: float
    """(1 - gamma) times that of a node of D"""
    mixed: float
    """the deviation of gamma G + (1 - gamma) D, nodes that end later"""
    tops: np.ndarray
    """for t > N the point of [t - N, t] with the most trailing zeros, int64 [T + 1]"""
    levels: np.ndarray
    """number of trailing zeros of t, int64 [T + 1]"""


class Workspace(NamedTuple):
    """Nodes of eight columns, and one epoch of the two recursions over epochs."""

    left: np.ndarray
    """nodes (t - lb(t), t], then F: of G, or mixed, [T + 1, 8]"""
    right: np.ndarray
    """nodes (s, s + lb(s)], then P"""
    left_d: np.ndarray
    """of D, nodes that end within two epochs; F is needed for three, [3 N + 1, 8]"""
    right_d: np.ndarray
    windows: np.ndarray
    totals: np.ndarray
    slots: np.ndarray


def make_rule(n: int, steps: int, alpha: float, gamma: float, ratios: tuple[float, float, float]) -> Rule:
    """The rule for node standard deviations `ratios` (first, later, change) over that of the residuals."""
    fade = discounts(alpha, max(steps, 2 * n) + 1)
    tops, levels = _tables(n, steps)
    first, later, change = map(float, ratios)
    moved = (1 - gamma) * change
    return Rule(n, steps, fade, gamma, gamma * first, moved, math.hypot(gamma * later, moved), tops, levels)


def make_workspace(n: int, steps: int) -> Workspace:
    """Memory for one group of eight columns."""

    def zeros(rows: int) -> np.ndarray:
        return np.zeros((rows, LANES))

    few = min(3 * n, steps) + 1
    depth = steps.bit_length() + 1
    return Workspace(zeros(steps + 1), zeros(steps + 1), zeros(few), zeros(few), zeros(n), zeros(n), zeros(depth))


@njit(nogil=True)
def _top(s: int, t: int) -> int:
    """The point of [s, t], s < t, with the most trailing zeros: t up to the highest digit where they differ, or s."""
    differ, level = s ^ t, 0
    while differ > 1:
        differ >>= 1
        level += 1
    return s if s & ((1 << level) - 1) == 0 else (t >> level) << level


@compiled(cached=True)
def _tables(n: int, steps: int) -> tuple[np.ndarray, np.ndarray]:
    tops, levels = np.zeros(steps + 1, dtype=np.int64), np.zeros(steps + 1, dtype=np.int64)
    for t in range(1, steps + 1):
        rest = t
        while rest & 1 == 0:
            rest >>= 1
            levels[t] += 1
        if t > n:
            tops[t] = _top(t - n, t)
    return tops, levels


@compiled(cached=True)
def transpose(rule: Rule, y: np.ndarray, work: Workspace, start: int) -> None:
    """Sets the nodes of `work` that begin after `start` to M' y, for y that is zero up to `start`.

    `start` is 0 or has more trailing zeros than an epoch has digits, so that no node spans it and windows that would
    begin before it begin there.
    """
    n, steps, fade, keep = rule.n, rule.steps, rule.fade, 1.0 - rule.gamma
    left, right, left_d, right_d = work.left, work.right, work.left_d, work.right_d
    for t in range(start, steps + 1):
        store(left, (t,), 0.0)
        store(right, (t,), 0.0)
    for t in range(len(left_d)):
        store(left_d, (t,), 0.0)
        store(right_d, (t,), 0.0)
    for place in range(n):
        store(work.windows, (place,), 0.0)
        store(work.totals, (place,), 0.0)
    for t in range(steps, start, -1):
        place, lowest, s = t % n, t & -t, t - n
        window = load(y, (t,))  # R^-1 transposed: the steps whose digits without the lowest one are t
        step = 1
        while step < lowest and t + step <= steps:
            window = window - fade[step] * load(y, (t + step,))
            step <<= 1
        window = window + fade[n] * load(work.totals, (place,))
        store(work.totals, (place,), window)
        if t > n:
            window = window + keep * load(work.windows, (place,))
            store(work.windows, (place,), window)
        if t <= 2 * n:
            window = window / rule.gamma
        elif t <= 3 * n:
            store(left_d, (t,), load(left_d, (t,)) + window)
            if s > start:
                j = rule.tops[t]
                store(right_d, (s,), load(right_d, (s,)) + fade[n] * window)
                store(right_d, (j,), load(right_d, (j,)) - fade[t - j] * window)
                store(left_d, (j,), load(left_d, (j,)) - fade[t - j] * window)
        store(left, (t,), load(left, (t,)) + window)
        if s > start:
            j = rule.tops[t]
            store(right, (s,), load(right, (s,)) + fade[n] * window)
            store(right, (j,), load(right, (j,)) - fade[t - j] * window)
            store(left, (j,), load(left, (j,)) - fade[t - j] * window)
        if lowest <= n:
            own = load(left, (t,))
            store(left, (t - lowest,), load(left, (t - lowest,)) + fade[lowest] * own)
            store(left, (t,), (rule.early if t <= 2 * n else rule.mixed) * own)
            if t <= 3 * n:
                own = load(left_d, (t,))
                store(left_d, (t - lowest,), load(left_d, (t - lowest,)) + fade[lowest] * own)
                store(left_d, (t,), (rule.moved if t <= 2 * n else 0.0) * own)
        else:
            store(left, (t,), 0.0)
            if t <= 3 * n:
                store(left_d, (t,), 0.0)
    store(left, (start,), 0.0)
    if start < len(left_d):
        store(left_d, (start,), 0.0)
    for s in range(start + 1, steps + 1):
        lowest = s & -s
        end = s + lowest
        if lowest <= n and end <= steps:
            rise = 1.0 / fade[lowest]
            own = rise * load(right, (s,))
            store(right, (end,), load(right, (end,)) + own)
            store(right, (s,), (rule.early if end <= 2 * n else rule.mixed) * own)
            if end < len(right_d):
                own = rise * load(right_d, (s,))
                store(right_d, (end,), load(right_d, (end,)) + own)
                store(right_d, (s,), (rule.moved if end <= 2 * n else 0.0) * own)
        else:
            store(right, (s,), 0.0)
            if s < len(right_d):
                store(right_d, (s,), 0.0)


@compiled(cached=True)
def apply(rule: Rule, work: Workspace, out: np.ndarray, start: int) -> None:
    """Sets `out` after `start` to M u for the nodes u in `work` that begin after `start`, and overwrites these."""
    n, steps, fade, keep = rule.n, rule.steps, rule.fade, 1.0 - rule.gamma
    left, right, left_d, right_d = work.left, work.right, work.left_d, work.right_d
    for s in range(steps, start, -1):
        lowest = s & -s
        end = s + lowest
        if lowest <= n and end <= steps:
            rise, std = 1.0 / fade[lowest], rule.early if end <= 2 * n else rule.mixed
            store(right, (s,), rise * (std * load(right, (s,)) + load(right, (end,))))
            if end < len(right_d):
                std = rule.moved if end <= 2 * n else 0.0
                store(right_d, (s,), rise * (std * load(right_d, (s,)) + load(right_d, (end,))))
            elif s < len(right_d):
                store(right_d, (s,), 0.0)
        else:
            store(right, (s,), 0.0)
            if s < len(right_d):
                store(right_d, (s,), 0.0)
    for t in range(start + 1, steps + 1):
        place, lowest, s = t % n, t & -t, t - n
        if lowest <= n:
            std = rule.early if t <= 2 * n else rule.mixed
            store(left, (t,), std * load(left, (t,)) + fade[lowest] * load(left, (t - lowest,)))
            if t <= 3 * n:
                std = rule.moved if t <= 2 * n else 0.0
                store(left_d, (t,), std * load(left_d, (t,)) + fade[lowest] * load(left_d, (t - lowest,)))
        else:
            store(left, (t,), 0.0)
            if t <= 3 * n:
                store(left_d, (t,), 0.0)
        total = load(left, (t,))
        if s > start:
            j = rule.tops[t]
            total = total + fade[n] * load(right, (s,)) - fade[t - j] * (load(right, (j,)) + load(left, (j,)))
        if t <= 2 * n:
            total = total / rule.gamma
        else:
            if t <= 3 * n:
                total = total + load(left_d, (t,))
            if s > start:
                total = total + keep * load(work.windows, (place,))
                if t <= 3 * n:
                    j = rule.tops[t]
                    total = total + fade[n] * load(right_d, (s,))
                    total = total - fade[t - j] * (load(right_d, (j,)) + load(left_d, (j,)))
        store(work.windows, (place,), total)
        if s > start:
            total = total + fade[n] * load(work.totals, (place,))
        store(work.totals, (place,), total)
        store(work.slots, (rule.levels[t],), total)
        rest = t - lowest
        if rest > start:
            total = total - fade[lowest] * load(work.slots, (rule.levels[rest],))
        store(out, (t,), total)


@compiled(cached=True)
def conjugate_gradients(
    rule: Rule, right: np.ndarray, start: int, iterations: int, tolerance: float, work: Workspace, memory: np.ndarray
) -> int:
    """From y = 0, solves (I + M M') y = `right` for eight columns.

    `right` is zero up to `start`, and nodes are those that begin after it. memory [4, T + 1, 8] receives y, M M' y and
    scratch. Stops after `iterations` steps or when every residual is below `tolerance` times its right side, and
    returns the number of steps. M M' y is that of the returned y, by one more application and not by recurrence.
    """
    y, z, residual, towards = memory[0], memory[1], memory[2], memory[3]
    square = reals(0.0)
    for t in range(start + 1):
        store(y, (t,), 0.0)
        store(z, (t,), 0.0)
    for t in range(start + 1, rule.steps + 1):
        value = load(right, (t,))
        store(y, (t,), 0.0)
        store(residual, (t,), value)
        store(towards, (t,), value)
        square = square + value * value
    norms = np.empty((2, LANES))
    store(norms, (0,), square)
    done = 0
    for _ in range(iterations):
        transpose(rule, towards, work, start)
        apply(rule, work, z, start)
        along = reals(1e-300)
        for t in range(start + 1, rule.steps + 1):
            value = load(z, (t,)) + load(towards, (t,))
            store(z, (t,), value)
            along = along + value * load(towards, (t,))
        length, fresh = square / along, reals(0.0)
        for t in range(start + 1, rule.steps + 1):
            store(y, (t,), load(y, (t,)) + length * load(towards, (t,)))
            value = load(residual, (t,)) - length * load(z, (t,))
            store(residual, (t,), value)
            fresh = fresh + value * value
        turn = fresh / (square + 1e-300)
        for t in range(start + 1, rule.steps + 1):
            store(towards, (t,), load(residual, (t,)) + turn * load(towards, (t,)))
        square = fresh
        done += 1
        store(norms, (1,), square)
        settled = True
        for c in range(LANES):
            if norms[1, c] > tolerance * tolerance * norms[0, c]:
                settled = False
        if settled:
            break
    transpose(rule, y, work, start)
    apply(rule, work, z, start)
    return done
