"""The hybrid bound (ours): the last R steps composed, everything before them contracted away.

(a) Run both chains up to step T - R and let M be the law that follows from one chain's iterate with the other's last R
steps. Between M and the chain that shares its last steps only the R-step kernel acts, which contracts hockey-stick
divergences by eta_e1(K^R); between M and the chain that shares its first steps only R steps are composed. If
P <= e^e1 M + d1 and M <= e^e2 Q + d2 on all events, then P <= e^(e1 + e2) Q + d1 + e^e1 d2 (insert the second into the
first). No convexity is needed, only a bounded set; with it the contraction is far stronger.

(b) The order of the two can be exchanged: with the composition first, P <= e^e2 M + d2 and M <= e^e1 Q + d1 give
P <= e^(e1 + e2) Q + d2 + e^e2 d1.

(c) The contraction is eta_e(K) = sup over y, y' of the hockey stick of K(y) against K(y') at e. Two laws of hockey
stick h go to laws of at most eta_e(K) h: write P - e^e Q = h A - (h + e^e - 1) B with laws A and B. Since h <= 1 and e
>= 0, h + e^e - 1 >= h e^e, so the image is at most h (A K - e^e B K), whose positive part has mass at most h eta_e(K).
So eta_e(K^R) <= eta_e(K)^R, and as h <= 1 before the last R steps, that is the d1 which e1 leaves.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Callable
from functools import lru_cache

import numpy as np

from dpexp.accounting.functions import log
from dpexp.accounting.gaussian import deltas_of
from dpexp.privacy.analyses.last_iterate import shift

Composed = Callable[[int, float], float]
"""(steps, delta) -> epsilon of that many released steps"""
ComposedBelow = Callable[[int, float, float], float]
"""(steps, delta, most) -> the same; inf where it is known to be above `most`"""
Contracted = Callable[[int], float]
"""R -> a bound on log eta_e(K^R), which never rises; 0 is no contraction"""
LogContraction = Callable[[float], Contracted]
"""e1 -> the bound on log eta_e1(K^R)"""
SHARES = (0.1, 0.25, 0.45, 0.65)  # parts of the composition's epsilon that are tried for e1; any e1 >= 0 is valid
LEVELS = (-1.5, -3.0, -5.0, -8.0, -12.0, -18.0, -26.0)
"""log of what contractions leave of a delta, for which the fewest steps are tried"""
LEAST_DELTA = 1e-25
"""a share of delta below it is not tried: so little of delta is left for the composition that another choice of R is
better. Leaving out a choice is loose, never wrong"""


def hybrid_eps(composed: Composed, log_contracted: LogContraction, steps: int, delta: float) -> float:
    """The smallest epsilon at `delta` over the number of composed steps and the part e1, both orders of the chain.

    `log_contracted(e1)` maps R to log eta_e1(K^R).
    """
    if not (steps > 1 and delta > 0):
        return composed(steps, delta)
    known = dict[tuple[int, float], float]()

    def below(r: int, share: float, most: float) -> float:
        # more steps, or less of delta, do not lower an epsilon
        if any(eps > most and fewer <= r and more >= share for (fewer, more), eps in known.items()):
            return math.inf
        return known.setdefault((r, share), composed(r, share))

    # every choice is valid, so that a search which misses the best one is loose but never wrong
    best = _over_steps(below, log_contracted(0.0), 0.0, steps, delta, math.inf)
    if not math.isfinite(best):
        best = composed(steps, delta)
    # e1 is tried as a share of an epsilon that the first round brings down
    for _ in range(2):
        before = best
        for share in SHARES[::-1] if 0 < before < math.inf else ():
            e1 = share * before
            best = _over_steps(below, log_contracted(e1), e1, steps, delta, best)
        if best > 0.9 * before:
            break
    return best


def _over_steps(
    composed: ComposedBelow, log_contracted: Contracted, e1: float, steps: int, delta: float, best: float
) -> float:
    """The least of `best` and of the fewest steps that contract below delta, and a few more."""
    remainder, least = delta, _fewest(log_contracted, math.log(delta), steps + 1)
    # both orders state at least e1 and the composition at all of delta, which rises with the steps
    if least > steps or (e1 > 0 and composed(least, delta, best - e1) > best - e1):
        return best
    # With the fewest steps nearly all of delta is spent on the contraction. A few per cent more steps shrink its part
    # by a power, and cost the composition, which grows about like the root of R, half as many per cent.
    for factor in (1.0, 1.015, 1.03, 1.06, 1.12, 1.25):
        r = min(steps, math.ceil(least * factor))
        log_remainder = log_contracted(r)
        # more steps that contract no further, as where blocks contract together, only make the composition larger
        if math.exp(log_remainder) >= remainder:
            continue
        remainder = math.exp(log_remainder)  # d1 of (c)
        # (a), contraction first: remainder + e^e1 share = delta, and epsilon is e1 plus the composition's at `share`
        share = (delta - remainder) * math.exp(-e1)
        # (b), composition first: its delta at e2 plus e^e2 remainder, again with the sum e1 + e2
        most = (best - e1) * (1 + 1e-6)
        e2, room = _exchanged(composed, r, log_remainder, delta, most) if e1 > 0 else (math.inf, 0.0)
        # (a) states less than (b) where it leaves more of delta to the composition
        if share > max(LEAST_DELTA, room):
            e2 = min(e2, composed(r, share, best - e1))
        best = min(best, e1 + e2)
    return best


def _exchanged(composed: ComposedBelow, r: int, log_remainder: float, delta: float, most: float) -> tuple[float, float]:
    """The e2 with comp(e2) + e^e2 left <= delta, raised until it holds, else inf; and what the last e2 leaves of it."""
    # e2 only rises, from a value that is too small, because a larger e2 leaves less room; every round costs a law
    e2 = composed(r, delta - math.exp(log_remainder), most)
    for _ in range(20):
        room = delta - math.exp(min(e2 + log_remainder, 0.0))
        if room <= 0 or e2 > most:
            break
        needed = composed(r, room, most)
        # what is returned was checked: the composition needs at most e2 for the room that e2 leaves
        if needed <= e2:
            return e2, room
        e2 = needed * (1 + 1e-9)
    return math.inf, room


def hybrid_delta(
    composed: Callable[[int, float], float], log_contracted: LogContraction, steps: np.ndarray, eps: float
) -> np.ndarray:
    """The smallest delta at `eps` >= 0 for increasing `steps` [K], over composed last steps R <= T and parts e1.

    `composed` maps (steps, epsilon) to the delta of that many released steps. The result does not increase with T, and
    is inf where no R on the grid is small enough.
    """
    best = np.full(len(steps), math.inf)
    # 40 lengths up to 400 keep the search short: a better R that is left out only makes the result larger
    lengths = np.unique(np.geomspace(1, min(int(steps[-1]), 400), 40).round().astype(int))
    contractions = {e1: log_contracted(e1) for e1 in {share * eps for share in (0.0, *SHARES)}}
    for r in lengths:
        for e1, contracted in contractions.items():
            value = _both_orders(contracted(int(r)), composed(int(r), eps - e1), e1, eps)
            # what was found with R steps holds for all larger T
            best[steps >= r] = np.minimum(best[steps >= r], value)
    return best


def least_delta(
    composed: Callable[[int, float], float], log_contracted: LogContraction, steps: int, eps: float
) -> float:
    """The smallest delta at `eps` >= 0 after `steps`, over a few numbers of composed last steps and parts e1."""
    best = min(1.0, composed(steps, eps))
    for e1 in {share * eps for share in (0.0, *SHARES)}:
        contracted = log_contracted(e1)
        for r in sorted({_fewest(contracted, level, steps) for level in LEVELS}):
            # both orders leave at least what is not contracted
            if math.exp(contracted(r)) < best:
                rest = composed(r, eps - e1)
                best = min(best, _both_orders(contracted(r), rest, e1, eps))
                # and the rest, which more steps do not lower
                if rest >= best:
                    break
    return best


def _both_orders(log_remainder: float, rest: float, e1: float, eps: float) -> float:
    """(a) with d1 and d2 the remainder and the rest, or (b), whichever is smaller; a rest may have underflowed."""
    log_rest = math.log(max(rest, 1e-300))
    first = math.exp(log_remainder) + math.exp(min(e1 + log_rest, 0.0))
    return min(first, rest + math.exp(min(eps - e1 + log_remainder, 0.0)))


def _fewest(contracted: Contracted, level: float, limit: int) -> int:
    """The smallest number of steps from 1 on that contracts to the level; `limit` where it is not found before."""
    return 1 + bisect_left(range(1, limit), True, key=lambda steps: contracted(steps) <= level)


def powers(coefficient: float) -> Contracted:
    """R-th powers of one step's coefficient eta_eps(K), as logarithms: a power would be 0 after a million steps.

    For any losses it is theta_eps(reach), delta of Gaussian DP with the reach of `hidden_state.last_iterate_delta`.
    """
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
    # A block of B steps is as private as one Gaussian step over width sqrt(shift(B)) (amplification by iteration). With
    # c = 1 it has mu = width / sqrt(B). Per step it gains -log delta(mu) / B, and delta tends to 1 for large mu, to
    # mu / sqrt(2 pi) for small: the best mu is of order 1, and 8 width^2 steps bring it to 8^(-1/2).
    top = min(max(4.0, 8 * width * width), 1e18)
    lengths = np.unique(np.geomspace(1, top, 80).round().astype(np.int64))
    reaches = np.array([width * math.sqrt(shift(int(b), contraction)) for b in lengths])
    return blocks(lengths, log(np.minimum(deltas_of(reaches, eps), 1.0)))
