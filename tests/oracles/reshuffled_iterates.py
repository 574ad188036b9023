"""The iterates of Algorithm 2 of `momentum` where every epoch has an order of its own: twice the vectors, same theorem.

The trees are fed with their values, so that the estimate is a linear map of two vectors for every visit of a record,
both taken at public points given the past: a_k at the anchor of the epoch and h_k at the iterate of the visit t_k. The
noise has the same law as for an order that repeats, and the rest of the proof in `tools.momentum_iterates`
holds word for word. No vector is longer than 2 G, and two of them differ by at most 2 L eta times the number of steps
between their points, because steps have length eta. In the stream G the value a_k enters at t_k; in D it enters at t_k
(from the second epoch on) and leaves, with a minus, at the next visit; in r the value h_k enters at t_k and a_k leaves.
Dense algebra, for small runs: O(T^3) once an order, and a bound for every record.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.engine.finite_sum.noise_windows import empty_windows, nodes_ending, window_noise
from tools.difference_bound import largest_form

MOST_STEPS = 2_000


def reshuffled_mu(
    items: np.ndarray,
    n: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    G: float,
    L: float,
    eta: float,
    records: np.ndarray | None = None,
) -> float:
    """mu of the iterates for the order `items` [T], the largest over all records; `stds` [4] without alpha.

    With `records` the largest over these alone, which says nothing of the others.

    Raises ValueError for more than MOST_STEPS steps.
    """
    steps = len(items)
    if steps > MOST_STEPS:
        raise ValueError(f"dense algebra of {steps} steps: at most {MOST_STEPS}")
    root = np.linalg.cholesky(_covariance(n, steps, alpha, gamma, stds))
    worst = 0.0
    for record in np.unique(items) if records is None else records:
        times = np.flatnonzero(items == record) + 1
        signal = np.linalg.solve(root, _signals(times, n, steps, alpha, gamma))
        pairs, moves = _constraints(times, n, L * eta)
        worst = max(worst, largest_form(signal.T @ signal, 2 * G, 2 * np.array(moves), pairs).upper)
    return math.sqrt(worst)


def _covariance(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray) -> np.ndarray:
    nodes = nodes_ending(1, steps, n)
    width = 2 * nodes + steps
    units, noise = np.eye(width), np.empty((steps, width))
    parts = units[:nodes], units[nodes : 2 * nodes], units[2 * nodes :]
    window_noise(*parts, 1, n, alpha, gamma, np.asarray(stds, dtype=float), empty_windows(n, steps, width), noise)
    return noise @ noise.T


def _signals(times: np.ndarray, n: int, steps: int, alpha: float, gamma: float) -> np.ndarray:
    """The estimate's response [T, 2 K] to a_1..a_K, then h_1..h_K."""
    count = len(times)
    values = np.zeros((3, steps + 1, 2 * count))  # what enters G, D and r at every step
    for k, t in enumerate(times):
        values[0, t, k] = 1.0
        if t > n:
            values[1, t, k] = 1.0
        if k + 1 < count:
            values[1, times[k + 1], k] = -1.0
        values[2, t, k] = -1.0
        values[2, t, count + k] = 1.0
    keep, fade = 1 - alpha, (1 - alpha) ** n
    sums = np.zeros_like(values)
    for t in range(1, steps + 1):
        sums[:, t] = keep * sums[:, t - 1] + values[:, t]
    windows, totals = np.zeros((steps + 1, 2 * count)), np.zeros((steps + 1, 2 * count))
    for t in range(1, steps + 1):
        past = max(0, t - n)
        plain, moved = (sums[j, t] - (fade * sums[j, past] if t > n else 0.0) for j in (0, 1))
        if t <= n:
            totals[t] = plain
            continue
        windows[t] = plain if t <= 2 * n else (1 - gamma) * (windows[past] + moved) + gamma * plain
        totals[t] = fade * totals[past] + windows[t]
    return (totals + sums[2])[1:]


def _constraints(times: np.ndarray, n: int, step: float) -> tuple[list[tuple[int, int]], list[float]]:
    """Pairs of vectors and how far they can be apart, over 2: along the path, and past every second point of it.

    A visit at the first step of an epoch is at its anchor; one step is taken for none, which only weakens it.
    """
    count = len(times)
    anchors = [(int(t) - 1) // n * n + 1 for t in times]
    points = sorted([(t, 0, k) for k, t in enumerate(anchors)] + [(int(t), 1, count + k) for k, t in enumerate(times)])
    pairs, moves = [], []
    for apart in (1, 2):
        for (early, _, j), (late, _, k) in zip(points, points[apart:], strict=False):
            pairs.append((j, k))
            moves.append(step * max(1, late - early))
    return pairs, moves
