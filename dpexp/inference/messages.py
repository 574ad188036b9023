"""The compiled loop of private messages: each user sends a noisy gradient or a noisy Hessian, eight replicates at once.

User i receives the public theta_{i-1} and sends one message (inference, section 1), where f is the mean loss of the
rows that the user holds, and 0 of a user without any (fit2, section 1):

(a) gradient user   m_i = D_a^-1 (D_a grad f(theta_{i-1}) + (Delta / mu_i) omega_i),             omega_i ~ N(0, I_p)
(b) Hessian user    M_i = D hess f(theta_{i-1}) D + (Delta_H(theta_{i-1}) / mu_i) W_i,           every k-th user

W_i is symmetric with W_jj ~ N(0, 1) and W_jk ~ N(0, 1/2). D = diag(1, ..., 1, a) is I in the sheet; another public a
spends less noise (`models.balanced`). D_a has an a of its own. The server computes

(c) gradient user   theta_i = Proj( theta_{i-1} - pace eta_i v_i m_i )
    Hessian user    theta_i = theta_{i-1}

(d) and adds to its sums what was sent, with the point at which it was sent, which is theta_{i-1}: O(p^2) numbers for a
stage and replicate. Gradient users count with the weight v_i, Hessian users with u_i (inference, section 3.2).
Symmetric matrices are kept as their upper triangle, row by row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numba import njit

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes import vectormath as _overloads  # noqa: F401 - teaches the compiler exp on lanes
from dpexp.engine.lanes.elementwise import maximum, where
from dpexp.engine.lanes.vectors import lanes_zeros, load, read, reals, store
from dpexp.inference.capped import capped_gradient, capped_hessian


class Sums(NamedTuple):
    """Sums over the users of one stage, for eight replicates; float64, the last axis has length 8."""

    v: np.ndarray
    """[3, 8]: sum of v_i, of v_i^2, and the number of gradient users"""
    points: np.ndarray
    """A [p, 8]: sum of v_i theta_{i-1}"""
    gradients: np.ndarray
    """G [p, 8]: sum of v_i m_i"""
    squares: np.ndarray
    """Q [p (p + 1) / 2, 8]: sum of v_i^2 m_i m_i'"""
    u: np.ndarray
    """[3, 8]: sum of u_i, of (u_i Delta_H / mu_i)^2, and the number of Hessian users"""
    hessians: np.ndarray
    """M [p (p + 1) / 2, 8]: sum of u_i M_i"""

    def __add__(self, other: object) -> Sums:
        assert isinstance(other, Sums)
        return Sums(*(a + b for a, b in zip(self, other, strict=True)))


def no_sums(p: int) -> Sums:
    """Sums over no users."""
    triangle = p * (p + 1) // 2
    return Sums(*(lanes_zeros(rows) for rows in (3, p, p, triangle, 3, triangle)))


def symmetric(triangle: np.ndarray, p: int) -> np.ndarray:
    """Matrices [8, p, p] from upper triangles [p (p + 1) / 2, 8]."""
    rows, columns = np.triu_indices(p)
    full = np.empty((triangle.shape[-1], p, p))
    full[:, rows, columns] = full[:, columns, rows] = triangle.T
    return full


ROOT_HALF = math.sqrt(0.5)


class Users(NamedTuple):
    """Some users in their order, float64; the last axis has length 8, a replicate each."""

    x: np.ndarray
    """covariates without the leading 1 [rows, d, 8]"""
    y: np.ndarray
    """[rows, 8]"""
    w: np.ndarray
    """weights w(x), over the number of rows of the user [rows, 8]"""
    inverse_mu: np.ndarray
    """1 / mu_i [users, 8]"""
    v: np.ndarray
    """weights of gradient users, of mean 1 [users, 8]"""
    u: np.ndarray
    """weights of Hessian users [users, 8]"""
    omega: np.ndarray
    """noise directions [users, p, 8]"""
    hessian_noise: np.ndarray
    """standard normals, upper triangle row by row [Hessian users, p (p + 1) / 2, 8]"""
    rows: np.ndarray
    """where the rows of each user begin, and those of the last one end [users + 1]"""


