"""The best of a random number of runs, as an analysis: Papernot and Steinke (2110.03620), Theorems 2 and 6."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache

from dpexp.privacy.accounting.conversions import eps_of_curve
from dpexp.privacy.accounting.loss_distributions import Steps
from dpexp.privacy.accounting.private_selection import (
    Curve,
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


LOOSE = 2.0
"""from how many times the epsilon of one run on its Renyi curve is said to be far above what is known of it"""


def selection(
    rdp: Curve, runs: float, shape: float, curve: str, assumptions: Sequence[str], scored: str = SCORED
) -> Analysis:
    """The best of K runs, from the Renyi curve of one; `runs` is the mean of K.

    `shape` is that of the truncated negative binomial law of K, or inf for the Poisson law. `curve` says where the
    Renyi curve is from, `scored` by what runs are compared.
    """
    one = cache(rdp)
    theorem = "Theorem 6" if math.isinf(shape) else "Theorem 2"
    selected = _poisson(one, runs) if math.isinf(shape) else _repeated(one, runs, shape)
    source = f"Papernot and Steinke (2110.03620), {theorem}, on {curve} of one run"
    return renyi_analysis("private-selection", source, ALL, selected, (*assumptions, DRAWN, scored, SECRET))


def curve_of_run(analyses: Sequence[Analysis]) -> Curve | None:
    """The least Renyi curve of one run that is proved for all that it releases; None where there is none.

    Where an analysis composes the loss distributions of steps, the Renyi divergences of the same steps add up. Of
    Poisson sampling where a record is replaced none is known here but that of no sampling at all, which is not used.
    """
    valid = [a for a in analyses if a.valid and a.released == ALL]
    found = [a.rdp for a in valid if a.rdp is not None]
    found = found or [
        _of_steps(a.steps) for a in valid if a.steps and all(s.scheme != "replace-one" for s, _ in a.steps)
    ]
    return (lambda order: min(rdp(order) for rdp in found)) if found else None


def _of_steps(steps: Steps) -> Curve:
    return lambda order: math.fsum(times * step.rdp(order) for step, times in steps)


def looseness(analyses: Sequence[Analysis], curve: Curve, delta: float) -> float:
    """Epsilon of one run by its Renyi curve over the least that any analysis of it states; 1 where both are 0."""
    least = min(a.eps(delta) for a in analyses if a.valid and a.released == ALL)
    return eps_of_curve(curve, delta)[0] / least if least else 1.0


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
