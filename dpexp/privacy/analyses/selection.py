"""The best of a random number of runs, as an analysis: Papernot and Steinke (2110.03620), Theorems 2 and 6."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from dpexp.privacy.accounting.private_selection import (
    delta_of_curve,
    gamma_of,
    mean_runs,
    poisson_rdp,
    price_of_repeating,
    repeated_rdp,
)
from dpexp.privacy.analyses.analysis import ALL, Analysis, renyi_analysis

DRAWN = "every run draws its candidate uniformly from a fixed list, with noise and batches of its own"
SCORED = (
    "the score by which runs are compared is computed from public records, or is a noisy release that the steps count: "
    "accuracy or loss on private records, held-out ones too, is neither"
)
SECRET = "the number of runs, the other runs and all their scores stay secret"


def selection(
    rdp: Callable[[float], float], runs: float, shape: float, curve: str, assumptions: Sequence[str]
) -> Analysis:
    """The best of K runs, from the Renyi curve of one; `runs` is the mean of K.

    `shape` is that of the truncated negative binomial law of K, or inf for the Poisson law. `curve` says where the
    Renyi curve is from.
    """
    one = cache(rdp)
    theorem = "Theorem 6" if math.isinf(shape) else "Theorem 2"
    selected = _poisson(one, runs) if math.isinf(shape) else _repeated(one, runs, shape)
    source = f"Papernot and Steinke (2110.03620), {theorem}, on {curve} of one run"
    return renyi_analysis("private-selection", source, ALL, selected, (*assumptions, DRAWN, SCORED, SECRET))


def law(shape: float) -> str:
    """The law of the number of runs, in words."""
    return "Poisson" if math.isinf(shape) else f"truncated negative binomial, shape {shape:g}"


def _poisson(curve: Callable[[float], float], runs: float) -> Callable[[float], float]:
    def selected(order: float) -> float:
        delta = delta_of_curve(curve, -math.log1p(-1 / order))  # at log(1 + 1 / (order - 1))
        return poisson_rdp(order, curve(order), runs, delta)

    return selected


def _repeated(curve: Callable[[float], float], runs: float, shape: float) -> Callable[[float], float]:
    gamma = gamma_of(shape, runs)
    price, mean = price_of_repeating(curve, shape, gamma), mean_runs(shape, gamma)
    return lambda order: repeated_rdp(order, curve(order), mean, price)
