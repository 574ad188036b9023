"""One pass over the random numbers of a linear-predictor problem, updating every setting of an experiment.

All settings (step size schedule x budget) see the same users and the same noise directions. Eight replicates advance side
by side in lanes; the rows x, the responses and the noise directions are drawn in blocks of `BLOCK` steps, and each step
then visits every setting. The rule that turns a gradient into the next iterate comes from the algorithm, the score and
the law of the response from the problem: this file only arranges them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from threading import Lock
from typing import NamedTuple, Protocol

import numpy as np
from numba import njit

from dpexp.engine.elementwise import where
from dpexp.engine.lanes import LANES, load, reals, store
from dpexp.engine.streams import fill_normal, fill_uniform
from dpexp.seeds import stream_states

BLOCK = 128
"""steps whose random numbers are drawn together; even, so that no pair of normals straddles two blocks"""
SEGMENT = 32 * BLOCK
"""steps whose step sizes and user budgets are computed together"""
UNROLLED = 12
"""largest d for which the kernel is compiled for that very d (a fifth faster); larger d share one kernel"""


class Model(NamedTuple):
    """What the pass needs to know of a problem; the functions are compiled, the numbers are arguments."""

    response: Callable
    """response(t, e, k) -> y"""
    response_is_normal: bool
    score: Callable
    """score(t, y, scale, k) -> derivatives in t and in the scale"""
    weight: Callable
    """weight(|x|^2) -> w(x)"""
    has_scale: bool
    d: int
    sigma_z: float
    true_coefficients: np.ndarray
    """[d + 1]"""
    constants: np.ndarray
    fixed_scale: float
    scale_min: float
    start: np.ndarray
    """[p]"""


class Rule(NamedTuple):
    """An algorithm's update of one coordinate and of the running sum behind its average."""

    descend: Callable
    """descend(theta_j, direction_j, omega_j, gradient_step, noise_step) -> next theta_j"""
    project: Callable
    """project(scale, scale_min) -> scale"""
    accumulate: Callable
    """accumulate(total_j, theta_j) -> total_j"""


class Schedule(Protocol):
    """A hashable rule for the step sizes."""

    def step_sizes(self, first: int, last: int) -> np.ndarray:
        """Step sizes of the steps first..last, both included."""


class Budget(Protocol):
    """The privacy budgets mu_i of users 1, 2, ..."""

    @property
    def constant(self) -> float | None:
        """The budget that all users share, or None."""

    def draw(self, u: np.ndarray, first: int) -> np.ndarray:
        """Budgets of the users first, first + 1, ... from their uniform numbers u [users, 8]."""


class Setting(NamedTuple):
    """One setting of a pass."""

    schedule: Schedule
    budget: Budget


class Snapshots(NamedTuple):
    """State of one lane group at every checkpoint."""

    theta: np.ndarray
    """float64 [K, 2, settings, p, 8]: the iterate and its running average"""
    projections: np.ndarray
    """float64 [K, settings, 8]: steps so far at which the scale was projected"""


_COMPILING = Lock()


@lru_cache(maxsize=None)
def _compiled(function: Callable) -> Callable:
    return njit(function, nogil=True, forceinline=True)


