"""The compiled loop of a linear-predictor problem: for every user one step of every setting, eight replicates at once.

The rows x, the responses and the noise directions are drawn in blocks of `BLOCK` steps; each step then visits every
setting. The rule that turns a gradient into the next iterate comes from the algorithm; the score, the weight and the
law of the response come from the problem: this file only arranges them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, lru_cache
from typing import NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.lanes.elementwise import where
from dpexp.engine.lanes.streams import fill_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES, load, read, reals, store, write

BLOCK = 128
"""steps whose random numbers are drawn together; even, so that no pair of normals straddles two blocks"""
UNROLLED = 12
"""largest d for which the kernel is compiled for that very d (a fifth faster); larger d share one kernel"""


class Shape(NamedTuple):
    """What a kernel is compiled for; everything else is an argument, so that changed numbers compile nothing."""

    response: Callable
    """response(t, e, k) -> y"""
    response_is_normal: bool
    score: Callable
    """score(t, y, scale, k) -> derivatives of the loss in t and in the scale"""
    weight: Callable
    """weight(|x|^2) -> w(x)"""
    has_scale: bool


class Rule(NamedTuple):
    """An algorithm's update of one coordinate, and of the running sum behind its average."""

    descend: Callable
    """descend(theta_j, direction_j, omega_j, gradient_step, noise_step) -> next theta_j"""
    project: Callable
    """project(scale, scale_min) -> scale"""
    accumulate: Callable
    """accumulate(total_j, theta_j) -> total_j"""


class Law(NamedTuple):
    """Numbers of the problem."""

    beta: np.ndarray
    """true coefficients [d + 1]"""
    sigma_z: float
    k: np.ndarray
    """constants handed to response and score"""
    fixed_scale: float
    scale_min: float


class State(NamedTuple):
    """What the steps change, for every setting; float64."""

    theta: np.ndarray
    """[settings, p, 8]"""
    total: np.ndarray
    """sum of the iterates so far [settings, p, 8]"""
    hits: np.ndarray
    """steps so far at which the scale was projected [settings, 8]"""


class Streams(NamedTuple):
    """States of the random streams, uint64 [4, 8] each."""

    covariates: np.ndarray
    responses: np.ndarray
    directions: np.ndarray


class Block(NamedTuple):
    """Users of one block, float64."""

    x: np.ndarray
    """covariates [BLOCK, d, 8]"""
    y: np.ndarray
    """responses [BLOCK, 8]"""
    w: np.ndarray
    """weights [BLOCK, 8]"""
    omega: np.ndarray
    """noise directions [BLOCK, p, 8]"""


class Sizes(NamedTuple):
    """Step sizes and noise of one segment of steps."""

    eta: np.ndarray
    """step sizes [schedules, steps]"""
    eta_of: np.ndarray
    """schedule of every setting [settings]"""
    noise: np.ndarray
    """rows [8] of noise standard deviations Delta / mu"""
    noise_row: np.ndarray
    """the row of every setting's first step [settings]"""
    noise_stride: np.ndarray
    """rows from one step to the next [settings]: 0 for a budget common to all users"""


class Record(NamedTuple):
    """States kept at the checkpoints."""

    steps: np.ndarray
    """increasing step numbers, then -1"""
    theta: np.ndarray
    """[K, 2, settings, p, 8]: the iterate and its average"""
    projections: np.ndarray
    """[K, settings, 8]"""


@cache
def _inlined(function: Callable) -> Callable:
    return njit(function, nogil=True, forceinline=True)


