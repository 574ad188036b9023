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

from dpexp.accounting import curve
from dpexp.accounting.allocation import AllocatedEpochs
from dpexp.accounting.pairs import Relation, Sampling
from dpexp.accounting.search import Unreachable, raised, rounded_up
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, gaussian_analysis, guarantee
from dpexp.privacy.analyses.composition import DIVIDED, GAUSSIAN, GROUPS, NOISE, ONE_BATCH, PUBLIC, composition
from dpexp.privacy.calibration import calibrate
from dpexp.privacy.mechanisms.epoch_gaussian import ALLOCATION, INDEPENDENT
from dpexp.privacy.mechanisms.mechanism import Curvature, Length, Noise, Size, langevin_gradient_noise
from dpexp.privacy.mechanisms.noisy_sgd import BatchedMechanism, NoisySgd
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


class Langevin(BatchedMechanism):
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
        return [*every, guarantee(PRINTED, source, LAST, eps, ASSUMED, rdp=slope.__mul__, refused=refused)]


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
    """K steps that never grow, as accountants see them, with their noise: the mechanism of the algorithm `dp-sgld`."""

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
    accountant: Accountant = "pld"
    sigma: float = 0.0

    @property
    def q(self) -> float:
        return self.batch_size / self.n

    @property
    def constant(self) -> bool:
        """Whether all steps are of one size."""
        return len(self.groups) == 1

    @property
    def neighboring_relation(self) -> Relation:
        return RELATIONS[self.sampling]

    @property
    def multiplier(self) -> float:
        """Noise of the largest step over one record's largest share of it: the noise multiplier of DP-SGD."""
        return langevin_gradient_noise(self.sigma, self.largest_step) * self.batch_size / self.lipschitz

    @property
    def total(self) -> float:
        """The sum of steps that the published bound of the accountant takes."""
        return self.total_of_epochs if self.accountant == "published" else self.total_step

    def of_equal_steps(self, sigma: float) -> Langevin:
        """The run as a mechanism with all its analyses; only for steps of one size, and batches drawn step by step."""
        shared = ("n", "batch_size", "steps", "lipschitz", "strong_convexity", "smoothness", "diameter", "sampling")
        values = {name: getattr(self, name) for name in (*shared, "neighboring_relation")}
        return Langevin(**values, step_size=self.largest_step, sigma=sigma)

    def composed(self, multiplier: float) -> Analysis:
        """The sound analysis of all iterates for the run's sampling."""
        sampling, groups, share = self.sampling, self.groups, self.q
        # a record is used once in each epoch of shuffled batches, and which batch that is may be known
        epochs = Epochs(batches_of(self.q)) if sampling == "shuffled" else self.by_epochs
        if epochs:
            # (b): the epochs that begin in a group of steps have its noise
            ends = [0, *accumulate(count for _, count in self.groups)]
            begun = pairwise(math.ceil(end / epochs.batches) for end in ends)
            groups = tuple((noise, b - a) for (noise, _), (a, b) in zip(self.groups, begun, strict=True) if b > a)
            share = epochs.share
        if sampling == "balls-in-bins" and epochs:
            assumed = (NOISE, ONE_BATCH, INDEPENDENT, DIVIDED)
            if multiplier == 0:
                return gaussian_analysis("pld", ALLOCATION, ALL, math.inf, assumed)
            kinds = [(1 / multiplier / relative, epochs.batches, count) for relative, count in groups]
            return guarantee("pld", ALLOCATION, ALL, AllocatedEpochs.of(kinds).eps, assumed)
        # a phase for each noise
        schemes: dict[BatchSampling, Sampling] = {"shuffled": "full-batch", "fixed-size": "fixed-size"}
        phases = [(multiplier * relative, share, count) for relative, count in groups]
        result = composition(phases, schemes.get(sampling, "poisson"), self.neighboring_relation)[-1]
        if sampling == "shuffled":
            source = f"{GAUSSIAN}, {PUBLIC}"
            return replace(result, name="once-an-epoch", source=source, assumptions=(NOISE, ONE_BATCH))
        return replace(result, name="pld", assumptions=(*result.assumptions, *((GROUPS,) if epochs else ())))

    @property
    def analysis(self) -> Analysis:
        """What the accountant states."""
        sound = self.composed(self.multiplier)
        if self.accountant in REFUSED and self.sigma > 0:
            slope = theorem31(1, self.lipschitz, self.n, self.sigma, self.strong_convexity, self.total)
            source = "dp-sgld, Theorem 3.1" + (" with K = epochs" if self.accountant == "published" else "")
            assumed = ("full batches", "the prescribed start", "only the last iterate is released")
            more = {"rdp": slope.__mul__, "refused": REFUSED[self.accountant]}
            return guarantee(self.accountant, source, LAST, partial(eps_of_slope, slope), assumed, **more)
        if self.accountant != "last-iterate":
            return sound
        both = [sound, *(a for a in self.of_equal_steps(self.sigma).upper_bounds() if a.name == "hybrid")]
        source = "the smaller of composition and our hybrid bound (docs page privacy)"
        last = ("projection on the stated ball", "convex losses", "only the last iterate is released")
        every = (*sound.assumptions, *last)
        return guarantee("last-iterate", source, LAST, lambda d: min(a.eps(d) for a in both), every)

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Columns for cells.parquet: what the accountant states, and what sound composition states."""
        analysis, sound = self.analysis, self.composed(self.multiplier)
        return {
            "noise_multiplier": self.multiplier,
            "noise_sigma": self.sigma,
            "accountant": self.accountant,
            "guarantee": analysis.valid and self.sigma > 0,
            "gdp_mu": math.nan if analysis.mu is None else analysis.mu,
            **{f"eps_{delta:g}": analysis.eps(delta) if self.sigma else math.inf for delta in deltas},
            **{f"sound_eps_{delta:g}": sound.eps(delta) for delta in deltas},
        }

    def upper_bounds(self) -> list[Analysis]:
        """The accountant's, composition, and every other analysis where steps are of one size."""
        sound = self.composed(self.multiplier)
        if self.sigma == 0:
            return [sound]
        result = [self.analysis, *([sound] if self.accountant in (*REFUSED, "last-iterate") else [])]
        if self.constant and self.sampling == "fixed-size":
            names = {PRINTED, "pld-composition"}
            result += [a for a in self.of_equal_steps(self.sigma).upper_bounds() if a.name not in names]
        return result

    def lower_bounds(self) -> list[Analysis]:
        """None is known for steps that decrease."""
        return []

    def description(self) -> list[tuple[str, str]]:
        """Who is protected, what is released and how noise is set."""
        share = epoch_text(self.q) if self.sampling == "shuffled" else f"probability {self.q:.4g}"
        if self.by_epochs:
            share = f"{self.by_epochs.batches:,} to an epoch"
            share += f", probability {self.by_epochs.share:.4g}" if self.sampling == "cyclic-poisson" else ""
        epochs = max(1, round(self.steps * self.q))
        return [
            ("Protected", f"every record, against who sees what is released; neighbours: {self.neighboring_relation}"),
            ("Sampling", f"{self.sampling}, batches of {self.batch_size} of {self.n:,} records ({share})"),
            ("Noise", f"sqrt(2 eta_k) sigma on the parameter, sigma = {self.sigma:.4g}"),
            ("Released", f"after {self.steps:,} steps, {epochs} epochs; see each line for what it covers"),
        ]

    def complaints(self) -> list[str]:
        """Why the accountant does not fit the run; empty where it does."""
        result = sampling_complaints(self.n, self.batch_size, self.sampling, self.accountant)
        if self.accountant in REFUSED and self.largest_step * self.smoothness >= 1:
            below = f"needs steps below 1 / beta = {1 / self.smoothness:.4g}"
            result.append(f"the theorem of accountant '{self.accountant}' {below}")
        if self.accountant == "last-iterate" and not self.constant:
            result.append("accountant 'last-iterate' needs steps of one size: no bound here covers decreasing ones")
        return result


