"""The mechanisms of `momentum`: trees (Algorithm 1), reduced sensitivities (Algorithm 2), and a recursion of gradients.

Steps are on one record each, or on all of them for the recursion; `sigma` is the noise multiplier of the whole run.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import lru_cache
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dpexp.core.text import up
from dpexp.privacy.analyses.analysis import ALL, Analysis, attained, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise, Records, Size, Steps
from dpexp.privacy.momentum import tree_streams as streams
from dpexp.privacy.momentum.certificates import MomentumSetting, certificate
from dpexp.privacy.momentum.trees import fixed_order, printed_count, reshuffled_bound

NOISE = "node noise independent of the data"
DRAWN = "permutations drawn before the data are used; the noise is set to the order that was drawn"
ONE_ORDER = "one order of the records, repeated in every epoch"
NODES = "exact sensitivities of the nodes in use, as Gaussian DP"
ITERATES = "ours: the iterates alone, over all positions of a record, as Gaussian DP (docs page momentum)"
REPEATED = (
    f"{ONE_ORDER} and independent of the data",
    "every step has length `step_size`; the noisy sums stay secret",
    NOISE,
)
UNCOVERED = "no certificate covers all positions of this size; `python -m tools.momentum_certificates` can make one"
DESIGNS = {"tree": "left nodes of the tree", "square-root": "square-root factors", "independent": "gradients"}


class _Momentum(Mechanism):
    """T steps on n records of gradients no longer than `lipschitz`."""

    noise_field: ClassVar[str] = "sigma"
    noise_for_all_steps: ClassVar[bool] = True
    n: Records
    steps: Steps
    lipschitz: Size
    sigma: Noise
    """multiplier: by the paper's argument, or exactly, the run is 1 / sigma-GDP; sqrt(3) / sigma of Algorithm 2"""

    @property
    def _inverse(self) -> float:
        """1 / sigma; 0 without a release."""
        return 0.0 if self.steps == 0 else math.inf if self.sigma == 0 else 1 / self.sigma

    def described(self, noise: str, released: str) -> list[tuple[str, str]]:
        """The description, with what the noise is and what is released."""
        return [
            ("Protected", "every record against who sees all iterates; neighbours: replace-one"),
            ("Noise", f"{self.sigma:g} times {noise}"),
            ("Released", released),
        ]


class NoisyGradientRecursion(_Momentum):
    """The full-batch recursion: Gaussian steps of two sensitivities, which share the noise (`recursion_stds`)."""

    step_size: Size
    weight: Annotated[float, Field(gt=0, le=1)]
    """gamma, the weight of the newest gradient"""
    smoothness: Size

    def upper_bounds(self) -> list[Analysis]:
        assumptions = ("noise is Gaussian and fresh in every step", "gradients have Lipschitz constant `smoothness`")
        source = "adaptive composition of Gaussian steps, exact"
        return [gaussian_analysis("exact-sensitivities", source, ALL, self._inverse, assumptions)]

    def description(self) -> list[tuple[str, str]]:
        return self.described(
            "the sensitivity of the whole run", f"all {self.steps:,} noisy estimates, and therefore every iterate"
        )


class NoisyTreeMomentum(_Momentum):
    """Momentum from the nodes of a binary tree.

    Node noise is 4 alpha G sigma sqrt(V) (`paper`), or 2 alpha G sigma sqrt(S) with the exact squared sensitivity S
    of the left nodes, which is all that is released (`exact`). Other designs of the noise are always `exact`.
    """

    momentum: Annotated[float, Field(gt=0, le=1)]
    """alpha, the weight of the newest gradient"""
    order: Literal["fixed", "reshuffled"] = "fixed"
    calibration: Literal["paper", "exact"] = "paper"
    design: Literal["tree", "square-root", "independent"] = "tree"

    @property
    def _as_printed(self) -> bool:
        return self.calibration == "paper" and self.design == "tree"

    def upper_bounds(self) -> list[Analysis]:
        if not self._as_printed:  # the noise is set to S
            return [_nodes(self._inverse, DRAWN)]
        mu, fixed = self._inverse, self.order == "fixed"
        # The printed noise is 4 alpha G sigma sqrt(V) a node, and the exact one of mu = 1 would be 2 alpha G sqrt(S):
        # mu is the second over the first.
        if 0 < mu < math.inf:
            mu *= math.sqrt(_largest(self.n, self.steps, self.momentum, fixed) / printed_count(self.n, self.steps)) / 2
        refused, printed = self._not_theorem_4, "momentum, Theorem 4, as Gaussian DP"
        refused += f"; exact-sensitivities has what holds: this noise is {up(mu)}-GDP" if refused else ""
        nodes = _nodes(mu, ONE_ORDER if fixed else "any order of every epoch")
        nodes = nodes if fixed else replace(nodes, source=f"{NODES} (an upper bound over all orders)")
        theorem = gaussian_analysis("tree-composition", printed, ALL, self._inverse, (ONE_ORDER, NOISE), refused)
        return [theorem, nodes]

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

    def lower_bounds(self) -> list[Analysis]:
        """Gradients that do not move: what is exact of the sensitivities is attained, over all orders it is a bound."""
        if self._as_printed and self.order == "reshuffled":
            return []
        pair = "all noisy sums; the record's gradient is G, against -G"
        return [attained("constant-gradients", ALL, pair, self.upper_bounds()[-1].eps)]

    def description(self) -> list[tuple[str, str]]:
        kind = "printed" if self._as_printed else "exact"
        return self.described(
            f"the {kind} sensitivity of the whole run, on {DESIGNS[self.design]}",
            "all noisy sums, and therefore every iterate; not the momentum and gradients without noise",
        )


