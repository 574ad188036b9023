"""What the risk lacks of being quadratic: a flatter logistic risk at the estimate, and the bias of a Huber scale.

(a) Write theta_k = theta* + delta_k for the points, H for the Hessian at theta* and T for the third derivative. The
mean Hessian is H + T[dbar], larger than H where the start is not forgotten, and it moves with the noise of the points.
The part of theta~ - theta* that is linear in the noise xi of the messages is, with eta for the noise of the points,

    -(H + T[dbar])^-1 xi + H^-1 T[dbar] eta,      eta = -H^-1 xi + what earlier messages left,

so that it is about -H^-1 xi: what counts is the curvature at the target. The sandwich with the mean Hessian is too
short by the ratio of the two curvatures, and more so along steep slopes than across them. Both curvatures are computed
under the public guess of the law of the covariates (`flatter`): at the estimate, and as a mean over points of the path.
(b) Newton jumps of a steep logistic model are too short for the same reason, by an error that no number of users makes
smaller: a second one from 4.1, where the slopes are 5, ends at 4.7. The same guess says how much farther to go.

(c) The scale of a Huber model comes out too large by a part of its standard error: points theta_k are thrown about
their mean by the noise of the messages, and the mean gradient of a risk that is not quadratic is not the gradient at
the mean. With V for the covariance of the points, T for the third derivative at the target and s for the scale, the
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

import numpy as np

from dpexp.inference.messages import Sums, Users, symmetric
from dpexp.inference.models import Model
from dpexp.inference.newton import NEGLIGIBLE, Corrected
from dpexp.inference.small_matrices import eigensystems, times
from dpexp.inference.users import Records
from dpexp.problems.regression_models import HuberRegression, normal_moments

DRAWS = 2000
"""records of the guessed law"""
JUMPS = np.linspace(0.0, 2.0, 6)
"""times the Newton jump, between which the right one is looked for"""

Guessed = Callable[[np.ndarray, int], Sums]
"""guessed(theta [8, p], every) -> sums over `guessed_users` without noise: gradients, or with every = 1 Hessians"""


@lru_cache(maxsize=16)
def covariates(d: int, sigma_z: float) -> np.ndarray:
    """Rows (1, z) [DRAWS, d + 1] of the guessed law, from a fixed seed."""
    z = np.random.Generator(np.random.PCG64(23)).standard_normal((DRAWS, d))
    return np.concatenate([np.ones((DRAWS, 1)), sigma_z * z], axis=1)


@lru_cache(maxsize=16)
def guessed_users(model: Model) -> Users:
    """Users who hold these rows and send without noise."""
    # responses are 0: a logistic curvature has none
    rows = covariates(model.d, model.problem.sigma_z)[:, 1:]
    return Records(model, rows, np.zeros(DRAWS), np.full(DRAWS, math.inf), np.zeros).block(DRAWS, 0, 1)


def farther(guessed: Guessed, point: np.ndarray, change: np.ndarray) -> np.ndarray:
    """What the jump `change` [8, p] of a logistic model from `point` [8, p] has to be multiplied by [8]; at most 2.

    A Newton jump takes the curvature at the point for that of the way.
    """
    # (b): what was measured along the way, and what the guessed law says at some points of it
    sums = guessed(point, 1)
    wanted = np.sum(change * times(symmetric(sums.hessians / sums.u[0], point.shape[1]), change), axis=1)
    gradients = np.stack([(guessed(point + t * change, 0).gradients / DRAWS).T for t in JUMPS])
    # under the guessed law the gradient rises along the way by r(t) = change' (grad F(point + t change) - grad
    # F(point)), and the t is right at which it has risen by what was measured, change' H change
    risen = np.sum((gradients - gradients[0]) * change, axis=2)
    return np.array([np.interp(wanted[lane], risen[:, lane], JUMPS) for lane in range(len(wanted))])


def mean_curvature(guessed: Guessed, path: list[np.ndarray]) -> np.ndarray:
    """The mean Hessian [8, p, p] of a logistic risk over points theta [8, p] of a path, under the guessed law."""
    sums = [guessed(theta, 1) for theta in path]
    return np.asarray(np.mean([symmetric(one.hessians / one.u[0], path[0].shape[1]) for one in sums], axis=0))


def flatter(there: np.ndarray, met: np.ndarray) -> np.ndarray:
    """K = there^(1/2) met^(-1/2) [8, p, p], with which K met K' = there, for curvatures under the guessed law."""
    # (a): the guess is asked for the ratio of two curvatures alone, and the messages say how large they are
    return _root(there, 1) @ _root(met, -1)


def _root(a: np.ndarray, sign: int) -> np.ndarray:
    """The square roots of positive semidefinite matrices [8, p, p], or of their inverses."""
    values, vectors = eigensystems(a)
    roots = np.sqrt(np.maximum(values, NEGLIGIBLE * values[:, -1:])) ** sign
    return (vectors * roots[:, None, :]) @ vectors.transpose(0, 2, 1)


def scale_bias(model: Model, sums: Sums, found: Corrected, times: np.ndarray) -> np.ndarray:
    """By how much the last entry of `found.theta` [8, p] is too large [8]; 0 for models without a scale.

    `times` are the step sizes of all users of the sums, added up [8].
    """
    law = model.problem
    if not (model.has_scale and isinstance(law, HuberRegression)):
        return np.zeros(len(found.theta))
    # (c): b, q / P, and eta Q from S = Q / N
    normal, c = normal_moments(law.c), law.c
    steeper = 3 - 2 * c**3 * math.exp(-c * c / 2) / math.sqrt(2 * math.pi) / normal.square_inside
    of_coefficients = normal.square_inside / normal.inside
    spread = np.diagonal(symmetric(sums.squares, model.p), axis1=1, axis2=2) / (sums.v[0] ** 2)[:, None]
    thrown = steeper * spread[:, -1] + of_coefficients * spread[:, :-1].sum(axis=1)
    scale = np.maximum(found.theta[:, -1], law.sigma_min)
    bias = times * thrown / (4 * scale * found.hessian[:, -1, -1])
    # beyond one standard error the expansion says nothing
    return np.asarray(np.minimum(bias, np.sqrt(found.covariance[:, -1, -1])))
