"""Sensitivity-reduced momentum: `momentum`, Theorem 8, and the exact sensitivities of its four streams."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.privacy.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps
from dpexp.privacy.mechanisms.tree_momentum import DRAWN, NOISE
from dpexp.privacy.tree_streams import (
    node_sensitivities,
    occurrence_sensitivities,
    printed_counts,
    printed_sensitivities,
    stream_mu,
    stream_sensitivities,
)


class ReducedMomentum(Mechanism):
    """Algorithm 2: trees over gradients at anchors, their changes and residuals; steps have length `step_size` exactly.

    Node noise is delta sigma sqrt(V) for each stream as printed, or split over the streams at the exact sensitivity of
    the order in use (`exact`).
    """

    noise_field: ClassVar[str] = "sigma"
    n: Records
    steps: Steps
    momentum: Annotated[float, Field(gt=0, le=1)]
    step_size: Size
    lipschitz: Size
    smoothness: Size
    sigma: Noise
    """multiplier: sqrt(3) / sigma-GDP by the paper's argument, 1 / sigma-GDP exactly"""
    order: Literal["fixed", "reshuffled"] = "fixed"
    calibration: Literal["paper", "exact"] = "paper"

    def analyses(self) -> list[Analysis]:
        inverse = 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma
        source = "exact sensitivities of the nodes in use, as Gaussian DP"
        if self.calibration == "exact":
            return [gaussian_analysis("exact-sensitivities", source, ALL, inverse, (DRAWN, NOISE))]
        refused = ""
        if self.order == "reshuffled":
            refused = "a node's sensitivity can exceed the printed 4 G when epochs are reshuffled"
        elif np.any(
            np.array(printed_sensitivities(*self._size)) < np.array(node_sensitivities(*self._sizes)) * (1 - 1e-9)
        ):
            refused = "the printed sensitivity 2 eta N of changes and residuals lacks L and a factor 2"
        assumptions = ("one order of the records, repeated in every epoch", NOISE)
        printed = gaussian_analysis(
            "tree-composition", "momentum, Theorem 8, as Gaussian DP", ALL, math.sqrt(3) * inverse, assumptions, refused
        )
        if self.order == "reshuffled":
            return [printed]
        mu = inverse
        if 0 < inverse < math.inf:
            mu *= _mu_at_one(self.n, self.steps, self.momentum, self.step_size, self.lipschitz, self.smoothness)
        return [printed, gaussian_analysis("exact-sensitivities", source, ALL, mu, assumptions)]

    @property
    def _size(self) -> tuple[int, float, float]:
        return self.n, self.step_size, self.lipschitz

    @property
    def _sizes(self) -> tuple[int, float, float, float]:
        return *self._size, self.smoothness

    def describe(self) -> list[tuple[str, str]]:
        kind = "exact" if self.calibration == "exact" else "printed"
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times the {kind} sensitivity of the streams"),
            ("Released", "all noisy sums, and therefore every iterate; not the momentum and gradients without noise"),
        ]


@lru_cache(maxsize=64)
def _mu_at_one(n: int, steps: int, alpha: float, eta: float, G: float, L: float) -> float:
    """Exact mu of the printed node noise at sigma = 1, one order that repeats."""
    stds = np.array(printed_sensitivities(n, eta, G)) * np.sqrt(printed_counts(n, steps))
    return stream_mu(stream_sensitivities(n, steps, alpha), occurrence_sensitivities(n, eta, G, L), list(stds))
