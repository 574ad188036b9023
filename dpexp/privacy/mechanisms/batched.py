"""What mechanisms on batches share: T steps, the sampling of a batch, and the bounds that use it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cache

from pydantic import model_validator

from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.sampling import ONCE_AN_EPOCH, Sampling, distance, random_step
from dpexp.accounting.steps import step_loss
from dpexp.privacy.analyses.analysis import LAST, Analysis, guarantee
from dpexp.privacy.analyses.composition import (
    SAMPLING,
    batch_complaint,
    epoch_text,
)
from dpexp.privacy.analyses.from_curves import hockey_stick_analysis
from dpexp.privacy.analyses.hidden_state import PoissonReach, last_iterate_delta
from dpexp.privacy.analyses.hybrid import Contracted, LogContraction, any_loss, hybrid_eps, powers
from dpexp.privacy.lower_bounds import linear_cyclic, linear_lower
from dpexp.privacy.mechanisms.mechanism import Mechanism, Records, Size, Steps


class BatchedMechanism(Mechanism):
    """T steps of size eta on batches of b of n records."""

    n: Records
    batch_size: Records
    step_size: Size
    steps: Steps
    sampling: Sampling = "fixed-size"

    @property
    def q(self) -> float:
        """Probability that a record is in a batch; where batches are cut from an order, one over those in an epoch."""
        # a last batch of fewer records is covered whether it is run or left out: the number is rounded down
        if self.sampling in ONCE_AN_EPOCH:
            return 1 / (self.n // self.batch_size)
        return 1.0 if self.sampling == "full-batch" else self.batch_size / self.n

    @model_validator(mode="after")
    def _fits(self) -> BatchedMechanism:
        wrong = batch_complaint(self.n, self.batch_size, self.sampling)
        if wrong:
            raise ValueError(wrong)
        return self

    def described(self, noise: str) -> list[tuple[str, str]]:
        """The lines of `describe`, with what the noise is on."""
        once = self.sampling in ONCE_AN_EPOCH
        share = epoch_text(self.batch_size / self.n) if once else f"probability {self.q:g} for a record"
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{SAMPLING[self.sampling]}; {share}"),
            ("Noise", noise),
            ("Released", "see each line: all iterates, or the last one alone"),
        ]

    def last_iterate_bounds(
        self, multiplier: float, width: float, move: float, gradients: str, convex: LogContraction | None = None
    ) -> list[Analysis]:
        """The bound of `hidden-state`, and ours: the last steps composed, the ones before contracted.

        In noise standard deviations two starts are at most `width` apart, and a batch of b records can put them `move`
        further apart, 2 eta C. `multiplier` is noise over one record's norm, `convex` the contraction of convex losses.
        """
        fresh = self._not_fresh() or self._undefined()
        bounded = fresh or ("" if math.isfinite(width) else "needs a bounded set: give diameter")
        refused = bounded if convex is None else fresh
        # a Poisson batch moves the iterate by its own size: the coefficients are means over sizes
        poisson, random = self.sampling == "poisson", PoissonReach(width, move / self.batch_size, self.n, self.q)
        step = random_step(self.q, multiplier, self.sampling, self.neighboring_relation)
        per_step = distance(self.neighboring_relation) / multiplier

        def delta(eps: float) -> float:
            if bounded:
                return 1.0
            if poisson:
                return random.last_iterate_delta(eps, self.steps)
            return last_iterate_delta(eps, width + move, self.q, self.steps)

        def composed(steps: int, delta: float) -> float:
            return eps_of(math.sqrt(steps) * per_step, delta) if self.q == 1 else step_loss(*step).eps(steps, delta)

        def contracted(e1: float) -> Contracted:
            # convex losses contract at least as any losses do, but for Poisson batches, of which large ones can expand
            flat = convex(e1) if convex else None
            if not poisson:
                return flat or any_loss(e1, width + move)
            plain = powers(random.contraction(e1))
            return (lambda steps: min(plain(steps), flat(steps))) if flat else plain

        @cache
        def eps(delta: float) -> float:
            return math.inf if refused else hybrid_eps(composed, contracted, self.steps, delta)

        source = "hidden-state, main result"
        if poisson:
            source = "ours: the recursion of hidden-state over the sizes of Poisson batches (docs page privacy)"
        ours = "ours: composition of the last steps, contraction before (docs page privacy)"
        either = _bounded(gradients, "no convexity of the losses")
        losses = either if convex is None else _bounded(gradients, "every loss is convex and smooth")
        return [
            hockey_stick_analysis("contraction", source, LAST, delta, either, bounded),
            guarantee("hybrid", ours, LAST, eps, losses, refused=refused),
        ]

    @property
    def _noisy(self) -> bool:
        return self.steps > 0 and 0 < getattr(self, self.noise_field) < math.inf

    @property
    def _drawn(self) -> tuple[Sampling, int, int, int]:
        return self.sampling, self.n, self.batch_size, self.steps

    def linear_bounds(self, multiplier: float) -> list[Analysis]:
        """What linear losses attain on an unbounded set; `multiplier` is noise over one record's norm."""
        found = linear_lower(self.q, multiplier, self.steps, self.sampling, self.neighboring_relation)
        # a record of the first batch, which an unfinished epoch has too
        if self.sampling == "cyclic":
            visits = math.ceil(self.steps / (self.n // self.batch_size))
            far = distance(self.neighboring_relation)
            found.append(linear_cyclic(visits, multiplier, self.steps, far))
        return found

    def _undefined(self) -> str:
        """Why neighbours of this relation have no batches of this kind."""
        if self.sampling == "fixed-size" and self.neighboring_relation == "add-remove":
            return "batches of fixed size are defined for replace-one neighbours"
        return ""

    def _not_fresh(self) -> str:
        return "needs a fresh random batch in every step" if self.sampling in ONCE_AN_EPOCH else ""


def _bounded(gradients: str, losses: str) -> Sequence[str]:
    return ("projection on a bounded convex set", gradients, losses, "only the last iterate is released")
