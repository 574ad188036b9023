"""Analyses of all iterates: how T sampled Gaussian steps compose, by sampling scheme and neighbouring relation."""

from __future__ import annotations

import math

from dpexp.accounting.renyi import mixture_from_base, symmetrised
from dpexp.accounting.sampling import ONCE_AN_EPOCH, Relation, Sampling, distance, random_step
from dpexp.accounting.steps import Steps, step_loss
from dpexp.privacy.analyses.analysis import ALL, Analysis, composed_analysis, gaussian_analysis
from dpexp.privacy.analyses.from_curves import renyi_analysis

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
PLD = (
    "privacy loss distribution of the dominating pair, connect-the-dots (Doroshenko et al., 2022), or Renyi or "
    "unsampled Gaussian composition where that is smaller"
)
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


def divides(q: float) -> bool:
    """Whether batches of the share q cut the records evenly: 1 / q is whole, to the digits in which q is typed.

    A share of seven digits or more is recognised: 1 / q may be off by a millionth of itself, and by 0.001 at most.
    """
    return abs(round(1 / q) - 1 / q) <= min(1e-3, 1e-6 / q)


def batches_of(q: float) -> int:
    """Batches in an epoch of batches of the share q, and the whole number below where q does not cut evenly.

    Fewer batches are more visits: the number covers a last batch that is short, and one that is left out.
    """
    return max(1, round(1 / q) if divides(q) else math.floor(1 / q))


def batches_above(q: float) -> int:
    """Batches in an epoch of batches of the share q, with a short last one where q does not cut evenly."""
    return round(1 / q) if divides(q) else math.ceil(1 / q)


def visits(steps: int, q: float) -> int:
    """How often a record that is used once an epoch is used at most in `steps` steps."""
    return math.ceil(steps / batches_of(q))


def partition_complaint(q: float, sampling: Sampling) -> str:
    """Why batches of the share q are no partition of the records; empty where they are, or need not be one."""
    if sampling not in ONCE_AN_EPOCH:
        return ""
    if q == 0:
        return f"{sampling} batches need a sampling_probability above 0"
    if sampling in PARTITIONS and not divides(q):
        return (
            f"a partition needs 1 / sampling_probability to be whole, not 1 / {q:.9g}: "
            f"write it as a fraction, for instance sampling_probability=1/{max(1, round(1 / q))}"
        )
    return ""


def batch_complaint(n: int, batch_size: int, sampling: Sampling, records: str = "") -> str:
    """Why n records give no batches of that size; empty where they do. `records` is what the n records are called."""
    called = records or f"n = {n}"
    if batch_size > n:
        return f"batch_size = {batch_size} is larger than {called}"
    if sampling == "full-batch" and batch_size != n:
        return f"a full batch has batch_size = {called}, not {batch_size}"
    if sampling in PARTITIONS and n % batch_size:
        near = [m for m in range(max(1, batch_size // 2), min(n, 2 * batch_size) + 1) if n % m == 0]
        nearest = ", ".join(str(m) for m in sorted(near, key=lambda m: abs(m - batch_size))[:3])
        hint = f" (near: {nearest})" if nearest else ""
        return f"batch_size = {batch_size} must divide {called} evenly{hint}"
    return ""


def epoch_text(q: float) -> str:
    """How many batches an epoch has, for a statement."""
    uneven = (
        "" if divides(q) else f" are counted, rounded down from {1 / q:.6g}: a short or missing last batch is covered"
    )
    return f"{batches_of(q)} batches an epoch{uneven}"


def composition(q: float, multiplier: float, steps: int, sampling: Sampling, relation: Relation) -> list[Analysis]:
    """Analyses of all iterates; `multiplier` is noise over one record's norm, and replacing it moves twice as far."""
    known = trivial(multiplier, steps)
    if known:
        return [known]
    # the batches that a record is in are known, or are shown, which can only help: Gaussian steps add up as squares
    if sampling == "full-batch" or q == 1 or sampling in ONCE_AN_EPOCH:
        uses = visits(steps, q) if sampling in ONCE_AN_EPOCH else steps
        mu = math.sqrt(uses) * distance(relation) / multiplier
        once = (ONE_BATCH, *((OTHERS,) if relation == "add-remove" else ())) if sampling in ONCE_AN_EPOCH else ()
        exact = "exact" if sampling in ("cyclic", "full-batch") or q == 1 else PUBLIC
        source = f"Gaussian composition (Dong, Roth and Su, 2022), {exact}"
        return [gaussian_analysis("gaussian-composition", source, ALL, mu, (NOISE, *once))]
    if sampling == "fixed-size" and relation == "add-remove":
        reason = "batches of fixed size are defined for replace-one neighbours"
        return [gaussian_analysis("none", "", ALL, math.inf, (), reason)]
    return _sampled(q, multiplier, steps, sampling, relation)


def trivial(multiplier: float, steps: int) -> Analysis | None:
    """The analysis where nothing is released, or where there is no noise, or nothing but noise; else None."""
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
    share, noise, scheme = random_step(q, multiplier, sampling, relation)
    curves = {
        "fixed-size": (symmetrised, "subsampling theorem of Dong, Roth and Su (2022) with Renyi composition"),
        "add-remove": (mixture_from_base, "Mironov, Talwar and Zhang (2019), real orders by quadrature"),
    }
    # of Poisson sampling where a record is replaced no curve of one step is known here
    found = []
    if scheme in curves:
        one, source = curves[scheme]
        found.append(
            renyi_analysis("renyi-composition", source, ALL, lambda a: steps * one(a, share, noise), assumptions)
        )
    composed = Steps([(step_loss(share, noise, scheme), steps)])
    return [*found, composed_analysis("pld-composition", PLD, ALL, composed, assumptions)]
