"""Tree-aggregated momentum: `momentum`, Theorem 4."""

from __future__ import annotations

import math
from typing import Annotated, ClassVar, Literal

from pydantic import Field

from dpexp.privacy.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps


class TreeMomentum(Mechanism):
    """Momentum from the nodes of a binary tree; node noise 4 alpha G sigma sqrt(V), V nodes hold a record at most."""

    noise_field: ClassVar[str] = "sigma"
    n: Records
    steps: Steps
    momentum: Annotated[float, Field(gt=0, le=1)]
    """alpha, the weight of the newest gradient"""
    lipschitz: Size
    sigma: Noise
    """noise multiplier of the whole tree: the mechanism is 1 / sigma-GDP"""
    order: Literal["fixed", "reshuffled"] = "fixed"

    def analyses(self) -> list[Analysis]:
        mu = 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma
        refused = ""
        if self.order == "reshuffled":
            refused = (
                "a node's sensitivity can exceed the printed 4 alpha G when epochs are reshuffled; "
                "the whole budget is not exceeded in any case tried, which is no proof"
            )
        elif self.steps and -math.expm1(self.n * math.log1p(-min(self.momentum, 1 - 1e-16))) < 0.5:
            refused = "needs (1 - alpha)^n <= 1/2, so that a node's sensitivity stays below 4 alpha G"
        assumptions = ("one order of the records, repeated in every epoch", "node noise independent of the data")
        source = "momentum, Theorem 4, as Gaussian DP"
        return [gaussian_analysis("tree-composition", source, ALL, mu, assumptions, refused)]

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times the printed sensitivity of the whole tree"),
            ("Released", "all tree nodes, and therefore every iterate"),
        ]
