"""Projected noisy SGD: `noisy-sgd`. Noise on the gradient; w <- Proj(w - eta (G + Z)), Z ~ N(0, noise_std^2 I)."""

from __future__ import annotations

import math
from functools import partial
from typing import ClassVar

from dpexp.privacy.analysis import LAST, Analysis, gaussian_analysis, renyi_analysis
from dpexp.privacy.hybrid import log_contraction_convex
from dpexp.privacy.last_iterate import last_iterate
from dpexp.privacy.lower_bounds import LowerBound, exact_walk
from dpexp.privacy.mechanisms.composition import ONCE_AN_EPOCH, composition, composition_lower, visits
from dpexp.privacy.mechanisms.mechanism import BatchedMechanism, Curvature, Length, Noise, Size
from dpexp.privacy.noise_conventions import parameter_noise
from dpexp.privacy.shifted_interpolation import (
    cyclic_convex,
    cyclic_strongly_convex,
    full_batch_convex,
    full_batch_strongly_convex,
)
from dpexp.privacy.shuffled import shuffled_strongly_convex

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
CONVEX = (
    "every loss is convex, L-Lipschitz and M-smooth",
    "projection on a convex set of the stated diameter",
    "only the last iterate is released: averages and earlier iterates are not covered",
)
BOK = "shifted interpolation (Bok, Su and Altschuler, 2024)"


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

    @property
    def _noisy(self) -> bool:
        return self.steps > 0 and 0 < self.noise_std < math.inf

    @property
    def width(self) -> float:
        """Diameter in standard deviations of one step's noise."""
        return self.diameter / parameter_noise(self.noise_std, self.step_size)

    def analyses(self) -> list[Analysis]:
        found = composition(self.q, self.multiplier, self.steps, self.sampling, self.neighboring_relation)
        if not self._noisy:
            return found
        refused = self._not_smooth()
        c = min(1.0, self.contraction) if self.strong_convexity and not refused else 1.0
        if self.sampling in ONCE_AN_EPOCH:
            found += self._partitioned(c, refused)
        else:
            found += self._iteration(c, refused or self._not_bounded(c) or self._not_fixed_size())
            if self.sampling == "full-batch":
                found.append(self._full_batch(c, refused or self._not_bounded(c)))
        gradients = "gradients of norm at most L"
        reach = self.width + 2 / self.multiplier * self.batch_size
        found.append(self.contraction_bound(reach, gradients))
        convex = None
        if not (refused or self._not_bounded(1.0)):
            convex = partial(log_contraction_convex, width=self.width, contraction=c)
        found.append(self.hybrid_bound(self.multiplier, reach, gradients, convex))
        return found

    def lower_bounds(self) -> list[LowerBound]:
        if not self._noisy or self.sampling in ONCE_AN_EPOCH:
            return []
        if math.isinf(self.diameter):
            if self.strong_convexity:
                return []
            return composition_lower(self.q, self.multiplier, self.steps, self.sampling, self.neighboring_relation)
        # quadratics of the stated curvature leave a linear part L - m D / 2 of the gradient
        linear = 1 - self.strong_convexity * self.diameter / (2 * self.lipschitz)
        slope, c = linear / self.multiplier, 1 - self.step_size * self.strong_convexity
        replaced = self.neighboring_relation == "replace-one"
        size = "L" if linear == 1 else f"{linear:.3g} L"
        pair = (
            f"one dimension: the record's slope is {size}, against {f'-{size}' if replaced else 'none'}; all others "
            + ("are 0" if c == 1 else "are quadratic")
        )
        return exact_walk(self.q, slope, self.width, c, self.steps, replaced, pair) if c > 0 else []

    def _iteration(self, c: float, refused: str) -> list[Analysis]:
        """Amplification by iteration: convex smooth losses on a bounded set, or strongly convex ones."""
        found = []
        kind = "" if c == 1 else ", strongly convex (5.3) with shifts in proportion to c^(T-t)"
        for step, (source, caveat) in (FULL_BATCH if self.q == 1 else ORIENTATIONS).items():

            def curve(order: float, refine: bool = True, step: str = step) -> float:
                return last_iterate(order, self.q, self.multiplier / 2, self.width, self.steps, step, c, refine).rdp

            coarse = partial(curve, refine=False)
            reason = refused or caveat
            found.append(renyi_analysis(f"iteration-{step}", source + kind, LAST, curve, CONVEX, reason, coarse))
        return found

    def _full_batch(self, c: float, refused: str) -> Analysis:
        mu, per_step = math.inf, 2 / self.multiplier
        if not refused:
            mu = full_batch_convex(per_step, self.width, self.steps)
            if c < 1:
                mu = min(mu, full_batch_strongly_convex(per_step, c, self.steps))
        return gaussian_analysis("shifted-interpolation", BOK, LAST, mu, CONVEX, refused)

    def _partitioned(self, c: float, refused: str) -> list[Analysis]:
        """Cyclic or shuffled batches: shifted interpolation for any order, Ye and Shokri's for a random partition."""
        batches, epochs, per_step = self.n // self.batch_size, visits(self.steps, self.q), 2 / self.multiplier
        if self.sampling == "reshuffled":
            refused = "needs the same batches in every epoch"
        mu = math.inf
        if not refused:
            mu = cyclic_convex(per_step, self.width, batches, epochs)
            if c < 1:
                mu = min(mu, cyclic_strongly_convex(per_step, c, batches, epochs))
        found = [gaussian_analysis("shifted-interpolation", BOK + ", cyclic batches", LAST, mu, CONVEX, refused)]
        if self.sampling == "shuffled":
            reason = refused
            if not reason and not c < 1:
                reason = "needs strong convexity and a step size below 2 / M"
            if not reason and (batches < 2 or self.steps % batches):
                reason = "needs whole epochs of at least two batches"
            found.append(
                renyi_analysis(
                    "shuffled-renyi",
                    "Ye and Shokri (2022), as in their public accountant",
                    LAST,
                    lambda order: shuffled_strongly_convex(order, per_step, c, batches, epochs),
                    (*CONVEX, "the partition is uniformly random and not released"),
                    reason,
                )
                if not reason
                else gaussian_analysis("shuffled-renyi", "Ye and Shokri (2022)", LAST, math.inf, CONVEX, reason)
            )
        return found

    def _not_smooth(self) -> str:
        """Why gradient steps may expand, or neighbours are not the ones of these theorems."""
        if self.neighboring_relation != "replace-one":
            return "stated for replace-one neighbours"
        if self.smoothness is None:
            return "needs smoothness M of convex losses"
        if self.step_size * self.smoothness > 2 * (1 + 1e-12):
            return f"the step size is above 2 / M = {2 / self.smoothness:g}: steps expand"
        if self.strong_convexity > self.smoothness:
            return "strong convexity above smoothness"
        return ""

    def _not_fixed_size(self) -> str:
        return "stated for batches of fixed size" if self.sampling == "poisson" else ""

    def _not_bounded(self, c: float) -> str:
        bounded = math.isfinite(self.width) or (self.sampling == "full-batch" and c < 1)
        return "" if bounded else "needs a bounded set: give diameter"

    def describe(self) -> list[tuple[str, str]]:
        on_parameter = parameter_noise(self.noise_std, self.step_size)
        return self.described(f"std {self.noise_std:g} on the gradient, {on_parameter:g} on the parameter")
