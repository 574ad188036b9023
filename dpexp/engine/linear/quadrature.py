"""Expectations over one coordinate, for many parameters at once: sum_k weight_k f(location + spread node_k, scale).

Eight parameters are evaluated side by side; a value depends on its own parameters alone, never on their position.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from threading import Lock

import numpy as np
from numba import njit

from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler normal_cdf, softplus, ...
from dpexp.engine.lanes.vectors import LANES, load, reals, store

_COMPILING = Lock()


@cache
def _kernel(integrand: Callable) -> Callable:
    f = njit(integrand, nogil=True, forceinline=True)

    @njit(nogil=True)
    def expectation(location, spread, scale, nodes, weights, k, out):
        for i in range(out.shape[0]):
            a, b, c = load(location, (i,)), load(spread, (i,)), load(scale, (i,))
            total = reals(0.0)
            for j in range(len(nodes)):
                total = total + weights[j] * f(a + b * nodes[j], c, k)
            store(out, (i,), total)

    return expectation


def expectations(
    integrand: Callable,
    location: np.ndarray,
    spread: np.ndarray,
    scale: np.ndarray,
    nodes: np.ndarray,
    weights: np.ndarray,
    k: np.ndarray,
) -> np.ndarray:
    """sum_j weights_j integrand(location + spread nodes_j, scale, k), for arrays location, spread, scale [N]; [N].

    `integrand` is written with `dpexp.engine.lanes.elementwise`; `k` are its constants.
    """
    count = len(location)
    groups = -(-count // LANES)

    def lanes(a: np.ndarray) -> np.ndarray:
        padded = np.ones(groups * LANES)
        padded[:count] = a
        return padded.reshape(groups, LANES)

    out = np.empty((groups, LANES))
    with _COMPILING:
        kernel = _kernel(integrand)
    kernel(lanes(location), lanes(spread), lanes(scale), nodes, weights, k, out)
    return out.ravel()[:count]
