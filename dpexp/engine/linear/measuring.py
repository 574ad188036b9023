"""What is measured of states of a linear predictor: distances, and the expectations by which their risk is evaluated.

States lie in lanes, [G, p, 8], as the engine keeps them at its checkpoints. A number depends on its own state alone.

Expectations are over one coordinate, for many parameters at once: sum_k weight_k f(location + spread node_k, scale).

(a) Each parameter is evaluated by the first of some rules that reaches its spread.
(b) Those of one rule are brought together, in their order, by counting.
(c) Eight of them are evaluated side by side; a value depends on its own parameters alone, never on their position.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import accumulate
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.elementwise import sqrt
from dpexp.engine.lanes.language import inlined, told
from dpexp.engine.lanes.vectors import LANES, load, reals, store

_COMPILING = Lock()


class Rules(NamedTuple):
    """Quadrature rules, one after the other in the same arrays."""

    reach: np.ndarray
    """largest spread of every rule but the last, increasing [rules - 1]; the last takes whatever is left"""
    start: np.ndarray
    """first node of every rule, and the number of all nodes, int64 [rules + 1]"""
    nodes: np.ndarray
    weights: np.ndarray


def rules_of(rules: Sequence[tuple[float, np.ndarray, np.ndarray]]) -> Rules:
    """Rules from the reach, the nodes and the weights of each; the reach of the last is not asked.

    One that reaches no further than a rule before it would never be taken, and is left out.
    """
    best = [-math.inf, *accumulate((reach for reach, _, _ in rules), max)]
    kept = [rule for rule, before in zip(rules[:-1], best, strict=False) if rule[0] > before]
    every = [*kept, rules[-1]]
    return Rules(
        np.array([reach for reach, _, _ in kept], dtype=np.float64),
        np.append(0, np.cumsum([len(nodes) for _, nodes, _ in every])).astype(np.int64),
        np.concatenate([nodes for _, nodes, _ in every]),
        np.concatenate([weights for _, _, weights in every]),
    )


@cache
def _kernel(integrand: Callable[..., Any]) -> Callable[..., Any]:
    f = inlined(integrand)

    @compiled(kept=True)
    def expectation(location, spread, scale, rules, k, chosen, place, order, gathered, out):
        # (a) and (b): `place` becomes where each rule's share of `order` begins, and then where it ends
        last = len(rules.reach)
        place[:] = 0
        for i in range(len(spread)):
            chosen[i] = _rule_for(spread[i], rules.reach)
            place[chosen[i] + 1] += 1
        for r in range(last + 1):
            place[r + 1] += place[r]
        for i in range(len(spread)):
            order[place[chosen[i]]] = i
            place[chosen[i]] += 1
        # (c)
        begin = 0
        for r in range(last + 1):
            end = place[r]
            for group in range(begin, end, LANES):
                for lane in range(LANES):
                    # the last one fills what is left of the last eight
                    i = order[min(group + lane, end - 1)]
                    gathered[0, lane], gathered[1, lane], gathered[2, lane] = location[i], spread[i], scale[i]
                a, b, c = load(gathered, (0,)), load(gathered, (1,)), load(gathered, (2,))
                total = reals(0.0)
                for j in range(rules.start[r], rules.start[r + 1]):
                    total = total + rules.weights[j] * f(a + b * rules.nodes[j], c, k)
                store(gathered, (3,), total)
                for lane in range(min(LANES, end - group)):
                    out[order[group + lane]] = gathered[3, lane]
            begin = end

    return expectation


@njit(nogil=True)
def _rule_for(spread, reach):
    """The first rule that reaches; the last one for what is not a number."""
    # Reaches increase, so it is the number of those that do not. Counting all costs less than a branch that is guessed
    # wrong.
    r = 0
    for k in range(len(reach)):
        r += not spread <= reach[k]
    return r


def expectations(
    integrand: Callable[..., Any],
    location: np.ndarray,
    spread: np.ndarray,
    scale: np.ndarray,
    rules: Rules,
    k: np.ndarray,
) -> np.ndarray:
    """sum_j weights_j integrand(location + spread nodes_j, scale, k), for arrays location, spread, scale [N]; [N].

    `integrand` is written with `dpexp.engine.lanes.elementwise`; `k` are its constants.
    """
    out = np.empty(len(location))
    place = np.empty(len(rules.start) + 1, np.int64)
    chosen, order = np.empty(len(location), np.int64), np.empty(len(location), np.int64)
    with _COMPILING:
        kernel = _kernel(integrand)
    with told():
        kernel(location, spread, scale, rules, k, chosen, place, order, np.empty((4, LANES)), out)
    return out


class Centres(NamedTuple):
    """From where states are counted."""

    optimum: np.ndarray
    """theta* [p]"""
    origin: np.ndarray
    """coefficients from which the linear predictor is counted [d + 1]"""
    slope: np.ndarray
    """coefficients of the part of the risk that is linear in beta [d + 1]; empty where there is none"""
    sigma_z: float
    fixed_scale: float


class Measured(NamedTuple):
    """One number a state, [G, 8] each."""

    param_distance_sq: np.ndarray
    """|theta - theta*|^2"""
    coef_distance_sq: np.ndarray
    """the same without the scale"""
    location: np.ndarray
    """mean of the linear predictor, from its origin"""
    spread: np.ndarray
    """its standard deviation"""
    scale: np.ndarray
    linear: np.ndarray
    """the linear part of the risk; NaN where the state is not finite"""


@compiled(kept=True)
def _measure(theta, centres, out):
    p, q = theta.shape[1], len(centres.origin)
    for g in range(theta.shape[0]):
        distance_sq, spread_sq, linear = reals(0.0), reals(0.0), reals(0.0)
        # one order of summation, whatever is measured together
        for j in range(q):
            coefficient = load(theta, (g, j))
            error = coefficient - centres.optimum[j]
            distance_sq = distance_sq + error * error
            # 0, or not a number where the state is not finite
            linear = linear + (coefficient - coefficient)
            if len(centres.slope) > 0:
                linear = linear + centres.slope[j] * coefficient
            if j > 0:
                shift = coefficient - centres.origin[j]
                spread_sq = spread_sq + shift * shift
        store(out.coef_distance_sq, (g,), distance_sq)
        store(out.location, (g,), load(theta, (g, 0)) - centres.origin[0])
        store(out.spread, (g,), centres.sigma_z * sqrt(spread_sq))
        if p > q:
            scale = load(theta, (g, q))
            error = scale - centres.optimum[q]
            distance_sq = distance_sq + error * error
            linear = linear + (scale - scale)
            store(out.scale, (g,), scale)
        else:
            store(out.scale, (g,), reals(centres.fixed_scale))
        store(out.param_distance_sq, (g,), distance_sq)
        store(out.linear, (g,), linear)


def measure(theta: np.ndarray, centres: Centres) -> Measured:
    """Measure the states [G, p, 8], which must be contiguous."""
    out = Measured(*np.empty((len(Measured._fields), len(theta), LANES)))
    _measure(theta, centres, out)
    return out


def in_lanes(theta: np.ndarray) -> np.ndarray:
    """States [N, p] as lanes [G, p, 8]."""
    count, p = theta.shape
    # ones in what is left of the last eight: a scale of 0 would be divided by
    padded = np.ones((-(-count // LANES) * LANES, p))
    padded[:count] = theta
    return np.ascontiguousarray(padded.reshape(-1, LANES, p).transpose(0, 2, 1))
