"""What steps leave of a hockey-stick divergence: bounds on log eta_e(K^R) of R steps, which never rise with R.

eta_e(K) = sup over y, y' of the hockey stick of K(y) against K(y') at e, and eta_e(K^R) <= eta_e(K)^R
(`dpexp.privacy.analyses.hybrid`). Blocks of steps multiply in the same way.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpexp.privacy.accounting.gdp import delta_of, deltas_of
from dpexp.privacy.accounting.quiet_functions import log
from dpexp.privacy.analyses.last_iterate import shift

Contracted = Callable[[int], float]
"""R -> the bound on log eta_e(K^R); 0 is no contraction"""
LogContraction = Callable[[float], Contracted]
"""e1 -> the bound on log eta_e1(K^R)"""


def any_loss(eps: float, reach: float) -> Contracted:
    """theta_eps(reach)^R, for any losses; reach as in `hidden_state.contraction`."""
    return powers(delta_of(reach, eps))


def powers(coefficient: float) -> Contracted:
    """R-th powers of one step's coefficient eta_eps(K), as logarithms: a power would be 0 after a million steps."""
    each = math.log(coefficient) if coefficient > 0 else -math.inf
    return lambda steps: steps * each


def blocks(lengths: np.ndarray, logs: np.ndarray) -> Contracted:
    """Blocks of B = `lengths` steps, [A], each with a bound `logs` <= 0 [A] of its own on log eta_e(K^B)."""

    # R = k B + rest, and the rest does not expand
    def bound(steps: int) -> float:
        fits = lengths <= steps
        return float(np.min((steps // lengths[fits]) * logs[fits])) if fits.any() else 0.0

    return bound


@lru_cache(maxsize=256)
def convex(eps: float, width: float, contraction: float = 1.0) -> Contracted:
    """Steps that do not expand (c <= 1) on a set `width` noise units wide.

    c is the factor of every step: batches have one size. The best block length does not depend on R but for the
    remainder.
    """
    # a block of B steps is as private as one Gaussian step over width sqrt(shift(B)) (amplification by iteration)
    lengths, reaches = _reaches(width, contraction)
    return blocks(lengths, log(np.minimum(deltas_of(reaches, eps), 1.0)))


@lru_cache(maxsize=16)
def _reaches(width: float, contraction: float) -> tuple[np.ndarray, np.ndarray]:
    """Block lengths and the mu of each."""
    # With c = 1, a block of B steps has mu = width / sqrt(B). Per step it gains -log delta(mu) / B, and delta tends to
    # 1 for large mu, to mu / sqrt(2 pi) for small: the best mu is of order 1, and 8 width^2 steps bring it to 8^(-1/2).
    top = min(max(4.0, 8 * width * width), 1e18)
    lengths = np.unique(np.geomspace(1, top, 80).round().astype(np.int64))
    return lengths, np.array([width * math.sqrt(shift(int(b), contraction)) for b in lengths])
