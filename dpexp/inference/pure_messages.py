"""The local model with messages that are eps-differentially private with delta = 0: `staged_newton` asks, caps answer.

A user sends one vector by cap sampling (`privacy.cap`), which needs a bound R on its norm.

(a) Gradient of the joint Huber loss, whose last entry is w (kappa - psi^2) / 2. Sent are D g + (0, .., 0, a h) with D
    = diag(1, .., 1, a) and h = (c^2 - kappa) / 2. The server takes the shift off and divides the last entry by a: an
    unbiased gradient, whose noise in the scale is a times less. With a known scale there is no such entry, and for a
    logistic loss |y - p| <= 1 replaces c.
(b) Hessian. Its upper triangle with entries off the diagonal times sqrt(2), in R^t with t = p (p + 1) / 2, has the norm
    |D hess f D|_F <= B / s (`models.curvature_bound`), which is the radius at the current scale.
(c) Directions are normals over their length, in floating point. A message is one of them, times a constant.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import cached_property

import numpy as np

from dpexp.engine.lanes.vectors import lanes_zeros
from dpexp.inference.capped import Caps, Sphere
from dpexp.inference.messages import Sums, Users
from dpexp.inference.models import Model
from dpexp.inference.staged_newton import Server
from dpexp.inference.user_blocks import DrawNormals
from dpexp.privacy.cap import cap, deviation

POOL = 4096
"""directions that are drawn at a time"""


@dataclass(frozen=True)
class PureModel(Model):
    """A model whose messages are cap samples; its noise is stated for the effective budget 1."""

    eps: float = 1.0

    @property
    def radius(self) -> float:
        """R of (a), rounded up."""
        # without a scale the largest score stands for c, |y - p| <= 1 of a logistic loss
        c = max(map(abs, self.problem.score_bounds()))
        # since w |x|^2 <= 2, the squared norm is at most 2 w psi^2 + (a^2 / 4) (w (kappa - psi^2) + c^2 - kappa)^2:
        # convex in (w, w psi^2), so largest at (0, 0), (1, 0) or (1, c^2), and there 2 c^2 for a = 2 sqrt(2) / c
        return math.sqrt(2) * c * (1 + 1e-9)

    @property
    def stretch(self) -> float:
        """a of (a); 1 where there is no scale."""
        return 2 * math.sqrt(2) / float(self.constants[0]) if self.has_scale else 1.0

    @property
    def shift(self) -> float:
        """h of (a); 0 where there is no scale."""
        return float(self.constants[0] ** 2 - self.constants[1]) / 2 if self.has_scale else 0.0

    @property
    def entries(self) -> int:
        """t of (b)."""
        return self.p * (self.p + 1) // 2

    @cached_property
    def gradient_noise(self) -> np.ndarray:
        noise = np.full(self.p, deviation(self.eps, self.p, self.radius))
        # the server divides the last entry
        noise[-1] /= self.stretch
        return noise

    def hessian_noise(self, scale: float) -> float:
        return deviation(self.eps, self.entries, self.curvature_bound / scale)

    def effective(self, mu: np.ndarray) -> np.ndarray:
        return np.ones(1)


def pure(model: Model, eps: float) -> PureModel:
    """The model with messages that are eps-differentially private."""
    return PureModel(**{field.name: getattr(model, field.name) for field in fields(model)}, eps=eps)


class PureServer(Server):
    """A server whose users send cap samples; all eight replicates are the one that is computed."""

    def __init__(self, model: PureModel, start: np.ndarray, normals: DrawNormals) -> None:
        super().__init__(model, start)
        self.normals = normals
        self.constants = self.constants._replace(delta_hessian=model.hessian_noise(1.0))
        gradient, hessian = (
            Sphere(law.gamma, law.inside, law.m, np.empty((POOL, size)), np.array([POOL]), np.empty(size))
            for size in (model.p, model.entries)
            for law in (cap(model.eps, size),)
        )
        self._caps = Caps(
            gradient, hessian, model.radius, model.stretch, model.shift, model.curvature_bound, np.empty((0, 2)),
            lanes_zeros(model.entries),
        )  # fmt: skip

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        """Users first + 1, first + 2, ... of a stage; whoever finds no directions left is asked again."""
        from scipy.special import ndtr

        # uniform numbers are made of the one source of normals; noise is stated for the effective budget 1
        caps, served = self._caps._replace(uniform=ndtr(self.normals((len(eta), 2)))), 0
        users = users._replace(inverse_mu=np.ones_like(users.inverse_mu))
        while served < len(eta):
            for sphere in (caps.gradient, caps.hessian):
                # (c)
                if sphere.used[0] >= POOL:
                    normals = self.normals(sphere.pool.shape)
                    # the record decides only on which side of its cap the direction is, so the low digits tell nothing
                    sphere.pool[:] = normals / np.linalg.norm(normals, axis=1, keepdims=True)
                    sphere.used[0] = 0
            served = self._messages(
                first, every, summed, self.constants, eta, users, self.theta, self.hits, self.scratch, sums, served,
                len(eta), 0, caps,
            )  # fmt: skip
