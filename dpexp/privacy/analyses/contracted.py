"""What steps leave of a hockey-stick divergence: bounds on log eta_e(K^R) of R steps, and the fewest steps for a level.

eta_e(K) = sup over y, y' of the hockey stick of K(y) against K(y') at e, and eta_e(K^R) <= eta_e(K)^R
(`dpexp.privacy.analyses.hybrid`). Blocks of steps multiply in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np

from dpexp.privacy.accounting.gdp import delta_of, deltas_of
from dpexp.privacy.accounting.quiet_functions import log
from dpexp.privacy.analyses.last_iterate import shift


class Contracted(Protocol):
    """A bound on log eta_e(K^R) that never rises with R."""

    def __call__(self, steps: int) -> float:
        """The bound for R steps: 0 is no contraction."""

    def fewest(self, level: float) -> float:
        """The fewest steps with a bound of at most `level` < 0; inf where none have one."""


LogContraction = Callable[[float], Contracted]
"""e1 -> the bound on log eta_e1(K^R)"""


@dataclass(frozen=True)
class Extreme:
    """The least of several bounds, or the largest, which holds for each of their kernels."""

    of: Callable[..., float]
    """min or max"""
    bounds: tuple[Contracted, ...]

    def __call__(self, steps: int) -> float:
        return self.of(bound(steps) for bound in self.bounds)

    def fewest(self, level: float) -> float:
        return self.of(bound.fewest(level) for bound in self.bounds)


@dataclass(frozen=True, eq=False)
class Blocks:
    """Blocks of B steps, each with a bound of its own: R = k B + rest, and the rest does not expand."""

    lengths: np.ndarray
    """B, whole numbers [A]"""
    logs: np.ndarray
    """log of a bound on eta_e(K^B), <= 0 [A]"""

    def __call__(self, steps: int) -> float:
        fits = self.lengths <= steps
        return float(np.min((steps // self.lengths[fits]) * self.logs[fits])) if fits.any() else 0.0

    def fewest(self, level: float) -> float:
        return float((_counts(level, self.logs) * self.lengths).min())


def _counts(level: float, logs: np.ndarray) -> np.ndarray:
    """The fewest whole numbers of parts <= 0 that are `level` < 0 or less; inf where they are 0."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        counts = np.maximum(np.ceil(level / logs), 1.0)
        # a ratio next to a whole number may be on its other side
        counts += counts * logs > level
        counts -= (counts > 1) & ((counts - 1) * logs <= level)
        return np.where(logs < 0, counts, np.inf)


def any_loss(eps: float, reach: float) -> Blocks:
    """theta_eps(reach)^R, for any losses; reach as in `hidden_state.contraction`."""
    return powers(delta_of(reach, eps))


def powers(coefficient: float) -> Blocks:
    """R-th powers of one step's coefficient eta_eps(K), as logarithms: a power would be 0 after a million steps."""
    return Blocks(np.array([1]), np.array([math.log(coefficient) if coefficient > 0 else -math.inf]))


@lru_cache(maxsize=256)
def convex(eps: float, width: float, contraction: float = 1.0) -> Blocks:
    """Steps that do not expand (c <= 1) on a set `width` noise units wide.

    c is the factor of every step: batches have one size. The best block length does not depend on R but for the
    remainder.
    """
    # a block of B steps is as private as one Gaussian step over width sqrt(shift(B)) (amplification by iteration)
    lengths, reaches = _reaches(width, contraction)
    return Blocks(lengths, log(np.minimum(deltas_of(reaches, eps), 1.0)))


@lru_cache(maxsize=16)
def _reaches(width: float, contraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Block lengths and the mu of each."""
    # With c = 1, a block of B steps has mu = width / sqrt(B). Per step it gains -log delta(mu) / B, and delta tends to
    # 1 for large mu, to mu / sqrt(2 pi) for small: the best mu is of order 1, and 8 width^2 steps bring it to 8^(-1/2).
    top = min(max(4.0, 8 * width * width), 1e18)
    lengths = np.unique(np.geomspace(1, top, 80).round().astype(np.int64))
    return lengths, np.array([width * math.sqrt(shift(int(b), contraction)) for b in lengths])
