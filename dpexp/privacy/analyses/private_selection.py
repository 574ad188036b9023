"""The best of a random number of private runs, in the words of a statement; its theorems: `accounting.selection`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from dpexp.accounting.conversions import Rdp
from dpexp.accounting.selection import Delta, best_of
from dpexp.privacy.analyses.analysis import ALL, Analysis
from dpexp.privacy.analyses.from_curves import renyi_analysis

DRAWN = "every run draws its candidate uniformly from a fixed list, with noise and batches of its own"
SCORED = (
    "the score by which runs are compared is computed from public records, or is a noisy release that the steps count: "
    "accuracy or loss on private records, held-out ones too, is neither"
)
SECRET = "the number of runs, the other runs and all their scores stay secret"


def selection(rdp: Rdp, delta: Delta, runs: float, shape: float, curve: str, assumptions: Sequence[str]) -> Analysis:
    """The best of K runs, from the Renyi curve of one and its delta; `runs` is the mean of K.

    `shape` is that of the truncated negative binomial law of K, or inf for the Poisson law. `curve` says where the
    Renyi curve is from.
    """
    one = cache(rdp)
    theorem = "Theorem 6" if math.isinf(shape) else "Theorem 2"
    selected = best_of(one, delta, runs, shape)
    source = f"Papernot and Steinke (2110.03620), {theorem}, on {curve} of one run"
    return renyi_analysis("private-selection", source, ALL, selected, (*assumptions, DRAWN, SCORED, SECRET))


def delta_of_run(analyses: Sequence[Analysis], eps: float) -> float:
    """The least delta of one run at epsilon of what is known without a search; 1 where nothing is."""
    valid = [a for a in analyses if a.valid and a.released == ALL and (a.mu is not None or a.steps)]
    return min((a.delta(eps) for a in valid), default=1.0)


def law(shape: float) -> str:
    """The law of the number of runs, in words."""
    return "Poisson" if math.isinf(shape) else f"truncated negative binomial, shape {shape:g}"
