"""What can be said before any data are read: expected lengths, whether intervals could hold, and which n would do.

All of it follows from n, the budgets and a public guess of the law: covariates like independent normals of the stated
scales, and the model's own law of the response.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from dpexp.inference.models import VARIANCE_OF_STEPS, Model
from dpexp.inference.newton import less_excess, longer, regularise, standard_errors, symmetric_noise
from dpexp.inference.small_matrices import eigensystems, eigenvalues, inverses
from dpexp.inference.staged_newton import SHARES, Design, guessed_median
from dpexp.inference.users import gradient_weights, hessian_weights

DRAWS = 128
FEWEST_FOR_EACH = 200
"""users for every parameter below which nothing was ever tried; also without any noise"""
QUANTILE = 0.1
"""the share of fits whose Hessian may look like noise though their plan advises nothing, if the guess is right"""
EVERY = (20, 15, 10, 8, 6, 5, 4, 3)
"""designs in which every k-th user sends a Hessian"""
SURE, SURE_OF_LOGISTIC = 1.3, 1.7
"""times `least_ratio`: what is expected of H where there is a choice, as the truth may be less curved than the guess. A
logistic risk is: along beta, where predictions are sure, by a factor that no public number tells"""
MEASURED_BY = 1000
"""Hessian users, at least, where n allows it: the Hessians of records vary, and no plan counts that"""
MEASURING = sum(SHARES[1:])
"""the share of users whose messages enter the estimate"""


@dataclass(frozen=True)
class MessageNoise:
    """What a law of budgets does to sums of weighted messages, as the budget that all users could share instead."""

    gradients: float
    """1 / mu_eff^2 of gradients: sum v_i^2 (S + Delta^2 / mu_i^2) is like S + Delta^2 / mu_eff^2"""
    hessians: float
    """1 / mu_eff^2 of Hessians"""


def noise_of(model: Model, mu: np.ndarray, equal: bool = False) -> MessageNoise:
    """The effective noise of the budgets mu [users] under the weights that are used; `equal`: all weights are 1."""
    with np.errstate(divide="ignore"):
        inverse = 1 / np.asarray(model.effective(mu), dtype=np.float64)
    if np.ptp(inverse) == 0:
        return MessageNoise(float(inverse[0] ** 2), float(inverse[0] ** 2))

    def effective(weights: np.ndarray) -> float:
        return float(np.mean((weights * inverse) ** 2) / np.mean(weights) ** 2)

    if equal:
        return MessageNoise(effective(np.ones_like(inverse)), effective(np.ones_like(inverse)))
    return MessageNoise(effective(gradient_weights(model, inverse)), effective(hessian_weights(model, inverse)))


def least_ratio(p: int) -> float:
    """The least lambda_min(Hr) / se_H that is believed: what a Hessian of which nothing is known is regularised to.

    Simulated pure noise stays below: 95% of the draws lie under 1.82, 2.00, 2.53, 3.00, 3.73 for p = 2, 3, 7, 12, 22,
    where this is 1.82, 2.00, 2.56, 3.10, 3.93. The sheet's R1 has 2.3, for p = 7 alone.
    """
    # the eigenvalues of pure noise are raised to at least se; with Hc = se I the fixed point of `regularise` is g I,
    # where se g + (se g)^2 (p + 1) / 2 = 1
    return (p + 1) / (math.sqrt(1 + 2 * (p + 1)) - 1)


@lru_cache(maxsize=64)
def _noises(p: int) -> np.ndarray:
    """Noise matrices W [DRAWS, p, p] from a fixed seed."""
    return symmetric_noise(np.random.Generator(np.random.PCG64(17)).standard_normal((DRAWS, p, p)))


@lru_cache(maxsize=64)
def expected_ratio(model: Model, error: float) -> float:
    """lambda_min(Hr) / se_H that 9 of 10 fits exceed, if H is as guessed and se_H = error."""
    if error == 0:
        return math.inf
    mean = model.guessed_message + error * _noises(model.p)
    regular = regularise(mean, np.full(DRAWS, error))
    return float(np.quantile(eigenvalues(regular)[:, 0], QUANTILE) / error)


def hessian_error(model: Model, design: Design, noise: MessageNoise) -> float:
    """se_H: the standard error of a diagonal entry of the mean Hessian that its noise makes, at the guessed scale."""
    users = MEASURING * design.n / design.every
    return model.hessian_noise(model.problem.fixed_scale) * math.sqrt(noise.hessians / users)


def expected_errors(model: Model, design: Design, noise: MessageNoise, debiased: bool = False) -> np.ndarray:
    """Mean standard errors [p] of theta~ over the noise of the Hessian messages, if the law is as guessed.

    They have the factor by which intervals are longer because that noise makes lengths vary. `debiased`: less what it
    adds to them on average, as those of `intervals` are.
    """
    # for every draw of that noise the covariance is that of `newton`: G (S_mu / users) G with G = Hr^-1, and the part
    # that follows from the noise and from the length of the correction
    users = MEASURING * design.n * (1 - 1 / design.every)
    # without that noise, that is with the efficient bound of the gradient users in the last two stages, a plan promised
    # up to a quarter less than came out
    error, scaling = hessian_error(model, design, noise), model.hessian_scaling
    draws = _noises(model.p) if error > 0 else _noises(model.p)[:1]
    regular = regularise(model.guessed_message + error * draws, np.full(len(draws), error))
    inverse = inverses(regular / np.outer(scaling, scaling))
    scores = _scores(model, noise)
    turned = correction_moment(model, design, noise) / np.outer(scaling, scaling)
    of_hessian = error**2 / 2 * (turned + np.trace(turned) * np.eye(model.p)) / np.outer(scaling, scaling)
    covariance = inverse @ (scores / users + of_hessian) @ inverse
    own, errors = standard_errors(covariance), np.full(len(draws), error)
    if debiased:
        own = np.sqrt(less_excess(own**2, inverse, inverse @ (scores / users) @ inverse, errors, scaling))
    return np.asarray((own * longer(covariance, inverse, errors, scaling)).mean(axis=0))


@lru_cache(maxsize=256)
def best_every(model: Model, n: int, noise: MessageNoise) -> int:
    """The k with the shortest intervals if every k-th of n users sends a Hessian and all others a gradient.

    What is least is the mean over coordinates of expected standard errors, each over its own least one. Designs count
    that measure H surely enough; where there is none, the one with the most Hessians is taken. All of this is public.
    """
    measured = [every for every in EVERY if n >= MEASURED_BY * every] or EVERY[-1:]
    designs = [Design(n, guessed_curvature(model), every) for every in measured]
    wanted = (SURE_OF_LOGISTIC if model.bends else SURE) * least_ratio(model.p)
    sure = [one for one in designs if expected_ratio(model, hessian_error(model, one, noise)) >= wanted]
    if not sure:
        return EVERY[-1]
    errors = np.array([expected_errors(model, one, noise) for one in sure])
    # users who measure H are lost for the gradient, and an H that is badly known makes intervals longer
    return sure[int(np.argmin((errors / errors.min(axis=0)).mean(axis=1)))].every


def _scores(model: Model, noise: MessageNoise) -> np.ndarray:
    """S_mu [p, p]: the covariance of one message, its noise included, for the optimal weights."""
    return model.guessed_covariance + np.diag(model.gradient_noise**2 * noise.gradients)


def correction_moment(model: Model, design: Design, noise: MessageNoise) -> np.ndarray:
    """E d d' [p, p] for the correction d = H^-1 sum v_i m_i, for a quadratic risk and many short steps.

    (a) Steps follow from the measured curvature (`measured_pace`), so h is the median eigenvalue of H, whatever was
    guessed. In a direction of curvature h_j a stage with N gradient users lasts t = T h_j / h relaxation times.

    (b) Let b^2 / N be the variance of H^-1 times its mean message, and B a Brownian motion on [0, t]. The stage starts
    off by e, its points have the mean e phi(t) - (b / sqrt(N t)) int (1 - exp(-(t - s))) dB_s, and H^-1 times its mean
    message is that plus (b / sqrt(N t)) B_t. So d = e phi(t) + (b / sqrt(N t)) int exp(-(t - s)) dB_s, with

        phi(t) = (1 - exp(-t)) / t,     Var d = phi(t)^2 E e^2 + phi(2 t) b^2 / N.

    (c) A stage starts where the one before it ended its jump: e is minus the noise of the mean message there, plus what
    the noise of its Hessians makes of its own d (`newton.of_hessian_noise`); its covariance with that stage's d is
    -phi(t') b^2 / N'.

    (d) d is the mean over the last two stages, weighted by their users.
    """
    values, vectors = eigensystems(model.guessed_hessian)
    # directions are those of H; b^2 has terms between them only where S_mu has
    one = vectors.T @ _scores(model, noise) @ vectors / np.outer(values, values)  # b^2 of one user
    sent = [max(1.0, size * (1 - 1 / design.every)) for size in design.sizes]
    # the first stage counts from its middle
    before, second, third = sent[0] / 2, sent[1], sent[2]
    # H^-1 D^-1, in the directions of H
    turn = (vectors / values).T / model.hessian_scaling
    error = hessian_error(model, design, noise)

    def landing(moment: np.ndarray, users: float) -> np.ndarray:
        """E e e' of (c) after the jump of a stage with this E d d' and so many gradient users."""
        length = vectors @ moment @ vectors.T / np.outer(model.hessian_scaling, model.hessian_scaling)
        noisy = error**2 * (second + third) / users / 2 * (length + np.trace(length) * np.eye(model.p))
        return one / users + turn @ noisy @ turn.T

    # (a), then (b) for the second and the third stage
    t, u = (design.times[stage] * values / np.median(values) for stage in (1, 2))
    there, then = np.sqrt(np.outer(_phi(2 * t), _phi(2 * t))), np.sqrt(np.outer(_phi(2 * u), _phi(2 * u)))
    of_second = np.outer(_phi(t), _phi(t)) * landing(one / before, before) + there * one / second
    of_third = np.outer(_phi(u), _phi(u)) * landing(of_second, second) + then * one / third
    # (d), with the covariance of (c) between the two
    a, b = second / (second + third), third / (second + third)
    both = np.outer(_phi(t), _phi(u)) * one / second
    moment = a**2 * of_second + b**2 * of_third - a * b * (both + both.T)
    return vectors @ moment @ vectors.T


def _phi(t: np.ndarray) -> np.ndarray:
    """The mean of exp(-s) over [0, t]."""
    return np.asarray(-np.expm1(-t) / t)


def guessed_curvature(model: Model) -> float:
    """h: the median eigenvalue of the guessed Hessian; for a logistic model of the one that first steps follow from."""
    longer = VARIANCE_OF_STEPS / model.variance if model.bends else 1.0
    return longer * guessed_median(model)
