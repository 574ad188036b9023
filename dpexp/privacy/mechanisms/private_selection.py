"""The best of a random number of runs of DP-SGD: private selection, which is how settings are tuned on private data."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import Annotated

from pydantic import Field

from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.analyses.private_selection import delta_of_run, law, selection
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian

NO_CURVE = "the theorem takes a Renyi curve of one run, and there is none here for this sampling and these neighbours"


class PrivateSelection(SampledGaussian):
    """K runs of the noisy sums of `sampled-gaussian`, K random; the best one is released with its setting."""

    runs: Annotated[float, Field(ge=1)]
    """mean of K"""
    shape: Annotated[float, Field(ge=0)] = math.inf
    """of the truncated negative binomial law of K, which is at least 1: 1 is geometric, 0 logarithmic; inf is Poisson,
    and nothing is released where K = 0"""

    def upper_bounds(self) -> list[Analysis]:
        one = super().upper_bounds()
        nothing = [a for a in one if a.mu == 0]
        if nothing:
            return nothing
        curves = [(a, a.rdp) for a in one if a.rdp is not None and a.valid]
        delta = partial(delta_of_run, one)
        found = [selection(rdp, delta, self.runs, self.shape, a.name, a.assumptions) for a, rdp in curves]
        return found or [gaussian_analysis("private-selection", "", ALL, math.inf, (), NO_CURVE)]

    def lower_bounds(self) -> list[Analysis]:
        """A score that says nothing: the best run is any run, and none with probability e^-runs under Poisson."""
        some = -math.expm1(-self.runs) if math.isinf(self.shape) else 1.0

        def eps(one: Analysis, delta: float) -> float:
            return one.eps(delta / some) if delta < some else 0.0

        words = "; the score says nothing"
        return [replace(b, source=b.source + words, eps=partial(eps, b)) for b in super().lower_bounds()]

    def description(self) -> list[tuple[str, str]]:
        drawn = ("Runs", f"{self.runs:g} in the mean ({law(self.shape)}); the best of them by its score is released")
        return [*super().description(), drawn]