@lru_cache(maxsize=64)
def compiled_segment(shape: Shape, rule: Rule, known_d: int | None) -> Callable:
    """The compiled `segment(first, count, c, law, state, streams, block, sizes, record) -> c` of one shape of problem.

    It runs the steps first + 1 .. first + count; c is the next checkpoint to record. With `known_d` the loops over
    coordinates are unrolled for that d. The bits are the same either way.
    """
    score, response, weight = _inlined(shape.score), _inlined(shape.response), _inlined(shape.weight)
    descend, project, accumulate = _inlined(rule.descend), _inlined(rule.project), _inlined(rule.accumulate)
    normal, has_scale = shape.response_is_normal, shape.has_scale

    @njit(nogil=True)
    def draw(block, streams, law):
        """Draw the users and the noise directions of a block."""
        x, y, w, omega = block
        d = x.shape[1]
        fill_normal(streams.covariates, x.reshape(-1, LANES), BLOCK * d)
        fill_normal(streams.directions, omega.reshape(-1, LANES), BLOCK * omega.shape[1])
        if normal:
            fill_normal(streams.responses, y, BLOCK)
        else:
            fill_uniform(streams.responses, y, BLOCK)
        for b in range(BLOCK):
            t = reals(law.beta[0])
            norm_sq = reals(1.0)
            for j in range(d):
                z = law.sigma_z * load(x, (b, j))
                store(x, (b, j), z)
                t = t + law.beta[j + 1] * z
                norm_sq = norm_sq + z * z
            store(y, (b,), response(t, load(y, (b,)), law.k))
            store(w, (b,), weight(norm_sq))

    @njit(nogil=True, forceinline=True)
    def step(b, i, law, state, block, sizes):
        """User b of the block, step i of the segment: theta <- Proj(theta - eta (grad f + (Delta / mu) omega))."""
        theta, total, hits = state
        x, y, w, omega = block
        d = x.shape[1] if known_d is None else known_d
        q = d + 1
        for s in range(theta.shape[0]):
            eta = sizes.eta[sizes.eta_of[s], i]
            noise_step = eta * read(sizes.noise, (sizes.noise_row[s] + sizes.noise_stride[s] * i,))
            t = load(theta, (s, 0))
            for j in range(d):
                t = t + load(theta, (s, j + 1)) * read(x, (b, j))
            scale = load(theta, (s, q)) if has_scale else reals(law.fixed_scale)
            g, h = score(t, read(y, (b,)), scale, law.k)
            weighted = eta * read(w, (b,))
            gradient_step = weighted * g
            theta_0 = descend(load(theta, (s, 0)), 1.0, read(omega, (b, 0)), gradient_step, noise_step)
            write(theta, (s, 0), theta_0)
            write(total, (s, 0), accumulate(load(total, (s, 0)), theta_0))
            for j in range(1, d + 1):
                x_j, omega_j = read(x, (b, j - 1)), read(omega, (b, j))
                theta_j = descend(load(theta, (s, j)), x_j, omega_j, gradient_step, noise_step)
                write(theta, (s, j), theta_j)
                write(total, (s, j), accumulate(load(total, (s, j)), theta_j))
            if has_scale:
                free = descend(scale, h, read(omega, (b, q)), weighted, noise_step)
                scale = project(free, law.scale_min)
                write(hits, (s,), load(hits, (s,)) + where(free < law.scale_min, 1.0, 0.0))
                write(theta, (s, q), scale)
                write(total, (s, q), accumulate(load(total, (s, q)), scale))

    @njit(nogil=True)
    def keep(record, c, i, state):
        """Keep the iterate and its average over the i steps so far as checkpoint c."""
        theta, total, hits = state
        for s in range(theta.shape[0]):
            for j in range(theta.shape[1]):
                store(record.theta, (c, 0, s, j), load(theta, (s, j)))
                store(record.theta, (c, 1, s, j), load(total, (s, j)) / i)
            store(record.projections, (c, s), load(hits, (s,)))

    @njit(nogil=True)
    def segment(first, count, c, law, state, streams, block, sizes, record):
        for start in range(0, count, BLOCK):
            draw(block, streams, law)
            for b in range(min(BLOCK, count - start)):
                step(b, start + b, law, state, block, sizes)
                if first + start + b + 1 == record.steps[c]:
                    keep(record, c, record.steps[c], state)
                    c += 1
        return c

    return segment