@lru_cache(maxsize=64)
def _kernel(
    score_: Callable, response_: Callable, weight_: Callable, rule: Rule, d_known: int | None, has_scale: bool, normal: bool
) -> Callable:
    """The compiled loop over one segment for one shape of problem; numbers are arguments, so new ones compile nothing."""
    score, response, weight = _compiled(score_), _compiled(response_), _compiled(weight_)
    descend, project, accumulate = _compiled(rule.descend), _compiled(rule.project), _compiled(rule.accumulate)
    q_known = -1 if d_known is None else d_known + 1

    @njit(nogil=True)
    def draw_users(x, y, w, covariates, responses, beta, sigma_z, k):  # type: ignore[no-untyped-def]
        """A block of users: covariates x [BLOCK, d, 8], responses y and Mallows weights w [BLOCK, 8]."""
        d = x.shape[1]
        fill_normal(covariates, x.reshape(-1, LANES), BLOCK * d)
        if normal:
            fill_normal(responses, y, BLOCK)
        else:
            fill_uniform(responses, y, BLOCK)
        for b in range(BLOCK):
            t = reals(beta[0])
            norm_sq = reals(1.0)
            for j in range(d):
                z = sigma_z * load(x, (b, j))
                store(x, (b, j), z)
                t = t + beta[j + 1] * z
                norm_sq = norm_sq + z * z
            store(y, (b,), response(t, load(y, (b,)), k))
            store(w, (b,), weight(norm_sq))

    @njit(nogil=True, forceinline=True)
    def step(theta, total, hits, x, y, w, omega, b, eta, eta_of, noise, noise_row, noise_stride, i, k, scale0, lowest):  # type: ignore[no-untyped-def]
        """Step b of the block (step i of the segment) for every setting."""
        d = x.shape[1] if d_known is None else d_known
        q = d + 1 if d_known is None else q_known
        y_b, w_b = load(y, (b,)), load(w, (b,))
        for s in range(theta.shape[0]):
            eta_i = eta[eta_of[s], i]
            t = load(theta, (s, 0))
            for j in range(d):
                t = t + load(theta, (s, j + 1)) * load(x, (b, j))
            scale = load(theta, (s, q)) if has_scale else reals(scale0)
            g, h = score(t, y_b, scale, k)
            gradient_step = (eta_i * w_b) * g
            noise_step = eta_i * load(noise, (noise_row[s] + noise_stride[s] * i,))
            theta_0 = descend(load(theta, (s, 0)), 1.0, load(omega, (b, 0)), gradient_step, noise_step)
            store(theta, (s, 0), theta_0)
            store(total, (s, 0), accumulate(load(total, (s, 0)), theta_0))
            for j in range(1, d + 1):
                theta_j = descend(load(theta, (s, j)), load(x, (b, j - 1)), load(omega, (b, j)), gradient_step, noise_step)
                store(theta, (s, j), theta_j)
                store(total, (s, j), accumulate(load(total, (s, j)), theta_j))
            if has_scale:
                free = descend(scale, h, load(omega, (b, q)), eta_i * w_b, noise_step)
                scale = project(free, lowest)
                store(hits, (s,), load(hits, (s,)) + where(free < lowest, 1.0, 0.0))
                store(theta, (s, q), scale)
                store(total, (s, q), accumulate(load(total, (s, q)), scale))

    @njit(nogil=True)
    def record(snapshots, projections, theta, total, hits, c, i):  # type: ignore[no-untyped-def]
        """Keep the iterate and its average over the i steps so far as checkpoint c."""
        for s in range(theta.shape[0]):
            for j in range(theta.shape[1]):
                for lane in range(LANES):
                    snapshots[c, 0, s, j, lane] = theta[s, j, lane]
                    snapshots[c, 1, s, j, lane] = total[s, j, lane] / i
            for lane in range(LANES):
                projections[c, s, lane] = hits[s, lane]

    @njit(nogil=True)
    def segment(first, count, steps, c, snapshots, projections, theta, total, hits, x, y, w, omega, covariates,
                responses, directions, beta, sigma_z, eta, eta_of, noise, noise_row, noise_stride, k, scale0, lowest):  # type: ignore[no-untyped-def]  # fmt: skip
        """Steps first + 1 .. first + count; c is the next checkpoint, the one after the last is returned."""
        for start in range(0, count, BLOCK):
            draw_users(x, y, w, covariates, responses, beta, sigma_z, k)
            fill_normal(directions, omega.reshape(-1, LANES), BLOCK * omega.shape[1])
            for b in range(min(BLOCK, count - start)):
                i = start + b
                step(theta, total, hits, x, y, w, omega, b, eta, eta_of, noise, noise_row, noise_stride, i, k, scale0, lowest)
                if first + i + 1 == steps[c]:
                    record(snapshots, projections, theta, total, hits, c, first + i + 1)
                    c += 1
        return c

    return segment