class NoisyReducedMomentum(_Momentum):
    """Trees over gradients at anchors, their changes and residuals; steps have length `step_size` exactly.

    Node noise is delta sigma sqrt(V) for each stream as printed, or split over the streams (`exact`) and then scaled to
    1 / sigma-GDP of what `accounting` names: of the iterates, which are all that leaves, or of all noisy nodes.
    """

    momentum: Annotated[float, Field(gt=0, le=1)]
    step_size: Size
    smoothness: Size
    order: Literal["fixed", "reshuffled"] = "fixed"
    calibration: Literal["paper", "exact"] = "paper"
    gamma: Annotated[float, Field(gt=0, le=1)] | None = None
    """weight of an epoch's own gradients; min(1/2, L eta N / G) where it is left out"""
    accounting: Literal["iterates", "nodes"] = "nodes"
    """with exact calibration: whose release is 1 / sigma-GDP"""

    @model_validator(mode="after")
    def _covered(self) -> NoisyReducedMomentum:
        if self.accounting == "iterates" and (self.calibration == "paper" or self.order == "reshuffled"):
            raise ValueError("accounting: iterates needs exact calibration and one order that repeats")
        return self

    def upper_bounds(self) -> list[Analysis]:
        mu = inverse = self._inverse
        if self.calibration == "exact":
            # the noise is 1 / sigma-GDP of what `accounting` names, and the other release is off by the certificate's
            # share: what the iterates reveal where all nodes are 1-GDP
            alone, share = self._iterates()
            if alone and alone[0].valid and self.accounting == "iterates":
                mu, alone = inverse / share, [_iterates(inverse)]
            return [_nodes(mu, DRAWN), *alone]
        # three streams of 1 / sigma each make sqrt(3) / sigma by the paper's argument; the exact mu is what they make
        # at sigma = 1, over sigma
        if 0 < inverse < math.inf and self.order == "fixed":
            mu *= _mu_at_one(self.n, self.steps, self.momentum, self.step_size, self.lipschitz, self.smoothness)
        size, refused = (self.n, self.step_size, self.lipschitz), ""
        stds = streams.printed_sensitivities(*size) * np.sqrt(streams.printed_counts(self.n, self.steps))
        needed = 2 * streams.occurrence_sensitivities(*size, self.smoothness) * (1 - 1e-9)
        if self.order == "reshuffled":
            refused = "a node's sensitivity can exceed the printed 4 G when epochs are reshuffled"
        elif np.any(streams.printed_sensitivities(*size) < needed):
            refused = "the printed sensitivity 2 eta N of changes and residuals lacks L and a factor 2"
        elif mu > math.sqrt(3) * inverse * (1 + 1e-9):
            refused = (
                "the printed V counts fewer nodes than hold a record (log2 n is 0 for one record, and an unfinished "
                f"epoch uses one too); exact-sensitivities has what holds: this noise is {up(mu)}-GDP"
            )
        source, printed = "momentum, Theorem 8, as Gaussian DP", math.sqrt(3) * inverse
        analyses = [gaussian_analysis("tree-composition", source, ALL, printed, (ONE_ORDER, NOISE), refused)]
        if self.order == "fixed":
            analyses += [_nodes(mu, ONE_ORDER), *self._iterates(stds / self.lipschitz, mu)[0]]
        return analyses

    def _iterates(self, stds: np.ndarray | None = None, largest: float = math.inf) -> tuple[list[Analysis], float]:
        """The iterates alone, no more than the nodes' `largest`, and their share of what the nodes are at sigma = 1.

        With the certificate's own deviations of the nodes, or others, [4]; nothing without a release and where no order
        repeats.
        """
        if self.order == "reshuffled" or self.steps == 0:
            return [], math.inf
        ratio, inverse = self.smoothness * self.step_size * self.n / self.lipschitz, self._inverse
        stored = certificate(MomentumSetting(self.n, self.steps, self.momentum, self.gamma or min(0.5, ratio), ratio))
        if stored is None:
            return [_iterates(math.inf if inverse > 0 else 0.0, UNCOVERED)], math.inf
        share = stored.mu if stds is None else stored.mu_of(stds)
        # the nodes contain the iterates
        return [_iterates(min(inverse * share, largest) if inverse > 0 else 0.0)], share

    def description(self) -> list[tuple[str, str]]:
        kind = "exact" if self.calibration == "exact" else "printed"
        noise, released = f"the {kind} sensitivity of the streams", "all noisy sums, and therefore every iterate"
        if self.accounting == "iterates":
            noise, released = "what the iterates need by their certificate", "every iterate; not the noisy sums"
        return self.described(noise, f"{released}; not the momentum and gradients without noise")


