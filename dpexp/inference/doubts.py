"""What a plan does not know: errors whose tails are heavier than a normal law's, and columns that are correlated.

Plans follow from a public guess: normal errors and independent columns. Where it is wrong intervals come out longer, by
a third or a half in the cases that are measured. A careful plan takes the worse of two other laws.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from dpexp.inference.rounding import rounded
from dpexp.problems.huber_linear import normal_moments
from dpexp.problems.linear_predictor import mallows_weight

CORRELATION = 0.5
"""of any two columns"""
DRAWS = 50_000


@lru_cache(maxsize=16)
def heavy_tails(c: float, scale_is_estimated: bool) -> tuple[float, float]:
    """Factors of the curvature of coefficients and of the scale if errors are Student's t with 3 degrees of freedom.

    Errors are sigma e, where sigma is the guess. The target of the scale is s = k sigma with E min((e / k)^2, c^2) =
    kappa, or sigma where it is known. Then the curvatures are P(|e| <= c k) / s and E (e / k)^2 1{|e| <= c k} / s,
    against those of a normal e with k = 1. With e = sqrt 3 tan t the density of t is (2 / pi) cos^2 t, so that

        P(|e| <= a) = (2 / pi) (f + sin f cos f),   E e^2 1{|e| <= a} = (6 / pi) (f - sin f cos f),   tan f = a / sqrt 3
    """
    normal = normal_moments(c)
    low, high = 0.5, 4.0
    k = 1.0
    for _ in range(60 if scale_is_estimated else 0):
        k = (low + high) / 2
        inside, square = _inside(c * k)
        low, high = (k, high) if square / k**2 + c * c * (1 - inside) > normal.kappa else (low, k)
    inside, square = _inside(c * k)
    return rounded(inside / k / normal.inside), rounded(square / k**3 / normal.square_inside)


def _inside(a: float) -> tuple[float, float]:
    f = math.atan(a / math.sqrt(3))
    both = math.sin(f) * math.cos(f)
    return 2 / math.pi * (f + both), 6 / math.pi * (f - both)


@lru_cache(maxsize=16)
def correlated(d: int, sigma_z: float) -> np.ndarray:
    """E w z z' [d, d] for correlated normal columns, over E w z_1^2 for independent ones; by simulation."""
    g = np.random.Generator(np.random.PCG64(29)).standard_normal((DRAWS, d + 1))
    z = math.sqrt(1 - CORRELATION) * g[:, :d] + math.sqrt(CORRELATION) * g[:, d:]
    weighted, plain = (sigma_z * part for part in (z, g[:, :d]))
    both = (weighted * mallows_weight(1 + np.sum(weighted**2, axis=1))[:, None]).T @ weighted
    alone = np.mean(np.sum(plain**2, axis=1) * mallows_weight(1 + np.sum(plain**2, axis=1))) / d
    return rounded(both / DRAWS / alone)
