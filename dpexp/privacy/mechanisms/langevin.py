"""Langevin SGD (`dp-sgld`): the mechanism, and the accountants of the algorithm: what noise each asks for and states.

    w <- Proj(w - eta_k G + sqrt(2 eta_k) N(0, sigma^2 I)), batches of m of n records

Three accountants are sound: `pld`, `last-iterate`, and `once-an-epoch` for shuffled batches. Two reproduce what was
published: `theorem-3-1` is Theorem 3.1 with K in iterations, false for mini-batches; `published` is the same bound with
K counted in epochs, as the authors' code evaluates it. An accountant speaks of certain sampling schemes only.

(a) One record of gradient norm at most L moves a step of size eta_k by at most eta_k L / m. So its noise multiplier is
z_k = sqrt(2 / eta_k) sigma m / L: the larger the step, the less noise for what it moves. Noise is counted relative to
that of the largest step, and is at least 1.
(b) Where batches are drawn epoch by epoch, an epoch is taken at the least noise of its steps: a step of more noise is
one of less with noise added afterwards. Steps never grow, so that this is the noise of its first step.
(c) For the same reason steps are grouped by noise, rounded down, and what is stated stays an upper bound. The groups
are the phases of a sampled Gaussian mechanism.
(d) The Renyi curve of Corollary 3.2 is order * slope, converted by Proposition 2.1 of the paper (Mironov's rule), so
that epsilon is the paper's.
"""

from __future__ import annotations

import contextlib
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, partial
from itertools import accumulate, pairwise
from typing import Any, ClassVar, Literal, get_args

import numpy as np

from dpexp.accounting.allocation import epochs_eps
from dpexp.accounting.gaussian import raised
from dpexp.accounting.least_noise import Unreachable, least_noise, rounded_up
from dpexp.accounting.sampling import Relation, Sampling
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import DIVIDED, GAUSSIAN, GROUPS, NOISE, ONE_BATCH, PUBLIC, composition
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.mechanisms.epoch_gaussian import ALLOCATION, INDEPENDENT
from dpexp.privacy.mechanisms.mechanism import Curvature, Length, Noise, Size, langevin_gradient_noise
from dpexp.privacy.mechanisms.noisy_sgd import AsNoisySgd, NoisySgd
from dpexp.privacy.samplings import RELATIONS, BatchSampling, Epochs, batch_complaint, batches_of, epoch_text
from dpexp.theory.dp_sgld.privacy_statements import corollary32, eps_of_slope, sigma_for_eps, theorem31

PRINTED = "dp-sgld-printed"
ASSUMED = ("full batches", "theta_0 ~ N(0, 2 sigma^2 / lambda), projected", "only the last iterate is released")
Accountant = Literal["pld", "last-iterate", "once-an-epoch", "theorem-3-1", "published"]
SPEAKS_OF: dict[Accountant, tuple[BatchSampling, ...]] = {
    "pld": ("poisson", "fixed-size", "balls-in-bins", "cyclic-poisson"),
    "last-iterate": ("fixed-size",),
    "once-an-epoch": ("shuffled",),
    "theorem-3-1": ("fixed-size",),
    "published": ("fixed-size", "shuffled"),
}
"""accountant -> the sampling schemes that it is stated, or was used, for"""
REFUSED: dict[str, str] = {
    "theorem-3-1": "unsound for mini-batches: the theorem is false there (exact counterexamples: docs page dp-sgld)",
    "published": "invalid: the bound with K = epochs, where it counts iterations; and false for mini-batches",
}
"""why an accountant is no guarantee"""
GROWTH = 1.05
"""noises of one group differ by at most this factor. Rounding down takes 2.5 % of the noise on average, and epsilon,
which is about inverse to the noise, is inflated by as much"""
Groups = tuple[tuple[float, int], ...]
"""(noise in units of the least, number of steps), noise increasing"""


