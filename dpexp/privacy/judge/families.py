"""Families of exact pairs, and which of them a bound's assumptions admit.

A family turns a setting and a few shape numbers in [0, 1] into the exact laws of two neighbours' releases, or has none
there. Everything is in noise units: h half the width of the set, u the largest drift of a batch, eta m and eta M the
curvatures that the losses may have.

(a) Gradients are bounded on the whole set: with curvature k, a drift -k y at the walls is k h, and u - k h is the room
that is left for a constant drift. A pair that has no room does not exist.
(b) In most families the record pulls one way as hard as it may, and its neighbour the other way, or not at all.
(c) Where places in the order are public, the record is in the batch of the last step, after which nothing hides it.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dpexp.accounting import linear
from dpexp.accounting.allocation import epoch_loss
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.mixtures import GaussianMixture, renyi_of
from dpexp.accounting.sampling import Scheme
from dpexp.privacy.exact import run_laws
from dpexp.privacy.exact.update import Drift, Update, affine, constant
from dpexp.privacy.exact.walk import renyi_error, renyi_of_masses
from dpexp.privacy.judge.setting import Assumes, AttainedLaw, Setting

MOST_SIZES = 70
"""batch sizes that a step of Poisson sampling may mix: each is a map of its own, by which a walk becomes slower"""
Shape = Sequence[float]
Build = Callable[[Setting, Assumes, Shape], AttainedLaw | None]


@dataclass(frozen=True)
class Family:
    """A family of pairs of neighbours."""

    name: str
    says: str
    """the pair in words"""
    shape: tuple[str, ...]
    """names of its shape numbers, each in [0, 1]"""
    admits: Callable[[Assumes], bool]
    build: Build


@dataclass(frozen=True)
class ConstantGradients:
    """All iterates of constant gradients, as privacy statements have them: what steps or epochs attain together."""

    eps: Callable[[float], float]
    renyi: Callable[[float], float]
    variation: float
    rounded: bool = True
    """whether all rounding is charged already, as in loss distributions from below"""


def normal(mu: float) -> ConstantGradients:
    """Two normal laws mu deviations apart."""
    less = 1 - 1e-12
    variation = math.erf(mu / 2**1.5)
    return ConstantGradients(
        lambda delta: eps_of(mu, delta) * less, lambda a: a * mu**2 / 2 * less, variation, rounded=False
    )


def composed(pair: Scheme, q: float, multiplier: float, steps: int) -> ConstantGradients:
    """Sampled steps; `multiplier` is noise over the distance that one record moves a step."""

    def mixture(q: float, mean: float) -> GaussianMixture:
        """Of a step whose record moves the mean by so much with probability q."""
        moved = np.array([1 - q, q])
        return GaussianMixture(np.array([0.0, mean])[moved > 0], np.log(moved[moved > 0]), 1.0)

    def renyi(order: float) -> float:
        # Renyi divergences of independent steps add up
        present = mixture(q, 1 / multiplier)
        other = present.mirrored if pair == "replace-one" else mixture(1.0, 0.0)
        return steps * max(renyi_of(present, other, order), renyi_of(other, present, order)) * (1 - 1e-9)

    sides = 2 if pair == "replace-one" else 1
    variation = min(0.9, q * math.erf(1 / multiplier / 2**1.5) * math.sqrt(steps) * sides)
    return ConstantGradients(lambda delta: step_loss(q, multiplier, pair).attained(steps, delta), renyi, variation)


def allocated(distance: float, batches: int, epochs: int) -> ConstantGradients | None:
    """The same, a record being in one random batch of every epoch."""
    loss = epoch_loss(distance, batches)
    if not loss.finite:
        return None
    atoms = loss.dominated

    def renyi(order: float) -> float:
        both = (renyi_of_masses(p, q, order) for p, q in ((atoms.p, atoms.q), (atoms.q, atoms.p)))
        return epochs * max(max(0.0, value - renyi_error(value, order, atoms.relative)) for value in both)

    variation = min(0.9, float(np.maximum(atoms.p - atoms.q, 0.0).sum()) * math.sqrt(epochs))
    return ConstantGradients(lambda delta: loss.attained(epochs, delta), renyi, variation)


def _latest(s: Setting) -> int:
    """(c): the batch that takes the last step."""
    return (s.steps - 1) % s.batches


# --- walks between walls ---

Drifts = tuple[Drift, Drift, Drift, float]
"""of a batch of others, of the record and of what replaces it, and the start"""


def _walks(drifts: Callable[[float, float, Setting, Assumes, Shape], Drifts | None]) -> Build:
    """The family of such drifts, from h, u and the shape; what replaces the record is left out where it is removed."""

    def build(s: Setting, a: Assumes, x: Shape) -> AttainedLaw | None:
        law = drifts(s.width / 2, s.largest_drift, s, a, x)
        # about as many batch sizes as a step of Poisson sampling mixes
        sizes = min(s.n, 20 * math.sqrt(s.n * s.q * (1 - s.q)) + 20) if a.sampling == "poisson" and s.q < 1 else 1
        if law is None or (sizes > MOST_SIZES and law[0].largest > 0):
            return None
        others, record, other, start = law
        update = Update(a.sampling, s.n, s.batch_size, s.steps, s.width / 2, others, record, _latest(s), start)
        return run_laws.pair(update, replace(update, record=other if a.relation == "replace-one" else None))

    return build


def _linear(h: float, u: float, s: Setting, a: Assumes, x: Shape) -> Drifts | None:
    flat = s.curvatures[0]
    room = u - flat * h  # (a)
    if room <= 1e-9 * u:
        return None
    sign = 1.0 if x[0] < 0.5 else 0.0  # (b): against the opposite record, or one without a slope
    return affine(-flat, 0.0, h), affine(-flat, room, h), affine(-flat, -sign * room, h), 0.0


def _flipped(h: float, u: float, s: Setting, a: Assumes, x: Shape) -> Drifts | None:
    flat = s.curvatures[0]
    room = u - flat * h
    if room <= 1e-9 * u:
        return None
    steep, back = affine(-flat, room, h), affine(-flat, -room, h)
    return steep, back, steep, (2 * x[0] - 1) * h


def _convex(h: float, u: float, s: Setting, a: Assumes, x: Shape) -> Drifts | None:
    """Others: a quadratic with a constant drift to a wall; the record: a quadratic of its own, and steep."""
    flat, steep = s.curvatures
    top = min(steep if math.isfinite(steep) else 2.0, u / h)
    low = min(flat, top)
    # (a), for the others and for the record
    bend, own = low + x[0] * (top - low), low + x[2] * (top - low)
    room = u - own * h
    if room <= 1e-9 * u:
        return None
    others, sign = affine(-bend, (2 * x[1] - 1) * (u - bend * h), h), 1.0 if x[3] < 0.7 else 0.0
    return others, affine(-own, room, h), affine(-own, -sign * room, h), (2 * x[4] - 1) * h


def _trap(h: float, u: float, s: Setting, a: Assumes, x: Shape) -> Drifts:
    """Back to the left wall up to a, slow on a plateau up to e, on to the right wall beyond; the steps are sharp."""
    begin = (-0.3 + 1.1 * x[0]) * h
    end = begin + (0.02 + 0.98 * x[1]) * (h - begin)
    level = (2 * x[2] - 1) * 0.3 * min(u, h)
    back = min(u, 2 * h + 8)  # a longer way than the set is wide ends at the wall just so
    # a knot that stands twice is a jump
    others = Drift((-h, begin, begin, end, end, h), (-back, -back, level, level, back, back))
    return others, constant(u), constant(-u), (2 * x[3] - 1) * h


# --- no walls ---


def _linear_free(s: Setting, a: Assumes, shape: Shape) -> AttainedLaw | None:
    """Linear losses on an unbounded set."""
    replaced = a.relation == "replace-one"
    flipped = replaced and a.sampling != "poisson" and shape[0] < 0.5
    if a.sampling == "full-batch" or s.q == 1:
        uses = s.steps
    elif a.sampling == "cyclic":
        # (c): its batch is one that an unfinished epoch has too
        uses = s.epochs
    else:
        law = linear.linear(a.sampling, replaced, s.q, s.multiplier, s.steps, s.batches, flipped)
        return law if len(law.counts) <= 15_000 else None
    return normal((2 if replaced else 1) * uses / s.multiplier / math.sqrt(s.steps))


def _quadratic(s: Setting, a: Assumes, shape: Shape) -> AttainedLaw | None:
    """Quadratics of one curvature; a removed record would take its own with it, and so does a batch of random size."""
    if a.sampling == "poisson" or a.relation == "add-remove":
        return None
    low, high = s.curvatures[0], min(s.curvatures[1], 2.0)
    c = 1 - (low + shape[0] * (high - low))
    return linear.quadratic(a.sampling, True, s.multiplier, c, s.steps, s.batches, _latest(s))


def _composition(s: Setting, a: Assumes, shape: Shape) -> AttainedLaw | None:
    replaced = a.relation == "replace-one"
    distance, epochs = (2 if replaced else 1) / s.multiplier, s.steps // s.batches
    if a.sampling in ("full-batch", "cyclic") or s.q == 1:
        return normal(distance * math.sqrt(s.epochs if a.sampling == "cyclic" else s.steps))
    if a.sampling == "shuffled":
        # one secret order: the sums of a batch over the epochs are one epoch of less noise
        return allocated(distance * math.sqrt(epochs), s.batches, 1) if epochs else None
    if a.sampling == "reshuffled":
        return allocated(distance, s.batches, epochs) if epochs else None
    if a.sampling == "fixed-size" and shape[0] < 0.7:  # all others pull one way, and one record is turned round
        return composed("add-remove", s.q, s.multiplier / 2, s.steps)
    return composed("replace-one" if replaced else "add-remove", s.q, s.multiplier, s.steps)


def _box(a: Assumes) -> bool:
    # the place of a record that draws it is a mean over walks
    return a.bounded and a.released == "last-iterate" and a.sampling not in ("shuffled", "reshuffled")


FAMILIES = (
    Family("linear", "all others have a flat or quadratic loss; the record's slope against its opposite, or none",
           ("against",), _box, _walks(_linear)),
    Family("flipped", "all records pull the same way as hard as they may; one is turned round",
           ("start",), lambda a: _box(a) and a.relation == "replace-one", _walks(_flipped)),
    Family("convex", "others quadratic with a constant drift to a wall; the record quadratic with all slope left",
           ("others_curvature", "others_drift", "record_curvature", "against", "start"), _box, _walks(_convex)),
    Family("trap-plateau", "others pull to one wall, then lie on a slow plateau, then pull to the other",
           ("trap_end", "plateau_end", "plateau_level", "start"), lambda a: _box(a) and not a.convex, _walks(_trap)),
    Family("linear-unbounded", "constant gradients, no walls", ("against",),
           lambda a: not a.bounded and a.released == "last-iterate" and not a.strongly_convex, _linear_free),
    Family("quadratic-unbounded", "quadratics of one curvature, the record's minimum is moved", ("curvature",),
           lambda a: not a.bounded and a.released == "last-iterate" and a.strongly_convex, _quadratic),
    Family("composition", "constant gradients, every iterate is seen", ("against",),
           lambda a: a.released == "all-iterates", _composition),
)  # fmt: skip


def admitted(assumes: Assumes) -> list[Family]:
    """The families whose hypotheses the assumptions hold."""
    return [family for family in FAMILIES if family.admits(assumes)]