def _aligned(*shape: int) -> np.ndarray:
    """Zeros [*shape] that start on a cache line, so that no lanes straddle two of them."""
    size = int(np.prod(shape)) * 8
    raw = np.zeros(size + 64, np.uint8)
    offset = -raw.ctypes.data % 64
    return raw[offset : offset + size].view(np.float64).reshape(shape)


def _noise_rows(settings: Sequence[Setting], sensitivity: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, list[int]]:
    """Where each setting finds its noise standard deviation Delta / mu: a fixed row, or one row a step of the segment."""
    varied = [s for s, setting in enumerate(settings) if setting.budget.constant is None]
    noise = _aligned(len(settings) + len(varied) * SEGMENT, LANES)
    row, stride = np.arange(len(settings)), np.zeros(len(settings), np.int64)
    for s, setting in enumerate(settings):
        if setting.budget.constant is not None:
            noise[s] = sensitivity / setting.budget.constant
    for v, s in enumerate(varied):
        row[s], stride[s] = len(settings) + v * SEGMENT, 1
    return noise, row, stride, varied


def run_lane_group(
    model: Model, rule: Rule, settings: Sequence[Setting], sensitivity: float, steps: np.ndarray, seed: int, replicates: Sequence[int]
) -> Snapshots:
    """Run up to 8 replicates of every setting through steps[-1] users and return their states at `steps`.

    Parameters: `sensitivity` is Delta, so that user i adds noise of standard deviation Delta / mu_i to every coordinate
    of its gradient; `steps` are increasing step numbers >= 1. Lanes without a replicate repeat the last one.
    """
    lanes = [*replicates, *[replicates[-1]] * (LANES - len(replicates))]
    if len(lanes) != LANES:
        raise ValueError(f"a lane group holds 1 to {LANES} replicates, not {len(replicates)}")
    p, d = len(model.start), model.d
    normal = model.response_is_normal
    with _COMPILING:
        kernel = _kernel(
            model.score, model.response, model.weight, rule, d if d <= UNROLLED else None, model.has_scale, normal
        )
    covariates, responses, directions, of_budget = (
        np.ascontiguousarray(stream_states(seed, lanes, role)) for role in ("data", "response", "noise", "budget")
    )
    theta, total, hits = _aligned(len(settings), p, LANES), _aligned(len(settings), p, LANES), _aligned(len(settings), LANES)
    theta[:] = model.start[:, None]
    x, y, w = _aligned(BLOCK, d, LANES), _aligned(BLOCK, LANES), _aligned(BLOCK, LANES)
    omega, u = _aligned(BLOCK, p, LANES), _aligned(SEGMENT, LANES)
    noise, row, stride, varied = _noise_rows(settings, sensitivity)
    schedules = list(dict.fromkeys(setting.schedule for setting in settings))
    eta_of = np.array([schedules.index(setting.schedule) for setting in settings])
    snapshots, projections = np.empty((len(steps), 2, *theta.shape)), np.empty((len(steps), *hits.shape))
    wanted = np.append(np.asarray(steps, np.int64), -1)
    n, c = int(steps[-1]), 0
    for first in range(0, n, SEGMENT):
        count = min(SEGMENT, n - first)
        eta = np.zeros((len(schedules), SEGMENT))
        for a, schedule in enumerate(schedules):
            eta[a, :count] = schedule.step_sizes(first + 1, first + count)
        if varied:
            fill_uniform(of_budget, u, SEGMENT)
            for s in varied:
                noise[row[s] : row[s] + SEGMENT] = sensitivity / settings[s].budget.draw(u, first + 1)
        c = kernel(first, count, wanted, c, snapshots, projections, theta, total, hits, x, y, w, omega, covariates,
                   responses, directions, model.true_coefficients, model.sigma_z, eta, eta_of, noise, row, stride,
                   model.constants, model.fixed_scale, model.scale_min)  # fmt: skip
    return Snapshots(snapshots, projections)
