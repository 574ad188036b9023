"""Expectations over the Mallows-weighted covariates x = (1, z), z ~ N(0, sigma_z^2 I_d), w(x) = min(1, c / |x|^2).

(a) An integrand that depends on one direction of z only needs the law of the rest through W_{k,j}(q) = E[w^j] at
squared length q along that direction and chi-square(k) across it.
(b) W_{k,j}(q) is the probability of an R so small that the weight is 1, plus an integral over larger R, in t = sqrt(R).
(c) A second moment across the direction is W_{k+2,j}: E[h(R) R] = k E[h(R')] for R ~ chi-square(k) and R' ~
chi-square(k + 2), and each of the k coordinates has the same part of it.
(d) W has a kink where the direction alone brings |x|^2 to the cap: from there on no R leaves the weight at 1.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.problems.weights import WEIGHT_CAP

POINTS = 24
"""of a panel, for moments"""
EDGES = (0.5, 1.0, 2.0, 3.5, 5.5, 8.5)
"""of panels, in deviations of z; 2e-17 of its law is beyond the last"""


@kept_once(16)
def _legendre(points: int) -> tuple[np.ndarray, ...]:
    from scipy.special import roots_legendre

    return tuple(roots_legendre(points))


def gauss_panels(edges: np.ndarray, points: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights [..., (E - 1) points] of Gauss-Legendre rules between consecutive edges [..., E]."""
    x, w = _legendre(points)
    half = np.diff(edges)[..., None] / 2
    middle = (edges[..., 1:] + edges[..., :-1])[..., None] / 2
    shape = (*edges.shape[:-1], -1)
    return (middle + half * x).reshape(shape), (half * w).reshape(shape)


def cut(edges: np.ndarray, parts: int) -> np.ndarray:
    """Edges [..., E] with every panel cut into so many parts of one length."""
    inner = edges[..., :-1, None] + np.diff(edges)[..., None] * (np.arange(parts) / parts)
    return np.concatenate([inner.reshape(*edges.shape[:-1], -1), edges[..., -1:]], axis=-1)


def mean_weight(across: int, power: int, q: np.ndarray, sigma_z: float = 1.0, cap: float = WEIGHT_CAP) -> np.ndarray:
    """W_{k,j}(q) = E min(1, c / (1 + sigma_z^2 (q + R)))^j, R ~ chi-square(k), k = across (0: R = 0), j = power."""
    from scipy.special import gammainc, gammaln

    if power == 0 or math.isinf(cap):
        return np.ones(np.shape(q))
    # nodes on both sides of 0 share their squared length
    lengths, place = np.unique(np.asarray(q, dtype=np.float64), return_inverse=True)

    def weight(r: np.ndarray | float) -> np.ndarray:
        return np.minimum(1.0, cap / (1 + sigma_z**2 * (lengths[:, None] + r))) ** power

    if across == 0:
        return weight(0.0)[:, 0][place].reshape(np.shape(q))
    # (b): below this R the weight is 1; 12 deviations beyond sqrt(k), about the mean of t, nothing is left
    free = np.maximum(0.0, (cap - 1) / sigma_z**2 - lengths)
    start = np.sqrt(free)
    length = np.maximum(0.0, math.sqrt(across) + 12.0 - start)
    x, w = gauss_panels(np.linspace(0.0, 1.0, 13), 24)
    t = start[..., None] + length[..., None] * x
    log_density = (across - 1) * np.log(t) - t * t / 2 - (across / 2 - 1) * math.log(2) - gammaln(across / 2)
    outer = np.sum(w * np.exp(log_density) * weight(t * t), axis=-1) * length
    return (gammainc(across / 2, free / 2) + outer)[place].reshape(np.shape(q))


AxisRule = tuple[np.ndarray, np.ndarray]
"""nodes [K] in z, the standardised coordinate along one direction, and their weights [K]"""


def _axis_panels(d: int, sigma_z: float, points: int, splits: tuple[float, ...], parts: int, cap: float) -> AxisRule:
    """The rule of z alone: panels end where it brings |x|^2 to the cap, and at `splits`; each is cut into `parts`."""
    # (d), where (z sigma_z)^2 = c - 1; below it the mean weight is like a half-integer power, d = 2 or 4
    right = {0.0, *EDGES, *kink_edges(math.sqrt(cap - 1) / sigma_z, d in (2, 4))}
    inside = {split for split in splits if abs(split) < EDGES[-1]}
    edges = np.array(sorted(right | {-edge for edge in right} | inside))
    z, step = gauss_panels(cut(edges, parts), points)
    return z, np.exp(-z * z / 2) / math.sqrt(2 * math.pi) * step


@kept_once(64)
def axis_orders(d: int, sigma_z: float, splits: tuple[float, ...], parts: int, cap: float) -> tuple[np.ndarray, ...]:
    """Nodes z [K], the weights of E[w^j f(z_1)] and those of E[w^j f(z_1) z_2^2], [3, K], j = 0, 1, 2 first."""
    z, share = _axis_panels(d, sigma_z, POINTS, splits, parts, cap)
    # (c)
    orders = ([mean_weight(k, j, z * z, sigma_z, cap) for j in range(3)] for k in (d - 1, d + 1))
    mass, across = (share * np.stack(own) for own in orders)
    return z, mass, across * (d > 1)


@kept_once(64)
def rule(d: int, sigma_z: float, points: int = 12, splits: tuple[float, ...] = (), parts: int = 1) -> AxisRule:
    """E[w f(z_1)] as sum weights f(nodes): 12 points a panel give 1e-14 (linear), 2e-13 (logistic) at the optimum."""
    z, share = _axis_panels(d, sigma_z, points, splits, parts, WEIGHT_CAP)
    return z, share * mean_weight(d - 1, 1, z * z, sigma_z)


def kink_edges(kink: float, graded: bool) -> list[float]:
    """Ends of panels at a kink, where it is within reach, and graded towards it where there is a power below it."""
    places = [kink, *((1 - 0.3**m) * kink for m in range(1, 7) if graded)]
    return [place for place in places if place < EDGES[-1]]


def symmetrised(matrix: np.ndarray, vector: np.ndarray) -> np.ndarray:
    """The symmetric tensors [..., d, d, d] with T[v, v, v] = 3 (v' matrix v) (v' vector)."""
    outer = matrix[..., None] * vector[..., None, None, :]
    return np.asarray(outer + outer.swapaxes(-1, -2) + outer.swapaxes(-1, -3))


def cubic_moment(d: int, sigma_z: float) -> float:
    """Largest E[w |x'u|^3] over unit vectors u, by which the Hessian of a smooth loss of x'theta can change."""
    from scipy.optimize import minimize_scalar

    def moment(angle: float) -> float:
        a, b = math.cos(angle), sigma_z * math.sin(angle)
        nodes, weights = rule(d, sigma_z, POINTS, splits=(-a / b,) if abs(b) > 1e-9 else ())
        return -float(weights @ np.abs(a + b * nodes) ** 3)

    # several maxima are possible: the best of a grid is refined
    best = min(np.linspace(0.0, math.pi / 2, 33).tolist(), key=moment)
    peak = minimize_scalar(moment, bounds=(max(0.0, best - 0.05), min(math.pi / 2, best + 0.05)), method="bounded")
    return -min(float(peak.fun), moment(best))
