"""What a search for the worst pair of neighbours needs to know of a mechanism, in units of one step's noise.

y' = clip(y + f(y) + Z, -h, h) in a step without the record and y + (1 - 1/b) f(y) + r(y) / b + Z in a step with it (of
Poisson batches: k / b times f, k ~ Bin(n - 1, q)), with |f| <= u and |r| <= u, u = eta C / noise. The factor 1 - 1/b is
the place of the record in its batch: without it the others would pull harder than b records may.
"""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from dpexp.privacy.exact.runs import count_of_sizes
from dpexp.privacy.exact.update import Drift, Update, affine, constant
from dpexp.privacy.mechanisms.clipped_noisy_sgd import ClippedNoisySgd
from dpexp.privacy.mechanisms.langevin import Langevin
from dpexp.privacy.mechanisms.mechanism import Mechanism
from dpexp.privacy.mechanisms.noisy_sgd import NoisySgd

ROUNDING = 1e-12
"""relative room for the rounding of products at the clip"""
Sampling = Literal["fixed-size", "poisson", "full-batch"]


@dataclass(frozen=True)
class ProjectedRun:
    """A mechanism on a bounded set in one dimension."""

    sampling: Sampling
    n: int
    batch_size: int
    steps: int
    half_width: float
    """h, half of the set's diameter"""
    reach: float
    """u, the longest step of a batch without its noise"""
    replaced: bool
    """whether the neighbour has another record in the place, or none"""
    convex: bool = False
    bend: float = 0.0
    """eta m: convex losses are quadratics of this curvature, with a linear part"""

    @property
    def q(self) -> float:
        """Probability that a record is in a batch."""
        return 1.0 if self.sampling == "full-batch" else self.batch_size / self.n

    @property
    def room(self) -> float:
        """The linear part that the clip leaves beside the curvature, at the wall where both add up."""
        return self.reach - self.bend * self.half_width

    def document(self) -> dict[str, Any]:
        """As plain numbers, by which a stored pair says whose it is."""
        return asdict(self)


class NotAllowed(ValueError):
    """A pair breaks the clip, leaves the set, or is not convex where it has to be."""


@dataclass(frozen=True)
class Pair:
    """What the others do, where the run starts, and the record: in parts of the half width and of the reach."""

    knots: tuple[float, ...]
    """places, from -1 to 1"""
    values: tuple[float, ...]
    """the others' drift there, linear between, from -1 to 1"""
    start: float
    """from -1 to 1"""
    record: float = 1.0
    """1 or -1: the record's drift; the neighbour has the opposite one, or no record"""
    delta: float = 1e-5
    """at which it was searched for"""

    def complaint(self, run: ProjectedRun) -> str:
        """Why these are not neighbours of that mechanism; empty if they are. Piecewise linear: the knots are enough."""
        knots, values = self.knots, self.values
        if len(knots) != len(values) or len(knots) < 2 or (knots[0], knots[-1]) != (-1.0, 1.0):
            return "the drift has one value at each knot from wall to wall"
        if not all(a < b for a, b in pairwise(knots)):
            return "knots increase"
        if not (all(abs(v) <= 1 for v in values) and abs(self.start) <= 1 and abs(self.record) == 1):
            return "a drift is longer than the clip allows, or the start is outside of the set"
        if run.convex and len(set(values)) > 1:
            return "convex losses of one curvature have a linear part alone"
        if run.convex and run.room <= 0:
            return "the curvature leaves no room for a linear part"
        return ""

    def updates(self, run: ProjectedRun) -> tuple[Update, Update]:
        """The two neighbours' runs. Raises NotAllowed where the clip or convexity does not hold."""
        if wrong := self.complaint(run):
            raise NotAllowed(wrong)
        h, u = run.half_width, run.reach
        if run.convex:
            others = affine(-run.bend, self.values[0] * run.room, h)
            own, opposite = (affine(-run.bend, s * self.record * run.room, h) for s in (1, -1))
        else:
            others = Drift(tuple(k * h for k in self.knots), tuple(v * u for v in self.values))
            own, opposite = constant(self.record * u), constant(-self.record * u)
        if max(d.largest for d in (others, own, opposite)) > u * (1 + ROUNDING):
            raise NotAllowed("a drift is longer than the clip allows")
        w, at = run, self.start * h
        runs = [
            Update(w.sampling, w.n, w.batch_size, w.steps, h, others, record, 0, at)
            for record in (own, opposite if w.replaced else None)
        ]
        return runs[0], runs[1]

    def text(self, run: ProjectedRun) -> str:
        """The pair in words."""
        against = "the opposite one" if run.replaced else "none"
        sign = "" if self.record > 0 else "-"
        begin = f"the run starts at {self.start:.3g} h"
        if run.convex:
            drift = f"{self.values[0] * self.record:.3g} times its gradient"
            bend = " beside their curvature" if run.bend else ""
            return (
                f"one dimension: the record's loss is linear, against {against}; all others have {drift}{bend}; {begin}"
            )
        listed = ", ".join(f"{v:.2g}" for v in self.values)
        return (
            f"one dimension, [-h, h]: the record's step is {sign}eta C / b against {against}; the others' steps over "
            f"eta C are, linear between {len(self.values)} places from wall to wall, {listed}; {begin}"
        )


