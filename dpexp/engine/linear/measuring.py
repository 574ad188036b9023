"""What is measured of states of a linear predictor: distances, and where their risk has to be evaluated.

States lie in lanes, [G, p, 8], as the engine keeps them at its checkpoints. A number depends on its own state alone.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.elementwise import sqrt
from dpexp.engine.lanes.vectors import LANES, load, reals, store


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
