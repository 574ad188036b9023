"""The other methods of the ledger: what they return, and each interval from the sums of a path.

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
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from dpexp.engine.lanes.vectors import LANES
from dpexp.inference import public_numbers
from dpexp.inference.messages import symmetric
from dpexp.inference.models import Model
from dpexp.inference.newton import corrected, mean_hessian, regularise, standard_errors
from dpexp.inference.paths import Snapshot, average, since
from dpexp.inference.small_matrices import inverses, pseudo_inverses


class Interval(NamedTuple):
    """Estimates and intervals of eight replicates."""

    estimate: np.ndarray
    """[8, p]"""
    low: np.ndarray
    """[8, p]"""
    high: np.ndarray
    """[8, p]"""


def symmetric_interval(estimate: np.ndarray, half: np.ndarray) -> Interval:
    """estimate +- half, [8, p] both."""
    return Interval(estimate, estimate - half, estimate + half)


def batch_means(boundaries: Sequence[Snapshot], level: float) -> Interval:
    """From snapshots at the end of the burn-in and at the end of each of the K batches."""
    return t_chains(np.stack([average(b, a) for a, b in itertools.pairwise(boundaries)]), level)


def plug_in(model: Model, end: Snapshot, burned: Snapshot, level: float) -> Interval:
    """From a path on which every k-th user sent a Hessian."""
    sums = since(end, burned)
    mean, error = mean_hessian(sums, model.p)
    scaling = np.outer(model.hessian_scaling, model.hessian_scaling)
    inverse = inverses(regularise(mean, error) / scaling)
    noise = symmetric(sums.squares, model.p) / (sums.v[2] ** 2)[:, None, None]
    errors = standard_errors(inverse @ noise @ inverse)
    return symmetric_interval(average(end, burned), public_numbers.normal(level) * errors)


def free_hessian(end: Snapshot, burned: Snapshot) -> np.ndarray:
    """Hf [8, p, p] from the users between two snapshots."""
    sums, count = since(end, burned), since(end, burned).v[2][:, None, None]
    point, message = sums.points.T[:, :, None] / count, sums.gradients.T[:, :, None] / count
    cross = (end.sums.cross - burned.sums.cross).transpose(2, 0, 1) / count
    square = (end.sums.points_square - burned.sums.points_square).transpose(2, 0, 1) / count
    covariance = cross - message * point.transpose(0, 2, 1)
    return covariance @ pseudo_inverses(square - point * point.transpose(0, 2, 1))


def plug_in_free(end: Snapshot, burned: Snapshot, level: float) -> Interval:
    """The average of theta_i after the burn-in, +- z times its standard error."""
    sums, p = since(end, burned), len(end.sums.total)
    inverse = pseudo_inverses(free_hessian(end, burned))
    noise = symmetric(sums.squares, p) / (sums.v[2] ** 2)[:, None, None]
    errors = standard_errors(inverse @ noise @ inverse.transpose(0, 2, 1))
    return symmetric_interval(average(end, burned), public_numbers.normal(level) * errors)


def random_scaling(end: Snapshot, level: float, burned: Snapshot | None = None) -> Interval:
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
    return symmetric_interval(bar.T, public_numbers.random_scaling(level) * np.sqrt(variance / n).T)


def newton_oracle(end: Snapshot, burned: Snapshot, hessian: np.ndarray, level: float) -> Interval:
    """theta~ and its interval from the messages between two snapshots, with H [p, p] at the target."""
    found = corrected(since(end, burned), np.broadcast_to(hessian, (LANES, *hessian.shape)), np.zeros(LANES))
    return symmetric_interval(found.theta, public_numbers.normal(level) * standard_errors(found.covariance))


def t_chains(means: np.ndarray, level: float) -> Interval:
    """From the averages [K, 8, p]."""
    count = len(means)
    half = public_numbers.student(level, count - 1) * means.std(axis=0, ddof=1) / math.sqrt(count)
    return symmetric_interval(means.mean(axis=0), half)


def chains_of_hulc(level: float) -> tuple[int, float]:
    """(B, share): B chains with this probability and B - 1 otherwise miss with probability 1 - level exactly."""
    # share more + (1 - share) fewer = 1 - level, for the chances 2^(1 - B) of the two numbers of chains
    most = math.ceil(1 - math.log2(1 - level))
    more, fewer = 2.0 ** (1 - most), 2.0 ** (2 - most)
    return most, (fewer - (1 - level)) / (fewer - more)


def hulc(means: np.ndarray, level: float, uniform: np.ndarray) -> Interval:
    """[min, max] of the first B averages of [K, 8, p]; `uniform` [8] decides between the two numbers of chains."""
    most, share = chains_of_hulc(level)
    if len(means) < most:
        raise ValueError(f"level {level:g} takes {most} chains, not {len(means)}")
    kept = np.arange(len(means))[:, None] < np.where(uniform <= share, most, most - 1)[None, :]
    low = np.where(kept[:, :, None], means, np.inf).min(axis=0)
    high = np.where(kept[:, :, None], means, -np.inf).max(axis=0)
    return Interval(means.mean(axis=0), low, high)