def _nodes(mu: float, order: str) -> Analysis:
    return gaussian_analysis("exact-sensitivities", NODES, ALL, mu, (order, NOISE))


def _iterates(mu: float, refused: str = "") -> Analysis:
    return gaussian_analysis("certified-iterates", ITERATES, ALL, mu, REPEATED, refused, "tree nodes")


@lru_cache(maxsize=64)
def _largest(n: int, steps: int, alpha: float, fixed: bool) -> float:
    """Largest squared sensitivity over records, in units of (2 alpha G)^2: exact, or over all orders an upper bound."""
    if not fixed:
        return reshuffled_bound(n, steps, alpha)
    # compiled: imported by those who ask
    from dpexp.privacy.momentum.left_nodes import left_sensitivities

    return float(left_sensitivities(fixed_order(n, steps), alpha).max())


@lru_cache(maxsize=64)
def _mu_at_one(n: int, steps: int, alpha: float, eta: float, G: float, L: float) -> float:
    """Exact mu of the printed node noise of Algorithm 2 at sigma = 1, one order that repeats."""
    stds = streams.printed_sensitivities(n, eta, G) * np.sqrt(streams.printed_counts(n, steps))
    return streams.stream_mu(
        streams.stream_sensitivities(n, steps, alpha), streams.occurrence_sensitivities(n, eta, G, L), stds
    )


def recursion_sensitivities(n: int, G: float, L: float, eta: float, gamma: float) -> tuple[float, float]:
    """What replacing a record changes: 2 G / N in the first step, (2 (1 - gamma) L eta + 2 gamma G) / N in a later one.

    Steps have length eta exactly. Both are sensitivities at the same iterates, as adaptive composition needs.
    """
    return 2 * G / n, (2 * (1 - gamma) * L * eta + 2 * gamma * G) / n


def recursion_coefficients(steps: int, gamma: float) -> tuple[float, float]:
    """Mean over t of the variance that unit noise in the first step, and in all later ones, leaves in e_t."""
    # e_t = (1 - gamma) e_{t-1} + noise: a step's noise fades by (1 - gamma)^2 in variance, and these are means of
    # geometric sums
    fade = (1 - gamma) ** 2
    if fade == 1:
        return 1.0, (steps - 1) / 2
    gathered = (1 - fade**steps) / (1 - fade)
    return gathered / steps, (steps - gathered) / ((1 - fade) * steps)


def recursion_stds(n: int, G: float, L: float, steps: int, eta: float, gamma: float) -> tuple[float, float]:
    """Deviations of the noise of the first and of every later step that minimise the mean variance at mu = 1.

    The constraint is a_1^2 / s_1^2 + (T - 1) a^2 / s^2 = 1. Raises ValueError for steps < 1.
    """
    if steps < 1:
        raise ValueError(f"T={steps}: need at least one step")
    first, later = recursion_sensitivities(n, G, L, eta, gamma)
    if steps == 1:
        return first, 0.0
    # by Lagrange s^2 is proportional to the root of cost over weight, and the constraint gives the factor
    costs = first**2, (steps - 1) * later**2
    weights = recursion_coefficients(steps, gamma)
    total = sum(math.sqrt(cost * weight) for cost, weight in zip(costs, weights, strict=True))
    early, late = (math.sqrt(math.sqrt(cost / weight) * total) for cost, weight in zip(costs, weights, strict=True))
    return early, late