def sampling_complaints(n: int, batch_size: int, sampling: BatchSampling, accountant: Accountant) -> list[str]:
    """What is wrong with the batches, or with this accountant for them."""
    # no other scheme cuts the records into equal parts
    cut: Sampling = "shuffled" if sampling == "shuffled" else "poisson"
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
def sigma_for(run: LangevinRun, eps: float, delta: float) -> float:
    """The least sigma with which the accountant states at most (eps, delta); 0 for eps = inf. Raises Unreachable."""
    if math.isinf(eps):
        return 0.0
    if run.accountant in REFUSED:
        least = sigma_for_eps(eps, delta, run.lipschitz, run.n, run.strong_convexity, run.total)
    else:
        # the noise multiplier is proportional to sigma; all iterates cost no less than the last one
        unit = replace(run, sigma=1.0).multiplier
        least = rounded_up(curve.calibrate(run.composed, eps, delta) / unit)
    if run.accountant == "last-iterate":
        with contextlib.suppress(Unreachable):
            of_last = calibrate(run.of_equal_steps, Langevin, lambda a: a.eps(delta), eps, "last-iterate", "hybrid")
            least = min(rounded_up(of_last.value), least)
    # conversions round the solution
    return raised(least, lambda sigma: replace(run, sigma=sigma).analysis.eps(delta), eps)
