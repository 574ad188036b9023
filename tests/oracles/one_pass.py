"""Clipped and heavy-ball LDP-SGD, and Adam on noisy gradients, one user at a time, straight from their equations.

Gradients and users are those of `tests.oracles.ldp_sgd`. Nothing here knows of lanes, rules or blocks.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from tests.oracles.ldp_sgd import Path

Gradient = Callable[[list[float], list[float], float], list[float]]
Step = Callable[[int, float, np.ndarray, np.ndarray], np.ndarray]
"""step(i, eta_i, theta_{i-1}, noisy gradient) -> theta_i before the projection"""


def one_pass(
    gradient: Gradient,
    clip: float,
    step: Step,
    data: Iterator[tuple[list[float], float]],
    directions: Iterator[float],
    budget: Callable[[int], float],
    delta: float,
    eta: float,
    alpha: float,
    start: list[float],
    scale_min: float | None,
    n: int,
) -> Path:
    """n users, each of whom clips its gradient to norm `clip` and adds N(0, (delta / mu_i)^2) to every coordinate."""
    theta, average, hits = np.array(start), np.zeros(len(start)), 0
    path = Path([], [], [])
    for i in range(1, n + 1):
        x, y = next(data)
        g = np.array(gradient(list(theta), x, y))
        norm = np.linalg.norm(g)
        if norm > clip:
            g = g * (clip / norm)
        omega = np.array([next(directions) for _ in start])
        theta = step(i, eta * i**-alpha, theta, g + delta / budget(i) * omega)
        if scale_min is not None and theta[-1] < scale_min:
            theta[-1] = scale_min
            hits += 1
        average = average + (theta - average) / i
        path.theta.append(list(theta))
        path.average.append(list(average))
        path.projections.append(hits)
    return path


def plain(i: int, eta: float, theta: np.ndarray, noisy: np.ndarray) -> np.ndarray:
    """theta - eta g."""
    return theta - eta * noisy


def heavy_ball(momentum: float, p: int) -> Step:
    """v_i = momentum v_{i-1} + g_i, theta_i = theta_{i-1} - eta_i v_i, from v_0 = 0."""
    velocity = np.zeros(p)

    def step(i: int, eta: float, theta: np.ndarray, noisy: np.ndarray) -> np.ndarray:
        nonlocal velocity
        velocity = momentum * velocity + noisy
        return theta - eta * velocity

    return step
