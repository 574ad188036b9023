"""One message about a bounded vector under pure differential privacy: `dpexp fit --eps`, a run with `delta: 0`."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar

from pydantic import Field

from dpexp.privacy.analyses.analysis import ALL, Analysis, attained, guarantee
from dpexp.privacy.cap import MOST_EPS, cap, eps_at
from dpexp.privacy.mechanisms.mechanism import Mechanism

SOURCE = "Bhowmick and others (2018), Asi, Feldman and Talwar (2022); delta from opposite directions, docs page privacy"
HOLDS = (
    "a record sends one message, whose vector is no longer than stated",
    "directions are drawn and compared in floating point: their caps differ in probability by a relative 1e-10 at most",
)


class CapSampling(Mechanism):
    """A random direction, more often from the cap about the record's own."""

    noise_field: ClassVar[str] = "pure_eps"
    more_noise_is_larger: ClassVar[bool] = False
    pure_eps: Annotated[float, Field(gt=0, le=MOST_EPS)]
    """of the message, with delta = 0"""
    dimension: Annotated[int, Field(ge=2, le=100_000)]
    """of the vector"""

    def upper_bounds(self) -> list[Analysis]:
        inside = cap(self.pure_eps, self.dimension).inside

        def eps(delta: float) -> float:
            return eps_at(self.pure_eps, inside, delta) * (1 + 1e-12)

        return [guarantee("cap-sampling", SOURCE, ALL, eps, HOLDS)]

    def lower_bounds(self) -> list[Analysis]:
        """Opposite directions; the slack with which epsilon is computed is not attained."""
        # the two likelihoods inside and outside of the cap, each over its share of all directions
        numbers = cap(self.pure_eps, self.dimension)
        largest = math.log(numbers.inside / numbers.q) - math.log((1 - numbers.inside) / (1 - numbers.q))

        def eps(delta: float) -> float:
            return eps_at(largest, numbers.inside, delta) * (1 - 1e-12)

        return [attained("opposite-directions", ALL, "two vectors of the largest norm, one against the other", eps)]

    def description(self) -> list[tuple[str, str]]:
        numbers, p = cap(self.pure_eps, self.dimension), self.dimension
        return [
            ("Protected", f"every record against who sees its message; neighbours: {self.neighboring_relation}"),
            ("Released", f"a direction in {p} dimensions, with probability {numbers.inside:.5g} from the cap"),
            ("Budget", f"epsilon {self.pure_eps:g} with delta = 0 (proof: docs page notes-accounting)"),
            ("Cap", f"directions with a cosine of {numbers.gamma:.5g} or more to the record's: {numbers.q:.5g} of all"),
            ("Noise", f"{1 / (numbers.m * math.sqrt(p)):.5g} largest norms in a coordinate"),
        ]
