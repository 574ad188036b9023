"""What weights prove about mu at some places of a record, without writing down the K x K form of a place.

Weights with their form S and cost c'x prove mu^2 <= lambda c'x at a place, lambda the largest eigenvalue of its Q
relative to S (`tools.difference_bound`). `tools.solved_forms.grams` finds Q by K solves
and holds 3 K columns of T numbers for each of eight places: 22 GB for N = 8000 and 120 epochs. Here lambda is found by
Lanczos' method, one solve a step, in the memory of a dozen columns, for eight places at once. Ritz values come from
below; they are taken once a step changes none of them by more than SETTLED.

With x = R^-1 A U d and M = R^-1 C_win, residual nodes of unit deviation, Q d = U' A' R^-T y where (I + M M') y = x. The
solves are those of `grams`, by conjugate gradients: nothing is shared with the factorisation in `places`.
"""

from __future__ import annotations

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from tools.difference_bound import costs_of, form_of
from tools.solved_forms import MOST_ITERATIONS, node_ends, visits
from tools.window_operator import conjugate_gradients, make_rule, make_workspace

MOST_STEPS, SETTLED = 40, 1e-4
TOLERANCE = 1e-4
"""relative residual of the solves, about what a value is off by"""


def proved(
    n: int,
    steps: int,
    alpha: float,
    gamma: float,
    stds: np.ndarray,
    G: float,
    move: float,
    weights: np.ndarray,
    positions: np.ndarray,
) -> np.ndarray:
    """The bounds on mu [P] that one set of weights proves at positions that all have as many visits as it has rows.

    Arguments as in `tools.momentum_iterates.certify`.
    """
    count = (len(weights) + 1) // 2
    form, cost = form_of(weights, count), float(costs_of(count, 2 * G, 2 * move) @ weights)
    lower = np.linalg.cholesky(form)
    rule = make_rule(n, steps, alpha, gamma, (stds[0] / stds[3], stds[1] / stds[3], stds[2] / stds[3]))
    work, memory, right = make_workspace(n, steps), np.zeros((4, steps + 1, LANES)), np.zeros((steps + 1, LANES))
    out = np.empty(len(positions))
    for first in range(0, len(positions), LANES):
        places = [
            [node_ends(int(t), steps) for t in visits(n, steps, int(i))] for i in positions[first : first + LANES]
        ]
        begun = lower.T @ np.ones(count)  # differences that stay are nearly the worst
        basis = [np.array([begun / np.linalg.norm(begun)]) for _ in places]
        images = [np.empty((0, count)) for _ in places]
        ritz = np.zeros(len(places))
        for _ in range(min(MOST_STEPS, count)):
            right[:] = 0.0
            for lane, ends in enumerate(places):
                differences = np.linalg.solve(lower.T, basis[lane][-1])
                for some, difference in zip(ends, differences, strict=True):
                    right[some, lane] += difference * rule.fade[some - some[0]]
            conjugate_gradients(rule, right, 0, MOST_ITERATIONS, TOLERANCE, work, memory)
            before = ritz.copy()
            for lane, ends in enumerate(places):
                pulled = [float(rule.fade[some - some[0]] @ memory[0, some, lane]) for some in ends]
                image = np.linalg.solve(lower, np.array(pulled))
                images[lane] = np.vstack([images[lane], image])
                seen = images[lane] @ basis[lane].T
                ritz[lane] = np.linalg.eigvalsh((seen + seen.T) / 2)[-1]
                rest = image - basis[lane].T @ (basis[lane] @ image)
                rest -= basis[lane].T @ (basis[lane] @ rest)
                basis[lane] = np.vstack([basis[lane], rest / (np.linalg.norm(rest) + 1e-300)])
            if np.all(ritz - before <= SETTLED * ritz):
                break
        out[first : first + LANES] = ritz
    return np.sqrt(out * cost) / float(stds[3])
