"""`central-newton`: one owner holds all records and publishes one fit, mu-GDP in total (inference, section 6).

Neighbours differ in one record (replace-one), n is public. Four releases share mu: by composition of Gaussian
mechanisms the squares of their parameters add up, mu_G^2 : mu_H^2 : mu_S^2 = .70 : .15 : .15, where mu_H^2 is halved
between the releases 1 and 4a.

    1   A = mean(w x x') + noise                          sensitivity 2 sqrt 2 / n in the Frobenius norm
    2   T = 12 steps with noisy mean gradients            sensitivity Delta / n each, mu_G / sqrt T each
    3   thetabar, gbar: means over the last T / 2 steps
    4a  Hhat = mean Hessian at thetabar + noise           sensitivity Delta_H(s) / n
    4b  Shat = mean of g g' at thetabar + noise           sensitivity sqrt 2 C0^2 / n
    5   theta~ = thetabar - Hr^-1 gbar, with covariance Hr^-1 [Shat / n + known noise of gbar] Hr^-1
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from dpexp.inference.models import Model
from dpexp.inference.newton import regularise, standard_errors
from dpexp.inference.users import Normals
from dpexp.problems.mallows import WEIGHT_CAP

PARTS = {"gradients": 0.70, "hessian": 0.15, "scores": 0.15}
"""shares of mu^2"""
STEPS = 12
LEAST_MOMENT = 0.05
"""to which eigenvalues of A are raised"""
CHUNK = 65_536
"""records of one matrix product: memory stays small"""


class Central(NamedTuple):
    """What is released, and what follows from it."""

    theta: np.ndarray
    """theta~ [p]"""
    covariance: np.ndarray
    """[p, p]"""
    hessian: np.ndarray
    """Hr [p, p]"""
    hessian_error: float
    """se_H, the standard deviation of the noise of a diagonal entry of D Hhat D"""
    moved: float
    """how far the correction of step 5 goes, in standard errors: the largest |Hr^-1 gbar| over errors"""
    mu_spent: float
    """by composition of all releases; equal to mu"""


def symmetric_noise(normals: Normals, p: int, deviation: float) -> np.ndarray:
    """Symmetric noise [p, p] for a Frobenius sensitivity: variances 1 on the diagonal and 1/2 off it."""
    if deviation == 0:
        return np.zeros((p, p))
    a = normals((p, p))
    off = np.tril(a, -1) * math.sqrt(0.5)
    return deviation * (off + off.T + np.diag(np.diag(a)))


class _Owner:
    """Means over the records, in chunks; what is computed from them sees only what was `sent`."""

    def __init__(self, model: Model, x: np.ndarray, y: np.ndarray, n: int, normals: Normals) -> None:
        self.model, self.x, self.y, self.n, self.normals = model, x, y, n, normals

    def sent(self, mean: np.ndarray, deviation: float) -> np.ndarray:
        """A mean [p], or a symmetric one [p, p], with its noise: one message."""
        if mean.ndim == 1:
            return np.asarray(mean + deviation * self.normals(mean.shape))
        return np.asarray(mean + symmetric_noise(self.normals, len(mean), deviation))

    def parts(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """Rows x = (1, z) and responses, some records at a time."""
        for k in range(0, len(self.y), CHUNK):
            z = self.x[k : k + CHUNK]
            yield np.concatenate([np.ones((len(z), 1)), z], axis=1), self.y[k : k + CHUNK]

    def moments(self) -> np.ndarray:
        """mean(w x x') [d + 1, d + 1]."""
        total = np.zeros((self.model.d + 1, self.model.d + 1))
        for x, _ in self.parts():
            total += (x * self.model.problem.weight(x)[:, None]).T @ x
        return total / self.n

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Mean gradient [p]."""
        total = np.zeros(self.model.p)
        for x, y in self.parts():
            total += self.model.problem.gradient(theta, x, y).sum(axis=0)
        return total / self.n

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """mean(g g') [p, p]."""
        total = np.zeros((self.model.p, self.model.p))
        for x, y in self.parts():
            g = self.model.problem.gradient(theta, x, y)
            total += g.T @ g
        return total / self.n

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Mean Hessian [p, p], by products of matrices and not record by record."""
        model, q = self.model, self.model.d + 1
        total = np.zeros((model.p, model.p))
        for x, y in self.parts():
            w = model.problem.weight(x)
            tt, ts, ss = model.curvature(x @ theta[:q], y, model.scale_of(theta), model.constants)
            total[:q, :q] += (x * (w * tt)[:, None]).T @ x
            if model.has_scale:
                total[:q, q] += x.T @ (w * ts)
                total[q, q] += float(w @ ss)
        if model.has_scale:
            total[q, :q] = total[:q, q]
        return total / self.n


def mean_curvature(model: Model) -> tuple[float, float]:
    """The guessed H over the guessed E w x x' in the coefficients, and over E w in the scale; times the scale."""
    if model.name == "mallows-logistic":
        from dpexp.inference.models import GUESSED_VARIANCE

        return GUESSED_VARIANCE, 1.0
    from dpexp.problems.huber_linear import normal_moments

    moments = normal_moments(float(model.constants[0]))
    return moments.inside, moments.square_inside  # .82 and .387 for c = 1.345


def central_newton(
    model: Model, start: np.ndarray, x: np.ndarray, y: np.ndarray, mu: float, normals: Normals, n: int | None = None
) -> Central:
    """The fit of records x [m, d], y [m] from theta_0 = `start` [p], which is public.

    All means are sums over the public `n`, m where it is left out. With m < n the other records add 0, whose distance
    from what a record adds is at most the bound of that (C0, 2, B / s, C0^2), so the sensitivities above hold for it.
    """
    n, p = len(y) if n is None else n, model.p
    owner = _Owner(model, x, y, n, normals)
    mu_g, mu_h, mu_s = (mu * math.sqrt(PARTS[part]) for part in PARTS)
    half = mu_h / math.sqrt(2)

    noise_a = 0.0 if math.isinf(mu) else math.sqrt(2) * WEIGHT_CAP / (half * n)
    moments = owner.sent(owner.moments(), noise_a)
    values, vectors = np.linalg.eigh(moments)
    moments = (vectors * np.maximum(values, LEAST_MOMENT)) @ vectors.T

    in_beta, in_scale = mean_curvature(model)
    noise_g = 0.0 if math.isinf(mu) else model.gradient_sensitivity * math.sqrt(STEPS) / (mu_g * n)
    theta, points, gradients = np.array(start, dtype=np.float64), [], []
    for _ in range(STEPS):
        g = owner.sent(owner.gradient(theta), noise_g)
        points.append(theta)
        gradients.append(g)
        theta = _step(model, theta, g, moments, in_beta, in_scale)

    late = slice(STEPS // 2, None)
    point, gradient = np.mean(points[late], axis=0), np.mean(gradients[late], axis=0)
    scale = float(model.scale_of(point))
    error = 0.0 if math.isinf(mu) else float(model.hessian_sensitivity(scale)) / (half * n)
    scaling = model.hessian_scaling
    both = np.outer(scaling, scaling)
    hessian = regularise(owner.sent(owner.hessian(point) * both, error), np.array(error)) / both
    noise_s = 0.0 if math.isinf(mu) else math.sqrt(2) * model.problem.gradient_bound() ** 2 / (mu_s * n)
    scores = _positive(owner.sent(owner.scores(point), noise_s))

    inverse = np.linalg.inv(hessian)
    change = inverse @ gradient
    known = noise_g**2 / (STEPS - STEPS // 2) * np.eye(p)
    turned = change / scaling  # of_hessian_noise of `newton`, for one replicate
    of_hessian = error**2 / 2 * (np.outer(turned, turned) + turned @ turned * np.eye(p)) / both
    covariance = inverse @ (scores / n + known + of_hessian) @ inverse
    moved = float(np.max(np.abs(change) / np.maximum(standard_errors(covariance), 1e-300)))
    spent = math.sqrt(STEPS * (mu_g / math.sqrt(STEPS)) ** 2 + 2 * half**2 + mu_s**2)
    return Central(point - change, covariance, hessian, error, moved, spent)


def _step(
    model: Model, theta: np.ndarray, g: np.ndarray, moments: np.ndarray, in_beta: float, in_scale: float
) -> np.ndarray:
    """One quasi-Newton step with the noisy gradient g, no longer than three scales; the scale at most doubles."""
    q, scale = model.d + 1, float(model.scale_of(theta))
    step = np.linalg.solve(in_beta * moments / scale, g[:q])
    length = float(np.linalg.norm(step))
    most = 3 * scale
    beta = theta[:q] - step * min(1.0, most / max(length, 1e-300))
    if not model.has_scale:
        return beta
    change = g[q] / (in_scale * moments[0, 0] / scale)
    return np.append(beta, max(scale - float(np.clip(change, -scale, scale / 2)), model.problem.scale_min / 2))


def _positive(matrix: np.ndarray) -> np.ndarray:
    """The matrix with negative eigenvalues set to 0: noise can make a covariance indefinite."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, 0.0)) @ vectors.T
