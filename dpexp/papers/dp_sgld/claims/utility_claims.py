"""The utility statements of `dp-sgld` against exact moments on ridge regression."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from dpexp.reporting.checks import above
from dpexp.theory import THEOREMS
from dpexp.theory.dp_sgld import utility
from dpexp.theory.dp_sgld.ridge import Ridge

TOYS = {seed: Ridge(seed) for seed in range(6)}  # ridge regressions by the seed of their data
BATCH = 4
RENYI = ((2.0, 0.5), (20.0, 5.0))  # order and epsilon of Theorem 4.1
DP = (1.0, 1e-3)  # epsilon and delta
MOMENTS = "exact moments of ridge regression (n = 200, d = 5, batches of 4), no simulation"
Form = tuple[str, int, float, float]


def numbers_of(toy: Ridge, **more: Any) -> dict[str, Any]:
    """The plain numbers that the theorems ask for, of a ridge regression at the longest step."""
    # a set that holds the minimiser well inside
    radius = 2 * float(np.linalg.norm(toy.optimum))
    at_best = float(np.max(np.linalg.norm(toy.gradients, axis=1)))
    # L on the ball of twice the minimiser's norm: beta times the largest distance, plus the gradients there
    lipschitz = at_best + toy.smoothness * (radius + float(np.linalg.norm(toy.optimum)))
    return {
        "smoothness": toy.smoothness, "strong_convexity": toy.strong_convexity, "d": toy.d, "n": toy.n,
        "xi_sq": toy.xi_sq(BATCH), "lipschitz": lipschitz, "step": 1 / (2 * toy.smoothness), **more,
    }  # fmt: skip


def forms(toy: Ridge, theorem: str, renyi: Sequence[tuple[float, float]], pair: tuple[float, float]) -> Iterator[Form]:
    """Label, prescribed K and sigma, and the bound of Theorem 4.1 or 4.2 on the risk: in the Renyi form, and in (eps, delta)."""
    points = [(f"order {a:g}, eps {eps:g}", "", {"order": a, "eps": eps}) for a, eps in renyi]
    points.append((f"({pair[0]:g}, 1e-3)", "/eps-delta", {"eps": pair[0], "delta": pair[1]}))
    for label, form, budget in points:
        numbers = numbers_of(toy, **budget)
        # the theorem prescribes K and sigma for a budget, and bounds the risk there
        steps, bound = (THEOREMS[f"dp-sgld/{theorem}{form}{part}"](numbers) for part in ("/steps", ""))
        yield label, math.ceil(steps), THEOREMS[f"dp-sgld/theorem-4-1{form}/sigma"](numbers), bound


def theorem_4_1() -> dict[str, float]:
    """With the prescribed sigma and K, in the Renyi and the (eps, delta) form."""
    return {
        f"data {seed}, {label}": bound / toy.risks(np.full(steps, 0.5 / toy.smoothness), sigma, BATCH)[-1]
        for seed, toy in TOYS.items()
        for label, steps, sigma, bound in forms(toy, "theorem-4-1", RENYI, DP)
    }


AT_PAPER_SCALE = utility.theorem41_dp(1, 1e-5, 55, 0.001, 5130, 15, 50_000, 0.0)
"""the (eps, delta) form at beta = 55, lambda = .001, d = 5130, L = 15, n = 50000 and (1, 1e-5)"""
CHECKS = {
    "dp-sgld/theorem-4-1": above(
        theorem_4_1, "at least E risk of theta_K", "", MOMENTS,
        more=lambda least: f"at the scale of Table 1 the bound is {AT_PAPER_SCALE:.2g}, vacuous",
    ),
}  # fmt: skip
