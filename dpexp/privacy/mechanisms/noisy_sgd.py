"""Projected noisy SGD: `noisy-sgd`. Noise on the gradient; w <- Proj(w - eta (G + Z)), Z ~ N(0, noise_std^2 I)."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

from dpexp.privacy.analysis import LAST, Analysis, gaussian_analysis, renyi_analysis
from dpexp.privacy.last_iterate import last_iterate
from dpexp.privacy.mechanisms.mechanism import BatchedMechanism, Curvature, Length, Noise, Size, composition
from dpexp.privacy.shifted_interpolation import full_batch_convex, full_batch_strongly_convex

ORIENTATIONS = {
    "literal": (
        "noisy-sgd, equation (3.6) as printed",
        "reproduction only: it uses the Renyi divergence of one order of the neighbours, and the other is larger",
    ),
    "mixture": (
        "noisy-sgd, equation (3.6), with the larger one-step divergence",
        "not proven: no exact law is known to exceed it, but the printed proof does not cover it",
    ),
    "symmetrised": ("noisy-sgd, equation (3.6), with our repaired one-step lemma", ""),
}
FULL_BATCH = {"symmetrised": ("noisy-sgd, equation (3.6)", "")}
"""without sampling the one-step divergence is Gaussian, and has no orientation"""


class NoisySgd(BatchedMechanism):
    """L-Lipschitz losses on a set of diameter D, batches of size b of n records, T steps of size eta."""

    noise_field: ClassVar[str] = "noise_std"
    noise_std: Noise
    """standard deviation of the noise on the (averaged) gradient, every coordinate"""
    lipschitz: Size
    diameter: Length = math.inf
    smoothness: Curvature | None = None
    """M; without it the losses are not taken to be convex and smooth"""
    strong_convexity: Curvature = 0.0

    @property
    def multiplier(self) -> float:
        """Noise over one record's largest share of the averaged gradient."""
        return self.batch_size * self.noise_std / self.lipschitz

    @property
    def contraction(self) -> float:
        """Lipschitz constant of one gradient step: max(|1 - eta m|, |1 - eta M|)."""
        assert self.smoothness is not None
        return max(abs(1 - self.step_size * self.strong_convexity), abs(1 - self.step_size * self.smoothness))

    def analyses(self) -> list[Analysis]:
        q, multiplier, relation = self.q, self.multiplier, self.neighboring_relation
        found = composition(q, multiplier, self.steps, self.sampling, relation)
        if self.steps == 0 or multiplier == 0 or math.isinf(multiplier):
            return found
        width = self.diameter / (self.step_size * self.noise_std)
        found += self._convex(width)
        reach = width + 2 / multiplier * self.batch_size
        return [*found, self.contraction_bound(reach, "gradients of norm at most L")]

    def _convex(self, width: float) -> list[Analysis]:
        """Amplification by iteration: convex smooth losses on a bounded set, or strongly convex ones."""
        refused = self._not_convex(width)
        assumptions = (
            "every loss is convex, L-Lipschitz and M-smooth",
            "projection on a convex set of the stated diameter",
            "only the last iterate is released: averages and earlier iterates are not covered",
        )
        per_step = self.multiplier / 2
        c = min(1.0, self.contraction) if self.strong_convexity and not refused else 1.0
        found = []
        orientations = FULL_BATCH if self.q == 1 else ORIENTATIONS
        for step, (source, caveat) in orientations.items():
            reason = refused or caveat
            kind = "" if c == 1 else ", strongly convex (5.3) with shifts in proportion to c^(T-t)"

            def curve(order: float, refine: bool = True, step: str = step) -> float:
                return last_iterate(order, self.q, per_step, width, self.steps, step, c, refine).rdp

            name = f"iteration-{step}"
            coarse = partial(curve, refine=False)
            found.append(renyi_analysis(name, source + kind, LAST, curve, assumptions, reason, coarse))
        if self.sampling == "full-batch":
            mu = math.inf
            if not refused:
                mu = full_batch_convex(1 / per_step, width, self.steps)
                if c < 1:
                    mu = min(mu, full_batch_strongly_convex(1 / per_step, c, self.steps))
            source = "shifted interpolation (Bok, Su and Altschuler, 2024)"
            found.append(gaussian_analysis("shifted-interpolation", source, LAST, mu, assumptions, refused))
        return found

    def _not_convex(self, width: float) -> str:
        if self.neighboring_relation != "replace-one":
            return "stated for replace-one neighbours"
        if self.sampling == "poisson":
            return "stated for batches of fixed size"
        if self.smoothness is None:
            return "needs smoothness M of convex losses"
        if self.step_size * self.smoothness > 2 * (1 + 1e-12):
            return f"the step size is above 2 / M = {2 / self.smoothness:g}: steps expand"
        if self.strong_convexity > self.smoothness:
            return "strong convexity above smoothness"
        if not math.isfinite(width) and not (self.sampling == "full-batch" and self.contraction < 1):
            return "needs a bounded set: give diameter"
        return ""

    def describe(self) -> list[tuple[str, str]]:
        on_parameter = self.step_size * self.noise_std
        return self.described(f"std {self.noise_std:g} on the gradient, {on_parameter:g} on the parameter")
