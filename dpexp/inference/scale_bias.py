"""The bias of a Huber model's scale in the local model, by which estimates are made less.

The scale of a Huber model comes out too large by a part of its standard error: points theta_k are thrown about
their mean by the noise of the messages, and the mean gradient of a risk that is not quadratic is not the gradient at
the mean. With V for the covariance of the points, T for the third derivative at the target and s for the scale, the
Newton-corrected estimate of s is off by

    -T_s : V / (2 H_ss),        T_sss = -b H_ss / s,    T_sjk = -(q / s^2) E[w x_j x_k],    b = 3 - 2 c^3 phi(c) / q,

for normal errors e, where q = E e^2 1{|e| <= c} and H_ss = (q / s) E w; the other entries vanish, as errors are
symmetric. Steps of length eta keep V at H V + V H = eta Q, with Q the covariance of a message, so that with P =
P(|e| <= c) in H_jk = (P / s) E[w x_j x_k]

    bias = (eta / (4 s H_ss)) (b Q_ss + (q / P) sum_j Q_jj).

S = Q / N is the covariance of a mean gradient of N users, so eta Q is S times the step sizes of all of them added up.
Where errors are not normal a part of the bias is left.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.inference.messages import Sums, symmetric
from dpexp.inference.models import Model
from dpexp.inference.newton import Corrected
from dpexp.problems.linear_losses import HuberLinear
from dpexp.theory.ldp_sgd.huber_messages import normal_moments


def scale_bias(model: Model, sums: Sums, estimate: Corrected, times: np.ndarray) -> np.ndarray:
    """By how much the last entry of `found.theta` [8, p] is too large [8]; 0 for models without a scale.

    `times` are the step sizes of all users of the sums, added up [8].
    """
    law = model.problem
    if not (model.has_scale and isinstance(law, HuberLinear)):
        return np.zeros(len(estimate.theta))
    # b, q / P, and eta Q from S = Q / N
    normal, c = normal_moments(law.c), law.c
    steeper = 3 - 2 * c**3 * math.exp(-c * c / 2) / math.sqrt(2 * math.pi) / normal.square_inside
    of_coefficients = normal.square_inside / normal.inside
    spread = np.diagonal(symmetric(sums.squares, model.p), axis1=1, axis2=2) / (sums.v[0] ** 2)[:, None]
    thrown = steeper * spread[:, -1] + of_coefficients * spread[:, :-1].sum(axis=1)
    scale = np.maximum(estimate.theta[:, -1], law.sigma_min)
    bias = times * thrown / (4 * scale * estimate.hessian[:, -1, -1])
    # beyond one standard error the expansion says nothing
    return np.asarray(np.minimum(bias, np.sqrt(estimate.covariance[:, -1, -1])))
