"""The local model with messages that are eps-differentially private with delta = 0: `staged_newton` asks, caps answer.

A user sends one vector by cap sampling (`core.cap_sampling`), which needs a bound R on its norm.

(a) Gradient of the joint Huber loss, whose last entry is w (kappa - psi^2) / 2. Sent are D g + (0, .., 0, a h) with D
    = diag(1, .., 1, a) and h = (c^2 - kappa) / 2. Since w |x|^2 <= 2, the squared norm is at most 2 w psi^2 + (a^2 / 4)
    (w (kappa - psi^2) + c^2 - kappa)^2. That is convex in (w, w psi^2), so its maximum is at (0, 0), (1, 0) or (1,
    c^2), and for a = 2 sqrt(2) / c it is 2 c^2. The server takes the shift off and divides the last entry by a: an
    unbiased gradient, whose noise in the scale is a times less. With a known scale there is no such entry, and for a
    logistic loss |y - p| <= 1 stands for c.
(b) Hessian. Its upper triangle with entries off the diagonal times sqrt(2), in R^t with t = p (p + 1) / 2, has the norm
    |D hess f D|_F <= B / s (`models.curvature_bound`), which is the radius at the current scale.
(c) Directions are normals over their length, in floating point. A message is one of them, times a constant. The record
    decides only on which side of its cap the direction is, so the low digits tell nothing.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cached_property, lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.core.cap_sampling import cap, deviation
from dpexp.engine.compiled import compiled
from dpexp.inference.messages import Sums, Users
from dpexp.inference.models import Model
from dpexp.inference.staged_newton import Server
from dpexp.inference.users import Normals
from dpexp.problems.huber_linear import HuberLinear

POOL = 4096
"""directions that are drawn at a time"""


@dataclass(frozen=True)
class PureModel(Model):
    """A model whose messages are cap samples; its noise is stated for the effective budget 1."""

    eps: float = 1.0

    @property
    def radius(self) -> float:
        """R of (a), rounded up."""
        c = self.problem.c if isinstance(self.problem, HuberLinear) else 1.0
        return math.sqrt(2) * c * (1 + 1e-9)

    @property
    def stretch(self) -> float:
        """a of (a); 1 where there is no scale."""
        return 2 * math.sqrt(2) / self.problem.c if isinstance(self.problem, HuberLinear) and self.has_scale else 1.0

    @property
    def shift(self) -> float:
        """h of (a); 0 where there is no scale."""
        if not (isinstance(self.problem, HuberLinear) and self.has_scale):
            return 0.0
        return float(self.constants[0] ** 2 - self.constants[1]) / 2

    @property
    def entries(self) -> int:
        """t of (b)."""
        return self.p * (self.p + 1) // 2

    @cached_property
    def gradient_noise(self) -> np.ndarray:
        noise = np.full(self.p, deviation(self.eps, self.p, self.radius))
        noise[-1] /= self.stretch
        return noise

    def hessian_noise(self, scale: float) -> float:
        return deviation(self.eps, self.entries, self.curvature_bound / scale)

    @property
    def bounds(self) -> dict[str, dict[str, float]]:
        """The radii of (a) and (b), and a and h of (a)."""
        found = {"gradient": self.radius, "hessian_times_scale": self.curvature_bound}
        return {"radius": found | {"scale_stretch": self.stretch, "scale_shift": self.shift}}

    def effective(self, mu: np.ndarray) -> np.ndarray:
        return np.ones(1)


def pure(model: Model, eps: float) -> PureModel:
    """The model with messages that are eps-differentially private."""
    return PureModel(**{field.name: getattr(model, field.name) for field in fields(model)}, eps=eps)


class Sphere(NamedTuple):
    """What a message of one kind needs."""

    gamma: float
    inside: float
    m: float
    pool: np.ndarray
    """directions that nobody has seen [POOL, dimension]; those before `used` are gone"""


@lru_cache(maxsize=8)
def compiled_pure_messages(
    score: Callable[..., Any], curvature: Callable[..., Any], has_scale: bool
) -> Callable[..., Any]:
    """The compiled loop over users, one replicate; it returns how many it served, fewer where directions ran out."""
    rho, rho2 = njit(score, nogil=True), njit(curvature, nogil=True)

    @njit(nogil=True)
    def predictor(theta, x, r):
        t = theta[0]
        for j in range(x.shape[1]):
            t += theta[j + 1] * x[r, j]
        return t

    @njit(nogil=True)
    def drawn(vector, radius, uniform, sphere, used, kind):
        """The place of the direction that a user sends; -1 where the pool is at its end."""
        pool, dimension = sphere.pool, vector.shape[0]
        place = used[kind]
        used[kind] = place + 1
        if place >= len(pool):
            return -1
        length = 0.0
        for j in range(dimension):
            length += vector[j] * vector[j]
        length = math.sqrt(length)
        if uniform[0] * radius < length:
            for j in range(dimension):
                vector[j] /= length
        else:
            for j in range(dimension):
                vector[j] = pool[place, j]
        inside = uniform[1] < sphere.inside
        for candidate in range(place + 1, len(pool)):
            used[kind] = candidate + 1
            cosine = 0.0
            for j in range(dimension):
                cosine += vector[j] * pool[candidate, j]
            if (cosine >= sphere.gamma) == inside:
                return candidate
        return -1

    @compiled(kept=True)
    def messages(
        begin,
        first,
        every,
        summed,
        pace,
        eta,
        x,
        y,
        w,
        rows,
        uniform,
        model,
        gradient,
        hessian,
        used,
        theta,
        hits,
        sums,
    ):
        k, fixed_scale, scale_min, radius, stretch, shift, bound, row_of_scale, hessian_error = model
        v_sums, points, gradients, squares, u_sums, hessians = sums
        p, d = theta.shape[0], x.shape[1]
        vector, triangle = np.empty(p), np.empty(p * (p + 1) // 2)
        for b in range(begin, len(eta)):
            i = first + b + 1
            scale = theta[p - 1] if has_scale else fixed_scale
            if every > 0 and i % every == 0:
                if i < summed:
                    continue
                triangle[:] = 0.0
                for r in range(rows[b], rows[b + 1]):
                    tt, ts, ss = rho2(predictor(theta, x, r), y[r], scale, k)
                    e = 0
                    for j in range(d + 1):
                        x_j = 1.0 if j == 0 else x[r, j - 1]
                        for l in range(j, d + 1):
                            x_l = 1.0 if l == 0 else x[r, l - 1]
                            triangle[e] += w[r] * tt * x_j * x_l * (1.0 if l == j else math.sqrt(2.0))
                            e += 1
                        if has_scale:
                            triangle[e] += math.sqrt(2.0) * row_of_scale * w[r] * ts * x_j
                            e += 1
                    if has_scale:
                        triangle[e] += row_of_scale * row_of_scale * w[r] * ss
                place = drawn(triangle, bound / scale, uniform[b], hessian, used, 1)
                if place < 0:
                    return b
                size = bound / scale / hessian.m
                e = 0
                for j in range(p):
                    for l in range(j, p):
                        sent = size * hessian.pool[place, e]
                        hessians[e] += sent if l == j else sent / math.sqrt(2.0)
                        e += 1
                u_sums[0] += 1.0
                u_sums[1] += (hessian_error / scale) ** 2
                u_sums[2] += 1.0
            else:
                vector[:] = 0.0
                for r in range(rows[b], rows[b + 1]):
                    g, h = rho(predictor(theta, x, r), y[r], scale, k)
                    vector[0] += w[r] * g
                    for j in range(d):
                        vector[j + 1] += w[r] * g * x[r, j]
                    if has_scale:
                        vector[p - 1] += w[r] * h
                if has_scale:
                    vector[p - 1] = stretch * (vector[p - 1] + shift)
                place = drawn(vector, radius, uniform[b], gradient, used, 0)
                if place < 0:
                    return b
                for j in range(p):
                    vector[j] = radius / gradient.m * gradient.pool[place, j]
                if has_scale:
                    vector[p - 1] = vector[p - 1] / stretch - shift
                if i >= summed:
                    e = 0
                    for j in range(p):
                        points[j] += theta[j]
                        gradients[j] += vector[j]
                        for l in range(j, p):
                            squares[e] += vector[j] * vector[l]
                            e += 1
                    for j in range(3):
                        v_sums[j] += 1.0
                for j in range(p):
                    theta[j] -= pace * eta[b] * vector[j]
                if has_scale and theta[p - 1] < scale_min:
                    hits[0] += 1.0
                    theta[p - 1] = scale_min
        return len(eta)

    return messages


class PureServer(Server):
    """A server whose users send cap samples; all eight replicates are the one that is computed."""

    def __init__(self, model: PureModel, start: np.ndarray, normals: Normals) -> None:
        super().__init__(model, start)
        self.normals = normals
        law = model.problem
        self._pure = compiled_pure_messages(type(law).score, model.curvature, model.has_scale)
        self._numbers = (
            model.constants, law.fixed_scale, law.scale_min, model.radius, model.stretch, model.shift,
            model.curvature_bound, model.scale_row, model.hessian_noise(1.0),
        )  # fmt: skip
        self._used = np.full(2, POOL)
        self._spheres = [
            Sphere(found.gamma, found.inside, found.m, np.empty((POOL, size)))
            for size in (model.p, model.entries)
            for found in (cap(model.eps, size),)
        ]

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        """Users first + 1, first + 2, ... of a stage, as many as eta has entries; the sums from user `summed` on."""
        from scipy.special import ndtr

        x, y, w = users.x[..., 0].copy(), users.y[:, 0].copy(), users.w[:, 0].copy()
        uniform, one = ndtr(self.normals((len(eta), 2))), tuple(part[:, 0].copy() for part in sums)
        theta, hits, served = self.theta[:, 0].copy(), self.hits[0, :1].copy(), 0
        while served < len(eta):
            for kind, sphere in enumerate(self._spheres):
                if self._used[kind] >= POOL:
                    normals = self.normals(sphere.pool.shape)
                    sphere.pool[:] = normals / np.linalg.norm(normals, axis=1, keepdims=True)
                    self._used[kind] = 0
            served = self._pure(
                served, first, every, summed, float(self.pace[0, 0]), eta, x, y, w, users.rows, uniform,
                self._numbers, *self._spheres, self._used, theta, hits, one,
            )  # fmt: skip
        self.theta[:], self.hits[0] = theta[:, None], hits[0]
        for part, own in zip(sums, one, strict=True):
            part[:] = own[:, None]
