"""Sensitivity-reduced momentum: `momentum`, Theorem 8, the exact sensitivities of its nodes, and its iterates alone."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps
from dpexp.privacy.mechanisms.tree_momentum import DRAWN, NOISE
from dpexp.privacy.momentum.certificates import Certificate, Setting, certificate
from dpexp.privacy.momentum.tree_streams import (
    node_sensitivities,
    occurrence_sensitivities,
    printed_counts,
    printed_sensitivities,
    stream_mu,
    stream_sensitivities,
)

ITERATES = "ours: the iterates alone, over all positions of a record, as Gaussian DP (docs page momentum)"
REPEATED = (
    "one order of the records, repeated in every epoch and independent of the data",
    "every step has length `step_size`; the noisy sums stay secret",
    NOISE,
)
NODES = "tree nodes"
UNCOVERED = "no certificate covers all positions of this size; `python -m tools.momentum_certificates` can make one"


class NoisyReducedMomentum(Mechanism):
    """Algorithm 2: trees over gradients at anchors, their changes and residuals; steps have length `step_size` exactly.

    Node noise is delta sigma sqrt(V) for each stream as printed, or split over the streams (`exact`) and then scaled to
    1 / sigma-GDP of what `accounting` names: of the iterates, which are all that leaves, or of all noisy nodes.
    """

    noise_field: ClassVar[str] = "sigma"
    noise_for_all_steps: ClassVar[bool] = True
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
    gamma: Annotated[float, Field(gt=0, le=1)] | None = None
    """weight of an epoch's own gradients; min(1/2, L eta N / G) where it is left out"""
    accounting: Literal["iterates", "nodes"] = "nodes"
    """with exact calibration: whose release is 1 / sigma-GDP"""

    @model_validator(mode="after")
    def _covered(self) -> NoisyReducedMomentum:
        if self.accounting == "iterates" and (self.calibration == "paper" or self.order == "reshuffled"):
            raise ValueError("accounting: iterates needs exact calibration and one order that repeats")
        return self

    def upper_bounds(self) -> list[Analysis]:
        inverse = 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma
        source = "exact sensitivities of the nodes in use, as Gaussian DP"
        if self.calibration == "exact":
            drawn = (DRAWN, NOISE)
            if self.order == "reshuffled" or self.steps == 0:
                return [gaussian_analysis("exact-sensitivities", source, ALL, inverse, drawn)]
            # the noise is 1 / sigma-GDP of what `accounting` names, and the other release is off by the certificate's
            # share: what the iterates give away where all nodes are 1-GDP
            refused, share = self._share
            nodes, alone = inverse, inverse * share if inverse > 0 else 0.0
            if self.accounting == "iterates" and not refused:
                nodes, alone = inverse / share, inverse
            return [
                gaussian_analysis("exact-sensitivities", source, ALL, nodes, drawn),
                gaussian_analysis("certified-iterates", ITERATES, ALL, alone, REPEATED, refused, NODES),
            ]
        refused = ""
        if self.order == "reshuffled":
            refused = "a node's sensitivity can exceed the printed 4 G when epochs are reshuffled"
        elif np.any(
            np.array(printed_sensitivities(*self._size)) < np.array(node_sensitivities(*self._sizes)) * (1 - 1e-9)
        ):
            refused = "the printed sensitivity 2 eta N of changes and residuals lacks L and a factor 2"
        # three streams of 1 / sigma each make sqrt(3) / sigma by the paper's argument; the exact mu is what they make
        # at sigma = 1, over sigma
        mu = inverse
        if 0 < inverse < math.inf and self.order == "fixed":
            mu *= _mu_at_one(self.n, self.steps, self.momentum, self.step_size, self.lipschitz, self.smoothness)
        if not refused and mu > math.sqrt(3) * inverse * (1 + 1e-9):
            refused = (
                "the printed V counts fewer nodes than hold a record (log2 n is 0 for one record, and an unfinished "
                f"epoch uses one too); exact-sensitivities has what holds: this noise is {up(mu)}-GDP"
            )
        assumptions = ("one order of the records, repeated in every epoch", NOISE)
        printed = gaussian_analysis(
            "tree-composition", "momentum, Theorem 8, as Gaussian DP", ALL, math.sqrt(3) * inverse, assumptions, refused
        )
        if self.order == "reshuffled":
            return [printed]
        found = [printed, gaussian_analysis("exact-sensitivities", source, ALL, mu, assumptions)]
        if self.steps > 0:
            refused, share = self._printed_share
            alone = inverse * share if inverse > 0 else 0.0
            # the nodes contain the iterates
            alone = alone if refused else min(alone, mu)
            found.append(gaussian_analysis("certified-iterates", ITERATES, ALL, alone, REPEATED, refused, NODES))
        return found

    @property
    def _certificate(self) -> Certificate | None:
        ratio = self.smoothness * self.step_size * self.n / self.lipschitz
        return certificate(Setting(self.n, self.steps, self.momentum, self.gamma or min(0.5, ratio), ratio))

    @property
    def _share(self) -> tuple[str, float]:
        """Why the iterates are not accounted for, or what they give away where the release of all nodes is 1-GDP."""
        found = self._certificate
        return ("", found.mu) if found else (UNCOVERED, math.inf)

    @property
    def _printed_share(self) -> tuple[str, float]:
        """The same for the printed noise at sigma = 1, whose deviations are compared with the certificate's."""
        found = self._certificate
        stds = np.array(printed_sensitivities(*self._size)) * np.sqrt(printed_counts(self.n, self.steps))
        return ("", found.mu_of(stds / self.lipschitz)) if found else (UNCOVERED, math.inf)

    @property
    def _size(self) -> tuple[int, float, float]:
        return self.n, self.step_size, self.lipschitz

    @property
    def _sizes(self) -> tuple[int, float, float, float]:
        return *self._size, self.smoothness

    def description(self) -> list[tuple[str, str]]:
        kind = "exact" if self.calibration == "exact" else "printed"
        noise, released = f"the {kind} sensitivity of the streams", "all noisy sums, and therefore every iterate"
        if self.accounting == "iterates":
            noise, released = "what the iterates need by their certificate", "every iterate; not the noisy sums"
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times {noise}"),
            ("Released", f"{released}; not the momentum and gradients without noise"),
        ]


@lru_cache(maxsize=64)
def _mu_at_one(n: int, steps: int, alpha: float, eta: float, G: float, L: float) -> float:
    """Exact mu of the printed node noise at sigma = 1, one order that repeats."""
    stds = np.array(printed_sensitivities(n, eta, G)) * np.sqrt(printed_counts(n, steps))
    return stream_mu(stream_sensitivities(n, steps, alpha), occurrence_sensitivities(n, eta, G, L), list(stds))