class Constants(NamedTuple):
    """Numbers of the model."""

    k: np.ndarray
    """constants of score and curvature"""
    fixed_scale: float
    scale_min: float
    delta: float
    """Delta, sensitivity of a gradient"""
    unstretched: float
    """1 over what the scale's entry of a gradient was multiplied by before noise; its noise has this factor"""
    delta_hessian: float
    """s Delta_H(s), sensitivity of a Hessian times the scale"""
    scale_row: float
    """a, by which the row and the column of the scale are multiplied in a Hessian message"""
    pace: np.ndarray
    """[1, 8]: steps are so many times as long as stated, in each replicate; changes in place between stages"""


@lru_cache(maxsize=16)
def compiled_messages(
    score: Callable[..., Any], curvature: Callable[..., Any], has_scale: bool, inlined: bool = False
) -> Callable[..., Any]:
    """The compiled `messages(first, every, summed, constants, eta, users, theta, hits, scratch, sums, begin, end,
    number, caps)` of one model.

    It serves the users begin .. end - 1 of a block that starts with user first + 1 of a stage. User i is a Hessian user
    if `every` divides i (never if it is 0); `number` of them came before in this block. `theta` [p, 8] and `hits` [8],
    the projections so far, change in place; so do the sums from user `summed` on. `scratch` [p or more, 8] is working
    memory, and begins with the message of the last user if that was a gradient. It returns the first user who was not
    served: `end`, or earlier where `caps` (`pure_messages.Caps`; None for Gaussian messages) have no directions left.

    `inlined`: for compiled code that serves one user at a time, in which half of the time would be the call.
    """
    rho = njit(score, nogil=True, forceinline=True)
    rho2 = njit(curvature, nogil=True, forceinline=True)

    @njit(nogil=True, forceinline=True)
    def predictor(r, users, theta):
        t = load(theta, (0,))
        for j in range(users.x.shape[1]):
            t = t + load(theta, (j + 1,)) * read(users.x, (r, j))
        return t

    @njit(nogil=True, forceinline=True)
    def gradient_user(b, keep, eta, constants, users, theta, hits, scratch, sums, scale, caps):
        p = theta.shape[0]
        d = users.x.shape[1]
        v = read(users.v, (b,))
        # (a): noise first, to which the gradient of each row is added; D_a^-1 divides that of the scale alone
        noise = constants.delta * read(users.inverse_mu, (b,))
        for j in range(p):
            store(scratch, (j,), noise * read(users.omega, (b, j)))
        if has_scale:
            # with `Model.stretch` the same Delta holds for D_a grad f, and the server divides
            store(scratch, (p - 1,), constants.unstretched * noise * read(users.omega, (b, p - 1)))
        for r in range(users.rows[b], users.rows[b + 1]):
            g, h = rho(predictor(r, users, theta), read(users.y, (r,)), scale, constants.k)
            w = read(users.w, (r,))
            wg = w * g
            store(scratch, (0,), wg + load(scratch, (0,)))
            for j in range(d):
                store(scratch, (j + 1,), wg * read(users.x, (r, j)) + load(scratch, (j + 1,)))
            if has_scale:
                store(scratch, (p - 1,), w * h + load(scratch, (p - 1,)))
        # caps are asked for by themselves, so that the compiler leaves out what None rules out
        if caps is not None:  # noqa: SIM102
            if not capped_gradient(b, p, scratch, caps):
                return False
        # (d), of which theta is still theta_{i-1}
        if keep:
            square = v * v
            store(sums.v, (0,), load(sums.v, (0,)) + v)
            store(sums.v, (1,), load(sums.v, (1,)) + square)
            store(sums.v, (2,), load(sums.v, (2,)) + 1.0)
            e = 0
            for j in range(p):
                m = load(scratch, (j,))
                store(sums.points, (j,), load(sums.points, (j,)) + v * load(theta, (j,)))
                store(sums.gradients, (j,), load(sums.gradients, (j,)) + v * m)
                weighted = square * m
                for l in range(j, p):
                    store(sums.squares, (e,), load(sums.squares, (e,)) + weighted * load(scratch, (l,)))
                    e += 1
        # (c)
        step = eta * v * load(constants.pace, (0,))
        for j in range(p):
            store(theta, (j,), load(theta, (j,)) - step * load(scratch, (j,)))
        if has_scale:
            free = load(theta, (p - 1,))
            store(hits, (0,), load(hits, (0,)) + where(free < constants.scale_min, 1.0, 0.0))
            store(theta, (p - 1,), maximum(free, constants.scale_min))
        return True

    @njit(nogil=True, forceinline=True)
    def hessian_user(b, number, constants, users, theta, scratch, sums, scale, caps):
        d, p = users.x.shape[1], theta.shape[0]
        u = read(users.u, (b,))
        # Delta_H is that of the *current* scale, which is public
        noise = u * constants.delta_hessian * read(users.inverse_mu, (b,)) / scale
        # (b): W_jk ~ N(0, 1/2) off the diagonal
        # the Frobenius norm counts such an entry twice: this is N(0, I) in the coordinates in which it is Euclidean
        variance, off = noise * noise, noise * ROOT_HALF
        if caps is None:
            into = sums.hessians
        else:
            into = caps.triangle
            into[:] = 0.0
        begin, end = users.rows[b], users.rows[b + 1]
        # who holds no row sends noise alone
        if begin == end:
            e = 0
            for j in range(p):
                for l in range(j, p):
                    sent = (noise if l == j else off) * read(users.hessian_noise, (number, e))
                    store(into, (e,), load(into, (e,)) + sent)
                    e += 1
        store(scratch, (0,), reals(1.0))
        for r in range(begin, end):
            tt, ts, ss = rho2(predictor(r, users, theta), read(users.y, (r,)), scale, constants.k)
            w = read(users.w, (r,))
            for j in range(d):
                store(scratch, (j + 1,), read(users.x, (r, j)))
            curved = u * w * tt
            e = 0
            for j in range(d + 1):
                x_j = load(scratch, (j,))
                row = curved * x_j
                for l in range(j, d + 1):
                    sent = row * load(scratch, (l,)) + (noise if l == j else off) * read(
                        users.hessian_noise, (number, e)
                    )
                    store(into, (e,), load(into, (e,)) + sent)
                    e += 1
                if has_scale:
                    sent = constants.scale_row * u * w * ts * x_j + off * read(users.hessian_noise, (number, e))
                    store(into, (e,), load(into, (e,)) + sent)
                    e += 1
            if has_scale:
                sent = constants.scale_row * constants.scale_row * u * w * ss
                sent = sent + noise * read(users.hessian_noise, (number, e))
                store(into, (e,), load(into, (e,)) + sent)
            # noise was added with the first row, and is added once
            noise, off = noise * 0.0, off * 0.0
        if caps is not None:
            current = theta[p - 1, 0] if has_scale else constants.fixed_scale
            if not capped_hessian(b, p, current, sums.hessians, caps):
                return False
        store(sums.u, (0,), load(sums.u, (0,)) + u)
        store(sums.u, (1,), load(sums.u, (1,)) + variance)
        store(sums.u, (2,), load(sums.u, (2,)) + 1.0)
        return True

    @compiled(cached=not inlined, forceinline=inlined)
    def messages(first, every, summed, constants, eta, users, theta, hits, scratch, sums, begin, end, number, caps):
        p = theta.shape[0]
        for b in range(begin, end):
            i = first + b + 1
            scale = load(theta, (p - 1,)) if has_scale else reals(constants.fixed_scale)
            if every > 0 and i % every == 0:
                if i >= summed and not hessian_user(b, number, constants, users, theta, scratch, sums, scale, caps):
                    return b
                number += 1
            elif not gradient_user(b, i >= summed, eta[b], constants, users, theta, hits, scratch, sums, scale, caps):
                return b
        return end

    return messages