WIDEST = 60.0
"""noise units: wider sets take minutes, and there the memory of `dpexp.privacy.exact.memory` tells more"""
MOST_SIZES = 400
"""batch sizes that a step of Poisson sampling may mix"""


class NotSearched(ValueError):
    """No pair can be searched for; says why."""


def projected_run(mechanism: Mechanism) -> ProjectedRun:
    """The mechanism in noise units. Raises NotSearched."""
    if isinstance(mechanism, Langevin):
        return projected_run(mechanism.as_noisy_sgd)
    if not isinstance(mechanism, NoisySgd | ClippedNoisySgd):
        raise NotSearched("a pair can be searched for noisy-sgd, clipped-noisy-sgd and langevin")
    noise, sampling = mechanism.noise_std, mechanism.sampling
    if not (mechanism.steps > 0 and 0 < noise < math.inf):
        raise NotSearched("without steps or without noise there is no law to search")
    if sampling not in ("fixed-size", "poisson", "full-batch"):
        raise NotSearched("searched with a fresh batch in every step, or a full one")
    replaced = mechanism.neighboring_relation == "replace-one"
    if sampling == "fixed-size" and not replaced:
        raise NotSearched("batches of fixed size are defined for replace-one neighbours")
    if sampling == "full-batch" and mechanism.batch_size != mechanism.n:
        raise NotSearched("full batches hold all n records: give batch_size = n")
    if isinstance(mechanism, NoisySgd):
        width, reach = mechanism.width, mechanism.lipschitz / noise  # eta L over eta noise_std
        convex = mechanism.smoothness is not None or mechanism.strong_convexity > 0
        bend = mechanism.step_size * mechanism.strong_convexity
    else:
        width, reach, convex, bend = (
            mechanism.diameter / noise,
            mechanism.step_size * mechanism.clip / noise,
            False,
            0.0,
        )
    if not width <= WIDEST:
        raise NotSearched(f"needs a set at most {WIDEST:g} noise units wide; it is {width:g}")
    found = ProjectedRun(
        sampling, mechanism.n, mechanism.batch_size, mechanism.steps, width / 2, reach, replaced, convex, bend
    )
    if sampling == "poisson" and count_of_sizes(found.n, found.q) > MOST_SIZES:
        raise NotSearched(f"the batches have more than {MOST_SIZES} sizes that matter")
    if convex and found.room <= 0:
        raise NotSearched("the curvature leaves no room for a linear part of the gradient")
    return found
