"""The compiled loop of a linear-predictor problem: for every user one step of every setting, eight replicates at once.

The rule that turns a gradient into the next iterate comes from the algorithm (`dpexp.engine.linear.rule`); the score,
the weight and the law of the response come from the problem. A rule without memory or norms pays for neither.

(a) The rows x, the responses and the noise directions omega are drawn in blocks of `BLOCK` steps, and every setting
uses them. Each step then visits every setting, and does (b) to (e) there.
(b) Prediction: t = theta_0 + sum_j theta_j x_j, from which the problem has the score g = df/dt and h = df/dscale.
(c) Length: the gradient is w (g, g x, h), so that its squared norm is (w g)^2 |x|^2 + (w h)^2, where |x|^2 counts the
leading 1 and is known from the weight.
(d) Update: the user sends that plus (Delta / mu) omega, and theta becomes what the rule makes of it.
(e) A scale that has fallen below its least value is put back there, after the update, and counted.
(f) Capped messages (`caps`) replace (d)'s: size (T u + sqrt(1 - T^2) c / |c|) with u = v / |v| and c = omega -
<omega, u> u, or size omega / |omega| of a user who sends a random direction.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.core.caches import kept_once
from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.elementwise import absolute, maximum, sqrt, where
from dpexp.engine.lanes.language import inlined
from dpexp.engine.lanes.streams import fill_normal, fill_uniform
from dpexp.engine.lanes.vectors import LANES, add, fused, in_any, load, load_state, read, reals, store, write
from dpexp.engine.linear import BLOCK
from dpexp.engine.linear.designs import (
    ERRORS,
    ErrorShape,
    RowNumbers,
    RowShape,
    column_maker,
    factor_of,
    function_of,
    mixing_of,
)
from dpexp.engine.linear.rule import Received, RuleSource

UNROLLED = 20
"""largest d for which the kernel is compiled for that very d (a fifth faster); larger d share one kernel"""


class ModelShape(NamedTuple):
    """What a kernel is compiled for; everything else is an argument, so that changed numbers compile nothing."""

    response: Callable[..., Any]  # response(t, e, k) -> y
    errors: ErrorShape  # the law of e
    design: RowShape  # the law of rows
    score: Callable[..., Any]  # score(t, y, scale, k) -> derivatives of the loss in t and in the scale
    weight: Callable[..., Any]  # weight(|x|^2, numbers) -> w(x)
    has_scale: bool


class ModelNumbers(NamedTuple):
    """Numbers of the problem."""

    beta: np.ndarray  # true coefficients [d + 1]
    design: RowNumbers
    k: np.ndarray  # constants handed to response and score
    fixed_scale: float
    scale_min: float


class State(NamedTuple):
    """What the steps change, for every setting; float64."""

    theta: np.ndarray  # [settings, p, 8]
    total: np.ndarray  # sum of the iterates so far [settings, p, 8]
    hits: np.ndarray  # steps so far at which the scale was projected [settings, 8]
    memory: np.ndarray  # what the rule remembers [settings, vectors, p, 8]


class Streams(NamedTuple):
    """States of the random streams, uint64 [4, 8] each."""

    covariates: np.ndarray
    responses: np.ndarray
    directions: np.ndarray
    row_uniforms: np.ndarray
    row_normals: np.ndarray
    more_responses: np.ndarray


class Block(NamedTuple):
    """Users of one block, float64."""

    x: np.ndarray  # covariates [BLOCK, d, 8]
    y: np.ndarray  # responses [BLOCK, 8]
    w: np.ndarray  # weights [BLOCK, 8]
    norm_sq: np.ndarray  # |x|^2 with the leading 1 [BLOCK, 8]; filled where the rule asks for the norm of gradients
    omega: np.ndarray  # noise directions [BLOCK, p, 8]
    u: np.ndarray  # further uniform numbers of rows [BLOCK, uniforms, 8]
    v: np.ndarray  # normals of the same kind [BLOCK, normals, 8]
    e: np.ndarray  # second normals of errors [BLOCK, 8]; filled where the law needs them


class SegmentSizes(NamedTuple):
    """Step sizes and noise of one segment of steps."""

    eta: np.ndarray  # step sizes [schedules, steps]
    eta_of: np.ndarray  # schedule of every setting [settings]
    noise: np.ndarray  # rows [8] of noise standard deviations Delta / mu
    noise_row: np.ndarray  # the row of every setting's first step [settings]
    noise_stride: np.ndarray  # rows from one step to the next [settings]: 0 for a budget common to all users
    size: np.ndarray  # length of capped messages [settings], whose cosines are in the rows of `noise`
    threshold: np.ndarray  # rows [8], one a step: the length from which a user sends its own direction


class Record(NamedTuple):
    """States kept at the checkpoints."""

    steps: np.ndarray  # increasing step numbers, then -1
    theta: np.ndarray  # [K, 2, settings, p, 8]: the iterate and its average
    projections: np.ndarray  # [K, settings, 8]: steps so far at which the scale was projected


class Known(NamedTuple):
    """What all coordinates of one setting's step share, inside compiled code; a coordinate multiplies its direction."""

    i: Any  # number of the step
    eta: Any
    gradient: Any  # the rescaled gradient over its direction: w g along x, w in the scale, whose direction is h
    gradient_step: Any  # eta times that
    noise: Any  # Delta / mu_i
    noise_step: Any  # eta times that


