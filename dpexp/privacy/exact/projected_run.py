"""What a search for the worst pair of neighbours needs to know of a mechanism, in units of one step's noise.

y' = clip(y + f(y) + Z, -h, h) in a step without the record and y + (1 - 1/b) f(y) + r(y) / b + Z in a step with it (of
Poisson batches: k / b times f, k ~ Bin(n - 1, q)), with |f| <= u and |r| <= u, u = eta C / noise. The factor 1 - 1/b is
the place of the record in its batch: without it the others would pull harder than b records may.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

from dpexp.privacy.accounting.binomials import poisson_sizes
from dpexp.privacy.exact.runs import count_of_sizes

WIDEST = 60.0
"""noise units: wider sets take minutes, and there the memory of `dpexp.privacy.exact.memory` tells more"""
NO_LAW = "without steps or without noise there is no law to search"
MOST_SIZES = 400
"""batch sizes that a step of Poisson sampling may mix"""
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
