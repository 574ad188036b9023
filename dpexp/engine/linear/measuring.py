"""What is measured of states of a linear predictor: distances, and the expectations by which their risk is evaluated.

States lie in lanes, [G, p, 8], as the engine keeps them at its checkpoints. A number depends on its own state alone.

Expectations are over one coordinate, for many parameters at once: sum_k weight_k f(location + spread node_k, scale).

(a) Each parameter is evaluated by the first of some rules that reaches its spread.
(b) Eight of one rule are evaluated side by side; a value depends on its own parameters alone, never on their position.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.elementwise import sqrt
from dpexp.engine.lanes.language import inlined, located_errors
from dpexp.engine.lanes.vectors import LANES, load, reals, store


@kept_once(64)
def _expectation_kernel(integrand: Callable[..., Any]) -> Callable[..., Any]:
    f = inlined(integrand)

    @compiled(cached=True)
    def expectation(parameters, nodes, weights, k, out):
        for group in range(len(out)):
            location, spread = load(parameters, (0, group)), load(parameters, (1, group))
            scale = load(parameters, (2, group))
            total = reals(0.0)
            for j in range(len(nodes)):
                total = total + weights[j] * f(location + spread * nodes[j], scale, k)
            store(out, (group,), total)

    return expectation


def expectations(
    integrand: Callable[..., Any],
    location: np.ndarray,
    spread: np.ndarray,
    scale: np.ndarray,
    rules: Sequence[tuple[float, np.ndarray, np.ndarray]],
    k: np.ndarray,
) -> np.ndarray:
    """sum_j weights_j integrand(location + spread nodes_j, scale, k), for arrays location, spread, scale [N]; [N].

    `integrand` is written with `dpexp.engine.lanes.elementwise`; `k` are its constants. A rule is the largest spread
    that it reaches, its nodes and its weights; the last one takes whatever is left, NaN too.
    """
    parameters, out = np.stack([location, spread, scale]), np.empty(len(location))
    # (a); NaN is beyond every reach
    rule_of = np.minimum(np.searchsorted([reach for reach, _, _ in rules], spread), len(rules) - 1)
    for number, (_, nodes, weights) in enumerate(rules):
        own = np.flatnonzero(rule_of == number)
        if len(own) == 0:
            continue
        # (b); some of them again fill the last eight
        filled = np.resize(own, (-(-len(own) // LANES), LANES))
        values = np.empty(filled.shape)
        with located_errors():
            _expectation_kernel(integrand)(
                parameters.take(filled, axis=1), np.array(nodes), np.array(weights), k, values
            )
        out[own] = values.ravel()[: len(own)]
    return out


class Centres(NamedTuple):
    """From where states are counted."""

    optimum: np.ndarray  # theta* [p]
    origin: np.ndarray  # coefficients from which the linear predictor is counted [d + 1]
    slope: np.ndarray  # coefficients of the part of the risk that is linear in beta [d + 1]; empty where there is none
    sigma_z: float
    fixed_scale: float


class Measured(NamedTuple):
    """One number a state, [G, 8] each."""

    param_distance_sq: np.ndarray  # |theta - theta*|^2
    coef_distance_sq: np.ndarray  # the same without the scale
    location: np.ndarray  # mean of the linear predictor, from its origin
    spread: np.ndarray  # its standard deviation
    scale: np.ndarray
    linear: np.ndarray  # the linear part of the risk; NaN where the state is not finite


@compiled(cached=True)
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