class Langevin(AsNoisySgd):
    """Strongly convex, L-Lipschitz losses; the set's diameter is 2 L / lambda where it is not given."""

    noise_field: ClassVar[str] = "sigma"
    sigma: Noise
    """the noise of a step has standard deviation sqrt(2 step_size) sigma on the parameter"""
    lipschitz: Size
    strong_convexity: Size
    smoothness: Curvature
    diameter: Length | None = None

    @property
    def as_noisy_sgd(self) -> NoisySgd:
        """The same iteration with its noise on the gradient: sqrt(2 / eta) sigma."""
        return NoisySgd(
            **self.model_dump(exclude={"sigma", "diameter"}),
            noise_std=langevin_gradient_noise(self.sigma, self.step_size),
            diameter=2 * self.lipschitz / self.strong_convexity if self.diameter is None else self.diameter,
        )

    def upper_bounds(self) -> list[Analysis]:
        """Those of the same iteration, and the corollary, refused where its hypotheses fail."""
        every = self.as_noisy_sgd.upper_bounds()
        if not 0 < self.sigma < math.inf:
            return every
        slope = corollary32(1, self.lipschitz, self.n, self.sigma, self.strong_convexity, self.step_size, self.steps)
        refused = ""
        if self.q < 1:
            refused = "false for mini-batches: the divergence is not linear in the random batch (exact counterexamples)"
        elif self.step_size * self.smoothness >= 1:
            refused = "needs a step size below 1 / M"
        elif self.neighboring_relation != "replace-one":
            refused = "stated for replace-one neighbours"
        # (d)
        source, eps = "dp-sgld, Corollary 3.2 with Proposition 2.1", partial(eps_of_slope, slope)
        return [*every, guarantee(PRINTED, source, LAST, eps, ASSUMED, slope.__mul__, refused)]


def grouped(relative: np.ndarray) -> Groups:
    """Groups of steps of noise `relative` [K], each >= 1, rounded down to powers of `GROWTH`."""
    if np.all(relative == relative[0]):
        return ((float(relative[0]), len(relative)),)
    # the quotient of logarithms may be off in its last digit: the powers themselves decide
    exponents = np.ceil(np.log(relative) / math.log(GROWTH)).astype(int)
    powers = np.array([GROWTH**k for k in range(int(exponents.max()) + 1)])
    exponents -= powers[exponents] > relative
    groups, counts = np.unique(exponents, return_counts=True)
    return tuple((float(powers[k]), int(c)) for k, c in zip(groups, counts, strict=True))


@dataclass(frozen=True)
class LangevinRun:
    """K steps that never grow, as accountants see them."""

    n: int
    batch_size: int
    sampling: BatchSampling
    steps: int
    lipschitz: float
    """largest norm of a record's part of the gradient: only it depends on the record"""
    smoothness: float
    strong_convexity: float
    diameter: float
    """of the set to which iterates are projected"""
    largest_step: float
    total_step: float
    total_of_epochs: float
    """sum of the first E steps, E the number of epochs: what the published accounting uses"""
    groups: Groups
    """noise of the steps over that of the largest, and how many"""
    by_epochs: Epochs | None = None
    """of batches that are drawn epoch by epoch"""

    @property
    def q(self) -> float:
        return self.batch_size / self.n

    @property
    def constant(self) -> bool:
        """Whether all steps are of one size."""
        return len(self.groups) == 1

    @property
    def relation(self) -> Relation:
        return RELATIONS[self.sampling]

    def multiplier(self, sigma: float) -> float:
        """Noise of the largest step over one record's largest share of it: the noise multiplier of DP-SGD."""
        return langevin_gradient_noise(sigma, self.largest_step) * self.batch_size / self.lipschitz

    def with_noise(self, sigma: float) -> Langevin:
        """The run as a mechanism with all its analyses; only for steps of one size, and batches drawn step by step."""
        shared = ("n", "batch_size", "steps", "lipschitz", "strong_convexity", "smoothness", "diameter", "sampling")
        values = {name: getattr(self, name) for name in shared}
        return Langevin(**values, step_size=self.largest_step, neighboring_relation=self.relation, sigma=sigma)

    def composed(self, multiplier: float) -> Analysis:
        """The sound analysis of all iterates for the run's sampling."""
        sampling, groups, share = self.sampling, self.groups, self.q
        # a record is used once in each epoch of shuffled batches, and which batch that is may be known
        epochs = Epochs(batches_of(self.q)) if sampling == "shuffled" else self.by_epochs
        if epochs:
            groups, share = self._epochs_by_noise(epochs.batches), epochs.share
        if sampling == "balls-in-bins" and epochs:
            assumed = (NOISE, ONE_BATCH, INDEPENDENT, DIVIDED)
            if multiplier == 0:
                return gaussian_analysis("pld", ALLOCATION, ALL, math.inf, assumed)
            kinds = [(1 / multiplier / relative, epochs.batches, count) for relative, count in groups]
            return guarantee("pld", ALLOCATION, ALL, partial(epochs_eps, kinds), assumed)
        # a phase for each noise
        schemes: dict[BatchSampling, Sampling] = {"shuffled": "full-batch", "fixed-size": "fixed-size"}
        phases = [(multiplier * relative, share, count) for relative, count in groups]
        result = composition(phases, schemes.get(sampling, "poisson"), self.relation)[-1]
        if sampling == "shuffled":
            source = f"{GAUSSIAN}, {PUBLIC}"
            return replace(result, name="once-an-epoch", source=source, assumptions=(NOISE, ONE_BATCH))
        return replace(result, name="pld", assumptions=(*result.assumptions, *((GROUPS,) if epochs else ())))

    def _epochs_by_noise(self, batches: int) -> Groups:
        """The least noise of the epochs of so many steps, over that of the largest step, and how many of each."""
        # (b): the epochs that begin in a group of steps have its noise
        ends = [0, *accumulate(count for _, count in self.groups)]
        begun = [math.ceil(end / batches) for end in ends]
        numbers = [b - a for a, b in pairwise(begun)]
        return tuple((noise, number) for (noise, _), number in zip(self.groups, numbers, strict=True) if number)

    def total(self, accountant: Accountant) -> float:
        """The sum of steps that a published bound takes."""
        return self.total_of_epochs if accountant == "published" else self.total_step


