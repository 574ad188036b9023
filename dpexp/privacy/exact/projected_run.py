"""A mechanism in one dimension, in units of one step's noise, and the neighbours whose exact law is a lower bound.

y' = clip(y + f(y) + Z, -h, h) in a step without the record and y + (1 - 1/b) f(y) + r(y) / b + Z in a step with it (of
Poisson batches: k / b times f, k ~ Bin(n - 1, q)), with |f| <= u and |r| <= u, u = eta C / noise. The factor 1 - 1/b is
the place of the record in its batch: without it the others would pull harder than b records may.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from dpexp.accounting.binomials import poisson_sizes
from dpexp.privacy.exact.update import Drift, Update, affine, constant

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

    def neighbors(self) -> list[tuple[Update, Update]]:
        """Pairs of runs from the middle: the record pulls as hard as it may, the others by their curvature alone.

        The other data set has a record of the opposite slope, or none; where steps turn round, also a flat one.
        """
        h, u = self.half_width, self.reach
        if self.convex:
            others = affine(-self.bend, 0.0, h)
            own, opposite, flat = (affine(-self.bend, s * self.room, h) for s in (1, -1, 0))
        else:
            others = Drift((-h, h), (0.0, 0.0))
            own, opposite, flat = constant(u), constant(-u), constant(0.0)
        one = Update(self.sampling, self.n, self.batch_size, self.steps, h, others, own)
        records = [opposite, flat] if self.turning else [opposite]
        return [(one, replace(one, record=record)) for record in (records if self.replaced else [None])]
