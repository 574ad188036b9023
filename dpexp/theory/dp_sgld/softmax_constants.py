"""Constants of multinomial logistic regression (`dp-sgld`, section 5.1), with the regulariser lambda/2 |W|^2.

The loss is -log softmax(W x)_y + lambda/2 |W|^2: the paper prints it without its minus sign, and the regulariser
without the half although its Hessian has it. x holds the bias entry. Constants computed from features are private:
only the bounds by a public norm (`smoothness_of_norm`, `data_lipschitz`) cost nothing.
"""

from __future__ import annotations

import math


def smoothness_of_norm(norm: float, regulariser: float) -> float:
    """beta of every record with |x| <= norm, since diag(p) - p p^T <= 1/2; public after normalisation."""
    return norm**2 / 2 + regulariser


def data_lipschitz(norm: float) -> float:
    """L0 = sqrt(2) |x|: the gradient of the data part has norm |p - e_y| |x|.

    Only the data part depends on the record, so this is the constant of the sensitivity 2 L0 / n whatever the set.
    """
    return math.sqrt(2) * norm


def minimiser_radius(norm: float, regulariser: float, classes: int) -> float:
    """A radius of a ball with the minimiser: the smaller of L0 / lambda and sqrt(2 log(classes) / lambda)."""
    # the first since the gradient vanishes there, the second since the loss at 0 is log(classes)
    return min(data_lipschitz(norm) / regulariser, math.sqrt(2 * math.log(classes) / regulariser))
