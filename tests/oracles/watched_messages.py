"""Every message of a run as an adversary sees it, and what it would be without noise.

Runs of `staged-newton`, with its own stages, its jumps, its compiled messages, its noise and its weights. Only the records are replaced: each user holds
one of two, by a coin. The adversary chooses both records of a user when it is this user's turn, since it knows theta;
any pair may be chosen, because the promise is for every pair. It sees every message: what theta moved by and what the
server's sums grew by, which have to agree.

    gradient               responses far below and far above the prediction, |x|^2 = 2: Delta apart (Huber)
    gradient, its scale    residuals of c and of -.236 c there: Delta apart where the scale's entry is stretched, and
                           farther where it is stretched too much; asked of every other user of such a model
    Hessian, other side    residuals just inside c and -c at one x: apart in the row of the scale alone, which is off
                           the diagonal; logistic, or a known scale: x = (1, z) and (1, -z)
    Hessian, none          the largest Hessian, and a record with none: noise that follows the record is seen by it
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dpexp.algorithms.staged_newton_coverage import StagedNewton
from dpexp.core.errors import UsageError
from dpexp.core.seeds import generator
from dpexp.engine.lanes.vectors import LANES
from dpexp.inference.messages import Sums, Users, symmetric
from dpexp.inference.models import Model
from dpexp.inference.simulated import Simulated
from dpexp.inference.staged_newton import SHARES, TIMES, Server, staged_newton
from dpexp.privacy.budgets import Budget
from dpexp.problems.linear_predictor import LinearPredictorProblem
from tests.oracles.hessians import hessians

GRADIENT, OTHER_SIDE, NONE = KINDS = ("gradient", "Hessian, other side", "Hessian, none")
SCALE = "gradient, its scale"
EVERY = 5
FAR = 1e6
"""residuals, in scales, beyond which nothing changes; for logistic records the length of z"""
INSIDE = 1 - 1e-9
"""of c: a residual that still has a second derivative"""
ACROSS = math.sqrt(5) - 2
"""of c: the residual on the other side at which the stretched gradient is farthest away (fit2, section 2.1)"""


class Pair(NamedTuple):
    """The two records of a user in each of eight runs."""

    x: np.ndarray
    """without the leading 1 [2, d, 8]"""
    y: np.ndarray
    """[2, 8]"""


class Sent(NamedTuple):
    """One user's message in each of eight runs."""

    kind: str
    message: np.ndarray
    """[8, k]: a gradient, or a Hessian in the coordinates in which the Frobenius norm is Euclidean"""
    theta: np.ndarray
    """at which it was asked for [p, 8]"""
    pair: Pair
    noise: np.ndarray
    """what its standard deviation has to be [8]"""
    canary: np.ndarray
    """which record the user held, bool [8]"""
    mu: np.ndarray
    """[8]"""


