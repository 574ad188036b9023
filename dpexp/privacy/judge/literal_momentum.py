"""Gaussian releases with constant gradients, from their definitions: a record's is G in one run, -G in the other.

Each returns a mechanism at random parameters with the exact mu of what it releases on this pair.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.privacy.mechanisms import MECHANISMS, Mechanism
from dpexp.privacy.momentum.recursion_noise import recursion_stds


def constant_gradients(name: str, rng: np.random.Generator) -> tuple[Mechanism, float]:
    """A mechanism and its pair's mu."""
    n, epochs = int(rng.integers(2, 40)), int(rng.integers(1, 12))
    alpha, sigma = float(rng.uniform(0.02, 1)), float(10 ** rng.uniform(-1, 1))
    lipschitz, eta = float(10 ** rng.uniform(-1, 1)), float(10 ** rng.uniform(-2, 0))
    if name == "local-gaussian":
        return MECHANISMS[name].model_validate({"mu": 1 / sigma}), 1 / sigma  # sensitivity over noise, by definition
    if name == "gradient-recursion":
        gamma = float(rng.uniform(0.05, 1))
        kind = MECHANISMS[name].model_validate(
            {
                "n": n,
                "steps": epochs,
                "step_size": eta,
                "weight": gamma,
                "lipschitz": lipschitz,
                "smoothness": 1.0,
                "sigma": sigma,
            }
        )
        first, later = recursion_stds(n, lipschitz, 1.0, epochs, eta, gamma)
        # step 1 releases the mean gradient, a later one gamma of it beyond what is known
        squares = (2 * lipschitz / n / first) ** 2
        if epochs > 1 and later > 0:
            squares += (epochs - 1) * (2 * gamma * lipschitz / n / later) ** 2
        return kind, math.sqrt(squares) / sigma
    steps = n * epochs
    position = int(rng.integers(1, n + 1))
    if name == "tree-momentum":
        mechanism = MECHANISMS[name].model_validate(
            {"n": n, "steps": steps, "momentum": alpha, "lipschitz": lipschitz, "sigma": sigma}
        )
        # node noise 4 alpha G sigma sqrt(V), V of Theorem 4; the record changes a node by 2 alpha G times its discounts
        noise = 4 * alpha * lipschitz * sigma * math.sqrt(_printed_count(n, steps))
        changed = _left_nodes(n, steps, position, alpha, steps)
        return mechanism, 2 * alpha * lipschitz * math.sqrt(sum(s for _, s in changed)) / noise
    mechanism = MECHANISMS[name].model_validate(
        {
            "n": n,
            "steps": steps,
            "momentum": alpha,
            "step_size": eta,
            "lipschitz": lipschitz,
            "smoothness": 1.0,
            "sigma": sigma,
        }
    )
    # constant gradients do not change and leave no residual: only nodes of gradients differ, at most an epoch long
    squares = 0.0
    for end, share in _left_nodes(n, steps, position, alpha, n):
        count = 3 * math.log2(n) if end <= 2 * n else 4 * steps / n * math.log2(n)
        squares += share * (2 * lipschitz) ** 2 / (4 * lipschitz * sigma) ** 2 / count
    return mechanism, math.sqrt(squares)


def _printed_count(n: int, steps: int) -> float:
    """V of Theorem 4: (min(R, f) + 1) T / N + sum_{j > f} floor(T / 2^j), R = floor(log2 T), f = floor(log2 N)."""
    r, f = int(math.log2(steps) + 1e-12), int(math.log2(n) + 1e-12)
    return (min(r, f) + 1) * steps / n + float(sum(steps // 2**j for j in range(f + 1, r + 1)))


def _left_nodes(n: int, steps: int, position: int, alpha: float, longest: int) -> list[tuple[int, float]]:
    """(end, squared sum of the discounts of one record's steps) of the left nodes of the tree, one order repeated."""
    found, length = [], 1
    while length <= min(steps, longest):
        for start in range(1, steps - length + 2, 2 * length):
            end = start + length - 1
            used = [t for t in range(start, end + 1) if (t - position) % n == 0]
            total = sum((1 - alpha) ** (end - t) for t in used)
            if used:
                found.append((end, total**2))
        length *= 2
    return found
