"""Mallows-weighted linear classification with the hinge loss, named as future work in `ldp-sgd`.

(a) Labels come from a logistic model along beta*, so the population risk depends on two directions: that of beta, along
which the loss has its kinks, and that of beta*, which sets the labels. All other directions enter by the mean weight
across their plane, which is a function of the distance from the origin: a table, with cubic interpolation.
(b) The outer integral runs along beta, for either label where its loss is not 0, and so ends at a kink of the loss.
(c) The inner one runs along what beta* has across beta. It is smooth but for the kink of the weight, a circle around
the origin, at which panels end.
(d) The best beta is in the plane of the intercept and (1, ..., 1): two equations in one integral each.
(e) Curvature comes from the kinks alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import numpy as np
from pydantic import Field

from dpexp.core.caches import kept_once
from dpexp.core.parameters import Dimension
from dpexp.engine.lanes.elementwise import Value, logistic, where
from dpexp.plugins import Plugin
from dpexp.problems.linear_predictor import LinearPredictorProblem
from dpexp.problems.mallows import gauss_panels, mean_weight, rule
from dpexp.problems.row_rules import normal_axis, rows_along
from dpexp.problems.weights import WEIGHT_CAP

if TYPE_CHECKING:
    from dpexp.engine.linear.measuring import Measured

DCount = Annotated[Dimension, Field(ge=3)]
_FLAT = 1e-9
"""largest entry of the gradient, of order 1 elsewhere, that counts as none; the risk is then flat to 1e-9"""
_REACH = 8.5
"""where the normal density is cut"""


def response(t: Value, e: Value, k: np.ndarray) -> Value:
    """y = 1 with probability 1 / (1 + exp(-x'beta*)), else -1."""
    return where(e <= logistic(t), 1.0, -1.0)


def score(t: Value, y: Value, scale: Value, k: np.ndarray) -> tuple[Value, Value]:
    """Derivative of max(0, 1 - y t)."""
    return where(y * t < 1.0, -y, 0.0), 0.0


class MallowsHinge(LinearPredictorProblem):
    """y in {-1, 1} with P(y = 1 | x) = 1 / (1 + exp(-x'beta*)); theta minimises E w max(0, 1 - y x'theta)."""

    name: Literal["mallows-hinge"] = "mallows-hinge"
    d: DCount = 5
    """number of random covariates; with fewer than 3 the weight's own kink would spoil the two-dimensional rule"""
    sigma_z: Annotated[float, Field(ge=0.15, le=1e6)] = 1.0
    """standard deviation of each covariate; with less the weight's kink at 1 / sigma_z leaves the rule's table"""

    response_noise = "uniform"
    response = staticmethod(response)
    score = staticmethod(score)

    def score_bounds(self) -> tuple[float, float]:
        return -1.0, 1.0

    def loss(self, theta: np.ndarray, x: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.weight(x) * np.maximum(0.0, 1 - y * np.sum(x * theta, axis=-1))

    def complaints(self) -> list[str]:
        """An optimum that is not found, for which nothing could be measured."""
        try:
            self.optimum()
        except ValueError as error:
            return [str(error)]
        return []

    def optimum(self) -> np.ndarray:
        # labels are a coin's then
        if self.beta == 0:
            return np.zeros(self.d + 1)
        b0, b = _best(self.d, self.sigma_z, abs(self.beta))
        return math.copysign(1, self.beta) * np.append(b0, np.full(self.d, b / (self.sigma_z * math.sqrt(self.d))))

    def _risk(self, theta: np.ndarray, measured: Measured) -> np.ndarray:
        """F(theta) by quadrature in a plane; error about 1e-7 for d = 3, less for larger d."""
        theta = theta.transpose(0, 2, 1).reshape(-1, self.p)
        slopes = theta[:, 1:]
        norm = np.sqrt(sum(slopes[:, j] ** 2 for j in range(self.d)))
        along = sum(slopes[:, j] for j in range(self.d)) / math.sqrt(self.d)
        cosine = np.clip(along / np.maximum(norm, 1e-300), -1, 1)
        plane = _plane(self.d, self.sigma_z)
        out = np.empty(len(theta))
        spread = np.maximum(norm * self.sigma_z, 1e-12)
        _compiled()(theta[:, 0].copy(), spread, cosine, self.beta, math.sqrt(self.d) * self.sigma_z, plane, out)
        return out.reshape(measured.linear.shape) + measured.linear

    def _second_order(self) -> tuple[np.ndarray, np.ndarray]:
        if self.beta == 0:
            # no loss has its kink at theta* = 0, and every score is 1 or -1 times x
            p = self.d + 1
            return np.zeros((p, p)), rows_along(self.law).moments(2)
        b0, b = _best(self.d, self.sigma_z, abs(self.beta))
        kinks = (1 - b0) / b, (-1 - b0) / b
        s, _ = rule(self.d, self.sigma_z, 24, splits=kinks)
        p = logistic(_predictor(self.d, self.sigma_z, abs(self.beta), s))
        # the squared score is 1 where the loss is not 0
        f = np.where(s < kinks[0], p, 0.0) + np.where(s > kinks[1], 1 - p, 0.0)
        unit = np.full(self.d, 1 / math.sqrt(self.d))
        covariance = normal_axis(self.sigma_z, unit, WEIGHT_CAP, splits=kinks).moments(2, f)
        # (e)
        hessian = np.zeros_like(covariance)
        # each kink adds the density of x'theta times E[w 1{its label} x x'] there
        for s_k, label in zip(kinks, (1, -1), strict=True):
            p_k = logistic(label * _predictor(self.d, self.sigma_z, abs(self.beta), s_k))
            density = p_k * math.exp(-s_k * s_k / 2) / math.sqrt(2 * math.pi) / b
            v = np.append(1.0, self.sigma_z * s_k * unit)
            q = np.array(s_k * s_k)
            hessian += density * float(mean_weight(self.d - 1, 1, q, self.sigma_z)) * np.outer(v, v)
            across = density * float(mean_weight(self.d + 1, 1, q, self.sigma_z)) * self.sigma_z**2
            hessian[1:, 1:] += across * (np.eye(self.d) - np.outer(unit, unit))
        return hessian, covariance


def _predictor(d: int, sigma_z: float, beta: float, s: Value) -> Value:
    """x'beta* at standardised coordinate s along (1, ..., 1)."""
    return beta * (1 + math.sqrt(d) * sigma_z * s)


@kept_once(64)
def _best(d: int, sigma_z: float, beta: float) -> tuple[float, float]:
    """Intercept and slope b > 0 (of the standardised coordinate along beta*) that minimise the risk."""
    from scipy.optimize import root

    # (d)
    def gradient(point: np.ndarray) -> np.ndarray:
        b0, b = point
        kinks = (1 - b0) / b, (-1 - b0) / b
        s, w = rule(d, sigma_z, 24, splits=kinks)
        p = logistic(_predictor(d, sigma_z, beta, s))
        f = w * (np.where(s > kinks[1], 1 - p, 0.0) - np.where(s < kinks[0], p, 0.0))
        return np.array([f.sum(), (f * s).sum()])

    # the solver may try b < 0 on its way, where kinks change places
    with np.errstate(all="ignore"):
        solution = root(gradient, np.array([0.5, 1.0]), tol=1e-14)
        residual = float(np.abs(gradient(solution.x)).max())
    if not (residual <= _FLAT and 0 < solution.x[1] < math.inf):  # also where it is nan
        raise ValueError(f"no minimiser of the hinge risk was found for beta = {beta:g} and sigma_z = {sigma_z:g}")
    return float(solution.x[0]), float(solution.x[1])


class _Plane(NamedTuple):
    """The rule in the plane of beta and beta*."""

    x: np.ndarray
    """Gauss-Legendre nodes in [0, 1]"""
    w: np.ndarray
    across: np.ndarray
    """mean weight outside the plane, at q = (k h)^2"""
    h: float
    kink: float
    """distance from the origin at which the weight has its kink"""


@kept_once(64)
def _plane(d: int, sigma_z: float) -> _Plane:
    # (a): with sigma_z >= .15 no place that is asked for is farther than 12.2 from the origin
    x, w = gauss_panels(np.array([0.0, 1.0]), 10)
    h = 13.0 / 4096
    return _Plane(x, w, mean_weight(d - 2, 1, (np.arange(4100) * h) ** 2, sigma_z), h, 1 / sigma_z)


@lru_cache(maxsize=1)
def _compiled() -> Callable[..., Any]:
    from numba import njit

    from dpexp.engine.compiled import compiled

    @njit(nogil=True)
    def interpolate(table, x):  # type: ignore[no-untyped-def]
        """Cubic interpolation of a table of an even function."""
        k = int(x)
        f = x - k
        a, b, c, e = table[abs(k - 1)], table[k], table[k + 1], table[k + 2]
        return b + 0.5 * f * (c - a + f * (2 * a - 5 * b + 4 * c - e + f * (3 * (b - c) + e - a)))

    @njit(nogil=True)
    def share(s, cosine, beta, length, label, plane):  # type: ignore[no-untyped-def]
        """E[w 1{y = label} | s]: over the other direction of the plane, both signs, panels ending at the kink."""
        x, w, across, h, kink = plane
        sine = math.sqrt(1 - cosine * cosine)
        # (c): the circle of the kink, seen from s
        ridge = math.sqrt(max(kink * kink - s * s, 0.0))
        total = 0.0
        for low, high in ((0.0, ridge), (ridge, ridge + 1.0), (ridge + 1.0, ridge + 2.5), (ridge + 2.5, ridge + 5.5)):
            for j in range(len(x)):
                r = low + (high - low) * x[j]
                mass = w[j] * (high - low) * math.exp(-r * r / 2) * interpolate(across, math.sqrt(s * s + r * r) / h)
                # nothing else tells the two signs of this coordinate apart than the label
                for side in (-1.0, 1.0):
                    t = beta * (1 + length * (cosine * s + sine * side * r))
                    total += mass / (1 + math.exp(-label * t))
        return total / math.sqrt(2 * math.pi)

    @njit(nogil=True)
    def half(start, end, b0, b, cosine, beta, length, label, plane):  # type: ignore[no-untyped-def]
        """E[w 1{y = label} (1 - label t)] over start < s < end, panels ending at the kinks of the weight."""
        x, w, _, _, kink = plane
        total = 0.0
        edges = (-_REACH, -kink - 3.0, -kink - 1.0, -kink, 0.0, kink, kink + 1.0, kink + 3.0, _REACH)
        for panel in range(len(edges) - 1):
            low, high = min(max(edges[panel], start), end), min(max(edges[panel + 1], start), end)
            if low < high:
                for i in range(len(x)):
                    s = low + (high - low) * x[i]
                    mass = w[i] * (high - low) * math.exp(-s * s / 2)
                    total += mass * share(s, cosine, beta, length, label, plane) * (1 - label * (b0 + b * s))
        return total / math.sqrt(2 * math.pi)

    @compiled(cached=True)
    def risk(b0, b, cosine, beta, length, plane, out):  # type: ignore[no-untyped-def]
        for i in range(len(out)):
            if not (math.isfinite(b0[i]) and math.isfinite(b[i])):
                out[i] = math.nan
                continue
            # (b): a label 1 costs something below the one kink, and a label -1 above the other
            right = min(max((1 - b0[i]) / b[i], -_REACH), _REACH)
            split = min(max((-1 - b0[i]) / b[i], -_REACH), _REACH)
            out[i] = half(-_REACH, right, b0[i], b[i], cosine[i], beta, length, 1.0, plane)
            out[i] += half(split, _REACH, b0[i], b[i], cosine[i], beta, length, -1.0, plane)

    return risk


PLUGIN = Plugin(problems={"mallows-hinge": MallowsHinge})
