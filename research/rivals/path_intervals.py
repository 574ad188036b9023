"""The intervals of the literature from plain paths of LDP-SGD, on simulated users: how often they cover.

`batch-means`    Student's interval over the means of K equal consecutive batches of one path, after its burn-in
`plug-in`        the sandwich of the plain average, with H from Hessian messages; biased as the average is
`plug-in-free`   the same with H from regressing messages on the points where they are, m_i = H (theta_{i-1} - theta*) +
                 noise, so that Hf = [sum (m - mbar)(theta - bar)'] [sum (theta - bar)(theta - bar)']^-1 costs nothing.
                 Its relative standard error is sqrt(2 / T) and its relative bias 4 / T after T relaxation times,
                 whatever the budget (inference, section 4.2): it is a check, and not a source of H
`newton-oracle`  the Newton-corrected average with the true H, for simulations: it shows what measuring H costs
`t-chains`       Student's interval over the averages of K independent chains on disjoint users
`hulc`           (Kuchibhotla, Balakrishnan and Wasserman, 2021) [min, max] of the averages of B chains: it misses the
                 truth if all lie on one side of it, with probability 2^(1 - B) where no chain has a median bias. B = 5
                 or 6 at random makes that exactly 5%
`random-scaling` the average over its own random scale, for unknown curvature and unknown noise. Lee, Liao, Seo and Shin
                 (2022); under local differential privacy in arXiv 2505.08227. With T_s = theta_1 + .. + theta_s,

    bar = T_n / n,   V = n^-2 sum_s s^2 (T_s / s - bar)^2,   bar +- q sqrt(V_jj / n),   q = 6.747302 at 95%

All but two read the same path theta_i = Proj( theta_{i-1} - eta_i m_i ): `plug-in` needs one on which every fifth user
sends a Hessian, `hulc` and `t-chains` six paths on disjoint users. Every running sum takes O(p^2) memory, and what was
summed between two boundaries is the difference of two snapshots.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import Field
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import stdtrit

from dpexp.algorithms.covering import Coverage, Covering, LaneIntervals, Trial
from dpexp.core.seeds import generator
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.vectors import LANES, lanes_zeros, load, store
from dpexp.inference.messages import Sums, Users, compiled_messages, no_sums, symmetric
from dpexp.inference.models import Model
from dpexp.inference.newton import corrected, mean_hessian, regularise, standard_errors
from dpexp.inference.public_numbers import normal, rounded
from dpexp.inference.simulated import Simulated
from dpexp.inference.small_matrices import inverses, pseudo_inverses
from dpexp.inference.staged_newton import Server
from dpexp.inference.targets import target_of
from dpexp.inference.user_blocks import UserSource
from dpexp.plugins import Plugin
from dpexp.problems.linear_predictor import LinearPredictorProblem

BATCHES, CHAINS, EVERY = 8, 6, 5


class PathIntervals(Covering):
    """Eight intervals around averages of LDP-SGD, by the names of their estimators."""

    name: Literal["path-intervals"] = "path-intervals"
    burn_in: Annotated[float, Field(ge=0, le=0.9)] = 0.2
    """share of a path that no average sees; random scaling uses all of the path without it and the rest with it"""

    estimators: ClassVar[tuple[str, ...]] = (
        "random-scaling", "random-scaling-burned", "batch-means", "plug-in", "plug-in-free", "hulc", "t-chains",
        "newton-oracle",
    )  # fmt: skip
    schedules: ClassVar[tuple[str, ...]] = ("power", "constant")

    def seconds(self, problem: LinearPredictorProblem, n: int) -> float:
        """Of one replicate: three passes over n users each, with p^2 sums of products."""
        return n * (300 + 20 * problem.p + 3 * problem.p**2) * 4e-10

    def intervals(self, model: Model, trial: Trial, schedule: Any, budget: Any) -> list[LaneIntervals | Coverage]:
        """The three kinds of path meet the same users."""
        problem, n, seed, lanes = trial.problem, trial.n, trial.seed, trial.lanes
        start, eta, level = model.problem.start(), schedule.step_sizes(1, n), self.level
        burned, size = round(self.burn_in * n), n // CHAINS
        ends = [burned + round((n - burned) * k / BATCHES) for k in range(BATCHES + 1)]
        plain, measuring, disjoint = (
            Simulated(model, problem, budget, seed, lanes, weighted=False) for _ in ("plain", "measuring", "disjoint")
        )
        path = Walk(model, start).along(plain, eta, ends)
        first, last = path[0], path[-1]
        begin, end = Walk(model, start, regressed=False).along(measuring, eta, [burned, n], EVERY)
        parts = [round(self.burn_in * size), size]
        chains = [Walk(model, start, regressed=False).along(disjoint, eta[:size], parts) for _ in range(CHAINS)]
        means = np.stack([average(stop, begun) for begun, stop in chains])
        # by this draw of each replicate `hulc` decides how many chains it takes
        uniform = np.array([generator(seed, r, "init").random() for r in lanes])
        uniform = np.append(uniform, np.ones(LANES - len(lanes)))
        return [
            random_scaling(last, level),
            random_scaling(last, level, first),
            batch_means(path, level),
            plug_in(model, end, begin, level),
            plug_in_free(last, first, level),
            hulc(means, level, uniform),
            t_chains(means, level),
            newton_oracle(last, first, target_of(problem).hessian, level),
        ]


# --- a path and its sums


class PathSums(NamedTuple):
    """Running sums over the steps s = 1, 2, ..., with T_s = theta_1 + ... + theta_s; the last axis has length 8.

    T_s, the sums of T_s, of T_s^2 and of s T_s [p, 8]; over gradient users, those of theta_{i-1} theta_{i-1}' and of
    m_i theta_{i-1}' [p, p, 8]. Hessian users are steps too: theta stays, and counts once more.
    """

    total: np.ndarray
    total_sum: np.ndarray
    total_square: np.ndarray
    weighted: np.ndarray
    points_square: np.ndarray
    cross: np.ndarray


@lru_cache(maxsize=16)
def compiled_path(score: Callable[..., Any], curvature: Callable[..., Any], has_scale: bool) -> Callable[..., Any]:
    """The compiled `path(first, every, constants, eta, users, theta, hits, scratch, sums, messages, regressed)`.

    `points_square` and `cross` are summed only if `regressed`. The messages and the step are those of
    `compiled_messages`, one user at a time.
    """
    message = compiled_messages(score, curvature, has_scale, inlined=True)

    @compiled(cached=True)
    def path(first, every, constants, eta, users, theta, hits, scratch, sums, messages, regressed):
        p = theta.shape[0]
        number = 0
        for b in range(len(eta)):
            for j in range(p):
                store(scratch, (p + j,), load(theta, (j,)))
            asked_for_hessian = every > 0 and (first + b + 1) % every == 0
            message(first, every, 1, constants, eta, users, theta, hits, scratch, messages, b, b + 1, number, None)
            if asked_for_hessian:
                number += 1
            # most of the time would be that of these two sums
            elif regressed:
                for j in range(p):
                    # the first p rows of `scratch` hold m_i, and the next p hold theta_{i-1}
                    m, at = load(scratch, (j,)), load(scratch, (p + j,))
                    for l in range(p):
                        other = load(scratch, (p + l,))
                        store(sums.cross, (j, l), load(sums.cross, (j, l)) + m * other)
                        store(sums.points_square, (j, l), load(sums.points_square, (j, l)) + at * other)
            s = float(first + b + 1)
            for j in range(p):
                total = load(sums.total, (j,)) + load(theta, (j,))
                store(sums.total, (j,), total)
                store(sums.total_sum, (j,), load(sums.total_sum, (j,)) + total)
                store(sums.total_square, (j,), load(sums.total_square, (j,)) + total * total)
                store(sums.weighted, (j,), load(sums.weighted, (j,)) + s * total)

    return path


class Snapshot(NamedTuple):
    """Sums over the first `users` users, of the path and of its messages."""

    users: int
    sums: PathSums
    messages: Sums


class Walk(Server):
    """A server that walks one path, with sums that are never begun anew."""

    def __init__(self, model: Model, start: np.ndarray, regressed: bool = True) -> None:
        super().__init__(model, start)
        p = model.p
        self.regressed, self.messages = regressed, no_sums(p)
        self.sums = PathSums(*(lanes_zeros(p) for _ in range(4)), *(lanes_zeros(p, p) for _ in range(2)))
        self._path = compiled_path(type(model.problem).score, model.curvature, model.has_scale)

    def begin(self) -> Sums:
        """The sums of all messages so far."""
        return self.messages

    def serve(self, users: Users, first: int, eta: np.ndarray, every: int, summed: int, sums: Sums) -> None:
        """The next users, as many as eta has entries; all of them enter the sums."""
        self._path(
            first, every, self.constants, eta, users, self.theta, self.hits, self.scratch, self.sums, sums,
            self.regressed,
        )  # fmt: skip

    def along(self, source: UserSource, eta: np.ndarray, boundaries: Sequence[int], every: int = 0) -> list[Snapshot]:
        """Snapshots after the users `boundaries` (increasing, n the last), of as many users as eta [n] has entries.

        With `every` > 0 every k-th user sends a Hessian.
        """
        snapshots, done = list[Snapshot](), 0
        for boundary in boundaries:
            self.ask(source, eta[done:boundary], every, 1, done)
            done = boundary
            path_sums = (
                PathSums(*(np.array(part) for part in self.sums)),
                Sums(*(np.array(part) for part in self.messages)),
            )
            snapshots.append(Snapshot(boundary, *path_sums))
        return snapshots


def average(end: Snapshot, begin: Snapshot) -> np.ndarray:
    """The mean of theta_i over the users between two snapshots [8, p]."""
    return np.asarray((end.sums.total - begin.sums.total).T / (end.users - begin.users))


def since(later: Snapshot, earlier: Snapshot) -> Sums:
    """Sums of messages over the users between two snapshots."""
    return Sums(*(a - b for a, b in zip(later.messages, earlier.messages, strict=True)))


# --- the intervals


def symmetric_interval(estimate: np.ndarray, half: np.ndarray) -> LaneIntervals:
    """estimate +- half, [8, p] both."""
    return LaneIntervals(estimate, estimate - half, estimate + half)


def batch_means(boundaries: Sequence[Snapshot], level: float) -> LaneIntervals:
    """From snapshots at the end of the burn-in and at the end of each of the K batches."""
    return t_chains(np.stack([average(b, a) for a, b in itertools.pairwise(boundaries)]), level)


def plug_in(model: Model, end: Snapshot, burned: Snapshot, level: float) -> LaneIntervals:
    """From a path on which every k-th user sent a Hessian."""
    mean, error = mean_hessian(since(end, burned), model.p)
    scaling = np.outer(model.hessian_scaling, model.hessian_scaling)
    return _sandwich(inverses(regularise(mean, error) / scaling), end, burned, level)


def plug_in_free(end: Snapshot, burned: Snapshot, level: float) -> LaneIntervals:
    """The average of theta_i after the burn-in, +- z times its standard error."""
    return _sandwich(pseudo_inverses(free_hessian(end, burned)), end, burned, level)


def free_hessian(end: Snapshot, burned: Snapshot) -> np.ndarray:
    """Hf [8, p, p] from the users between two snapshots."""
    sums, count = since(end, burned), since(end, burned).v[2][:, None, None]
    point, message = sums.points.T[:, :, None] / count, sums.gradients.T[:, :, None] / count
    cross = (end.sums.cross - burned.sums.cross).transpose(2, 0, 1) / count
    square = (end.sums.points_square - burned.sums.points_square).transpose(2, 0, 1) / count
    covariance = cross - message * point.transpose(0, 2, 1)
    return covariance @ pseudo_inverses(square - point * point.transpose(0, 2, 1))


def _sandwich(inverse: np.ndarray, end: Snapshot, burned: Snapshot, level: float) -> LaneIntervals:
    """From H^-1 [8, p, p]."""
    sums = since(end, burned)
    noise = symmetric(sums.squares, len(end.sums.total)) / (sums.v[2] ** 2)[:, None, None]
    errors = standard_errors(inverse @ noise @ inverse.transpose(0, 2, 1))
    return symmetric_interval(average(end, burned), normal(level) * errors)


def random_scaling(end: Snapshot, level: float, burned: Snapshot | None = None) -> LaneIntervals:
    """From the sums at the end, and at the end of the burn-in where there is one."""
    total, square, weighted, n = end.sums.total, end.sums.total_square, end.sums.weighted, end.users
    # sums of T'_s^2 and of s' T'_s, multiplied out in those of T_s
    if burned is not None:
        # after a burn-in of b steps the sums begin anew: T'_s = T_s - T_b and s' = s - b
        b, start, count = burned.users, burned.sums.total, end.users - burned.users
        linear = end.sums.total_sum - burned.sums.total_sum
        square = square - burned.sums.total_square - 2 * start * linear + count * start**2
        weighted = weighted - burned.sums.weighted - b * linear - start * (count * (count + 1) / 2)
        total, n = total - start, count
    # V, multiplied out: (T_s / s - bar)^2 s^2 = T_s^2 - 2 bar s T_s + bar^2 s^2
    bar = total / n
    steps_square = n * (n + 1) * (2 * n + 1) / 6
    variance = np.maximum(square - 2 * bar * weighted + bar**2 * steps_square, 0.0) / float(n) ** 2
    return symmetric_interval(bar.T, critical_value(level) * np.sqrt(variance / n).T)


@lru_cache(maxsize=32)
def critical_value(level: float) -> float:
    """Of t = W(1) / sqrt(int_0^1 (W(r) - r W(1))^2 dr), the law of random scaling; 6.747302 at 95%."""
    return rounded(brentq(lambda q: tail(q) - (1 - level), 0.05, 1e3, xtol=1e-12))


def tail(q: float) -> float:
    """P(|t| > q), by the inversion of Gil-Pelaez (inference, section 4.1)."""

    def density(v: float) -> float:
        """At u = v^2: smooth in v, and it falls like exp(-q v / 2)."""
        u = v * v
        y = np.sqrt(2j * u) * q
        # log(sinh y / y) in a form that neither overflows nor jumps between branches: Re y > 0.
        log_ratio = y + np.log1p(-np.exp(-2 * y)) - np.log(2 * y)
        return float(2 * ((1 - 2j * u) ** -0.5 * np.exp(-log_ratio / 2)).imag / v)

    # t = Z / sqrt(A) with A = sum_k chi2_1 / (pi k)^2 independent of Z ~ N(0, 1), so P(|t| > q) = P(Z^2 - q^2 A > 0) =
    # 1/2 + (1/pi) int_0^inf Im phi(u) / u du with phi(u) = (1 - 2iu)^(-1/2) (y / sinh y)^(1/2), y = sqrt(2iu) q
    return 0.5 + quad(density, 0, 90 / q, epsabs=1e-14, epsrel=1e-13, limit=400)[0] / math.pi


def newton_oracle(end: Snapshot, burned: Snapshot, hessian: np.ndarray, level: float) -> LaneIntervals:
    """theta~ and its interval from the messages between two snapshots, with H [p, p] at the target."""
    estimates = corrected(since(end, burned), np.broadcast_to(hessian, (LANES, *hessian.shape)), np.zeros(LANES))
    return symmetric_interval(estimates.theta, normal(level) * standard_errors(estimates.covariance))


def t_chains(means: np.ndarray, level: float) -> LaneIntervals:
    """From the averages [K, 8, p]."""
    count = len(means)
    half = rounded(float(stdtrit(count - 1, (1 + level) / 2))) * means.std(axis=0, ddof=1) / math.sqrt(count)
    return symmetric_interval(means.mean(axis=0), half)


def chains_of_hulc(level: float) -> tuple[int, float]:
    """(B, share): B chains with this probability and B - 1 otherwise miss with probability 1 - level exactly."""
    # share more + (1 - share) fewer = 1 - level, for the chances 2^(1 - B) of the two numbers of chains
    chains = math.ceil(1 - math.log2(1 - level))
    more, fewer = 2.0 ** (1 - chains), 2.0 ** (2 - chains)
    return chains, (fewer - (1 - level)) / (fewer - more)


def hulc(means: np.ndarray, level: float, uniform: np.ndarray) -> LaneIntervals:
    """[min, max] of the first B averages of [K, 8, p]; `uniform` [8] decides between the two numbers of chains."""
    chains, share = chains_of_hulc(level)
    if len(means) < chains:
        raise ValueError(f"level {level:g} takes {chains} chains, not {len(means)}")
    used = np.arange(len(means))[:, None] < np.where(uniform <= share, chains, chains - 1)[None, :]
    low = np.where(used[:, :, None], means, np.inf).min(axis=0)
    high = np.where(used[:, :, None], means, -np.inf).max(axis=0)
    return LaneIntervals(means.mean(axis=0), low, high)


PLUGIN = Plugin(algorithms={"path-intervals": PathIntervals})
