"""A mechanism in one dimension, in units of one step's noise, and a pair of neighbours that a search finds for it.

y' = clip(y + f(y) + Z, -h, h) in a step without the record and y + (1 - 1/b) f(y) + r(y) / b + Z in a step with it (of
Poisson batches: k / b times f, k ~ Bin(n - 1, q)), with |f| <= u and |r| <= u, u = eta C / noise. The factor 1 - 1/b is
the place of the record in its batch: without it the others would pull harder than b records may.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal

from dpexp.privacy.accounting.binomials import poisson_sizes
from dpexp.privacy.exact.runs import count_of_sizes
from dpexp.privacy.exact.update import Drift, Update, affine, constant

WIDEST = 60.0
"""noise units: wider sets take minutes, and there the memory of `dpexp.privacy.exact.memory` tells more"""
NO_LAW = "without steps or without noise there is no law to search"
MOST_SIZES = 400
"""batch sizes that a step of Poisson sampling may mix"""
Sampling = Literal["fixed-size", "poisson", "full-batch"]
ROUNDING = 1e-12
"""relative room for the rounding of products at the clip"""


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

    @property
    def sizes(self) -> tuple[float, ...]:
        """The numbers of records in a batch, with the record, between which a step of the losses' curvature tells."""
        # flat losses move a batch of any size alike
        if self.sampling != "poisson" or self.bend == 0:
            return (self.batch_size,)
        return tuple(poisson_sizes(self.n - 1, self.q).counts + 1)

    @property
    def turning(self) -> bool:
        """Whether a step can reverse the order of points: otherwise opposite slopes are the farthest apart."""
        # y -> y (1 - bend k / b) turns round where the largest batch has bend k > b
        return self.bend * self.sizes[-1] > self.batch_size

    def document(self) -> dict[str, Any]:
        """As plain numbers, by which a stored pair says whose it is."""
        return asdict(self)

    def searchable(self) -> ProjectedRun:
        """This run. Raises NotSearched where its laws take too long, or leave nothing to search."""
        if not 2 * self.half_width <= WIDEST:
            raise NotSearched(f"needs a set at most {WIDEST:g} noise units wide; it is {2 * self.half_width:g}")
        if self.sampling == "poisson" and count_of_sizes(self.n, self.q) > MOST_SIZES:
            raise NotSearched(f"the batches have more than {MOST_SIZES} sizes that matter")
        if self.convex and self.room <= 0:
            raise NotSearched("the curvature leaves no room for a linear part of the gradient")
        return self


class NotSearched(ValueError):
    """No pair can be searched for; says why."""


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
