"""The best of a random number of runs of DP-SGD: private selection, which is how settings are tuned on private data."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache, partial
from typing import Annotated

from pydantic import Field

from dpexp.privacy.accounting.private_selection import (
    delta_of_curve,
    gamma_of,
    mean_runs,
    poisson_rdp,
    price_of_repeating,
    repeated_rdp,
)
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis, renyi_analysis
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian

SOURCE = "Papernot and Steinke (2110.03620), {theorem}, on {curve} of one run"
DRAWN = "every run draws its candidate uniformly from a fixed list, with noise and batches of its own"
SCORED = (
    "the score by which runs are compared is computed from public records, or is a noisy release that `steps` counts: "
    "accuracy or loss on private records, held-out ones too, is neither"
)
SECRET = "the number of runs, the other runs and all their scores stay secret"
NO_CURVE = "the theorem takes a Renyi curve of one run, and there is none here for this sampling and these neighbours"


class PrivateSelection(SampledGaussian):
    """K runs of the noisy sums of `sampled-gaussian`, K random; the best one is released with its setting."""

    runs: Annotated[float, Field(ge=1)]
    """mean of K"""
    shape: Annotated[float, Field(ge=0)] = math.inf
    """of the truncated negative binomial law of K, which is at least 1: 1 is geometric, 0 logarithmic; inf is Poisson,
    and nothing is released where K = 0"""

    def analyses(self) -> list[Analysis]:
        one = super().analyses()
        nothing = [a for a in one if a.mu == 0]
        if nothing:
            return nothing
        found = [self._selected(a, a.rdp) for a in one if a.rdp is not None and a.valid]
        return found or [gaussian_analysis("private-selection", "", ALL, math.inf, (), NO_CURVE)]

    def _selected(self, one: Analysis, rdp: Callable[[float], float]) -> Analysis:
        """The best run, from the Renyi curve of one."""
        curve = cache(rdp)
        if math.isinf(self.shape):
            theorem, selected = "Theorem 6", self._poisson(curve)
        else:
            theorem, selected = "Theorem 2", self._repeated(curve)
        source = SOURCE.format(theorem=theorem, curve=one.name)
        assumed = (*one.assumptions, DRAWN, SCORED, SECRET)
        return renyi_analysis("private-selection", source, ALL, selected, assumed)

    def _poisson(self, curve: Callable[[float], float]) -> Callable[[float], float]:
        def selected(order: float) -> float:
            delta = delta_of_curve(curve, -math.log1p(-1 / order))  # 1 + 1 / (order - 1)
            return poisson_rdp(order, curve(order), self.runs, delta)

        return selected

    def _repeated(self, curve: Callable[[float], float]) -> Callable[[float], float]:
        gamma = gamma_of(self.shape, self.runs)
        price, mean = price_of_repeating(curve, self.shape, gamma), mean_runs(self.shape, gamma)
        return lambda order: repeated_rdp(order, curve(order), mean, price)

    def lower_bounds(self) -> list[LowerBound]:
        """A score that says nothing: the best run is any run, and none with probability e^-runs under Poisson."""
        some = -math.expm1(-self.runs) if math.isinf(self.shape) else 1.0

        def eps(one: LowerBound, delta: float) -> float:
            return one.eps(delta / some) if delta < some else 0.0

        words = "; the score says nothing"
        return [replace(b, pair=b.pair + words, eps=partial(eps, b)) for b in super().lower_bounds()]

    def describe(self) -> list[tuple[str, str]]:
        law = "Poisson" if math.isinf(self.shape) else f"truncated negative binomial, shape {self.shape:g}"
        drawn = ("Runs", f"{self.runs:g} in the mean ({law}); the best of them by its score is released")
        return [*super().describe(), drawn]