def _recalling(source: RuleSource) -> Callable[..., Any]:
    """The function recall(memory, s, j) -> the rule's NamedTuple of its vectors' coordinate j in setting s."""
    kind = source.memory

    # compiled code cannot index a tuple by a variable, so it is put together one vector after the other
    def first(count: int) -> Callable[..., Any]:
        if count == 0:
            return inlined(lambda memory, s, j: ())
        before, last = first(count - 1), count - 1
        return inlined(lambda memory, s, j: (*before(memory, s, j), load_state(memory, (s, last, j))))

    every = first(source.vectors)
    return inlined(lambda memory, s, j: kind(*every(memory, s, j))) if source.vectors else every


def _remembering(count: int) -> Callable[..., Any]:
    """The function remember(memory, s, j, next_memory) that writes its first `count` entries back."""
    if count == 0:
        return inlined(lambda memory, s, j, next_memory: None)
    before, last = _remembering(count - 1), count - 1

    def remember(memory, s, j, next_memory):
        before(memory, s, j, next_memory)
        write(memory, (s, last, j), next_memory[last])

    return inlined(remember)


@kept_once(64)
def user_drawing(shape: ModelShape, lengths: bool, known_d: int | None) -> Callable[..., Any]:
    """The compiled draw(block, streams, law) that fills a block with users; with `lengths` with |x|^2 too."""
    response, weight = inlined(shape.response), inlined(shape.weight)
    errors, design = shape.errors, shape.design
    normal, uniforms, extra = errors.kind == "normal", design.uniforms, design.normals + design.second
    more, grows, bends = errors.second, errors.grows, errors.bends
    mix, factor, columns = mixing_of(design), factor_of(design), column_maker(design)
    of_errors, factored, plain, from_table = errors.unit is not None, factor is not None, columns is None, design.table
    error = None if errors.unit is None else inlined(function_of(errors.unit, ERRORS, inlined))

    @compiled(cached=True)
    def draw(block, streams, law):
        # (a), a whole block even where fewer steps are left: how far a stream has come depends on blocks alone
        x, y, w, omega = block.x, block.y, block.w, block.omega
        d = x.shape[1] if known_d is None else known_d
        fill_normal(streams.covariates, x.reshape(-1, LANES), BLOCK * d)
        fill_normal(streams.directions, omega.reshape(-1, LANES), BLOCK * omega.shape[1])
        if normal:
            fill_normal(streams.responses, y, BLOCK)
        else:
            fill_uniform(streams.responses, y, BLOCK)
        if uniforms > 0:
            fill_uniform(streams.row_uniforms, block.u.reshape(-1, LANES), BLOCK * uniforms)
        if extra > 0:
            fill_normal(streams.row_normals, block.v.reshape(-1, LANES), BLOCK * extra)
        if more:
            fill_normal(streams.more_responses, block.e, BLOCK)
        n = law.design
        for b in range(BLOCK):
            mix(x, b, d, n)
            if not plain:
                columns(x, block.u if from_table else block.v, b, n)
            ratio = factor(block.u, block.v, b, n) if factored else reals(1.0)
            t = reals(law.beta[0])
            norm_sq = reals(1.0)
            for j in range(d):
                z = n.a[j] * load(x, (b, j)) if plain else load(x, (b, j))
                if factored:
                    z = ratio * z
                store(x, (b, j), z)
                t = t + law.beta[j + 1] * z
                norm_sq = norm_sq + z * z
            e = load(y, (b,))
            if of_errors:
                two = n.errors[2], n.errors[3]
                e = n.errors[4] * error(e, load(block.e, (b,)) if more else reals(0.0), two)
            if grows:
                e = (n.errors[0] + n.errors[1] * absolute(load(x, (b, 0)))) * e
            if bends:
                first = load(x, (b, 0))
                t = t + n.errors[5] * (first * first - n.errors[6])
            store(y, (b,), response(t, e, law.k))
            store(w, (b,), weight(norm_sq, n.weight))
            if lengths:
                store(block.norm_sq, (b,), norm_sq)

    return draw


