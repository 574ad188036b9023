"""`staged-newton`: three stages of small steps with Newton jumps between them (inference, section 3).

    stage   share   T    step                          enters the sums
    1       .1      2    T / (2 h sqrt n_1) i^-1/2     its second half
    2       .3      3    T / (h n_2)                   all
    3       .6      2    T / (h n_3)                   all

(a) T is the number of relaxation times that a stage lasts in a direction of curvature h. In the first stage h is a
public guess.
(b) After stages 1 and 2 the server jumps to the corrected estimate, so that the start is forgotten.
(c) After every stage the server compares what was measured with its guess (`measured_pace`). It does so with messages
that it has, at no privacy.
(d) The estimate uses the sums of stages 2 and 3, and is less what is known of the bias of its scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dpexp.engine.lanes.vectors import LANES, lanes_empty, lanes_zeros
from dpexp.inference.messages import Constants, Sums, Users, compiled_messages, no_sums
from dpexp.inference.models import VARIANCE_OF_STEPS, Model
from dpexp.inference.newton import Corrected, corrected, mean_hessian, newton_corrected
from dpexp.inference.scale_bias import scale_bias
from dpexp.inference.small_matrices import eigenvalues
from dpexp.inference.user_blocks import BLOCK, UserSource

FARTHEST_PACE = 16.0
"""steps become at most so many times longer or shorter than they were planned"""


def guessed_median(model: Model) -> float:
    """The median eigenvalue of the guessed Hessian, as steps are planned for."""
    return float(np.median(eigenvalues(model.guessed_hessian)))


def guessed_curvature(model: Model) -> float:
    """h: the median eigenvalue of the guessed Hessian; for a logistic model of the one that first steps follow from."""
    return guessed_median(model) * (VARIANCE_OF_STEPS / model.variance if model.bends else 1.0)


def curvature_ratio(model: Model, sums: Sums) -> tuple[np.ndarray, np.ndarray]:
    """How many times as curved as guessed the risk is where Hessians were measured [8], and its variance [8]."""
    guess = model.guessed_message
    norm_sq = float(np.sum(guess * guess))
    mean, error = mean_hessian(sums, model.p)
    # in coordinates in which the Frobenius norm is Euclidean the noise of the mean Hessian M is N(0, se_H^2 I). For a
    # guess G the ratio that fits best is <M, G> / |G|^2, with the variance se_H^2 / |G|^2. It uses all entries, so it
    # is known much better than any eigenvalue
    return np.sum(mean * guess, axis=(1, 2)) / norm_sq, error**2 / norm_sq


def measured_pace(model: Model, curvature: float, sums: Sums) -> np.ndarray:
    """By how much longer steps should be than those that were planned with the guess `curvature` h [8].

    The measured ratio r of variance V and the guess g = h / guessed_median are averaged by their precisions. The guess
    counts as right up to a factor of about 2, that is with the standard deviation g:

        r~ = (r g^2 + g V) / (g^2 + V),        pace = g / r~
    """
    ratio, variance = curvature_ratio(model, sums)
    guess = curvature / guessed_median(model)
    # a guess that is wrong by a factor 4 weighs little wherever V is small enough for an interval
    mixed = (ratio * guess**2 + guess * variance) / (guess**2 + variance)
    # where nobody sent a Hessian the guess is all that there is
    mixed = np.where(np.isfinite(mixed), mixed, guess)
    return np.asarray(np.clip(guess / np.maximum(mixed, 1e-300), 1 / FARTHEST_PACE, FARTHEST_PACE))


SHARES = (0.1, 0.3, 0.6)
"""of the users, by stage"""
# Stages are short on purpose: the bias of what curvature leaves grows with T, and the correction of `newton` needs no
# mixing. They are not shorter, because the noise of the Hessians counts by the length of the correction, which falls
# in T.
TIMES = (2.0, 3.0, 2.0)
"""T, relaxation times, by stage"""
FARTHEST = 2.0
"""a jump of the coefficients is at most this many scales; without a scale it is at most this long. Slopes count for
covariates of variance 1"""


@dataclass(frozen=True)
class Design:
    """What is public before anybody is asked."""

    n: int
    curvature: float
    """h, a guess of the median eigenvalue of H, for the first steps"""
    every: int = 5
    """every k-th user of a stage sends a Hessian"""
    times: tuple[float, ...] = TIMES

    @property
    def sizes(self) -> tuple[int, ...]:
        """Users of each stage, n together."""
        ends = [round(self.n * sum(SHARES[: s + 1])) for s in range(len(SHARES))]
        return tuple(b - a for a, b in zip([0, *ends[:-1]], ends, strict=True))

    def step_sizes(self, stage: int) -> np.ndarray:
        """eta_1, eta_2, ... of a stage, if the guess is right."""
        # (a)
        n, time = self.sizes[stage], self.times[stage]
        if stage:
            return np.full(n, time / (self.curvature * n))
        return time / (2 * self.curvature * np.sqrt(n)) / np.sqrt(np.arange(1, n + 1))


class StagedFit(NamedTuple):
    """What eight replicates of one design end with."""

    final: Corrected
    """from stages 2 and 3 together"""
    stages: tuple[Corrected, Corrected]
    """stages 2 and 3 alone, corrected with the same Hessian: they differ by more than noise where F is not quadratic"""
    sums: Sums
    """of stages 2 and 3"""
    shortened: np.ndarray
    """whether the jump before the last stage was longer than is allowed [8]"""
    projections: np.ndarray
    """steps at which the scale was projected [8]"""


class Server:
    """theta, and how it moves while users send messages."""

    def __init__(self, model: Model, start: np.ndarray) -> None:
        law = model.problem
        self.model = model
        self.theta = lanes_empty(model.p)
        self.theta[:] = np.asarray(start, dtype=np.float64)[:, None]
        """[p, 8]"""
        self.hits = lanes_zeros(1)
        self.scratch = lanes_zeros(2 * model.p)
        self.constants = Constants(
            model.constants,
            law.fixed_scale,
            law.scale_min,
            model.gradient_sensitivity,
            1 / model.stretch,
            float(model.hessian_sensitivity(1.0)),
            model.scale_row,
            lanes_empty(1),
        )
        self.pace[:] = 1.0
        self._messages = compiled_messages(type(law).score, model.curvature, model.has_scale)

    @property
    def pace(self) -> np.ndarray:
        """Steps are so many times as long as their stage says [1, 8]; in place."""
        return self.constants.pace

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        """Users first + 1, first + 2, ... of a stage, as many as eta has entries; the sums from user `summed` on."""
        self._messages(
            first, every, summed, self.constants, eta, users, self.theta, self.hits, self.scratch, sums,
            0, len(eta), 0, None,
        )  # fmt: skip

    def ask(self, source: UserSource, eta: np.ndarray, every: int, summed: int = 1, before: int = 0) -> Sums:
        """One stage: as many users as eta has entries, numbered from before + 1; the sums from user `summed` on.

        With `every` > 0 every k-th user of the stage sends a Hessian.
        """
        sums = self.begin()
        for first in range(0, len(eta), BLOCK):
            part = eta[first : first + BLOCK]
            self.serve(source.block(len(part), before + first, every), before + first, part, every, summed, sums)
        return sums

    def begin(self) -> Sums:
        """The sums to which a stage adds: 0."""
        return no_sums(self.model.p)

    def jump(self, sums: Sums) -> np.ndarray:
        """Move to the corrected estimate of a stage, no farther than is sane; whether that was nearer [8]."""
        # the server alone does this with what it has received, so it costs no privacy
        current = (sums.points / sums.v[0]).T
        change = newton_corrected(sums, self.model).theta - current
        beta = self.model.d + 1
        limit = FARTHEST * (current[:, -1] if self.model.has_scale else np.ones(LANES))
        spread = np.append(1.0, np.full(self.model.d, min(1.0, self.model.problem.sigma_z)))
        length = np.sqrt(np.sum((change[:, :beta] * spread) ** 2, axis=1))
        shortened = length > limit
        change[:, :beta] *= np.where(shortened, limit / np.maximum(length, 1e-300), 1.0)[:, None]
        target = current + change
        # the scale at most doubles or is halved
        if self.model.has_scale:
            low, high = current[:, -1] / 2, current[:, -1] * 2
            shortened |= (target[:, -1] < low) | (target[:, -1] > high)
            target[:, -1] = np.clip(target[:, -1], low, high)
        self.theta[:] = target.T
        return shortened


def staged_newton(
    model: Model, design: Design, start: np.ndarray, source: UserSource, server: Server | None = None
) -> StagedFit:
    """All three stages from theta_0 = `start` [p], or from the place of a server."""
    server = server or Server(model, start)
    # the first half of the first stage moves theta from a start that may be far, and is not summed
    first = server.ask(source, design.step_sizes(0), design.every, design.sizes[0] // 2 + 1)
    # (b) and (c), twice
    server.jump(first)
    # Steps that are too short leave the start unforgotten. For a logistic model Hessians are then measured where the
    # risk is more curved than at the target, and intervals come out too short (.922 to .931 where the guess was twice
    # too large). Steps that are too long throw the iterate about, and intervals come out too long
    server.pace[:] = measured_pace(server.model, design.curvature, first)
    second_pace = server.pace[0].copy()
    second = server.ask(source, design.step_sizes(1), design.every)
    shortened = server.jump(second)
    server.pace[:] = measured_pace(server.model, design.curvature, second)
    paces = second_pace, server.pace[0].copy()
    third = server.ask(source, design.step_sizes(2), design.every)
    # (d)
    both = second + third
    final = newton_corrected(both, server.model)
    alone = corrected(second, final.hessian, final.hessian_error), corrected(third, final.hessian, final.hessian_error)
    times = sum(pace * design.step_sizes(s).sum() for s, pace in enumerate(paces, start=1))
    final.theta[:, -1] -= scale_bias(server.model, both, final, times)
    return StagedFit(final, alone, both, shortened, server.hits[0])
