"""Projected noisy SGD on batches: of convex losses with noise on the gradient, and of any losses with clipping.

`noisy-sgd`:          w <- Proj(w - eta (G + Z)), Z ~ N(0, noise_std^2 I)
`clipped-noisy-sgd`:  w <- Proj(w - (eta / b) sum clip_C(gradient) + N(0, noise_std^2 I))

In units of the noise that a step puts on the parameter, the set is `width` wide, a batch moves by at most `reach`, and
`multiplier` is the noise over what one record's largest norm moves.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import cache, partial
from typing import ClassVar

from pydantic import model_validator

from dpexp.accounting.binomials import poisson_sizes
from dpexp.accounting.gaussian import delta_of
from dpexp.accounting.pairs import ONCE_AN_EPOCH, Sampling
from dpexp.accounting.search import eps_of_delta
from dpexp.privacy.analyses import last_iterate
from dpexp.privacy.analyses.analysis import LAST, Analysis, attained, gaussian_analysis, guarantee, renyi_analysis
from dpexp.privacy.analyses.composition import UNDEFINED, attained_unprojected, composition, linear_cyclic
from dpexp.privacy.analyses.hidden_state import PoissonReach, last_iterate_delta
from dpexp.privacy.analyses.hybrid import Contracted, LogContraction, convex, hybrid_eps, least_delta, powers
from dpexp.privacy.analyses.random_contraction import random_contraction
from dpexp.privacy.mechanisms.mechanism import Curvature, Length, Mechanism, Noise, Records, Size, Steps
from dpexp.privacy.samplings import SAMPLING, batch_complaint, epoch_text, visits

ORIENTATIONS = {
    "literal": (
        "noisy-sgd, equation (3.6) as printed",
        "reproduction only: it uses the Renyi divergence of one order of the neighbours, and the other is larger",
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
OURS = "ours: composition of the last steps, contraction before (docs page privacy)"
OVER_SIZES = "ours: the recursion of hidden-state over the sizes of Poisson batches (docs page privacy)"
WIDEST, MOST_WORK, MOST_SIZES = 120.0, 1.2e5, 400
"""width of the set in noise units, squared width times the number of maps, and numbers of records in a batch, up to
which the exact law is computed within a second"""
GRADIENTS = "gradients of norm at most L, or clipped there"
UNBOUNDED = "needs a bounded set: give diameter"


class BatchedMechanism(Mechanism):
    """T steps of size eta on batches of b of n records."""

    n: Records
    batch_size: Records
    step_size: Size
    steps: Steps
    sampling: Sampling = "fixed-size"

    @model_validator(mode="after")
    def _fits(self) -> BatchedMechanism:
        wrong = batch_complaint(self.n, self.batch_size, self.sampling)
        if wrong:
            raise ValueError(wrong)
        return self

    @property
    def once(self) -> bool:
        """Whether a record is in one batch of every epoch."""
        return self.sampling in ONCE_AN_EPOCH

    @property
    def q(self) -> float:
        """Probability that a record is in a batch; where batches are cut from an order, one over those in an epoch."""
        # a last batch of fewer records is covered whether it is run or left out: the number is rounded down
        if self.once:
            return 1 / (self.n // self.batch_size)
        return 1.0 if self.sampling == "full-batch" else self.batch_size / self.n

    @property
    def as_noisy_sgd(self) -> NoisySgd:
        """The same iteration with its noise on the gradient."""
        raise NotImplementedError

    def lower_bounds(self) -> list[Analysis]:
        return self.as_noisy_sgd.lower_bounds()

    def description(self) -> list[tuple[str, str]]:
        return self.as_noisy_sgd.description()


class NoisySgd(BatchedMechanism):
    """L-Lipschitz losses on a set of diameter D, T steps of size eta; `noise_std` is on the averaged gradient."""

    noise_field: ClassVar[str] = "noise_std"
    noise_std: Noise
    lipschitz: Size
    diameter: Length = math.inf
    smoothness: Curvature | None = None
    """M; without it the losses are not taken to be convex and smooth"""
    strong_convexity: Curvature = 0.0

    @property
    def multiplier(self) -> float:
        """Noise over one record's largest share of a step."""
        return self.batch_size * self.noise_std / self.lipschitz

    @property
    def width(self) -> float:
        """Diameter of the set in standard deviations of one step's noise."""
        return self.diameter / (self.step_size * self.noise_std)

    @property
    def reach(self) -> float:
        """By how much a batch of largest gradients moves, in the same units."""
        return self.batch_size / self.multiplier

    @property
    def noisy(self) -> bool:
        return self.steps > 0 and 0 < self.multiplier < math.inf

    @property
    def _undefined(self) -> str:
        """Why neighbours of this relation have no batches of this kind."""
        return UNDEFINED if self.sampling == "fixed-size" and self.neighboring_relation == "add-remove" else ""

    def upper_bounds(self) -> list[Analysis]:
        if not self.noisy:
            return self.composed()
        refused = self._not_smooth
        c = min(1.0, self.step_factor(1.0)) if self.strong_convexity and not refused else 1.0
        bounded = math.isfinite(self.width) or (self.sampling == "full-batch" and c < 1)
        bounds = self.composed()
        if not self.once:
            refused = refused or ("" if bounded else UNBOUNDED)
            drawn = "stated for batches of fixed size" if self.sampling == "poisson" else ""
            bounds += self._iterated(c, refused or drawn)
        # batches of an order, or all records in every step
        if self.once or (self.sampling in ("full-batch", "fixed-size") and self.batch_size == self.n):
            bounds.append(self._shifted(c, refused))
        return bounds + self.contracted(self._convex())

    def composed(self) -> list[Analysis]:
        """Analyses of all iterates."""
        return composition([(self.multiplier, self.q, self.steps)], self.sampling, self.neighboring_relation)

    def lower_bounds(self) -> list[Analysis]:
        if not self.noisy or self._undefined:
            return []
        if math.isfinite(self.width):
            return [] if self.once else self._exact_walk()
        if self.strong_convexity:
            return []
        # a record of the first batch, which an unfinished epoch has too
        if self.sampling == "cyclic":
            uses = visits(self.steps, self.q)
            return [linear_cyclic(uses, self.multiplier, self.steps, self.neighboring_relation)]
        phases = [(self.multiplier, self.q, self.steps)]
        return attained_unprojected(phases, self.sampling, self.neighboring_relation)

    def step_factor(self, size: float) -> float:
        """Lipschitz constant of a step on `size` b records whose sum is divided by b: max(|1 - eta m|, |1 - eta M|)."""
        assert self.smoothness is not None
        eta = self.step_size * size
        return max(abs(1 - eta * self.strong_convexity), abs(1 - eta * self.smoothness))

    def contracted(self, convex_step: LogContraction | None = None) -> list[Analysis]:
        """The bound of `hidden-state`, and ours: the last steps composed, the ones before contracted.

        Two starts `width` apart are 2 `reach` further apart after a step; `convex_step` is the contraction of convex
        losses.
        """
        width, move = self.width, 2 * self.reach
        fresh = ("needs a fresh random batch in every step" if self.once else "") or self._undefined
        bounded = fresh or ("" if math.isfinite(width) else UNBOUNDED)
        # a Poisson batch moves the iterate by its own size: the coefficients are means over sizes
        random = PoissonReach(width, move / self.batch_size, self.n, self.q) if self.sampling == "poisson" else None
        delta = partial(last_iterate_delta, reach=width + move, q=self.q, steps=self.steps)
        if random:
            delta = partial(random.last_iterate_delta, steps=self.steps)

        def composed(steps: int) -> Analysis:
            return composition([(self.multiplier, self.q, steps)], self.sampling, self.neighboring_relation)[-1]

        def contraction(e1: float) -> Contracted:
            # convex losses contract at least as any losses do, but for Poisson batches, of which large ones can expand
            flat = convex_step(e1) if convex_step else None
            if not random:
                return flat or powers(delta_of(width + move, e1))
            plain = powers(random.contraction(e1))
            return (lambda steps: min(plain(steps), flat(steps))) if flat else plain

        @cache
        def eps(delta: float) -> float:
            return hybrid_eps(lambda steps, share: composed(steps).eps(share), contraction, self.steps, delta)

        def direct(eps: float) -> float:
            return least_delta(lambda steps, at: composed(steps).delta(at), contraction, self.steps, eps)

        bounded_set, last = "projection on a bounded convex set", "only the last iterate is released"
        losses = ["no convexity of the losses", *(["every loss is convex and smooth"] if convex_step else [])]
        either, own = ((bounded_set, GRADIENTS, kind, last) for kind in (losses[0], losses[-1]))
        source = OVER_SIZES if random else "hidden-state, main result"
        refused = fresh if convex_step else bounded
        both = [
            guarantee("contraction", source, LAST, cache(partial(eps_of_delta, delta)), either, refused=bounded),
            guarantee("hybrid", OURS, LAST, eps, own, refused=refused, direct=direct),
        ]
        return [replace(a, eps=lambda _: math.inf, direct=lambda _: 1.0) if a.refused else a for a in both]

    def _iterated(self, c: float, refused: str) -> list[Analysis]:
        """Amplification by iteration: convex smooth losses on a bounded set, or strongly convex ones."""
        kind = "" if c == 1 else ", strongly convex (5.3) with shifts in proportion to c^(T-t)"
        analyses = []
        for step, (source, caveat) in (FULL_BATCH if self.q == 1 else ORIENTATIONS).items():
            # the replaced record's gradients are 2 L apart, and the analysis is of a distance of 1
            setting = {"q": self.q, "multiplier": self.multiplier / 2, "width": self.width, "contraction": c}
            curve = partial(last_iterate.last_iterate, **setting, steps=self.steps, step=step)
            name, why = f"iteration-{step}", refused or caveat
            analyses.append(renyi_analysis(name, source + kind, LAST, curve, CONVEX, why))
        return analyses

    def _shifted(self, c: float, refused: str) -> Analysis:
        """Shifted interpolation: full batches, or batches of any order, public or not, that repeats."""
        per_step, mu, source = 2 / self.multiplier, math.inf, BOK + (", cyclic batches" if self.once else "")
        if self.sampling == "reshuffled":
            refused = "needs the same batches in every epoch"
        # both bounds hold where steps contract
        if not refused and self.once:
            batches, epochs = self.n // self.batch_size, visits(self.steps, self.q)
            mu = last_iterate.cyclic_convex(per_step, self.width, batches, epochs)
            mu = min(mu, last_iterate.cyclic_strongly_convex(per_step, c, batches, epochs)) if c < 1 else mu
        elif not refused:
            mu = last_iterate.full_batch_convex(per_step, self.width, self.steps)
            mu = min(mu, last_iterate.full_batch_strongly_convex(per_step, c, self.steps)) if c < 1 else mu
        return gaussian_analysis("shifted-interpolation", source, LAST, mu, CONVEX, refused)

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
        if self.sampling != "poisson":
            # batches of one size, in parts of the divisor: one factor for all steps, the larger of both data sets'
            c = max(self.step_factor(size) for size in (1.0, *([1 - 1 / self.n] if removed else [])))
            return None if c > 1 + 1e-12 else partial(convex, width=self.width, contraction=min(1.0, c))
        share = self.step_size / self.batch_size
        # without strong convexity c = max(1, |1 - eta M k / b|) increases with the batch: n records are the worse
        counts = (self.n, self.n - 1) if removed and m > 0 else (self.n,)
        steps = [random_contraction(self.width, k, self.q, share * m, share * M) for k in counts]

        def larger(e1: float) -> Contracted:
            bounds = [step.log_contraction(e1) for step in steps]
            return lambda r: max(bound(r) for bound in bounds)

        return larger

    @property
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

    def _exact_walk(self) -> list[Analysis]:
        """The last iterate of one pair on an interval, by the program that judges every bound, rounded down.

        In units of a step's noise, y' = clip(y + f(y) + Z, -h, h) without the record and clip(y + (1 - 1/b) f(y) +
        r(y) / b + Z, -h, h) with it (of Poisson batches k / b times f, k ~ Bin(n - 1, q)). Convex losses are quadratics
        of the stated curvature m with a linear part. The others pull nowhere but by their curvature, and the record as
        hard as it may; the other data set has a record of the opposite slope, or none; both orders. Where a step can
        turn the set around, a slope may be easier to distinguish from a flat record than from the opposite one, and the
        larger holds. Empty where the set is too wide or the maps are too many.
        """
        from dpexp.privacy.exact import run_laws
        from dpexp.privacy.exact.update import Update, affine

        m, replaced = self.strong_convexity, self.neighboring_relation == "replace-one"
        h, curved, poisson = self.width / 2, self.step_size * m, self.sampling == "poisson"
        room = self.reach - curved * h  # the linear part that the clip leaves at the wall, where both add up
        # flat losses move a batch of any size alike
        sizes = poisson_sizes(self.n - 1, self.q).counts + 1 if poisson and curved else (self.batch_size,)
        fits = 0 < h <= WIDEST / 2 and len(sizes) <= MOST_SIZES and 8 * h * h * len(sizes) <= MOST_WORK
        if not (fits and room > 0):
            return []
        # y -> y (1 - eta m k / b) turns round where the largest batch has eta m k > b
        turns = bool(curved * sizes[-1] > self.batch_size)
        others, records = affine(-curved, 0.0, h), [affine(-curved, sign * room, h) for sign in (1, -1, 0)]
        update = Update(self.sampling, self.n, self.batch_size, self.steps, h, others, records[0])
        other = [None] if not replaced else records[1:] if turns else records[1:2]
        pairs = [(update, replace(update, record=record)) for record in other]
        eps = cache(lambda delta: max(run_laws.pair(*both).eps(delta) for both in pairs))
        # quadratics leave a linear part L - m D / 2 of the gradient
        linear = 1 - m * self.diameter / (2 * self.lipschitz)
        size = "L" if linear == 1 else f"{linear:.3g} L"
        part, rest = ("linear part of the ", "quadratic") if m else ("", "0")
        words = f"one dimension: all others are {rest}, the {part}record's gradient is {size}, against "
        words += (f"-{size}" + " or 0, whichever is larger" * turns) if replaced else "none"
        return [attained("exact-walk", LAST, words, eps)]

    def description(self) -> list[tuple[str, str]]:
        share = epoch_text(self.batch_size / self.n) if self.once else f"probability {self.q:g} for a record"
        on_parameter = self.step_size * self.noise_std
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}; {share}"),
            ("Noise", f"std {self.noise_std:g} on the gradient, {on_parameter:g} on the parameter"),
            ("Released", "see each line: all iterates, or the last one alone"),
        ]


class ClippedNoisySgd(BatchedMechanism):
    """Any losses, gradients clipped at L = `clip`, on a set of the given diameter; `noise_std` is on the parameter."""

    noise_field: ClassVar[str] = "noise_std"
    clip: Size
    noise_std: Noise
    diameter: Length = math.inf

    @property
    def as_noisy_sgd(self) -> NoisySgd:
        """With L the clip."""
        values = self.model_dump(exclude={"clip", "noise_std"})
        return NoisySgd(**values, lipschitz=self.clip, noise_std=self.noise_std / self.step_size)

    def upper_bounds(self) -> list[Analysis]:
        """Those that suppose nothing of the losses."""
        sgd = self.as_noisy_sgd
        return [*sgd.composed(), *(sgd.contracted() if sgd.noisy else [])]
