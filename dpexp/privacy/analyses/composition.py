"""All iterates: how sampled Gaussian steps compose, from above and as constant gradients attain it; several runs too.

A run has phases of one sampling scheme; what holds of several kinds of steps holds of one.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import cache, partial

import numpy as np

from dpexp.accounting import linear
from dpexp.accounting.curve import largest_eps
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import Steps
from dpexp.accounting.pairs import ONCE_AN_EPOCH, Relation, Sampling, Scheme, distance
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, attained, gaussian_analysis, guarantee, renyi_analysis
from dpexp.privacy.samplings import visits

Phase = tuple[float, float, int]
"""noise over one record's norm, sampling probability, and number of steps"""
PLD = (
    "privacy loss distribution of the dominating pair, connect-the-dots (Doroshenko et al., 2022), or Renyi or "
    "unsampled Gaussian composition where that is smaller"
)
RENYI: dict[Scheme, str] = {
    "fixed-size": "subsampling theorem of Dong, Roth and Su (2022) with Renyi composition",
    "add-remove": "Mironov, Talwar and Zhang (2019), real orders by quadrature",
}
"""of Poisson batches where a record is replaced no curve of one step is known here"""
GAUSSIAN = "Gaussian composition (Dong, Roth and Su, 2022)"
NOISE = "noise is Gaussian and fresh in every step"
FIXED = "batches of fixed size without replacement, fresh in every step"
POISSON = "every record is in a batch independently with probability q, fresh in every step"
GROUPS = (
    "which group a record is in follows from its public place or, where records are added or removed, from itself alone"
)
ONE_BATCH = "every record is in one batch an epoch"
OTHERS = "a record that is added or removed leaves all others in their batches"
PUBLIC = (
    "for a known order: holds even if the order of the records is public; with a secret order the true loss is smaller"
)
DIVIDED = "the sum is divided by a fixed number, not by the realised batch size"
UNDEFINED = "batches of fixed size are defined for replace-one neighbours"
CONSTANT: dict[Relation, str] = {
    "add-remove": "constant gradients: the record's against no record's",
    "replace-one": "constant gradients: the record's against no record, or the opposite one",
}
LINEAR: dict[Scheme, str] = {
    "add-remove": "linear losses: the record's gradient is C, against none",
    "replace-one": "linear losses: the record's gradient is C, against -C",
    "fixed-size": "linear losses: the record's gradient is C, against -C; all others' are C",
}


def composition(phases: Iterable[Phase], sampling: Sampling, relation: Relation) -> list[Analysis]:
    """Analyses of all iterates."""
    kinds = _kinds(phases)
    known = trivial(min((z for z, _, _ in kinds), default=0.0), len(kinds))
    if known:
        return [known]
    if sampling == "fixed-size" and relation == "add-remove":
        return [gaussian_analysis("none", "", ALL, math.inf, (), UNDEFINED)]
    mu = _gaussian_mu(kinds, sampling, relation)
    if mu is not None:
        once = (ONE_BATCH, *((OTHERS,) if relation == "add-remove" else ())) if sampling in ONCE_AN_EPOCH else ()
        exact = PUBLIC if sampling in ("shuffled", "reshuffled") and any(q < 1 for _, q, _ in kinds) else "exact"
        return [gaussian_analysis("gaussian-composition", f"{GAUSSIAN}, {exact}", ALL, mu, (NOISE, *once))]
    steps = _steps(kinds, sampling, relation).few("above")
    assumptions = (NOISE, FIXED) if sampling == "fixed-size" else (NOISE, POISSON, DIVIDED)
    analyses = [_composed("pld-composition", PLD, steps, assumptions)]
    if steps.scheme in RENYI:
        analyses.insert(0, renyi_analysis("renyi-composition", RENYI[steps.scheme], ALL, steps.rdp, assumptions))
    return analyses


def _composed(name: str, source: str, steps: Steps, assumptions: Sequence[str]) -> Analysis:
    """All iterates, by the loss distributions of steps."""
    more = {"direct": steps.delta, "unsampled": steps.unsampled, "steps": steps}
    return guarantee(name, source, ALL, cache(steps.eps), assumptions, **more)


