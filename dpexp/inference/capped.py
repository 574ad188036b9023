"""One message by cap sampling, in the compiled loop of `messages`: what is sent instead of a gradient or a Hessian.

`pure_messages` defines a message. All eight replicates are the same, so only the first is read.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from dpexp.engine.compiled import compiled
from dpexp.engine.lanes.vectors import load, reals, store


class Sphere(NamedTuple):
    """What a message of one kind needs."""

    gamma: float
    inside: float
    m: float
    pool: np.ndarray
    """unused directions [POOL, dimension]; those before the first entry of `used` are gone"""
    used: np.ndarray
    """[1]"""
    vector: np.ndarray
    """working memory [dimension]"""


class Caps(NamedTuple):
    """What the loop needs, of one block of users."""

    gradient: Sphere
    hessian: Sphere
    radius: float
    """R of a gradient"""
    stretch: float
    shift: float
    bound: float
    """B: R of a Hessian is B / s"""
    uniform: np.ndarray
    """two uniform numbers of every user [users, 2]"""
    triangle: np.ndarray
    """working memory [p (p + 1) / 2, 8]: the upper triangle of a Hessian"""


@compiled(forceinline=True)
def drawn(radius, uniform, sphere):
    """The place of the direction that a user with `sphere.vector` sends; -1 where the pool is at its end."""
    pool, vector, used = sphere.pool, sphere.vector, sphere.used
    place, dimension = used[0], len(vector)
    used[0] += 1
    if place >= len(pool):
        return -1
    length = 0.0
    for j in range(dimension):
        length += vector[j] * vector[j]
    length = math.sqrt(length)
    # with probability |v| / R the direction of v, and else one that nobody has seen
    if uniform[0] * radius < length:
        for j in range(dimension):
            vector[j] /= length
    else:
        for j in range(dimension):
            vector[j] = pool[place, j]
    # directions are tried in turn until one lies on that side of the cap's edge
    inside = uniform[1] < sphere.inside
    for candidate in range(place + 1, len(pool)):
        used[0] = candidate + 1
        cosine = 0.0
        for j in range(dimension):
            cosine += vector[j] * pool[candidate, j]
        if (cosine >= sphere.gamma) == inside:
            return candidate
    return -1


@compiled
def capped_gradient(b, p, gradient, caps):
    """Write the message of user b over its gradient [p, 8]; false where directions ran out."""
    sphere, last = caps.gradient, p - 1
    for j in range(p):
        sphere.vector[j] = gradient[j, 0]
    sphere.vector[last] = caps.stretch * (sphere.vector[last] + caps.shift)
    place = drawn(caps.radius, caps.uniform[b], sphere)
    if place < 0:
        return False
    for j in range(p):
        # a message over m has the mean v; the stretch and the shift of the last entry are taken off
        sent = caps.radius / sphere.m * sphere.pool[place, j]
        store(gradient, (j,), reals(sent / caps.stretch - caps.shift if j == last else sent))
    return True


@compiled
def capped_hessian(b, p, scale, hessians, caps):
    """Add the message of user b, whose Hessian is `caps.triangle`, to the sums [p (p + 1) / 2, 8]; false as above."""
    sphere, bound, e = caps.hessian, caps.bound / scale, 0
    for j in range(p):
        for l in range(j, p):
            # so that the Euclidean norm is Frobenius'
            sphere.vector[e] = caps.triangle[e, 0] * (1.0 if l == j else math.sqrt(2.0))
            e += 1
    place = drawn(bound, caps.uniform[b], sphere)
    if place < 0:
        return False
    size, e = bound / sphere.m, 0
    for j in range(p):
        for l in range(j, p):
            sent = size * sphere.pool[place, e]
            store(hessians, (e,), load(hessians, (e,)) + (sent if l == j else sent / math.sqrt(2.0)))
            e += 1
    return True