class Watched:
    """A copy of a config's run: as few users as leave every stage a Hessian user, with the steps of the config's n."""

    def __init__(self, problem: LinearPredictorProblem, algorithm: StagedNewton, budget: Budget, n: int) -> None:
        self.budget, self.problem = budget, problem
        planned, design = algorithm.plan(algorithm.model(problem, budget), budget, n)
        self.model = planned.model
        # more users between two Hessians would show the same, and take longer
        design = replace(design, every=min(design.every, EVERY))
        # so many that there is a Hessian user in the half of stage 1 that is summed
        self.users = round(1.2 / SHARES[0]) * design.every
        root, few = math.sqrt(self.users / n), self.users / n
        times = (TIMES[0] * root, *(time * few for time in TIMES[1:]))
        self.design = replace(design, n=self.users, times=times)
        self.gradients = (GRADIENT, SCALE) if self.model.stretch > 1 else (GRADIENT,)
        self.kinds = (*self.gradients, *KINDS[1:])

    def run(self, seed: int, lanes: range) -> list[Sent]:
        """Eight runs, user by user."""
        start, found, asked = self.model.problem.start(), list[Sent](), [0, 0]
        server = Server(self.model, start)
        crowd = Simulated(self.model, self.problem, self.budget, seed, lanes)
        # which record a user holds is of the role `order`, so that data and noise are those of the run without coins
        coins = np.stack([generator(seed, r, "order").random(self.users) < 0.5 for r in lanes])
        coins = np.concatenate([coins, np.repeat(coins[-1:], LANES - len(coins), axis=0)])
        serve_one, least = server.serve, self.model.problem.scale_min if self.model.has_scale else -math.inf

        def serve(block: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
            for place in range(len(eta)):
                of_hessian = (first + place + 1) % every == 0
                kinds = KINDS[1:] if of_hessian else self.gradients
                kind, coin = kinds[asked[of_hessian] % len(kinds)], coins[:, sum(asked)]
                asked[of_hessian] += 1
                drawn = one_of(block, place, (first + place + 1) // every - first // every - 1)
                theta, before = server.theta.copy(), Sums(*(part.copy() for part in sums))
                pair = pair_of(self.model, kind, theta, drawn.x[0])
                users = held(self.model, drawn, pair, coin)
                serve_one(users, first + place, eta[place : place + 1], every, summed, sums)
                # what this user sends moves theta at most, and the next ones show the same
                if first + place + 1 < summed:
                    continue
                if of_hessian:
                    message = isometric(symmetric((sums.hessians - before.hessians) / users.u[0], self.model.p))
                    scale = np.asarray(self.model.scale_of(theta.T))
                    noise = self.model.hessian_sensitivity(scale) * users.inverse_mu[0]
                else:
                    step = eta[place] * server.pace[0]
                    message = received(before, sums, theta, server.theta, users.v[0], step, least)
                    message = message * self.model.gradient_scaling
                    noise = self.model.gradient_sensitivity * users.inverse_mu[0]
                mu = 1 / users.inverse_mu[0]
                found.append(Sent(kind, message, theta, pair, np.broadcast_to(noise, LANES), coin, mu))

        server.serve = serve  # type: ignore[method-assign,assignment]
        staged_newton(self.model, self.design, start, crowd, server)
        return found

    def clean(self, user: Sent, lane: int, record: int) -> np.ndarray:
        """The message without noise [1, k] with one of the two records, by numpy and not by the compiled formulas."""
        theta, y = user.theta[:, lane], user.pair.y[record, lane : lane + 1]
        row = np.concatenate([[1.0], user.pair.x[record, :, lane]])[None]
        if user.kind in (GRADIENT, SCALE):
            return np.asarray(self.model.problem.gradient(theta, row, y) * self.model.gradient_scaling)
        scaling = np.outer(self.model.hessian_scaling, self.model.hessian_scaling)
        return isometric(hessians(self.model, theta, row, y) * scaling)


def pair_of(model: Model, kind: str, theta: np.ndarray, z: np.ndarray) -> Pair:
    """Both records of a user who is asked at theta [p, 8]; the direction of the covariates z [d, 8] is kept."""
    direction = z / np.maximum(np.linalg.norm(z, axis=0), 1e-300)
    scale = np.broadcast_to(model.scale_of(theta.T), LANES)
    ones, at = np.ones(LANES), theta[0] + np.einsum("jl,jl->l", theta[1 : model.d + 1], direction)
    # responses at both predictions, where the Hessian is largest
    if kind == OTHER_SIDE and not model.has_scale:
        return Pair(np.stack([direction, -direction]), np.stack([at, 2 * theta[0] - at]))
    if model.bends:
        return Pair(np.stack([direction, FAR * direction if kind == NONE else direction]), np.stack([0 * ones, ones]))
    c = float(model.constants[0])
    low, high = {
        GRADIENT: (-FAR, FAR),
        SCALE: (-ACROSS * c, FAR),
        OTHER_SIDE: (-c * INSIDE, c * INSIDE),
        NONE: (c * INSIDE, FAR),
    }[kind]
    return Pair(np.stack([direction, direction]), np.stack([at + low * scale, at + high * scale]))


def one_of(users: Users, place: int, hessian: int) -> Users:
    """One user of a block, with the noise of the Hessian of this number in it, if there is one."""
    found = Users(*(part[place : place + 1] for part in users))
    return found._replace(hessian_noise=users.hessian_noise[max(hessian, 0) :][:1], rows=np.array([0, 1]))


def held(model: Model, drawn: Users, pair: Pair, coin: np.ndarray) -> Users:
    """The one user of a block with the record that the coin [8] says."""
    x, y = np.where(coin, pair.x[1], pair.x[0]), np.where(coin, pair.y[1], pair.y[0])
    rows = np.concatenate([np.ones((1, LANES)), x])
    return drawn._replace(
        x=np.ascontiguousarray(x[None]), y=np.ascontiguousarray(y[None]), w=model.problem.weight(rows.T)[None]
    )


def received(
    before: Sums, after: Sums, theta: np.ndarray, moved: np.ndarray, v: np.ndarray, eta: np.ndarray, least: float
) -> np.ndarray:
    """The gradient message [8, p] that the server used, from theta [p, 8] before and after it; v and eta [8].

    The last coordinate is at least `least`.
    Raises UsageError where theta and the sums used two different ones, so that no single message was private.
    """
    # what the sums grew by is one message; theta has to have moved by the same one
    of_sums = (after.gradients - before.gradients) / v
    free = theta - eta * v * of_sums
    free[-1] = np.maximum(free[-1], least)
    if np.max(np.abs(free - moved)) > 1e-9 * (1 + np.max(np.abs(moved))):
        raise UsageError("what theta moves by is not the message that the sums count, so there is no one message")
    return np.asarray(of_sums.T)


def isometric(matrices: np.ndarray) -> np.ndarray:
    """Symmetric matrices [8, p, p] as vectors of the same norm: the diagonal, and sqrt 2 times what is above it."""
    rows, columns = np.triu_indices(matrices.shape[-1])
    # an entry off the diagonal stands twice in the matrix, and once here
    return np.asarray(matrices[:, rows, columns] * np.where(rows == columns, 1.0, math.sqrt(2)))
