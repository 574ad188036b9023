"""Where users come from, block by block: simulated ones, and the records of a user's own file.

A block is `dpexp.inference.messages.Users`. Both sources give users in a public random order, with their budgets and
their noise. Simulated users are other ones in each of the eight replicates, records are the same ones in all.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from dpexp.inference.messages import Users
from dpexp.inference.models import Model
from dpexp.problems.weights import WEIGHT_CAP

BLOCK = 960
"""users of a block; a multiple of 2 and of the usual 3 and 5, so that every block has as many Hessian users. With fewer
the calls cost more than the users, with twice as many the users of a block leave the cache"""
SPREAD = 0.1
"""s0^2: a round number in the range of the eigenvalues of S (.03 to .17); the weights hardly depend on it"""
CURVED = 0.1
"""the same for the entries of one record's Hessian"""

DrawNormals = Callable[[tuple[int, ...]], np.ndarray]
"""normals(shape) -> independent standard normals"""


class UserSource(Protocol):
    """What the stages ask of users."""

    def block(self, count: int, first: int, every: int) -> Users:
        """The next `count` users, the first of whom has the number first + 1 in their stage."""


def gradient_weights(model: Model, inverse_mu: np.ndarray) -> np.ndarray:
    """v_i up to a constant: 1 / (s0^2 + Delta^2 / mu_i^2), the weights of least variance (inference, section 2.1)."""
    return 1 / (SPREAD + (model.gradient_sensitivity * inverse_mu) ** 2)


def hessian_weights(model: Model, inverse_mu: np.ndarray) -> np.ndarray:
    """u_i up to a constant, by the same argument; about mu_i^2. The scale is the guessed one, so they are public."""
    sensitivity = model.hessian_sensitivity(model.problem.fixed_scale)
    return 1 / (CURVED + (sensitivity * inverse_mu) ** 2)


def of_mean_one(weights: np.ndarray) -> np.ndarray:
    """The weights over their mean; exactly 1 where all are equal, so that equal budgets change no digit."""
    low, high = weights.min(), weights.max()
    return np.ones_like(weights) if low == high else weights / weights.mean()


class MessageNoise(NamedTuple):
    """What a law of budgets does to sums of weighted messages, as the budget that all users could share instead."""

    gradients: float
    """1 / mu_eff^2 of gradients: sum v_i^2 (S + Delta^2 / mu_i^2) is like S + Delta^2 / mu_eff^2"""
    hessians: float
    """1 / mu_eff^2 of Hessians"""


def noise_of(model: Model, mu: np.ndarray, equal: bool = False) -> MessageNoise:
    """The effective noise of the budgets mu [users] under the weights that are used; `equal`: all weights are 1."""
    with np.errstate(divide="ignore"):
        inverse = 1 / np.asarray(model.effective(mu), dtype=np.float64)
    plain = equal or np.ptp(inverse) == 0
    weights = [np.ones_like(inverse) if plain else of(model, inverse) for of in (gradient_weights, hessian_weights)]
    return MessageNoise(*(float(np.mean((w * inverse) ** 2) / np.mean(w) ** 2) for w in weights))


def hessian_users(count: int, first: int, every: int) -> int:
    """How many of the users first + 1 .. first + count of a stage are Hessian users."""
    return 0 if every == 0 else (first + count) // every - first // every


@dataclass
class TableUsers:
    """Users of a table, in the order in which they are asked; all replicates are the same.

    A user may hold several rows, and sends the mean of their gradients, or Hessians; who holds none sends noise alone.
    """

    model: Model
    x: np.ndarray
    """covariates [rows, d]"""
    y: np.ndarray
    """[rows]"""
    mu: np.ndarray
    """budgets [n]"""
    normals: DrawNormals
    owners: np.ndarray | None = None
    """the place of the user who holds each row, in rising order [rows]; where left out everybody holds one"""
    equal: bool = False
    """whether all messages have one weight, whatever their budgets"""

    def __post_init__(self) -> None:
        self.served = 0
        with np.errstate(divide="ignore"):
            self.inverse_mu = 1 / self.mu
        self.v = self.u = np.ones_like(self.mu)
        if not self.equal:
            self.v = of_mean_one(gradient_weights(self.model, self.inverse_mu))
            self.u = of_mean_one(hessian_weights(self.model, self.inverse_mu))
        owners = np.arange(len(self.mu)) if self.owners is None else self.owners
        counts = np.bincount(owners, minlength=len(self.mu))
        self.rows = np.append(0, np.cumsum(counts))
        self.w = np.minimum(1.0, WEIGHT_CAP / (1 + np.sum(self.x * self.x, axis=1))) / counts[owners]

    def block(self, count: int, first: int, every: int) -> Users:
        users = slice(self.served, self.served + count)
        rows = self.rows[self.served : self.served + count + 1]
        self.served += count
        p, sent = self.model.p, hessian_users(count, first, every)
        records = (values[rows[0] : rows[-1]] for values in (self.x, self.y, self.w))
        known = (values[users] for values in (self.inverse_mu, self.v, self.u))
        noise = self.normals((count, p)), self.normals((sent, p * (p + 1) // 2))
        lanes = (np.repeat(values[..., None], LANES, axis=-1) for values in (*records, *known, *noise))
        return Users(*[*lanes, rows - rows[0]])


def operating_system_normals(shape: tuple[int, ...]) -> np.ndarray:
    """Normals from the generator of the operating system, which no other program can compute again."""
    import os

    from scipy.special import ndtri

    count = math.prod(shape)
    # the highest 53 bits, which a float holds exactly
    bits = np.frombuffer(os.urandom(8 * count), dtype=np.uint64) >> np.uint64(11)
    # half a unit of the 53 bits keeps the uniform number away from 0 and 1, and the inverse of the normal distribution
    # function makes it normal
    return ndtri((bits.astype(np.float64) + 0.5) * 2.0**-53).reshape(shape)
