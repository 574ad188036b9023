"""What the risk lacks of being quadratic: a flatter logistic risk at the estimate, and the bias of a Huber scale.

Write theta_k = theta* + delta_k for the points, H for the Hessian at theta* and T for the third derivative. The mean
Hessian is H + T[dbar], larger than H where the start is not forgotten, and it moves with the noise of the points. The
part of theta~ - theta* that is linear in the noise xi of the messages is, with eta for the noise of the points,

    -(H + T[dbar])^-1 xi + H^-1 T[dbar] eta,      eta = -H^-1 xi + what earlier messages left,

so that it is about -H^-1 xi: what counts is the curvature at the target. The sandwich with the mean Hessian is too
short by the ratio of the two curvatures. That ratio is taken from the public guess of the law of the covariates, of
which little depends: it serves to make intervals longer, never shorter.

The scale of a Huber model comes out too large by a part of its standard error: points theta_k are thrown about their
mean by the noise of the messages, and the mean gradient of a risk that is not quadratic is not the gradient at the
mean. With V for the covariance of the points, T for the third derivative at the target and s for the scale, the
Newton-corrected estimate of s is off by

    -T_s : V / (2 H_ss),        T_sss = -b H_ss / s,    T_sjk = -(q / s^2) E[w x_j x_k],    b = 3 - 2 c^3 phi(c) / q,

for normal errors e, where q = E e^2 1{|e| <= c} and H_ss = (q / s) E w. To see it: the gradient in s is
w (kappa - clip(e / s)^2) / 2. Its second derivative in a shift of e is -(w / s^2) (P(|e| <= c) - 2 c phi(c)), in
which the bracket is q. Other entries vanish, as errors are symmetric. Steps of length eta keep V at
H V + V H = eta Q, with Q the covariance of a message. With H_jk = (P / s) E[w x_j x_k],
P = P(|e| <= c), and tr(H V) = eta tr(Q) / 2 in the coefficients,

    bias = (eta / (4 s H_ss)) (b Q_ss + (q / P) sum_j Q_jj).

S = Q / N is the covariance of a mean gradient of N users, so eta Q is S times the step sizes of all of them added up.
The constants are those of normal errors; where errors are others a part of the bias is left.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler exp on lanes
from dpexp.engine.lanes.vectors import LANES, load, reals, store
from dpexp.inference.messages import Sums, symmetric
from dpexp.inference.models import Model
from dpexp.inference.newton import Corrected
from dpexp.problems.huber_linear import HuberLinear, normal_moments


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


DRAWS = 4000


@lru_cache(maxsize=16)
def covariates(d: int, sigma_z: float) -> np.ndarray:
    """Rows (1, z) [DRAWS, d + 1] of the guessed law, from a fixed seed."""
    z = np.random.Generator(np.random.PCG64(23)).standard_normal((DRAWS, d))
    return np.concatenate([np.ones((DRAWS, 1)), sigma_z * z], axis=1)


def curvature_at(model: Model, theta: np.ndarray) -> np.ndarray:
    """The trace of the Hessian of the risk at theta [8, p] under the guessed law [8]: the mean of w |x|^2 p (1 - p)."""
    x = covariates(model.d, model.problem.sigma_z)
    weight = model.problem.weight(x) * np.sum(x * x, axis=1)
    found = np.empty((1, LANES))
    compiled_mean(model.curvature)(np.ascontiguousarray(theta.T), x, weight, model.constants, found)
    return np.asarray(found[0] / DRAWS)


def flatter(model: Model, stages: tuple[Sums, Sums], theta: np.ndarray) -> np.ndarray:
    """The curvature at the estimate theta [8, p] over that at the mean points of the stages, at most 1 [8].

    1 for models that are not logistic: the Huber model's curvature follows from the scale, which hardly moves.
    """
    if model.name != "mallows-logistic":
        return np.ones(len(theta))
    total = sum(sums.u[0] for sums in stages)
    met = sum(sums.u[0] / total * curvature_at(model, (sums.points / sums.v[0]).T) for sums in stages)
    return np.asarray(np.minimum(1.0, curvature_at(model, theta) / met))


def scale_bias(model: Model, sums: Sums, found: Corrected, times: np.ndarray) -> np.ndarray:
    """By how much the last entry of `found.theta` [8, p] is too large [8]; 0 for models without a scale.

    `times` are the step sizes of all users of the sums, added up [8]. At most one standard error: beyond that the
    expansion says nothing.
    """
    law = model.problem
    if not (model.has_scale and isinstance(law, HuberLinear)):
        return np.zeros(len(found.theta))
    normal, c = normal_moments(law.c), law.c
    steeper = 3 - 2 * c**3 * math.exp(-c * c / 2) / math.sqrt(2 * math.pi) / normal.square_inside
    of_coefficients = normal.square_inside / normal.inside
    spread = np.diagonal(symmetric(sums.squares, model.p), axis1=1, axis2=2) / (sums.v[0] ** 2)[:, None]
    thrown = steeper * spread[:, -1] + of_coefficients * spread[:, :-1].sum(axis=1)
    scale = np.maximum(found.theta[:, -1], law.sigma_min)
    bias = times * thrown / (4 * scale * found.hessian[:, -1, -1])
    return np.asarray(np.minimum(bias, np.sqrt(found.covariance[:, -1, -1])))
