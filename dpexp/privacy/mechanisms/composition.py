"""Analyses of all iterates: how T sampled Gaussian steps compose, by sampling scheme and neighbouring relation."""

from __future__ import annotations

import math
from functools import cache
from typing import Literal

from dpexp.privacy.analysis import ALL, Analysis, gaussian_analysis, renyi_analysis
from dpexp.privacy.loss_distributions import Scheme, step_loss
from dpexp.privacy.lower_bounds import LowerBound, attained
from dpexp.privacy.sampled_gaussian import mixture_from_base, symmetrised

Relation = Literal["replace-one", "add-remove"]
Sampling = Literal["fixed-size", "poisson", "cyclic", "shuffled", "reshuffled", "full-batch"]
SAMPLING = {
    "fixed-size": "a fresh uniform subset of fixed size in every step",
    "poisson": "every record independently in every step",
    "cyclic": "a fixed partition into batches, in the same order in every epoch",
    "shuffled": "a random partition into batches, drawn once and repeated in every epoch",
    "reshuffled": "a new random order of the records in every epoch, cut into batches",
    "full-batch": "all records in every step",
}
PARTITIONS = ("cyclic", "shuffled")
"""the same batches in every epoch"""
ONCE_AN_EPOCH = (*PARTITIONS, "reshuffled")
NOISE = "noise is Gaussian and fresh in every step"
FIXED = "batches of fixed size without replacement, fresh in every step"
POISSON = "every record is in a batch independently with probability q, fresh in every step"
DIVIDED = "the sum is divided by a fixed number, not by the realised batch size"


def distance(relation: Relation) -> float:
    """How far two neighbours' sums can lie apart, in norms of one record."""
    return 2.0 if relation == "replace-one" else 1.0


def batches_of(q: float) -> int:
    """Batches in an epoch of a partition into batches of the share q."""
    return max(1, math.ceil(1 / q - 1e-9))


def visits(steps: int, q: float) -> int:
    """How often a record that is used once an epoch is used at most in `steps` steps."""
    return math.ceil(steps / batches_of(q))


def random_step(q: float, multiplier: float, sampling: Sampling, relation: Relation) -> tuple[float, float, Scheme]:
    """The dominating pair of a step with a random batch: q, multiplier and scheme for `loss_distributions`."""
    if sampling == "fixed-size":
        return q, multiplier / 2, "fixed-size"
    return (1.0 if sampling == "full-batch" else q), multiplier, relation


def composition(q: float, multiplier: float, steps: int, sampling: Sampling, relation: Relation) -> list[Analysis]:
    """Analyses of all iterates; `multiplier` is noise over one record's norm, and replacing it moves twice as far."""
    trivial = _trivial(multiplier, steps)
    if trivial:
        return [trivial]
    if sampling == "full-batch" or q == 1 or sampling in ONCE_AN_EPOCH:
        uses = visits(steps, q) if sampling in ONCE_AN_EPOCH else steps
        mu = math.sqrt(uses) * distance(relation) / multiplier
        once = ("every record is in one batch an epoch, whatever the order",) if sampling in ONCE_AN_EPOCH else ()
        source = "Gaussian composition (Dong, Roth and Su, 2022), exact"
        return [gaussian_analysis("gaussian-composition", source, ALL, mu, (NOISE, *once))]
    if sampling == "fixed-size" and relation == "add-remove":
        reason = "batches of fixed size are defined for replace-one neighbours"
        return [gaussian_analysis("none", "", ALL, math.inf, (), reason)]
    return _sampled(q, multiplier, steps, sampling, relation)


def _trivial(multiplier: float, steps: int) -> Analysis | None:
    if steps == 0:
        return gaussian_analysis("nothing-released", "no step is taken", ALL, 0.0, ())
    if multiplier == 0:
        return gaussian_analysis("no-noise", "without noise there is no guarantee", ALL, math.inf, ())
    if math.isinf(multiplier):
        return gaussian_analysis("infinite-noise", "nothing of the data is released", ALL, 0.0, ())
    return None


def _sampled(q: float, multiplier: float, steps: int, sampling: Sampling, relation: Relation) -> list[Analysis]:
    """Random batches: by Renyi divergences where there is a curve, and by the privacy loss distribution."""
    assumptions = (NOISE, FIXED) if sampling == "fixed-size" else (NOISE, POISSON, DIVIDED)
    found = []
    if sampling == "fixed-size":
        source = "subsampling theorem of Dong, Roth and Su (2022) with Renyi composition"
        found.append(
            renyi_analysis(
                "renyi-composition", source, ALL, lambda a: steps * symmetrised(a, q, multiplier / 2), assumptions
            )
        )
    elif relation == "add-remove":
        source = "Mironov, Talwar and Zhang (2019), real orders by quadrature"
        found.append(
            renyi_analysis(
                "renyi-composition", source, ALL, lambda a: steps * mixture_from_base(a, q, multiplier), assumptions
            )
        )
    loss = step_loss(*random_step(q, multiplier, sampling, relation))
    source = "privacy loss distribution of the dominating pair, connect-the-dots (Doroshenko et al., 2022)"
    found.append(Analysis("pld-composition", source, ALL, cache(lambda d: loss.eps(steps, d)), assumptions))
    return found


def composition_lower(
    q: float, multiplier: float, steps: int, sampling: Sampling, relation: Relation
) -> list[LowerBound]:
    """What an unprojected run attains: linear losses, whose releases are sampled Gaussians whatever came before."""
    if _trivial(multiplier, steps) or sampling in ONCE_AN_EPOCH:
        return []
    if sampling == "fixed-size":
        return [attained(q, multiplier / 2, steps, "add-remove")] if relation == "replace-one" else []
    return [attained(*random_step(q, multiplier, sampling, relation)[:2], steps, relation)]
