"""Projected noisy SGD: `noisy-sgd`. Noise on the gradient; w <- Proj(w - eta (G + Z)), Z ~ N(0, noise_std^2 I)."""

from __future__ import annotations

import math
from functools import lru_cache, partial
from typing import ClassVar

from dpexp.accounting.sampling import ONCE_AN_EPOCH
from dpexp.privacy.analyses.analysis import LAST, Analysis, gaussian_analysis
from dpexp.privacy.analyses.composition import composition, visits
from dpexp.privacy.analyses.from_curves import renyi_analysis
from dpexp.privacy.analyses.hybrid import Contracted, LogContraction, convex
from dpexp.privacy.analyses.last_iterate import (
    cyclic_convex,
    cyclic_strongly_convex,
    full_batch_convex,
    full_batch_strongly_convex,
    last_iterate,
)
from dpexp.privacy.analyses.random_contraction import random_contraction
from dpexp.privacy.lower_bounds import exact_walk
from dpexp.privacy.mechanisms.batched import BatchedMechanism
from dpexp.privacy.mechanisms.mechanism import Curvature, Length, Noise, Size, parameter_noise

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


@lru_cache(maxsize=64)
def _iterated(
    q: float, multiplier: float, width: float, steps: int, step: str, c: float, source: str, reason: str
) -> Analysis:
    """Amplification by iteration; kept, because its answers are asked for by several statements."""
    places: list[int] = []

    def curve(order: float, refine: bool = True) -> float:
        return last_iterate(order, q, multiplier, width, steps, step, c, refine, places).rdp

    return renyi_analysis(f"iteration-{step}", source, LAST, curve, CONVEX, reason, partial(curve, refine=False))


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

    def step_factor(self, size: float) -> float:
        """Lipschitz constant of a step on `size` b records whose sum is divided by b: max(|1 - eta m|, |1 - eta M|)."""
        assert self.smoothness is not None
        eta = self.step_size * size
        return max(abs(1 - eta * self.strong_convexity), abs(1 - eta * self.smoothness))

    @property
    def width(self) -> float:
        """Diameter in standard deviations of one step's noise."""
        return self.diameter / parameter_noise(self.noise_std, self.step_size)

    def upper_bounds(self) -> list[Analysis]:
        every = composition(self.q, self.multiplier, self.steps, self.sampling, self.neighboring_relation)
        if not self._noisy:
            return every
        refused = self._not_smooth()
        c = min(1.0, self.step_factor(1.0)) if self.strong_convexity and not refused else 1.0
        if self.sampling in ONCE_AN_EPOCH:
            every += self._partitioned(c, refused)
        else:
            drawn = "stated for batches of fixed size" if self.sampling == "poisson" else ""
            every += self._iteration(c, refused or self._not_bounded(c) or drawn)
            if self.sampling in ("full-batch", "fixed-size") and self.batch_size == self.n:  # all records in every step
                every.append(self._full_batch(c, refused or self._not_bounded(c)))
        gradients = "gradients of norm at most L"
        # a batch of gradients of norm L moves by eta L, in either direction: 2 L over the noise on the gradient
        move = 2 / self.multiplier * self.batch_size
        return every + self.last_iterate_bounds(self.multiplier, self.width, move, gradients, self._convex())

    def _convex(self) -> LogContraction | None:
        """How steps of convex smooth losses contract, None where that is not known.

        The hybrid bound needs no more of neighbours than the kernels of both data sets: with a record removed they are
        those of n and of n - 1 records, and the larger coefficient holds.
        """
        # without smoothness a gradient step may expand by any factor; on an unbounded set no distance is ever forgotten
        m, M = self.strong_convexity, self.smoothness
        if M is None or m > M or math.isinf(self.width):
            return None
        removed = self.neighboring_relation == "add-remove"
        if self.sampling == "poisson":
            share = self.step_size / self.batch_size
            # without strong convexity c = max(1, |1 - eta M k / b|) increases with the batch: n records are the worse
            counts = (self.n, self.n - 1) if removed and m > 0 else (self.n,)
            steps = [random_contraction(self.width, k, self.q, share * m, share * M) for k in counts]

            def larger(e1: float) -> Contracted:
                bounds = [step.log_contraction(e1) for step in steps]
                return lambda r: max(bound(r) for bound in bounds)

            return larger
        sizes = (1.0, 1 - 1 / self.n) if removed else (1.0,)  # of a full batch, in parts of the divisor
        # batches of one size: one factor for all steps, the larger of both data sets'
        c = max(self.step_factor(size) for size in sizes)
        if c > 1 + 1e-12:
            return None
        return partial(convex, width=self.width, contraction=min(1.0, c))

    def lower_bounds(self) -> list[Analysis]:
        if not self._noisy or self._undefined():
            return []
        if math.isinf(self.diameter):
            return [] if self.strong_convexity else self.linear_bounds(self.multiplier)
        if self.sampling in ONCE_AN_EPOCH:
            return []
        # quadratics of the stated curvature leave a linear part L - m D / 2 of the gradient
        linear = 1 - self.strong_convexity * self.diameter / (2 * self.lipschitz)
        size = "L" if linear == 1 else f"{linear:.3g} L"
        part, others = ("linear part of the ", "quadratic") if self.strong_convexity else ("", "0")

        def pair(turning: bool) -> str:
            other = f"-{size}" + (" or 0, whichever is larger" if turning else "")
            other = other if self.neighboring_relation == "replace-one" else "none"
            return f"one dimension: the {part}record's gradient is {size}, against {other}; all others are {others}"

        convex = self.smoothness is not None or self.strong_convexity > 0
        bend = self.step_size * self.strong_convexity if convex else None
        reach = self.lipschitz / self.noise_std  # eta L over eta noise_std
        return exact_walk(self._drawn, self.neighboring_relation, self.width, reach, pair, bend)

    def _iteration(self, c: float, refused: str) -> list[Analysis]:
        """Amplification by iteration: convex smooth losses on a bounded set, or strongly convex ones."""
        found = []
        kind = "" if c == 1 else ", strongly convex (5.3) with shifts in proportion to c^(T-t)"
        for step, (source, caveat) in (FULL_BATCH if self.q == 1 else ORIENTATIONS).items():
            # the replaced record's gradients are 2 L apart, and the analysis is of a distance of 1
            setting = self.q, self.multiplier / 2, self.width
            found.append(_iterated(*setting, self.steps, step, c, source + kind, refused or caveat))
        return found

    def _full_batch(self, c: float, refused: str) -> Analysis:
        # both bounds hold where steps contract
        mu, per_step = math.inf, 2 / self.multiplier
        if not refused:
            mu = full_batch_convex(per_step, self.width, self.steps)
            if c < 1:
                mu = min(mu, full_batch_strongly_convex(per_step, c, self.steps))
        return gaussian_analysis("shifted-interpolation", BOK, LAST, mu, CONVEX, refused)

    def _partitioned(self, c: float, refused: str) -> list[Analysis]:
        """Cyclic or shuffled batches: shifted interpolation for any order, public or not."""
        batches, epochs, per_step = self.n // self.batch_size, visits(self.steps, self.q), 2 / self.multiplier
        if self.sampling == "reshuffled":
            refused = "needs the same batches in every epoch"
        mu = math.inf
        if not refused:
            mu = cyclic_convex(per_step, self.width, batches, epochs)
            if c < 1:
                mu = min(mu, cyclic_strongly_convex(per_step, c, batches, epochs))
        return [gaussian_analysis("shifted-interpolation", BOK + ", cyclic batches", LAST, mu, CONVEX, refused)]

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

    def _not_bounded(self, c: float) -> str:
        bounded = math.isfinite(self.width) or (self.sampling == "full-batch" and c < 1)
        return "" if bounded else "needs a bounded set: give diameter"

    def description(self) -> list[tuple[str, str]]:
        on_parameter = parameter_noise(self.noise_std, self.step_size)
        return self.described(f"std {self.noise_std:g} on the gradient, {on_parameter:g} on the parameter")
