"""Gaussian releases from their definitions, for pairs of losses whose gradients do not depend on the noise.

Constant gradients: a record's is G in one run, -G in the other. Alternating gradients, in one dimension: f(w, x) =
x (a eta / pi) sin(pi w / eta) has the gradient a x (-1)^(t - 1) at step t on every path, because every step has the
length eta; it is a-Lipschitz and pi a / eta-smooth. With an odd number of records a record's gradient then changes its
sign from epoch to epoch. All other records have gradient 0. Each function returns a mechanism at random parameters with
the exact mu of what it releases on such a pair.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from dpexp.privacy.mechanisms import MECHANISMS, Mechanism
from dpexp.privacy.momentum.certificates import MomentumSetting
from tests.oracles.trees import equation3, nodes
from tools.momentum_certificates import computed

certificate = cache(computed)
"""a certificate that the prover computes on the spot, for settings that are not stored"""


def constant_gradients(rng: np.random.Generator) -> tuple[Mechanism, float]:
    """Algorithm 2 with the printed noise and its pair's mu."""
    n, epochs = int(rng.integers(2, 40)), int(rng.integers(1, 12))
    alpha, sigma = float(rng.uniform(0.02, 1)), float(10 ** rng.uniform(-1, 1))
    lipschitz, eta = float(10 ** rng.uniform(-1, 1)), float(10 ** rng.uniform(-2, 0))
    steps, position = n * epochs, int(rng.integers(1, n + 1))
    mechanism = MECHANISMS["reduced-momentum"](
        n=n, steps=steps, momentum=alpha, step_size=eta, smoothness=1.0, lipschitz=lipschitz, sigma=sigma
    )
    # constant gradients do not change and leave no residual: only nodes of gradients differ, at most an epoch long
    squares = 0.0
    for start, end in nodes(steps):
        used = [t for t in range(start, end + 1) if (t - position) % n == 0]
        if used and end - start < n and (start - 1) // (end - start + 1) % 2 == 0:
            count = 3 * math.log2(n) if end <= 2 * n else 4 * steps / n * math.log2(n)
            share = sum((1 - alpha) ** (end - t) for t in used) ** 2
            squares += share * (2 * lipschitz) ** 2 / (4 * lipschitz * sigma) ** 2 / count
    return mechanism, math.sqrt(squares)


def iterates_alone(rng: np.random.Generator) -> tuple[Mechanism, dict[str, float]]:
    """Algorithm 2 with one order that repeats, and mu of its estimates alone on each pair; the nodes stay secret.

    With the printed noise, or with that which runs get by exact calibration for the iterates. The estimates are a
    linear map of the gradients plus C z; the record at one place moves them by A U d, so that mu^2 =
    (A U d)' (C C')^-1 (A U d), by dense algebra. All in units without alpha.
    """
    n, epochs = 2 * int(rng.integers(1, 10)) + 1, int(rng.integers(1, 9))
    steps, alpha = n * epochs - int(rng.integers(0, n)), float(rng.uniform(0.3, 1.5)) / n
    lipschitz, sigma = float(10 ** rng.uniform(-1, 1)), float(10 ** rng.uniform(-1, 1))
    move = lipschitz * float(10 ** rng.uniform(-2, 1.5))  # L eta N
    eta, exact = float(10 ** rng.uniform(-3, 0)), bool(rng.random() < 0.5)
    gamma, smoothness = min(0.5, move / lipschitz), move / (eta * n)
    how: dict[str, Any] = {"calibration": "exact", "accounting": "iterates"} if exact else {"calibration": "paper"}
    sizes: dict[str, Any] = {"n": n, "steps": steps, "momentum": alpha, "step_size": eta, "smoothness": smoothness}
    mechanism = MECHANISMS["reduced-momentum"](**sizes, **how, lipschitz=lipschitz, sigma=sigma)
    if exact:
        held = certificate(MomentumSetting(n, steps, alpha, gamma, move / lipschitz))
        if held is None:
            return mechanism, {}
        stds = lipschitz * sigma * held.mu * np.array(held.stds)
    else:
        later = 4 * steps / n * math.log2(n)
        counts = np.array([3 * math.log2(n), later, later, later])
        stds = sigma * np.array([4 * lipschitz, 4 * lipschitz, 2 * eta * n, 2 * eta * n]) * np.sqrt(counts)
    noise = estimate_noise(n, steps, alpha, gamma, stds)
    covariance = noise @ noise.T
    lag = np.subtract.outer(np.arange(steps), np.arange(steps))
    weights = np.where(lag >= 0, (1 - alpha) ** np.maximum(lag, 0), 0.0)
    inner = weights.T @ np.linalg.solve(covariance, weights)
    constant, alternating = 0.0, 0.0
    for place in range(min(n, steps)):  # the record at the worst one
        gram = inner[place::n, place::n]
        signs = (-1.0) ** np.arange(len(gram))
        constant, alternating = max(constant, float(gram.sum())), max(alternating, float(signs @ gram @ signs))
    turning = min(lipschitz, smoothness * eta / math.pi)
    return mechanism, {
        "constant gradients": 2 * lipschitz * math.sqrt(constant),
        "alternating gradients": 2 * turning * math.sqrt(alternating),
    }


