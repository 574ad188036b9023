"""The best of a random number of runs of DP-SGD: private selection, which is how settings are tuned on private data."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import Annotated

from pydantic import Field

from dpexp.accounting.renyi import best_of
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis, renyi_analysis
from dpexp.privacy.mechanisms.sampled_gaussian import SampledGaussian

NO_CURVE = "the theorem takes a Renyi curve of one run, and there is none here for this sampling and these neighbours"
ASSUMED = (
    "every run draws its candidate uniformly from a fixed list, with noise and batches of its own",
    "the score by which runs are compared is computed from public records, or is a noisy release that the steps count: "
    "accuracy or loss on private records, held-out ones too, is neither",
    "the number of runs, the other runs and all their scores stay secret",
)


class PrivateSelection(SampledGaussian):
    """K runs of the noisy sums of `sampled-gaussian`, K random; the best one is released with its setting."""

    runs: Annotated[float, Field(ge=1)]
    """mean of K"""
    shape: Annotated[float, Field(ge=0)] = math.inf
    """of the truncated negative binomial law of K, which is at least 1: 1 is geometric, 0 logarithmic; inf is Poisson,
    and there is no release where K = 0"""

    def upper_bounds(self) -> list[Analysis]:
        single = super().upper_bounds()
        nothing = [a for a in single if a.mu == 0]
        if nothing:
            return nothing
        # the least delta of one run of what is known without a search; 1 where nothing is
        known = [a for a in single if a.valid and a.released == ALL and (a.mu is not None or a.steps)]

        def least_delta(eps: float) -> float:
            return min((a.delta(eps) for a in known), default=1.0)

        theorem = "Theorem 6" if math.isinf(self.shape) else "Theorem 2"
        analyses = []
        for a in single:
            if a.rdp is None or not a.valid:
                continue
            source = f"Papernot and Steinke (2110.03620), {theorem}, on {a.name} of one run"
            selected = best_of(cache(a.rdp), least_delta, self.runs, self.shape)
            analyses.append(renyi_analysis("private-selection", source, ALL, selected, (*a.assumptions, *ASSUMED)))
        return analyses or [gaussian_analysis("private-selection", "", ALL, math.inf, (), NO_CURVE)]

    def lower_bounds(self) -> list[Analysis]:
        """A score that says nothing: the best run is any run, and none with probability e^-runs under Poisson."""
        released = -math.expm1(-self.runs) if math.isinf(self.shape) else 1.0

        def eps(bound: Analysis, delta: float) -> float:
            return bound.eps(delta / released) if delta < released else 0.0

        words = "; the score says nothing"
        return [replace(b, source=b.source + words, eps=partial(eps, b)) for b in super().lower_bounds()]

    def description(self) -> list[tuple[str, str]]:
        law = "Poisson" if math.isinf(self.shape) else f"truncated negative binomial, shape {self.shape:g}"
        drawn = ("Runs", f"{self.runs:g} in the mean ({law}); the best of them by its score is released")
        return [*super().description(), drawn]
