"""The four noise streams of Algorithm 2 of `momentum`, for one order repeated in every epoch: exact accounting.

The estimate is built from trees over three sequences: gradients at the anchor of their epoch (G), their changes between
consecutive anchors (D) and the residuals grad f(w_t) - grad f(anchor) (r). Nodes of G that end within two epochs carry
their own noise. The streams, always in this order: `first` (G, end <= 2 N), `later` (G, end > 2 N), `change` (D, start
> N), `residual` (r). With a fresh order in each epoch the released nodes are not what the noise shortcut assumes, and
none of this applies.

The noise is split for the release of all nodes, and the same split is used where only the iterates are accounted for
(`tools.momentum_iterates`): all four deviations are then scaled by one number. Splits chosen for the iterates
themselves gained 1 to 3.5 % where they were tried.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpexp.privacy.momentum.trees import fixed_order


def printed_counts(n: int, steps: int) -> np.ndarray:
    """V of each stream as printed, [4]: 3 log2 N for `first`, 4 (T / N) log2 N for the others.

    With all nodes kept `first` truly holds a record in 2 floor(log2 N) + 3 of them, which is more for N <= 5; the
    others are too large.
    """
    later = 4 * steps / n * math.log2(n)
    return np.array([3 * math.log2(n), later, later, later])


def printed_sensitivities(n: int, eta: float, G: float) -> np.ndarray:
    """delta of each stream as printed, [4]: 4 G for G, 2 eta N for D and r, which lack L and a factor 2.

    The argument for 4 G gives twice `occurrence_sensitivities`: the discounts of a node that holds a record once an
    epoch sum to at most 2 when (1 - alpha)^N <= 1/2.
    """
    return np.array([4 * G, 4 * G, 2 * eta * n, 2 * eta * n])


def occurrence_sensitivities(n: int, eta: float, G: float, L: float) -> np.ndarray:
    """What replacing one record changes in one summand of each stream, [4]: 2 G, 2 G, 2 L eta N, 2 L eta N.

    Steps have length eta exactly, so iterates of one epoch, and anchors of consecutive ones, are within eta N. A
    summand of D or r is the difference of one record's gradients at two such points, at most L eta N long for an
    L-smooth loss, and the other record's may point the other way; one of G is a gradient, of norm at most G.
    """
    return np.array([2 * G, 2 * G, 2 * L * eta * n, 2 * L * eta * n])


def stream_sensitivities(n: int, steps: int, alpha: float, *, used_only: bool = True) -> np.ndarray:
    """Squared sensitivity of each stream to each record, [4, N], in units of its `occurrence_sensitivities` squared.

    As in `left_sensitivities`, the factor alpha is left out of nodes and noise alike; one order repeats. The release
    is that of the nodes, fed with their values. Exact up to rounding.
    """
    from dpexp.privacy.momentum.left_nodes import chosen_sensitivities

    order = np.ascontiguousarray(fixed_order(n, steps), dtype=np.int64)
    every = steps.bit_length()
    # a window of N steps holds no longer node
    short = n.bit_length() if used_only else every
    # in the order of the streams: first, later, change, residual
    rows = [
        chosen_sensitivities(order, alpha, False, short, upto=2 * n),
        chosen_sensitivities(order, alpha, False, short, beyond=2 * n),
        chosen_sensitivities(order, alpha, False, short, after=n),
        chosen_sensitivities(order, alpha, used_only, every),
    ]
    # with fewer steps than records the last records never appear, and cost nothing
    return np.array([np.pad(row, (0, n - len(row))) for row in rows])


def stream_mu(sensitivities: np.ndarray, units: np.ndarray, stds: np.ndarray) -> float:
    """Exact mu of the whole run: the root of max over records of sum_j S_j unit_j^2 / std_j^2.

    `sensitivities` [4, N] from `stream_sensitivities`, `units` and `stds` [4]. A stream that no node belongs to costs
    nothing; a stream without noise that some record enters gives inf.
    """
    squared = sensitivities * np.square(units)[:, None]
    with np.errstate(divide="ignore", invalid="ignore"):
        # noises of the streams are independent, so that dividing each stream by its std makes one Gaussian mechanism
        # of unit noise, whose squared sensitivity is the sum of theirs
        parts = np.where(squared == 0, 0.0, squared / np.square(stds)[:, None])
    # the record comes last: one record is replaced, not one in every stream
    return math.sqrt(float(parts.sum(axis=0).max()))


def optimal_split(cost: np.ndarray, coefficient: np.ndarray) -> np.ndarray:
    """Standard deviations [4] that minimise sum_j coefficient_j s_j^2 subject to sum_j cost_j / s_j^2 = 1.

    A cost is a squared sensitivity (unit squared times the largest S of the stream), a coefficient the variance that
    unit node noise of the stream puts into the estimate. A stream of no cost gets no noise; one of cost but no
    coefficient gets inf, since its nodes need not be released.
    """
    # the derivative by s_j^2 of the first sum plus lambda times the second vanishes where coefficient_j is lambda times
    # cost_j / s_j^4, and the constraint gives sqrt(lambda) = sum_k sqrt(cost_k coefficient_k)
    total = float(np.sum(np.sqrt(cost * coefficient)))
    with np.errstate(divide="ignore", invalid="ignore"):
        variances = np.where(cost == 0, 0.0, np.sqrt(cost / coefficient) * total)
    return np.sqrt(np.where((cost > 0) & (coefficient == 0), np.inf, variances))


@lru_cache(maxsize=64)
def unit_split(n: int, steps: int, alpha: float, gamma: float, ratio: float) -> tuple[float, float, float, float]:
    """Deviations of the nodes of each stream for which the release of all nodes is 1-GDP, in units of G.

    `ratio` is L eta N / G, how far a gradient moves in an epoch. The factor alpha of the estimate is left out, and
    one order repeats. A stream that no estimate reads is not released and has deviation 0.
    """
    from dpexp.engine.finite_sum.noise_windows import stream_variances

    costs = _costs(n, steps, alpha)
    # the split has the least mean variance for the largest cost of each stream, in units of G: N = eta = G = 1, so that
    # L stands for the ratio
    units = occurrence_sensitivities(1, 1.0, 1.0, ratio)
    variances = stream_variances(n, steps, alpha, gamma).mean(axis=1)
    stds = optimal_split(units**2 * costs.max(axis=1), variances)
    # these costs need not belong to one record, so that all are then scaled down to spend exactly mu = 1
    scaled = stream_mu(costs, units, stds) * np.where(np.isfinite(stds), stds, 0.0)
    first, later, change, residual = map(float, scaled)
    return first, later, change, residual


_costs = lru_cache(maxsize=1)(stream_sensitivities)
"""settings that differ in their step size follow each other"""