def trivial(multiplier: float, steps: int) -> Analysis | None:
    """The analysis where there is no release, or where there is no noise, or nothing but noise; else None."""
    if steps == 0:
        return gaussian_analysis("nothing-released", "no step is taken", ALL, 0.0, ())
    if multiplier == 0:
        return gaussian_analysis("no-noise", "without noise there is no guarantee", ALL, math.inf, ())
    if math.isinf(multiplier):
        return gaussian_analysis("infinite-noise", "nothing of the data is released", ALL, 0.0, ())
    return None


def attained_sums(phases: Iterable[Phase], sampling: Sampling, relation: Relation) -> list[Analysis]:
    """What constant gradients attain of all sums, by fresh batches; nothing where it is trivial or undefined."""
    kinds = _kinds(phases)
    undefined = sampling in ONCE_AN_EPOCH or (sampling == "fixed-size" and relation == "add-remove")
    if undefined or not 0 < min((z for z, _, _ in kinds), default=0.0) < math.inf:
        return []
    mu = _gaussian_mu(kinds, sampling, relation)
    if mu is not None:
        return [attained("exact-composition", ALL, CONSTANT[relation], partial(eps_of, mu))]
    steps = _steps(kinds, sampling, relation)
    if sampling == "fixed-size":
        # a record that is turned round among others of one gradient is there or not, at half of the noise
        steps = _steps(((z / 2, q, n) for z, q, n in kinds), "poisson", "add-remove")
    return [attained("exact-composition", ALL, CONSTANT[relation], cache(partial(_attained, steps)))]


def _attained(steps: Steps, delta: float) -> float:
    """Of all sums; without the loss distributions, as where noise is tiny, by the events that k sums or more are large.

    With the noise 1 and the record's move mu, large is above t = max(mu / 2, mu - 8). A sum is so with probability
    q Phi(mu - t) at least, and Phi(-t) at most if the record is absent or opposite; k of n with binom(n, k) Phi(-t)^k.
    """
    if steps.attained(delta) > 0 or not steps:
        return steps.attained(delta)
    from scipy.special import betainc, gammaln, log_ndtr, ndtr

    count, larger = sum(n for _, n in steps), [(step, max(step.mu / 2, step.mu - 8)) for step, _ in steps]
    share = min(step.q * float(ndtr(step.mu - t)) for step, t in larger) * (1 - 1e-12)
    k = np.arange(1.0, min(count, 100_000) + 1)
    log_false = gammaln(count + 1) - gammaln(k + 1) - gammaln(count - k + 1)
    log_false += k * max(float(log_ndtr(-t)) for _, t in larger) + 1e-9 * count
    return largest_eps(betainc(k, count - k + 1, share) * (1 - 1e-9), log_false, delta) * (1 - 1e-9)


def attained_unprojected(phases: Iterable[Phase], sampling: Sampling, relation: Relation) -> list[Analysis]:
    """What a run on an unbounded set attains: all sums, and the last iterate of linear losses, which has all noise."""
    kinds = _kinds(phases)
    sums = attained_sums(kinds, sampling, relation)
    if not sums:
        return []
    # the record is in the last iterate at least as often as with the least q in each step: of the one data set the sum
    # is then larger, and of the other it is not
    total, least = sum(n for _, _, n in kinds), 1.0 if sampling == "full-batch" else min(q for _, q, _ in kinds)
    noise = math.hypot(*(math.sqrt(n / total) * z for z, _, n in kinds))
    return [*sums, *linear_last(least, noise, total, "fixed-size" if sampling == "fixed-size" else relation)]


def linear_last(q: float, multiplier: float, steps: int, scheme: Scheme) -> list[Analysis]:
    """The last iterate of linear losses on an unbounded set, whose record is in a batch with probability q."""
    eps = linear.eps_of_scheme(q, multiplier, steps, scheme) if math.isfinite(multiplier) else None
    return [attained("linear-loss", LAST, LINEAR[scheme], cache(eps))] if eps else []


