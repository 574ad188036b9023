"""Tree-aggregated momentum: `momentum`, Theorem 4, and the exact sensitivities of its nodes."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field

from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import ALL, Analysis, attained, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps
from dpexp.privacy.momentum.trees import fixed_order, printed_count, reshuffled_bound, squared_sensitivities

NOISE = "node noise independent of the data"
DRAWN = "permutations drawn before the data are used; the noise is set to the order that was drawn"


class NoisyTreeMomentum(Mechanism):
    """Momentum from the nodes of a binary tree, T steps on one record each.

    Node noise is 4 alpha G sigma sqrt(V) (`paper`), or 2 alpha G sigma sqrt(S) with the exact squared sensitivity S
    of the left nodes, which is all that is released (`exact`). Other designs of the noise are always `exact`.
    """

    noise_field: ClassVar[str] = "sigma"
    noise_for_all_steps: ClassVar[bool] = True
    n: Records
    steps: Steps
    momentum: Annotated[float, Field(gt=0, le=1)]
    """alpha, the weight of the newest gradient"""
    lipschitz: Size
    sigma: Noise
    """noise multiplier of the whole run: by the paper's argument, or exactly, it is 1 / sigma-GDP"""
    order: Literal["fixed", "reshuffled"] = "fixed"
    calibration: Literal["paper", "exact"] = "paper"
    design: Literal["tree", "square-root", "independent"] = "tree"

    def upper_bounds(self) -> list[Analysis]:
        mu = 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma
        if self.design != "tree" or self.calibration == "exact":
            return [self._exact(mu)]
        refused, exact = self._not_theorem_4, self._exact(mu)
        if refused:
            refused += f"; {exact.name} has what holds: this noise is {up(exact.mu or 0.0)}-GDP"
        assumptions = ("one order of the records, repeated in every epoch", NOISE)
        source = "momentum, Theorem 4, as Gaussian DP"
        return [gaussian_analysis("tree-composition", source, ALL, mu, assumptions, refused), exact]

    @property
    def _not_theorem_4(self) -> str:
        """Why the printed noise need not be 1 / sigma-GDP; empty where it is.

        (a) It is 4 alpha G sigma sqrt(V) a node, so that mu^2 = S / (4 V sigma^2), S the squared sensitivity of the
        left nodes in units of (2 alpha G)^2. (b) In one order that repeats, uses of a record are N steps apart. A node
        of level b <= f = floor(log2 N) holds at most one, of weight at most 1, and K = ceil(T / N) nodes of a level
        hold any: S has at most K from it. V has T / N, and K <= 4 T / N where T >= N / 4: K = 1 for T <= N, and K <
        T / N + 1 <= 2 T / N beyond. (c) A longer node weighs at most 1 / (1 - (1 - alpha)^N) <= 2 if (1 - alpha)^N <=
        1/2, and V counts all floor(T / 2^b) of a level: S has at most 4 times as much. So S <= 4 V, whether or not N
        divides T. (d) With T < N / 4 it can be false: T = 1 has S = 1 and V = 1 / N. alpha matters in (c) alone.
        """
        if self.order == "reshuffled":
            return "a node's sensitivity can exceed the printed 4 alpha G when epochs are reshuffled"
        if 0 < 4 * self.steps < self.n:  # (d)
            counted = f"{self.steps / self.n:.4g} nodes of a level where one holds a record"
            return f"needs a quarter of an epoch: V counts {counted}"
        if self.steps and -math.expm1(self.n * math.log1p(-min(self.momentum, 1 - 1e-16))) < 0.5:  # (c)
            return "needs (1 - alpha)^n <= 1/2, so that a node's sensitivity stays below 4 alpha G"
        return ""

    def _exact(self, mu: float) -> Analysis:
        """From the squared sensitivities of what is released, over the node noise that is used."""
        fixed = self.order == "fixed"
        source = "exact sensitivities of the nodes in use, as Gaussian DP"
        # The printed noise is 4 alpha G sigma sqrt(V) a node, and the exact one of mu = 1 would be 2 alpha G sqrt(S):
        # mu is the second over the first. Other noise is set to S already.
        if self.calibration != "exact" and self.design == "tree":
            if 0 < mu < math.inf:
                held = _largest(self.n, self.steps, self.momentum, fixed)
                mu *= math.sqrt(held / printed_count(self.n, self.steps)) / 2
            where = "one order of the records, repeated in every epoch" if fixed else "any order of every epoch"
            source += "" if fixed else " (an upper bound over all orders)"
            return gaussian_analysis("exact-sensitivities", source, ALL, mu, (where, NOISE))
        return gaussian_analysis("exact-sensitivities", source, ALL, mu, (DRAWN, NOISE))

    def lower_bounds(self) -> list[Analysis]:
        """Gradients that do not move: what is exact of the sensitivities is attained, over all orders it is a bound."""
        if self.order == "reshuffled" and self.design == "tree" and self.calibration == "paper":
            return []
        pair = "all noisy sums; the record's gradient is G, against -G"
        return [attained("constant-gradients", ALL, pair, self.upper_bounds()[-1].eps)]

    def description(self) -> list[tuple[str, str]]:
        exact = self.calibration == "exact" or self.design != "tree"
        names = {"tree": "left nodes of the tree", "square-root": "square-root factors", "independent": "gradients"}
        kind = "exact" if exact else "printed"
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times the {kind} sensitivity of the whole run, on {names[self.design]}"),
            ("Released", "all noisy sums, and therefore every iterate; not the momentum and gradients without noise"),
        ]


@lru_cache(maxsize=64)
def _largest(n: int, steps: int, alpha: float, fixed: bool) -> float:
    """Largest squared sensitivity over records, in units of (2 alpha G)^2: exact, or over all orders an upper bound."""
    if not fixed:
        return reshuffled_bound(n, steps, alpha)
    return float(np.max(squared_sensitivities(fixed_order(n, steps), alpha)))