def attacked_iterates(rng: np.random.Generator, runs: int) -> tuple[Mechanism, np.ndarray, np.ndarray]:
    """Algorithm 2 with the printed noise, run so often: the best linear test statistic of its estimates, [runs] each.

    The record's gradients are G in the first runs and -G in the second ones; the noise of every node is drawn.
    """
    n, epochs, alpha = 2 * int(rng.integers(1, 3)) + 1, int(rng.integers(1, 4)), float(rng.uniform(0.1, 1))
    steps, sigma, eta = n * epochs, float(10 ** rng.uniform(-1, 0)), float(10 ** rng.uniform(-2, 0))
    mechanism = MECHANISMS["reduced-momentum"](
        n=n, steps=steps, momentum=alpha, step_size=eta, lipschitz=1.0, smoothness=1.0, sigma=sigma
    )
    later = 4 * steps / n * math.log2(n)
    scale = sigma * np.array([4.0, 4.0, 2 * eta * n, 2 * eta * n])
    noise = estimate_noise(n, steps, alpha, min(0.5, eta * n), scale * np.sqrt([3 * math.log2(n), later, later, later]))
    used = np.arange(steps)[:, None] - np.arange(0, steps, n)  # steps since the record's uses
    moved = 2 * np.where(used >= 0, (1 - alpha) ** np.maximum(used, 0), 0.0).sum(axis=1)
    test = np.linalg.solve(noise @ noise.T, moved) @ noise
    shift = np.linalg.solve(noise @ noise.T, moved) @ moved
    return mechanism, *(at + test @ rng.standard_normal((len(test), runs)) for at in (shift, 0.0))


def estimate_noise(n: int, steps: int, alpha: float, gamma: float, stds: np.ndarray) -> np.ndarray:
    """C [T, nodes] by equation (3) as printed: the noise of the estimate for unit normals at the nodes of each tree."""
    short, every = [node for node in nodes(steps) if node[1] - node[0] < n], nodes(steps)
    units = iter(np.eye(2 * len(short) + len(every)))
    gradient = {node: stds[0 if node[1] <= 2 * n else 1] * next(units) for node in short}
    change = {node: stds[2] * next(units) for node in short}
    residual = {node: stds[3] * next(units) for node in every}
    return equation3(gradient, change, residual, _composed_of, n, alpha, gamma, steps)


def _composed_of(first: int, last: int) -> list[tuple[int, int]]:
    """COMPOSE(first, last): the interval cut into nodes of the tree, the longest that begins here and fits first."""
    found = []
    while first <= last:
        length = 1
        while (first - 1) % (2 * length) == 0 and first + 2 * length - 1 <= last:
            length *= 2
        found.append((first, first + length - 1))
        first += length
    return found
