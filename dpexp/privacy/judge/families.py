"""Families of exact pairs, and which of them a bound's assumptions admit.

A family turns a setting and a few shape numbers in [0, 1] into the exact laws of two neighbours' releases, or says that
it has none there. Everything is in noise units: h half the width of the set, u the largest drift of a batch, eta m and
eta M the curvatures that the losses may have.

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
from dpexp.accounting.epochs import EpochLoss, epoch_loss
from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.mixtures import GaussianMixture, renyi_of
from dpexp.accounting.sampling import Scheme
from dpexp.accounting.steps import step_loss
from dpexp.privacy.exact import memory, runs
from dpexp.privacy.exact.masses import Cells, EitherOrder
from dpexp.privacy.exact.update import Drift, Update, affine, constant
from dpexp.privacy.judge.kinds import Attained
from dpexp.privacy.judge.setting import Assumes, Setting

MOST_SIZES = 70
"""batch sizes that a step of Poisson sampling may mix: each is a map of its own, by which a walk becomes slower"""

Build = Callable[[Setting, Assumes, Sequence[float]], Attained | None]


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
    own_setting: Callable[[Sequence[float] | np.ndarray, Sequence[float], Assumes], Setting] | None = None
    """where the family needs settings of its own"""


@dataclass(frozen=True)
class Composed:
    """All iterates of constant gradients: the loss of a step, summed, as privacy statements have it."""

    pair: Scheme
    q: float
    multiplier: float
    """noise over the distance that one record moves a step"""
    steps: int

    def eps(self, delta: float) -> float:
        return step_loss(self.q, self.multiplier, self.pair).attained(self.steps, delta)

    def renyi(self, order: float) -> float:
        # Renyi divergences of independent steps add up
        present = self._mixture(self.q, 1 / self.multiplier)
        other = present.mirrored if self.pair == "replace-one" else self._mixture(1.0, 0.0)
        return self.steps * max(renyi_of(present, other, order), renyi_of(other, present, order)) * (1 - 1e-9)

    @staticmethod
    def _mixture(q: float, mean: float) -> GaussianMixture:
        """Of a step whose record moves the mean by so much with probability q."""
        moved = np.array([1 - q, q])
        return GaussianMixture(np.array([0.0, mean])[moved > 0], np.log(moved[moved > 0]), 1.0)

    @property
    def variation(self) -> float:
        sides = 2 if self.pair == "replace-one" else 1
        return min(0.9, self.q * math.erf(1 / self.multiplier / 2**1.5) * math.sqrt(self.steps) * sides)


@dataclass(frozen=True)
class Allocated:
    """The same, a record being in one random batch of every epoch."""

    epoch: EpochLoss
    epochs: int

    def eps(self, delta: float) -> float:
        return self.epoch.attained(self.epochs, delta)

    def renyi(self, order: float) -> float:
        return self.epochs * self._one.renyi(order)

    @property
    def variation(self) -> float:
        return min(0.9, self._one.variation * math.sqrt(self.epochs))

    @property
    def _one(self) -> EitherOrder:
        """What an epoch attains."""
        atoms = self.epoch.dominated
        return EitherOrder(Cells(atoms.p, atoms.q, atoms.relative))


@dataclass(frozen=True)
class Normal:
    """Two normal laws mu deviations apart."""

    mu: float

    def eps(self, delta: float) -> float:
        return eps_of(self.mu, delta) * (1 - 1e-12)

    def renyi(self, order: float) -> float:
        return order * self.mu**2 / 2 * (1 - 1e-12)

    @property
    def variation(self) -> float:
        return math.erf(self.mu / 2**1.5)


def walk(
    s: Setting,
    assumes: Assumes,
    others: Drift,
    one: Drift,
    other: Drift,
    start: float = 0.0,
) -> Attained | None:
    """The pair of walks; `other` is what replaces the record, and is left out where it is removed."""
    if assumes.sampling == "poisson" and others.largest > 0 and runs.count_of_sizes(s.n, s.q) > MOST_SIZES:
        return None
    first = Update(assumes.sampling, s.n, s.batch_size, s.steps, s.width / 2, others, one, _latest(s), start)
    return runs.pair(first, replace(first, record=other if assumes.relation == "replace-one" else None))


def _latest(s: Setting) -> int:
    """(c): the batch that takes the last step."""
    return (s.steps - 1) % s.batches


def _bounded_last(a: Assumes) -> bool:
    return a.bounded and a.released == "last-iterate"


def _linear_walk(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    h, u = s.width / 2, s.largest_drift
    # (a)
    room = u - s.flattest * h
    if room <= 1e-9 * u:
        return None
    none = affine(-s.flattest, 0.0, h)
    sign = 1.0 if shape[0] < 0.5 else 0.0  # (b): against the opposite record, or one without a slope
    return walk(s, a, none, affine(-s.flattest, room, h), affine(-s.flattest, -sign * room, h))


def _flipped_walk(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    h, u = s.width / 2, s.largest_drift
    room = u - s.flattest * h
    if room <= 1e-9 * u:
        return None
    steep, back = affine(-s.flattest, room, h), affine(-s.flattest, -room, h)
    return walk(s, a, steep, back, steep, (2 * shape[0] - 1) * h)


def _convex_walk(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    """Others: a quadratic with a constant drift to a wall; the record: a quadratic of its own, and steep."""
    h, u = s.width / 2, s.largest_drift
    top = min(s.steepest if math.isfinite(s.steepest) else 2.0, u / h)
    low = min(s.flattest, top)
    # (a), for the others and for the record
    bend, own = low + shape[0] * (top - low), low + shape[2] * (top - low)
    drift = (2 * shape[1] - 1) * (u - bend * h)
    room = u - own * h
    if room <= 1e-9 * u:
        return None
    sign = 1.0 if shape[3] < 0.7 else 0.0
    return walk(
        s,
        a,
        affine(-bend, drift, h),
        affine(-own, room, h),
        affine(-own, -sign * room, h),
        (2 * shape[4] - 1) * h,
    )


def _trap(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    """Back to the left wall up to a, slow on a plateau up to e, on to the right wall beyond; the steps are sharp."""
    h, u = s.width / 2, s.largest_drift
    begin = (-0.3 + 1.1 * shape[0]) * h
    end = begin + (0.02 + 0.98 * shape[1]) * (h - begin)
    level = (2 * shape[2] - 1) * 0.3 * min(u, h)
    back = min(u, 2 * h + 8)  # a longer way than the set is wide ends at the wall just so
    # a knot that stands twice is a jump
    others = Drift((-h, begin, begin, end, end, h), (-back, -back, level, level, back, back))
    return walk(s, a, others, constant(u), constant(-u), (2 * shape[3] - 1) * h)


def _repelling(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    h, u = s.width / 2, s.largest_drift
    bend = shape[0] * min(u / h, 1.0)
    return walk(s, a, affine(bend, 0.0, h), constant(u), constant(-u if shape[1] < 0.7 else 0.0))


def _sine(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    """A wave of one to three periods, on 8 knots a period."""
    h, u = s.width / 2, s.largest_drift
    # eight knots a period: the wave is 45 degrees from one to the next
    count = 8 * (1 + round(2 * shape[0]))
    size = shape[1] * min(u, 3.0)
    knots = tuple(-h + 2 * h * k / count for k in range(count + 1))
    values = tuple(size * math.sin(math.pi * k / 4 + 2 * math.pi * shape[2]) for k in range(count + 1))
    return walk(s, a, Drift(knots, values), constant(u), constant(-u))


def _free(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    """Any drift of the others through seven knots, of up to four noise units, or two where batches have many sizes."""
    h, u = s.width / 2, s.largest_drift
    knots = tuple(-h + h * k / 3 for k in range(7))
    values = tuple((2 * x - 1) * min(u, 2.0 if a.sampling == "poisson" else 4.0) for x in shape[:7])
    return walk(s, a, Drift(knots, values), constant(u), constant(-u), (2 * shape[7] - 1) * h)


def _memory_numbers(x: Sequence[float] | np.ndarray, shape: Sequence[float]) -> tuple[memory.Memory, int, int]:
    """The chain, batch size and number of batches of a point."""
    q = 10 ** (-3.3 + 2.3 * x[0])
    kappa = 0.4 * (2.0 / 0.4) ** x[3]
    steps = max(1, round(10 ** (4.5 * x[2])))
    states = 2 + round(14 * shape[1] ** 2)
    chain = memory.Memory(q, kappa, 0.05 * (6 / 0.05) ** shape[0], states, steps)
    # so large a batch that the others' drift is a hundredth of b kappa, which the record's own takes of the clip
    batch = math.ceil(100 * chain.largest_drift / kappa)
    return chain, batch, max(2, round(1 / q))


def _memory_setting(x: Sequence[float] | np.ndarray, shape: Sequence[float], a: Assumes) -> Setting:
    chain, batch, batches = _memory_numbers(x, shape)
    u = chain.needs(batch)
    lipschitz, step_size = 10 ** (2 * x[7] - 1), 10 ** (2 * x[8] - 2)
    noise_std = lipschitz / u
    width = chain.width * step_size * noise_std
    return Setting(batch * batches, batch, chain.steps, step_size, noise_std, lipschitz, width)


def _memory(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    """What the setting allows: as many cells as fit, kappa what the clip leaves."""
    step = 0.05 * (6 / 0.05) ** shape[0]
    # the set has to be whole cells wide, or the walls would cut the last one
    states = math.floor(s.width / memory.W + 1e-9)
    if states < 2 or s.q >= 1:
        return None
    states = min(states, 2 + round(14 * shape[1] ** 2))
    if states * memory.W < s.width * (1 - 1e-9):
        return None
    u, kappa = s.largest_drift, 1 / s.multiplier
    # kappa is what the chain's drift leaves of u for each record, and the drift has kappa in it
    for _ in range(4):
        if kappa <= 0.05:
            return None
        kappa = (u - memory.Memory(s.q, kappa, step, states, s.steps).largest_drift) / s.batch_size
    chain = memory.Memory(s.q, kappa * (1 - 1e-9), step, states, s.steps) if kappa > 0.05 else None
    return chain.pair if chain is not None and chain.needs(s.batch_size) <= u * (1 + 1e-9) else None


def _linear_free(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    """Linear losses on an unbounded set."""
    replaced = a.relation == "replace-one"
    flipped = replaced and a.sampling != "poisson" and shape[0] < 0.5
    if a.sampling == "full-batch" or s.q == 1:
        uses = s.steps
    elif a.sampling == "cyclic":
        # (c): its batch is one that an unfinished epoch has too
        uses = s.steps // s.batches + (s.steps % s.batches > 0)
    else:
        found = linear.linear(a.sampling, replaced, s.q, s.multiplier, s.steps, s.batches, flipped)
        return found if len(found.uses.counts) <= 6000 else None
    return Normal((2 if replaced else 1) * uses / s.multiplier / math.sqrt(s.steps))


def _statistic(kind: linear.Statistic) -> Build:
    def build(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
        c = 1.0
        if a.strongly_convex:
            low, high = s.flattest, min(s.steepest, 2.0)
            c = 1 - (low + shape[0] * (high - low))
            # batches of random size contract by random factors, and a removed record takes its curvature with it
            if a.sampling == "poisson" or a.relation == "add-remove":
                return None
        law = linear.statistic_law(
            kind,
            a.sampling,
            a.relation == "replace-one",
            s.q,
            s.multiplier,
            c,
            s.steps,
            s.batches,
            _latest(s) if kind == "last-iterate" else 0,  # the batch whose record weighs most
        )
        if law is None and kind == "last-iterate" and a.strongly_convex and abs(c) <= 0.999:
            return _confined(s, a, c)
        return law

    return build


def _confined(s: Setting, a: Assumes, c: float) -> Attained | None:
    """A contracting walk without walls: walls 12 deviations beyond its means change nothing that can be seen."""
    # means are at most 1 / multiplier times a geometric series of |c|, and the variance is that of one of c^2
    farthest = 1 / s.multiplier / (1 - abs(c))
    half = farthest + 12 / math.sqrt(1 - c * c)
    if half > 60:
        return None
    boxed = replace(s, diameter=2 * half * s.parameter_noise_std)
    bend = -(1 - c)
    step = s.largest_drift
    return walk(boxed, a, affine(bend, 0.0, half), affine(bend, step, half), affine(bend, -step, half))


def _composition(s: Setting, a: Assumes, shape: Sequence[float]) -> Attained | None:
    step, replaced = 1 / s.multiplier, a.relation == "replace-one"
    distance = 2 * step if replaced else step
    if a.sampling == "full-batch" or s.q == 1:
        return Normal(distance * math.sqrt(s.steps))
    epochs, left = divmod(s.steps, s.batches)
    if a.sampling == "cyclic":
        return Normal(distance * math.sqrt(epochs + (left > 0)))
    if a.sampling in ("shuffled", "reshuffled"):
        if epochs == 0:
            return None
        # one secret order: the sums of a batch over the epochs are one epoch of less noise
        far, times = (distance * math.sqrt(epochs), 1) if a.sampling == "shuffled" else (distance, epochs)
        loss = epoch_loss(far, s.batches)
        return Allocated(loss, times) if loss.written else None
    if a.sampling == "poisson":
        return Composed("replace-one" if replaced else "add-remove", s.q, s.multiplier, s.steps)
    if shape[0] < 0.7:  # all others pull one way, and one record is turned round
        return Composed("add-remove", s.q, s.multiplier / 2, s.steps)
    return Composed("replace-one", s.q, s.multiplier, s.steps)


FAMILIES = (
    Family("linear", "all others have a flat or quadratic loss; the record's slope against its opposite, or none",
           ("against",), _bounded_last, _linear_walk),
    Family("flipped", "all records pull the same way as hard as they may; one is turned round",
           ("start",), lambda a: _bounded_last(a) and a.relation == "replace-one", _flipped_walk),
    Family("convex", "others quadratic with a constant drift to a wall; the record quadratic with all slope left",
           ("others_curvature", "others_drift", "record_curvature", "against", "start"), _bounded_last, _convex_walk),
    Family("trap-plateau", "others pull to one wall, then lie on a slow plateau, then pull to the other",
           ("trap_end", "plateau_end", "plateau_level", "start"), lambda a: _bounded_last(a) and not a.convex, _trap),
    Family("repelling", "others push away from the middle", ("strength", "against"),
           lambda a: _bounded_last(a) and not a.convex, _repelling),
    Family("sine", "others' gradients are a wave", ("periods", "size", "phase"),
           lambda a: _bounded_last(a) and not a.convex and a.sampling != "poisson", _sine),
    Family("free", "others' gradients take any value at seven places, linear between",
           (*(f"at_{k}" for k in range(7)), "start"), lambda a: _bounded_last(a) and not a.convex, _free),
    Family("memory", "a clipped loss that counts what the record did in the place of the iterate",
           ("step", "states"),
           lambda a: _bounded_last(a) and not (a.convex or a.smooth) and a.sampling == "fixed-size", _memory,
           _memory_setting),
    Family("linear-unbounded", "constant gradients, no walls",
           ("against",), lambda a: not a.bounded and a.released == "last-iterate" and not a.strongly_convex,
           _linear_free),
    Family("quadratic-unbounded", "quadratics of one curvature, the record's minimum is moved",
           ("curvature",), lambda a: not a.bounded and a.released == "last-iterate" and a.strongly_convex,
           _statistic("last-iterate")),
    Family("average", "constant gradients or quadratics; the average of the iterates",
           ("curvature",), lambda a: not a.bounded and a.released == "average", _statistic("average")),
    Family("composition", "constant gradients, every iterate is seen",
           ("against",), lambda a: a.released == "all-iterates", _composition),
)  # fmt: skip


def admitted(assumes: Assumes) -> list[Family]:
    """The families whose hypotheses the assumptions hold."""
    return [family for family in FAMILIES if family.admits(assumes)]