@dataclass(frozen=True)
class AccountedLangevin:
    """A run with its noise and accountant: the mechanism of the algorithm `dp-sgld`."""

    run: LangevinRun
    accountant: Accountant
    sigma: float

    @property
    def neighboring_relation(self) -> str:
        return self.run.relation

    @property
    def sampling(self) -> str:
        return self.run.sampling

    @property
    def analysis(self) -> Analysis:
        """What the accountant states."""
        run, sigma = self.run, self.sigma
        if self.accountant in REFUSED:
            slope = theorem31(1, run.lipschitz, run.n, sigma, run.strong_convexity, run.total(self.accountant))
            source = "dp-sgld, Theorem 3.1" + (" with K = epochs" if self.accountant == "published" else "")
            assumed = ("full batches", "the prescribed start", "only the last iterate is released")
            eps, rdp = partial(eps_of_slope, slope), slope.__mul__
            return guarantee(self.accountant, source, LAST, eps, assumed, rdp, REFUSED[self.accountant])
        if self.accountant != "last-iterate":
            return self._sound
        both = [self._sound, *(a for a in run.with_noise(sigma).upper_bounds() if a.name == "hybrid")]
        source = "the smaller of composition and our hybrid bound (docs page privacy)"
        last = ("projection on the stated ball", "convex losses", "only the last iterate is released")
        every = (*self._sound.assumptions, *last)
        return guarantee("last-iterate", source, LAST, lambda d: min(a.eps(d) for a in both), every)

    @property
    def _sound(self) -> Analysis:
        return self.run.composed(self.run.multiplier(self.sigma))

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns for cells.parquet: what the accountant states, and what sound composition states."""
        analysis, sound = self.analysis, self._sound
        return {
            "noise_multiplier": self.run.multiplier(self.sigma),
            "noise_sigma": self.sigma,
            "accountant": self.accountant,
            "guarantee": analysis.valid and self.sigma > 0,
            "gdp_mu": math.nan if analysis.mu is None else analysis.mu,
            **{f"eps_{delta:g}": analysis.eps(delta) if self.sigma else math.inf for delta in deltas},
            **{f"sound_eps_{delta:g}": sound.eps(delta) for delta in deltas},
        }

    def upper_bounds(self) -> list[Analysis]:
        """The accountant's, composition, and every other analysis where steps are of one size."""
        if self.sigma == 0:
            return [self._sound]
        result = [self.analysis]
        if self.accountant in (*REFUSED, "last-iterate"):
            result.append(self._sound)
        if self.run.constant and self.run.sampling == "fixed-size":
            names = {PRINTED, "pld-composition"}
            result += [a for a in self.run.with_noise(self.sigma).upper_bounds() if a.name not in names]
        return result

    def lower_bounds(self) -> list[Analysis]:
        """None is known for steps that decrease."""
        return []

    def description(self) -> list[tuple[str, str]]:
        """Who is protected, what is released and how noise is set."""
        run, epochs = self.run, max(1, round(self.run.steps * self.run.q))
        share = epoch_text(run.q) if run.sampling == "shuffled" else f"probability {run.q:.4g}"
        if run.by_epochs:
            share = f"{run.by_epochs.batches:,} to an epoch"
            share += f", probability {run.by_epochs.share:.4g}" if run.sampling == "cyclic-poisson" else ""
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {run.relation}"),
            ("Sampling", f"{run.sampling}, batches of {run.batch_size} of {run.n:,} records ({share})"),
            ("Noise", f"sqrt(2 eta_k) sigma on the parameter, sigma = {self.sigma:.4g}"),
            ("Released", f"after {run.steps:,} steps, {epochs} epochs; see each line for what it covers"),
        ]


