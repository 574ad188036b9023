"""The compiled loop of `dpexp.inference.flatter`: the mean curvature of a risk over rows of covariates."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler exp on lanes
from dpexp.engine.lanes.vectors import load, reals, store


@lru_cache(maxsize=16)
def compiled_mean(curvature: Callable[..., Any]) -> Callable[..., Any]:
    """The compiled sum over rows x [N, d + 1] of weight [N] times the curvature in x'theta, for theta [d + 1, 8]."""
    rho2 = compiled(curvature, forceinline=True)

    @compiled(kept=True)
    def mean(theta, x, weight, k, found):
        total = reals(0.0)
        for i in range(x.shape[0]):
            t = reals(0.0)
            for j in range(x.shape[1]):
                t = t + load(theta, (j,)) * x[i, j]
            second, _, _ = rho2(t, 0.0, 1.0, k)
            total = total + weight[i] * second
        store(found, (0,), total)

    return mean