def linear_cyclic(uses: int, multiplier: float, steps: int, relation: Relation) -> Analysis:
    """The same for a record that is in `uses` of the batches: the sum moves so often, in noise sqrt(T) z."""
    mu = uses * distance(relation) / (math.sqrt(steps) * multiplier)
    return attained("linear-loss", LAST, LINEAR[relation], partial(eps_of, mu))


def _kinds(phases: Iterable[Phase]) -> list[Phase]:
    """Each kind of step once, with its number; those that meet no record release nothing of it."""
    counts: dict[tuple[float, float], int] = {}
    for z, q, steps in phases:
        if q > 0 and steps > 0:
            counts[z, q] = counts.get((z, q), 0) + steps
    return [(z, q, steps) for (z, q), steps in counts.items()]


def _gaussian_mu(kinds: Sequence[Phase], sampling: Sampling, relation: Relation) -> float | None:
    """mu of steps whose batches are known, or shown, which can only help: they add up as squares. Else None."""
    once = sampling in ONCE_AN_EPOCH
    if not once and sampling != "full-batch" and any(q < 1 for _, q, _ in kinds):
        return None
    return math.hypot(*(math.sqrt(visits(n, q) if once else n) * distance(relation) / z for z, q, n in kinds))


def _steps(kinds: Iterable[Phase], sampling: Sampling, relation: Relation) -> Steps:
    """Their loss distributions; steps of infinite noise add nothing, and have none."""
    finite = (Steps.sampled(z, q, n, sampling, relation) for z, q, n in kinds if math.isfinite(z))
    return Steps(part for steps in finite for part in steps)


LOSSES = "privacy loss distributions of the steps of all runs, composed"
BASIC = "basic composition: epsilons add up, each at its share of delta"
INDEPENDENT = "every run has batches and noise of its own"


def composition_of_runs(runs: Sequence[tuple[Analysis, int]]) -> Analysis:
    """The analysis of releasing several runs on the same records: one of each kind of run, and how many there are.

    All must speak of the same neighbours, and be valid. One run is its own analysis.
    (a) Gaussian parameters add up as squares.
    (b) Steps of one scheme are composed by their loss distributions, as if all were one run of different steps. A run
    with a known mu alone is one more step there, on all records.
    (c) Where neither is known for all of them, epsilons and deltas add up.
    """
    runs = [(analysis, count) for analysis, count in runs if count]
    if len(runs) == 1 and runs[0][1] == 1:
        return runs[0][0]
    released = ALL if all(analysis.released == ALL for analysis, _ in runs) else LAST
    assumptions = tuple(dict.fromkeys([INDEPENDENT, *(text for analysis, _ in runs for text in analysis.assumptions)]))
    mu = math.sqrt(math.fsum(count * float(a.mu or 0) ** 2 for a, count in runs if not a.steps))
    # (a)
    if all(analysis.mu is not None for analysis, _ in runs):
        source = "Gaussian composition: the root of the sum of the squared mu (Dong, Roth and Su, 2022)"
        return gaussian_analysis("together", source, released, mu, assumptions)
    # (b)
    schemes = {analysis.steps.scheme for analysis, _ in runs if analysis.steps}
    if len(schemes) == 1 and math.isfinite(mu) and all(a.steps or a.mu is not None for a, _ in runs):
        steps = Steps((step, count * n) for a, count in runs for step, n in a.steps).with_gaussian(mu)
        return replace(_composed("together", LOSSES, steps, assumptions), released=released)
    # (c)
    number = sum(count for _, count in runs)

    def eps(delta: float) -> float:
        return math.fsum(count * analysis.eps(delta / number) for analysis, count in runs)

    return guarantee("together", BASIC, released, cache(eps), assumptions)


def composable(analyses: Sequence[Analysis], delta: float, last_alone: bool = False) -> Analysis:
    """The analysis by which a run is composed with others: one of its steps or of Gaussian DP, else the smallest.

    `last_alone`: nothing but its last iterate is released.
    """
    covering = [a for a in analyses if a.valid and (a.released == ALL or last_alone)]
    additive = [a for a in covering if a.released == ALL and (a.steps or a.mu is not None)]
    return min(additive or covering, key=lambda a: a.eps(delta))