def complaints(run: LangevinRun, accountant: Accountant) -> list[str]:
    """Why the accountant does not fit the run; empty where it does."""
    result = sampling_complaints(run.n, run.batch_size, run.sampling, accountant)
    if accountant in REFUSED and run.largest_step * run.smoothness >= 1:
        result.append(f"the theorem of accountant '{accountant}' needs steps below 1 / beta = {1 / run.smoothness:.4g}")
    if accountant == "last-iterate" and not run.constant:
        result.append("accountant 'last-iterate' needs steps of one size: no bound here covers decreasing ones")
    return result


def sampling_complaints(n: int, batch_size: int, sampling: BatchSampling, accountant: Accountant) -> list[str]:
    """What is wrong with the batches, or with this accountant for them."""
    # no other scheme cuts the records into equal parts
    cut: Literal["shuffled", "poisson"] = "shuffled" if sampling == "shuffled" else "poisson"
    result = [wrong] if (wrong := batch_complaint(n, batch_size, cut, f"the {n} training records")) else []
    if sampling not in SPEAKS_OF[accountant]:
        fits = [name for name in get_args(Accountant) if sampling in SPEAKS_OF[name] and name not in REFUSED]
        result.append(
            f"accountant '{accountant}' does not account for sampling '{sampling}' (it is for "
            f"{' or '.join(SPEAKS_OF[accountant])}; sound for {sampling}: {', '.join(fits)})"
        )
        if accountant == "last-iterate" and RELATIONS[sampling] == "add-remove":
            result.append("no bound of the last iterate is proved here for records that are added or removed")
    return result


@lru_cache(maxsize=256)
def sigma_for(run: LangevinRun, accountant: Accountant, eps: float, delta: float) -> float:
    """The least sigma with which the accountant states at most (eps, delta); 0 for eps = inf. Raises Unreachable."""
    if math.isinf(eps):
        return 0.0
    # conversions round the solution
    least = _least_sigma(run, accountant, eps, delta)
    return raised(least, lambda sigma: AccountedLangevin(run, accountant, sigma).analysis.eps(delta), eps)


def _least_sigma(run: LangevinRun, accountant: Accountant, eps: float, delta: float) -> float:
    if accountant in REFUSED:
        return sigma_for_eps(eps, delta, run.lipschitz, run.n, run.strong_convexity, run.total(accountant))
    # the noise multiplier is proportional to sigma; all iterates cost no less than the last one
    least = rounded_up(least_noise(lambda z: run.composed(z).eps(delta), eps) / run.multiplier(1.0))
    if accountant == "last-iterate":
        with contextlib.suppress(Unreachable):
            best = calibrate(run.with_noise, Langevin, lambda a: a.eps(delta), eps, "last-iterate", "hybrid").value
            return min(rounded_up(best), least)
    return least
