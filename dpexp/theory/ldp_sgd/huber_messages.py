"""What users of Huber regression with a joint scale send (`ldp-sgd`, 5.1): moments under normal errors, and distances.

A message is the gradient of w(x) (s rho_c(u) + kappa s / 2), u = (y - t) / s, in the coefficients and the scale s.
"""

from __future__ import annotations

import math
from typing import NamedTuple


class NormalMoments(NamedTuple):
    """Of Z ~ N(0, 1) at the Huber constant c."""

    kappa: float  # E psi_c(Z)^2, which makes the scale equation consistent under normal errors
    inside: float  # P(|Z| <= c)
    square_inside: float  # E[Z^2; |Z| <= c]


def normal_moments(c: float) -> NormalMoments:
    """Truncated moments of Z ~ N(0, 1) at the Huber constant c, in closed form."""
    density, outside = math.exp(-c * c / 2) / math.sqrt(2 * math.pi), math.erfc(c / math.sqrt(2))
    # by parts: E[Z^2; |Z| <= c] = P(|Z| <= c) - 2 c phi(c)
    inside = 1 - outside
    square = inside - 2 * c * density
    return NormalMoments(square + c * c * outside, inside, square)


def furthest_messages(c: float, a: float = 1.0, cap: float = 2.0) -> float:
    """Largest distance of D_a g and D_a g', D_a = diag(1, ..., 1, a), for the gradients of two records at one theta.

    It is the maximum over 0 <= p <= c of (c + p) sqrt(k + a^2 (c - p)^2 / 4), k the cap, whatever 0 <= kappa <= c^2.
    Proof: with v = sqrt(w) |psi| <= sqrt(w) c, and w |x| <= sqrt(k w), the squared distance is at most
    F = k (v1 + v2)^2 + a^2 E^2 / 4 with E = kappa (w1 - w2) - v1^2 + v2^2.

    (a) F is convex in w1 - w2, so largest at an end; by symmetry w1 = 1 and w2 = (v2 / c)^2, where
        E = kappa - v1^2 + (1 - kappa / c^2) v2^2.
    (b) Where E >= 0, F grows with v2: at v2 = c it is the square of the above at p = v1.
    (c) Where E < 0, F grows with v1: at v1 = c, -E = (1 - kappa / c^2) (c^2 - v2^2), so it is at most that at p = v2.
    (d) It is attained by one x with |x|^2 = k, psi = c and psi' = -p.
    (e) The derivative in p has the sign of 2 k / a^2 - p (c - p): the maximum is at p = c or, where a^2 c^2 > 8 k,
        possibly at the smaller root of p (c - p) = 2 k / a^2.
    Without weights, w = 1, it is the same for rows of |x|^2 <= k.
    """
    # (e)
    roots = [] if a * a * c * c <= 8 * cap else [(c - math.sqrt(c * c - 8 * cap / (a * a))) / 2]
    return max((c + p) * math.sqrt(cap + (a * (c - p)) ** 2 / 4) for p in (c, *roots))


def largest_stretch(c: float) -> float:
    """The largest a, rounded down, at which messages are no farther apart than 2 sqrt 2 c, as at p = c."""
    # with p = c t and A = (a c)^2 / 4 the square of `furthest_messages` is c^2 (1 + t)^2 (2 + A (1 - t)^2); it is at
    # most 8 c^2 on [0, 1] if and only if A is at most the least value of 2 (3 + t) / ((1 + t)^2 (1 - t)) there, whose
    # derivative has the sign of t^2 + 4 t - 1: this is at t = sqrt 5 - 2, and it is (11 + 5 sqrt 5) / 4
    return math.floor(1000 * math.sqrt(11 + 5 * math.sqrt(5)) / c) / 1000
