"""Gauss rules with few nodes for functions that are smooth, made from a rule with many nodes.

A rule is a discrete measure: positive weights at its nodes. The Gauss rule of n nodes of that measure integrates every
polynomial of degree 2 n - 1 as the measure does, and for f with 2 n derivatives (Davis and Rabinowitz, "Methods of
Numerical Integration", 2.7)

    sum over the many nodes of w f  -  sum over the n nodes of w f  =  f^(2n)(x) h_n / (2 n)!   at some x,

with h_n = sum w pi_n^2 for the monic orthogonal polynomial pi_n. Nothing is asked about how good the long rule is: the
short one agrees with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dpexp.core.elementary import log
from dpexp.problems.mallows import Rule, rule

SIZES = (6, 9, 13, 18, 24, 32, 42, 54)
"""numbers of nodes that are tried; with more, the long rule of 144 nodes is not much longer"""
ERROR = 1e-17
"""the largest error of a short rule for a function whose second derivative is at most 1"""


class ShortRule(NamedTuple):
    """A rule for the functions f(location + spread z) whose spread is small enough."""

    reach: float
    """the largest spread, in units of the length over which f is smooth"""
    nodes: np.ndarray
    """[n]"""
    weights: np.ndarray
    """[n]"""


class Orthonormal(NamedTuple):
    """The orthonormal polynomials of a symmetric measure: z p_k = root_{k+1} p_{k+1} + root_k p_{k-1}."""

    mass: float
    roots: np.ndarray
    """[most]: root_1, root_2, ...; their squared product, times the mass, is h_n"""


def orthonormal(measure: Rule, most: int) -> Orthonormal:
    """The recursion of the polynomials up to degree `most`, by Stieltjes' procedure.

    Every polynomial is made orthogonal to all before it, twice, since rounding would lose that after a few.
    """
    z, mass = measure.nodes, math.fsum(measure.weights)
    found = [np.sqrt(measure.weights / mass)]
    roots = []
    for _ in range(most):
        new = z * found[-1]
        for _ in range(2):
            for old in found:
                new = new - old * np.sum(old * new)
        roots.append(math.sqrt(np.sum(new * new)))
        found.append(new / roots[-1])
    return Orthonormal(mass, np.array(roots))


def gauss(polynomials: Orthonormal, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights [n]: the zeros of p_n, and 1 / sum_{k < n} p_k^2 there.

    Zeros are eigenvalues of the matrix of the recursion (Golub and Welsch). They are found by counting, and four steps
    of Newton make them right to the last digits; those of a library for linear algebra depend on the processor. The
    weights add up to the mass, so that constants cancel in a difference.
    """
    roots = polynomials.roots[:n]
    z = _zeros(roots[:-1])
    for _ in range(4):
        before, p, slope_before, slope = np.zeros(n), np.ones(n), np.zeros(n), np.zeros(n)
        squares, last = np.zeros(n), 0.0
        for root in roots:
            squares = squares + p * p
            after = (z * p - last * before) / root
            slope_after = (p + z * slope - last * slope_before) / root
            before, p, slope_before, slope, last = p, after, slope, slope_after, root
        step, weights = p / slope, polynomials.mass / squares
        z = z - step
    return z, weights * (polynomials.mass / math.fsum(weights))


def _zeros(roots: np.ndarray) -> np.ndarray:
    """Eigenvalues [n], to a relative 1e-6, of the symmetric matrix with these numbers [n - 1] beside a diagonal of 0.

    The number of negative pivots of the matrix less x is the number of its eigenvalues below x (Sylvester), and each
    eigenvalue is enclosed by halving. All lie within twice the largest entry (Gershgorin).
    """
    n = len(roots) + 1
    high = np.full(n, 2 * roots.max())
    low = -high
    for _ in range(24):
        x = (low + high) / 2
        pivot = -x
        below = (pivot < 0).astype(int)
        for root in roots:
            pivot = -x - root * root / np.where(pivot == 0, 1e-300, pivot)
            below += pivot < 0
        right = below > np.arange(n)  # the k-th eigenvalue is below x where more than k are
        low, high = np.where(right, low, x), np.where(right, x, high)
    return (low + high) / 2


@lru_cache(maxsize=64)
def short_rules(d: int, sigma_z: float, points: int, log_derivative: Callable[[int], float]) -> tuple[ShortRule, ...]:
    """Short rules of `dpexp.problems.mallows.rule`, by reach.

    `log_derivative(k)` is the log of a bound D_k on the k-th derivative of f, in units of the length over which f is
    smooth; k is even, and 4 or more. The bound h_n D_2n reach^(2 n) / (2 n)! on the error is `ERROR` at the reach.
    """
    measure = rule(d, sigma_z, points)
    polynomials = orthonormal(measure, SIZES[-1])
    logs = log(polynomials.roots)
    found = []
    for n in SIZES:
        log_norm = math.log(polynomials.mass) + 2 * math.fsum(logs[:n])
        log_bound = log_norm + log_derivative(2 * n) - math.lgamma(2 * n + 1)
        found.append(ShortRule(math.exp((math.log(ERROR) - log_bound) / (2 * n)), *gauss(polynomials, n)))
    return tuple(found)