@kept_once(64)
def compiled_segment(shape: ModelShape, source: RuleSource, known_d: int | None, capped: bool) -> Callable[..., Any]:
    """The compiled `segment(first, count, c, law, numbers, state, streams, block, sizes, record) -> c`: the steps
    first + 1 .. first + count of one shape of problem and source of a rule, c being the next checkpoint to record.

    `numbers` are the rule's; `capped` is for messages by cap sampling. With `known_d` the loops over coordinates are
    unrolled for that d, with the same bits.
    """
    score, has_scale = inlined(shape.score), shape.has_scale
    update, rescales, whitens = inlined(source.update), source.rescale is not None, source.whiten is not None
    rescale = None if source.rescale is None else inlined(source.rescale)
    recall, remember = _recalling(source), _remembering(source.vectors)
    whiten = None if source.whiten is None else inlined(source.whiten)
    draw = user_drawing(shape, (rescales or capped) and not whitens, known_d)

    @njit(nogil=True, forceinline=True)
    def whitened(s, j, g_j, state, numbers):
        return whiten(g_j, recall(state.memory, s, j), numbers)

    @njit(nogil=True, forceinline=True)
    def moved(s, j, theta_j, direction_j, omega_j, known, state, numbers):
        """Coordinate j of theta after the update of setting s, whose gradient is known.gradient direction_j there."""
        # (d): the gradient is a number times a direction, w g times x in the coefficients and w times h in the scale.
        # The compiler leaves out what the rule does not use of these.
        noisy = known.gradient * direction_j + known.noise * omega_j
        step = known.gradient_step * direction_j + known.noise_step * omega_j
        # A step of one setting is one chain: inner product, division in the score, update. A processor works on few
        # settings at a time, so the chain is kept short: the score is known last, and one operation is left to do.
        stepped = fused(-known.gradient_step, direction_j, fused(-known.noise_step, omega_j, theta_j))
        received = Received(known.i, known.eta, noisy, step, stepped)
        theta_j, next_memory = update(theta_j, received, recall(state.memory, s, j), numbers)
        remember(state.memory, s, j, next_memory)
        return theta_j

    @njit(nogil=True, forceinline=True)
    def step(b, i, number, law, numbers, state, block, sizes):
        """User b of the block, step i of the segment and `number` of all: every setting hears from this user."""
        theta, total, hits = state.theta, state.total, state.hits
        x, omega = block.x, block.omega
        d = x.shape[1] if known_d is None else known_d
        q = d + 1
        if capped:
            along, omega_sq = read(omega, (b, 0)), read(omega, (b, 0)) * read(omega, (b, 0))
            for j in range(1, omega.shape[1]):
                omega_j = read(omega, (b, j))
                omega_sq = omega_sq + omega_j * omega_j
                if j <= d:
                    along = along + read(x, (b, j - 1)) * omega_j
        for s in range(theta.shape[0]):
            eta = sizes.eta[sizes.eta_of[s], i]
            noise = read(sizes.noise, (sizes.noise_row[s] + sizes.noise_stride[s] * i,))
            noise_step = eta * noise
            # (b): two sums that a processor adds up at the same time. In one, each term would wait for the one before.
            t, other = load_state(theta, (s, 0)), load_state(theta, (s, 1)) * read(x, (b, 0))
            for j in range(2, d, 2):
                t = fused(load_state(theta, (s, j)), read(x, (b, j - 1)), t)
                other = fused(load_state(theta, (s, j + 1)), read(x, (b, j)), other)
            if d % 2 == 0:
                t = fused(load_state(theta, (s, d)), read(x, (b, d - 1)), t)
            t = t + other
            scale = load_state(theta, (s, q)) if has_scale else reals(law.fixed_scale)
            g, h = score(t, read(block.y, (b,)), scale, law.k)
            w = read(block.w, (b,))
            # (c): no pass over the coordinates, unless the user's side asks for each of them
            if whitens:
                square = reals(0.0)
                for j in range(d + 1):
                    u = whitened(s, j, w * g * (read(x, (b, j - 1)) if j > 0 else reals(1.0)), state, numbers)
                    square = square + u * u
                if has_scale:
                    u = whitened(s, q, w * h, state, numbers)
                    square = square + u * u
                factor = rescale(sqrt(square), numbers) if rescales else reals(1.0)
            elif rescales:
                wg, wh = w * g, w * h if has_scale else reals(0.0)
                w = w * rescale(sqrt(wg * wg * read(block.norm_sq, (b,)) + wh * wh), numbers)
            # (f), with `noise` for the cosine T until here
            if capped:
                wg, wh = w * g, w * h if has_scale else reals(0.0)
                square = wg * wg * read(block.norm_sq, (b,)) + wh * wh
                dot = wg * along + (wh * read(omega, (b, q)) if has_scale else reals(0.0))
                own, length = read(sizes.threshold, (i,)) < sqrt(square), sqrt(square)
                sine = sizes.size[s] * sqrt(1.0 - noise * noise) / sqrt(maximum(omega_sq - dot * dot / square, 1e-300))
                w = where(own, (sizes.size[s] * noise - sine * dot / length) / length, 0.0) * w
                noise = where(own, sine, sizes.size[s] / sqrt(omega_sq))
                noise_step = eta * noise
            # (d), for the intercept, whose direction is 1, then along x, then in the scale
            weighted = eta * w
            if whitens:
                known = Known(number, eta, factor, eta * factor, noise, noise_step)
                along_0 = whitened(s, 0, w * g, state, numbers)
            else:
                known, along_0 = Known(number, eta, w * g, weighted * g, noise, noise_step), 1.0
            theta_0 = moved(s, 0, load_state(theta, (s, 0)), along_0, read(omega, (b, 0)), known, state, numbers)
            write(theta, (s, 0), theta_0)
            add(total, (s, 0), theta_0)
            for j in range(1, d + 1):
                x_j, omega_j = read(x, (b, j - 1)), read(omega, (b, j))
                if whitens:
                    x_j = whitened(s, j, w * g * x_j, state, numbers)
                theta_j = moved(s, j, load_state(theta, (s, j)), x_j, omega_j, known, state, numbers)
                write(theta, (s, j), theta_j)
                add(total, (s, j), theta_j)
            if has_scale:
                of_scale = Known(number, eta, w, weighted, noise, noise_step)
                if whitens:
                    of_scale = known
                    h = whitened(s, q, w * h, state, numbers)
                # (e): memory keeps what the rule made of the free scale
                free = moved(s, q, scale, h, read(omega, (b, q)), of_scale, state, numbers)
                scale = maximum(free, law.scale_min)
                below = free < law.scale_min
                # which is rare, and decides the time alone
                if in_any(below):
                    add(hits, (s,), where(below, 1.0, 0.0))
                write(theta, (s, q), scale)
                add(total, (s, q), scale)

    @njit(nogil=True)
    def keep(record, c, i, state):
        """Keep the iterate and its average over the i steps so far as checkpoint c."""
        theta, total, hits = state.theta, state.total, state.hits
        for s in range(theta.shape[0]):
            for j in range(theta.shape[1]):
                store(record.theta, (c, 0, s, j), load(theta, (s, j)))
                store(record.theta, (c, 1, s, j), load(total, (s, j)) / i)
            store(record.projections, (c, s), load(hits, (s,)))

    @compiled(cached=True)
    def segment(first, count, c, law, numbers, state, streams, block, sizes, record):
        for start in range(0, count, BLOCK):
            draw(block, streams, law)
            for b in range(min(BLOCK, count - start)):
                number = first + start + b + 1
                step(b, start + b, float(number), law, numbers, state, block, sizes)
                if number == record.steps[c]:
                    keep(record, c, record.steps[c], state)
                    c += 1
        return c

    return segment
