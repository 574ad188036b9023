"""`central-newton`: one owner holds all records and publishes one fit, mu-GDP in total (fit2, section 5).

Neighbours differ in one record (replace-one), n is public. All releases share mu: by composition of Gaussian mechanisms
the squares of their parameters add up, and `Allocation` holds the share of mu^2 of each.

    (a) A = mean(w x x') + noise                          sensitivity 2 sqrt 2 / n in the Frobenius norm
    (b) quasi-Newton steps with noisy mean D_a g          sensitivity Delta / n each; preconditioned by A
    (c) H_1 = mean Hessian at the point reached + noise   sensitivity Delta_H(s) / n, each time
    (d) Newton steps, preconditioned by the last H_1      sensitivity Delta / n each
    (e) H_2 = mean Hessian at the mean of the used points sensitivity Delta_H(s) / n
    (f) Shat = mean of g g' there + noise                 sensitivity sqrt 2 C0^2 / n
    (g) theta~ = mean of the used points - Hr^-1 times the mean of their gradients

Where n mu is large there are no steps (b), and H_1 is measured anew before each of the first steps (d): a logistic risk
with one class in 1,000 has a curvature of .25 at the start and of .001 at the target, and no fixed matrix steers there.

D_a multiplies the gradient's entry for the scale by `Model.stretch`, which costs no sensitivity; the server divides. No
step changes predictions by more than some scales.

From the step before the used ones on, each goes to where all of these put the target together, the mean of their points
less P^-1 times the mean of their gradients, and not to where the last one alone does. Points are then thrown about by
what is left of the noise of several gradients. The third derivative T of the risk makes of the errors e_k of the points
and of eta = -H^-1 times the mean noise of the used gradients, where H is measured at the mean point,

    E theta~ - theta* = H^-1 T[E ebar ebar' - mean of E e_k e_k' / 2 - E ebar eta'],

for which steps that follow one gradient each give -.52 V, V the covariance of such a point, and these -.08 V (-.04 V
where there are twelve quasi-Newton steps).

A record is what one person holds: rows, over which gradients and Hessians are averaged, or none, which adds 0. Means of
rows lie in the convex hull of 0 and of what single rows give. Its diameter is that of the single rows or, if larger,
their distance from 0, so every sensitivity above holds for persons as it does for rows (fit2, section 1.2).
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpexp.inference.intervals import Release
from dpexp.inference.models import Model
from dpexp.inference.newton import regularise, symmetric_noise
from dpexp.inference.user_blocks import DrawNormals
from dpexp.problems.linear_losses import HuberLinear
from dpexp.problems.weights import WEIGHT_CAP
from dpexp.theory.ldp_sgd.huber_messages import normal_moments

LEAST_MOMENT = 1e-4
"""to which eigenvalues of A are raised at least"""
FARTHEST_STEP, FARTHEST_NEWTON_STEP = 3.0, 2.0
"""scales by which a step changes predictions at most, in the root mean square"""
STEERABLE, STEERABLE_LOGISTIC = 7.5, 12.0
"""lambda_min / se of H_1, as guessed, from which Newton steps are made. Logistic: with 8 they cover .88 to .93 where
quasi-Newton steps cover .94 to .97"""
PRECISE = 2e4
"""n mu from which a Hessian costs so little that it is measured before every step that is not used"""
NEWTON_STEPS, EXACT_STEPS = 11, 25
"""these steps, and without noise: from 100 scales away, or to one class in 1,000, eight to ten are needed"""
SATURATED, GROWTH = 0.9, 4.0
"""share of the largest mean of psi^2 from which residuals are taken to be clipped, and what the scale is then times"""
SHRINKAGE = 10.0
"""the scale becomes at most so many times smaller in a step, and at most two where the gradient does not say more"""
LEAST_SCALE = 1e-3
"""over its guess, below which no scale is tried"""
CHUNK = 65_536
"""rows of one matrix product, and what more the last person holds: memory stays small"""
FEW = 50
"""records for each parameter below which the middle of the sandwich, whose mean is 1 - p / n times the truth or so, is
divided by that"""


@dataclass(frozen=True)
class Allocation:
    """Shares of mu^2; they add up to 1."""

    moments: float
    quasi_newton: tuple[float, ...]
    """one for each step"""
    hessians: tuple[float, ...]
    """measured before each Newton step; 0: that of the step before is used again"""
    newton: tuple[float, ...]
    used: int
    """the last so many steps enter the estimate, with equal shares"""
    last_hessian: float
    scores: float

    @property
    def steps(self) -> tuple[float, ...]:
        """Of all of them."""
        return (*self.quasi_newton, *self.newton)

    @property
    def kept_hessian(self) -> float:
        """Of the last Hessian that steers Newton steps; 0 where there is none."""
        return next((share for share in reversed(self.hessians) if share), 0.0)

    @property
    def releases(self) -> tuple[float, ...]:
        """Of everything that is released."""
        shares = (self.moments, *self.steps, *self.hessians, self.last_hessian, self.scores)
        return tuple(share for share in shares if share)


def allocation(model: Model, n: int, mu: float) -> Allocation:
    """How mu^2 is spent; chosen from public numbers."""
    error = _deviation(float(model.hessian_sensitivity(model.problem.fixed_scale)), n, mu, 0.07)
    # where H_1 would be too noisy to steer by, (c) and (d) are left out
    if error * (STEERABLE if model.has_scale else STEERABLE_LOGISTIC) > model.least_curvature:
        return Allocation(0.06, (0.06,) * 12, (), (), 6, 0.16, 0.06)
    if n * mu < PRECISE:
        return Allocation(0.05, (0.01,) * 6 + (0.03,) * 5, (0.07, 0, 0, 0, 0), (0.05, *(0.115,) * 4), 4, 0.10, 0.06)
    # 22 of these cost a ninth of mu^2: they are far from the target, where a rough direction is enough
    far = NEWTON_STEPS if math.isfinite(mu) else EXACT_STEPS
    each = (0.11 / far,) * far
    return Allocation(0.05, (), (*each, 0.07, 0, 0, 0, 0), (*each, 0.04, *(0.115,) * 4), 4, 0.10, 0.06)


def _deviation(sensitivity: float, n: int, mu: float, share: float) -> float:
    """Of the noise of a mean over n records with this share of mu^2."""
    return 0.0 if math.isinf(mu) else sensitivity / (n * mu * math.sqrt(share))


class Central(NamedTuple):
    """What is released, and what follows from it."""

    theta: np.ndarray
    """theta~ [p]"""
    release: Release
    """the mean of the used points and of their noisy gradients, and the noisy Hessian"""
    moved: float
    """how far used points lie from theta~, their median, as a change of predictions, or of the scale, in scales"""
    thrown: float
    """how far the noise of the gradient of one used step goes, in the root mean square"""


class Owner:
    """Means over the records, in chunks; what is computed from them sees only what was `sent`."""

    def __init__(
        self, model: Model, x: np.ndarray, y: np.ndarray, n: int, normals: DrawNormals, owners: np.ndarray | None
    ) -> None:
        self.model, self.x, self.y, self.n, self.normals = model, x, y, n, normals
        owners = np.arange(len(y)) if owners is None else owners
        # the rows of a person stand together, so that a part of the table can hold whole persons
        self.begins = np.flatnonzero(np.diff(owners, prepend=-1))
        """the first row of each person with rows"""
        self.share = 1 / np.bincount(owners)[owners]
        """what a row counts in its person's mean"""
        bounds = np.unique(np.append(np.searchsorted(self.begins, np.arange(0, len(y), CHUNK)), len(self.begins)))
        self.cuts = np.append(self.begins, len(y))[bounds]
        """where each part begins, and the last one ends; a part holds whole persons"""

    def sent(self, mean: np.ndarray, deviation: float) -> np.ndarray:
        """A mean [p], or a symmetric one [p, p], with its noise: one message."""
        if mean.ndim == 1:
            return np.asarray(mean + deviation * self.normals(mean.shape))
        return np.asarray(mean + deviation * symmetric_noise(self.normals(mean.shape))) if deviation else mean

    def parts(self) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
        """Rows x = (1, z), responses and what each counts, some persons at a time."""
        for k, end in pairwise(self.cuts):
            z = self.x[k:end]
            yield np.concatenate([np.ones((len(z), 1)), z], axis=1), self.y[k:end], self.share[k:end]

    def mean(self, of: Callable[[np.ndarray, np.ndarray, np.ndarray], np.ndarray], *shape: int) -> np.ndarray:
        """Over all persons, of what rows, responses and what each counts add up to [shape]; 0 where there are none."""
        return np.asarray(sum((of(*part) for part in self.parts()), np.zeros(shape)) / self.n)

    def moments(self) -> np.ndarray:
        """mean(w x x') [d + 1, d + 1]."""
        q = self.model.d + 1
        return self.mean(lambda x, _, share: (x * (share * self.model.problem.weight(x))[:, None]).T @ x, q, q)

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Mean gradient [p]."""
        gradient, p = self.model.problem.gradient, self.model.p
        return self.mean(lambda x, y, share: (gradient(theta, x, y) * share[:, None]).sum(axis=0), p)

    def scores(self, theta: np.ndarray) -> np.ndarray:
        """mean(g g') [p, p], g the mean over a person's rows: so they may depend on each other."""
        total, cuts = np.zeros((self.model.p, self.model.p)), pairwise(self.cuts)
        for (x, y, share), (k, end) in zip(self.parts(), cuts, strict=True):
            begins = self.begins[(k <= self.begins) & (self.begins < end)] - k
            g = np.add.reduceat(self.model.problem.gradient(theta, x, y) * share[:, None], begins, axis=0)
            total += g.T @ g
        return total / self.n

    def hessian(self, theta: np.ndarray) -> np.ndarray:
        """Mean Hessian [p, p], by products of matrices and not record by record."""
        return self.mean(partial(self.model.hessian_sum, theta), self.model.p, self.model.p)


def central_newton(
    model: Model, start: np.ndarray, x: np.ndarray, y: np.ndarray, mu: float, normals: DrawNormals,
    n: int | None = None, owners: np.ndarray | None = None,
) -> Central:  # fmt: skip
    """The fit of rows x [m, d], y [m] from theta_0 = `start` [p], which is public.

    All means are over the public `n` persons, m where it is left out. `owners` [m], in rising order, is the holder
    of each row, of 0 .. n - 1; who is not among them adds 0. Where it is left out everybody holds one.
    """
    n = len(y) if n is None else n
    owner, shares = Owner(model, x, y, n, normals, owners), allocation(model, n, mu)
    stretch = model.gradient_scaling
    both = np.outer(model.hessian_scaling, model.hessian_scaling)

    def noisy_hessian(theta: np.ndarray, share: float) -> np.ndarray:
        """Times the scale: so a Huber risk has the same curvature at every scale."""
        scale = model.scale_of(theta)
        noise = _deviation(float(model.hessian_sensitivity(scale)), n, mu, share)
        return scale * owner.sent(owner.hessian(theta) * both, noise)

    # (a)
    noise = _deviation(math.sqrt(2) * WEIGHT_CAP, n, mu, shares.moments)
    # A is floored at its own noise, not higher: with covariates divided by sqrt d the moments of a dummy lie below any
    # fixed floor, and steps there would be too short at every n
    least = max(noise * math.sqrt(2 * (model.d + 1)), LEAST_MOMENT)
    moments = _raised(owner.sent(owner.moments(), noise), least)

    # (b), (c), (d)
    theta, points, gradients = np.array(start, dtype=np.float64), list[np.ndarray](), list[np.ndarray]()
    first, steering, limit = np.zeros_like(both), model.steering(moments), FARTHEST_STEP
    quasi = len(shares.quasi_newton)
    for number, share in enumerate(shares.steps):
        # (c) is made once, where the steps of (b) have arrived, and steers those of (d)
        if number >= quasi and (own := shares.hessians[number - quasi]):
            first = noisy_hessian(theta, own)
            error = _deviation(float(model.hessian_sensitivity(1.0)), n, mu, own)
            steering, limit = regularise(first, np.array(error)) / both, FARTHEST_NEWTON_STEP
        noise = _deviation(model.gradient_sensitivity, n, mu, share)
        points.append(theta)
        gradients.append(owner.sent(owner.gradient(theta) * stretch, noise) / stretch)
        # from the step before the used ones on, all of these are heard
        # A level that 3% hold was covered .92 by steps that follow one gradient each in a logistic model, n = 5,000 and
        # mu = 1: half of the points lay .54 or more from its coefficient, whose standard error is .36 if H is known,
        # and there the risk is flat
        heard = slice(min(number, len(shares.steps) - shares.used - 1), number + 1)
        point, gradient = (np.average(part[heard], axis=0, weights=shares.steps[heard]) for part in (points, gradients))
        change = theta - point + np.linalg.solve(steering / model.scale_of(theta), gradient)
        # exact Newton steps on few rows can go round for ever between two sets of clipped residuals
        if math.isinf(mu) and len(points) > 1:
            came, goes = (points[-1] - points[-2])[: model.d + 1], -change[: model.d + 1]
            if came @ moments @ goes < -0.5 * (came @ moments @ came):
                change = change / 2
        theta = _stepped(model, theta, change, gradients[-1], moments, limit)

    # (e): at one scale the two have errors whose squares are inverse to their shares
    point, gradient = (np.mean(part[-shares.used :], axis=0) for part in (points, gradients))
    hessian, scale = noisy_hessian(point, shares.last_hessian), float(model.scale_of(point))
    if model.has_scale:
        both_shares = shares.kept_hessian, shares.last_hessian
        hessian = np.average([first, hessian], axis=0, weights=both_shares)
    # that of a logistic model is the second alone: the first is measured where the risk is more curved than at the
    # target, and with both together steep models were covered .90 and not .94
    share = shares.last_hessian + (shares.kept_hessian if model.has_scale else 0.0)
    hessian, error = hessian / scale, _deviation(float(model.hessian_sensitivity(scale)), n, mu, share)

    # (f)
    scores_noise = _deviation(math.sqrt(2) * model.problem.gradient_bound() ** 2, n, mu, shares.scores)
    # noise can make a covariance indefinite
    scores = _raised(owner.sent(owner.scores(point), scores_noise), 0.0)
    step_noise = _deviation(model.gradient_sensitivity, n, mu, shares.steps[-1]) / stretch
    counted = n - model.p if n < FEW * model.p else n
    of_gradient = scores / counted + np.diag(step_noise**2) / shares.used

    # (g)
    middle_noise = scores_noise / counted
    release = Release(point, gradient, of_gradient, hessian, error, model.hessian_scaling, middle_noise, debiased=True)
    inverse, change, _ = release.sandwich()
    # the scale counts as a prediction does
    metric = np.pad(moments, (0, int(model.has_scale)))
    metric[model.d + 1 :, model.d + 1 :] = 1.0
    thrown = math.sqrt(np.trace(metric @ (inverse * step_noise**2) @ inverse)) / scale
    away = np.array(points[-shares.used :]) - (point - change)
    moved = math.sqrt(np.median(np.sum((away @ metric) * away, axis=1))) / scale
    return Central(point - change, release, moved, thrown)


def _stepped(
    model: Model, theta: np.ndarray, change: np.ndarray, gradient: np.ndarray, moments: np.ndarray, limit: float
) -> np.ndarray:
    """theta - change [p], shortened to `most` scales in predictions; the scale as far as `gradient` [p] says."""
    q, scale = model.d + 1, float(model.scale_of(theta))
    # sqrt(step' A step): the Euclidean length of the coefficients grows like sqrt d for the same change of predictions
    length = math.sqrt(change[:q] @ moments @ change[:q])
    beta = theta[:q] - change[:q] * min(1.0, limit * scale / max(length, 1e-300))
    if not isinstance(model.problem, HuberLinear) or not model.has_scale:
        return beta
    # the scale's entry is (kappa - psi^2) / 2, so that the mean of psi^2 over kappa is known
    normal = normal_moments(model.problem.c)
    square = 1 - 2 * float(gradient[q]) / (normal.kappa * moments[0, 0])
    # nearly all residuals are clipped, and no curvature is left
    if square > SATURATED * model.problem.c**2 / normal.kappa:
        return np.append(beta, GROWTH * scale)
    # if nothing is clipped that ratio is what is missing; near the target it is 1
    least = scale * float(np.clip(math.sqrt(max(square, 0.0)), 1 / SHRINKAGE, 1 / 2))
    return np.append(beta, max(float(np.clip(scale - change[q], least, 2 * scale)), LEAST_SCALE))


def _raised(matrix: np.ndarray, least: float) -> np.ndarray:
    """The matrix with its eigenvalues raised to at least this."""
    values, vectors = np.linalg.eigh(matrix)
    return (vectors * np.maximum(values, least)) @ vectors.T
