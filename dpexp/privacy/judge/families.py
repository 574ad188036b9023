"""Families of exact pairs, and which of them a bound's assumptions admit.

A family turns a run and a few shape numbers in [0, 1] into the exact laws of two neighbours' releases, or has none
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
from dpexp.accounting.pairs import Scheme, distance
from dpexp.privacy.exact import run_laws
from dpexp.privacy.exact.update import Drift, Update, affine, constant
from dpexp.privacy.judge.setting import Assumes, AttainedLaw
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd
from dpexp.privacy.samplings import visits

MOST_SIZES = 70
"""batch sizes that a step of Poisson sampling may mix: each is a map of its own, by which a walk becomes slower"""
MOST_COUNTS = 15_000
"""numbers of uses of a record that a law without walls may have"""
Shape = Sequence[float]
Build = Callable[[NoisySgd, Shape], AttainedLaw | None]


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


# --- walks between walls ---

Drifts = tuple[Drift, Drift, Drift, float]
"""of a batch of others, of the record and of what replaces it, and the start"""


def _latest(run: NoisySgd) -> int:
    """(c): the batch that takes the last step."""
    return (run.steps - 1) % (run.n // run.batch_size)


def _walks(drifts: Callable[[float, float, NoisySgd, Shape], Drifts | None]) -> Build:
    """The family of such drifts, from h, u and the shape; what replaces the record is left out where it is removed."""

    def build(run: NoisySgd, x: Shape) -> AttainedLaw | None:
        law = drifts(run.width / 2, run.reach, run, x)
        # about as many batch sizes as a step of Poisson sampling mixes
        sizes = min(run.n, 20 * math.sqrt(run.n * run.q * (1 - run.q)) + 20) if run.sampling == "poisson" else 1
        if law is None or (sizes > MOST_SIZES and run.q < 1 and law[0].largest > 0):
            return None
        others, record, other, start = law
        setting = run.sampling, run.n, run.batch_size, run.steps, run.width / 2
        update = Update(*setting, others, record, _latest(run), start)
        replaced = run.neighboring_relation == "replace-one"
        return run_laws.pair(update, replace(update, record=other if replaced else None))

    return build


def _convex(h: float, u: float, run: NoisySgd, x: Shape) -> Drifts | None:
    """Others: a quadratic with a constant drift to a wall; the record: a quadratic of its own, and steep."""
    low = run.step_size * run.strong_convexity
    top = max(low, min(2.0 if run.smoothness is None else run.step_size * run.smoothness, u / h))
    # (a), for the others and for the record
    bend, own = low + x[0] * (top - low), low + x[2] * (top - low)
    room = u - own * h
    if room <= 1e-9 * u:
        return None
    # (b): against the opposite record, or one without a slope
    others, sign = affine(-bend, (2 * x[1] - 1) * (u - bend * h), h), 1.0 if x[3] < 0.7 else 0.0
    return others, affine(-own, room, h), affine(-own, -sign * room, h), (2 * x[4] - 1) * h


def _linear(h: float, u: float, run: NoisySgd, x: Shape) -> Drifts | None:
    return _convex(h, u, run, (0, 0.5, 0, x[0] >= 0.5, 0.5))


def _flipped(h: float, u: float, run: NoisySgd, x: Shape) -> Drifts | None:
    return _convex(h, u, run, (0, 1, 0, 0, x[0]))


def _trap(h: float, u: float, run: NoisySgd, x: Shape) -> Drifts:
    """Back to the left wall up to a, slow on a plateau up to e, on to the right wall beyond; the steps are sharp."""
    begin = (-0.3 + 1.1 * x[0]) * h
    end = begin + (0.02 + 0.98 * x[1]) * (h - begin)
    level = (2 * x[2] - 1) * 0.3 * min(u, h)
    back = min(u, 2 * h + 8)  # a longer way than the set is wide ends at the wall just so
    # a knot that stands twice is a jump
    others = Drift((-h, begin, begin, end, end, h), (-back, -back, level, level, back, back))
    return others, constant(u), constant(-u), (2 * x[3] - 1) * h


# --- no walls ---


def _linear_free(run: NoisySgd, x: Shape) -> AttainedLaw | None:
    """Linear losses on an unbounded set."""
    replaced = run.neighboring_relation == "replace-one"
    flipped = replaced and run.sampling != "poisson" and x[0] < 0.5
    batches = run.n // run.batch_size
    law = linear.linear(run.sampling, replaced, run.q, run.multiplier, run.steps, batches, flipped)
    return law if len(law.counts) <= MOST_COUNTS else None


def _quadratic(run: NoisySgd, x: Shape) -> AttainedLaw | None:
    """Quadratics of one curvature; a removed record would take its own with it, and so does a batch of random size."""
    if run.sampling == "poisson" or run.neighboring_relation == "add-remove":
        return None
    low = run.step_size * run.strong_convexity
    high = 2.0 if run.smoothness is None else min(run.step_size * run.smoothness, 2.0)
    c = 1 - (low + x[0] * (high - low))
    return linear.quadratic(run.sampling, True, run.multiplier, c, run.steps, run.n // run.batch_size, _latest(run))


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
    eps, renyi = (lambda delta: eps_of(mu, delta) * (1 - 1e-12)), (lambda order: order * mu**2 / 2 * (1 - 1e-12))
    return ConstantGradients(eps, renyi, math.erf(mu / 2**1.5), rounded=False)


def composed(pair: Scheme, q: float, multiplier: float, steps: int) -> ConstantGradients:
    """Sampled steps; `multiplier` is noise over the distance that one record moves a step."""
    sides = 2 if pair == "replace-one" else 1
    variation = min(0.9, q * math.erf(1 / multiplier / 2**1.5) * math.sqrt(steps) * sides)
    step = linear.linear("poisson", sides == 2, q, multiplier, 1)
    # Renyi divergences of independent steps add up
    return ConstantGradients(
        step_loss(q, multiplier, pair).times(steps).attained, lambda order: steps * step.renyi(order), variation
    )


def allocated(mu: float, run: NoisySgd, epochs: int) -> ConstantGradients | None:
    """A record in one random batch of every epoch, which moves its sum by mu; Renyi divergences of the last iterate."""
    loss, last = epoch_loss(mu, run.n // run.batch_size), _linear_free(run, (1.0,))
    if not loss.finite or last is None:
        return None
    atoms = loss.dominated
    variation = min(0.9, float(np.maximum(atoms.p - atoms.q, 0.0).sum()) * math.sqrt(epochs))
    return ConstantGradients(loss.times(epochs).attained, last.renyi, variation)


def _composition(run: NoisySgd, x: Shape) -> AttainedLaw | None:
    sampling, relation, multiplier = run.sampling, run.neighboring_relation, run.multiplier
    mu, epochs = distance(relation) / multiplier, run.steps // (run.n // run.batch_size)
    if sampling in ("full-batch", "cyclic") or run.q == 1:
        return normal(mu * math.sqrt(visits(run.steps, run.q) if sampling == "cyclic" else run.steps))
    if sampling in ("shuffled", "reshuffled") and not epochs:
        return None
    if sampling == "shuffled":
        # one secret order: the sums of a batch over the epochs are one epoch of less noise
        return allocated(mu * math.sqrt(epochs), run, 1)
    if sampling == "reshuffled":
        return allocated(mu, run, epochs)
    if sampling == "fixed-size" and x[0] < 0.7:  # all others pull one way, and one record is turned round
        return composed("add-remove", run.q, multiplier / 2, run.steps)
    return composed(relation, run.q, multiplier, run.steps)


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
