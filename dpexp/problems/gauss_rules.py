"""Gauss rules with few nodes for functions that are smooth, made from a rule with many nodes.

A rule is a discrete measure: positive weights at its nodes. The Gauss rule of n nodes of that measure integrates every
polynomial of degree 2 n - 1 as the measure does, and for f with 2 n derivatives (Davis and Rabinowitz, "Methods of
Numerical Integration", 2.7)

    sum over the many nodes of w f  -  sum over the n nodes of w f  =  f^(2n)(x) h_n / (2 n)!   at some x,

with h_n = sum w pi_n^2 for the monic orthogonal polynomial pi_n. Nothing is asked about how good the long rule is: the
short one agrees with it.

(a) The recursion of the orthonormal polynomials comes from the long rule itself, by Stieltjes' procedure.
(b) The nodes are the zeros of p_n, that is the eigenvalues of the symmetric matrix of the recursion (Golub and Welsch).
They are enclosed by counting, and Newton's steps make them right to the last digits.
(c) The weight of a node is the mass times the squared first entry of its unit eigenvector (p_0, ..., p_{n-1}).
(d) The measure is symmetric, so that the zeros come in pairs of opposite sign: only those that are not negative are
sought, and 0 is one of them where n is odd. The zeros of all sizes are found at once, those of one size after another.
(e) For f(location + spread z) the 2 n-th derivative has the factor spread^(2 n): the bound on the error says up to
which spread a rule of n nodes serves.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.core.elementary import log
from dpexp.problems.mallows import Rule, rule

SIZES = (6, 8, 10, 13, 16, 20, 25, 30, 36, 43, 51, 60, 72, 88, 112)
"""numbers of nodes that are tried, increasing; the long rule has 144 or more"""
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
    """The recursion of the polynomials up to degree `most`, by Stieltjes' procedure."""
    z, mass = measure.nodes, math.fsum(measure.weights)
    polynomials = np.empty((most + 1, len(z)))
    polynomials[0] = np.sqrt(measure.weights / mass)
    roots = np.empty(most)
    for k in range(most):
        # (a)
        new, before = z * polynomials[k], polynomials[: k + 1]
        # made orthogonal to all before it twice, since rounding would lose that after a few
        for _ in range(2):
            shares = (before * new).sum(axis=1)
            new = new - (before * shares[:, None]).sum(axis=0)
        roots[k] = math.sqrt(np.sum(new * new))
        polynomials[k + 1] = new / roots[k]
    return Orthonormal(mass, roots)


def gauss(polynomials: Orthonormal, sizes: Sequence[int]) -> list[tuple[np.ndarray, np.ndarray]]:
    """Nodes and weights [n] for each number n, which increase: the zeros of p_n, and 1 / sum_{k < n} p_k^2 there."""
    begins = _begins(sizes)
    # eigenvalues of a library for linear algebra would depend on the processor
    z = _zeros(polynomials.roots, sizes)
    # (b): each step about squares the error, which is 1e-6 of the largest zero at first
    # p_n and its derivative rise together by the recursion, those of all sizes at once
    for _ in range(4):
        before, p, slope_before, slope = np.zeros_like(z), np.ones_like(z), np.zeros_like(z), np.zeros_like(z)
        last = 0.0
        for k, root in enumerate(polynomials.roots[: sizes[-1]].tolist()):
            left = slice(begins[bisect_right(sizes, k)], None)  # the rules of more than k nodes
            after = (z[left] * p[left] - last * before[left]) / root
            slope_after = (p[left] + z[left] * slope[left] - last * slope_before[left]) / root
            before[left], slope_before[left] = p[left], slope[left]
            p[left], slope[left], last = after, slope_after, root
        z = z - p / slope
    # (d): 0 is a zero of every odd one
    z[[begin for begin, n in zip(begins, sizes, strict=False) if n % 2]] = 0.0
    # (c), and (d) for the other half
    weights = _first_entries(polynomials.roots, sizes, z) ** 2
    found = []
    for n, (begin, end) in zip(sizes, pairwise(begins), strict=True):
        nodes = np.append(-z[begin + n % 2 : end][::-1], z[begin:end])
        own = np.append(weights[begin + n % 2 : end][::-1], weights[begin:end])
        # the weights add up to the mass, so that constants cancel in a difference
        found.append((nodes, own * (polynomials.mass / math.fsum(own))))
    return found


def _begins(sizes: Sequence[int]) -> list[int]:
    """Where the zeros of each number n begin, of which ceil(n / 2) are not negative; and how many there are."""
    return [0, *np.cumsum([(n + 1) // 2 for n in sizes]).tolist()]


def _first_entries(roots: np.ndarray, sizes: Sequence[int], z: np.ndarray) -> np.ndarray:
    """The first entry of the unit vector (p_0, ..., p_{n-1}) at the zeros z of p_n, for each number n."""
    begins = _begins(sizes)
    n = np.repeat(sizes, np.diff(begins))
    # `down` is counted from p_{n-1}
    # The recursion keeps its digits in the direction in which numbers grow. With many nodes a zero meets a node of the
    # measure, and then p_k grows up to some k and falls after it. So the first part is found upwards from p_0 and the
    # rest downwards from p_n = 0
    up, down = np.zeros((sizes[-1], len(z))), np.zeros((sizes[-1], len(z)))
    up[0] = down[0] = 1.0
    for k in range(1, sizes[-1]):
        left = slice(begins[bisect_right(sizes, k)], None)
        up[k, left] = z[left] * up[k - 1, left] / roots[k - 1]
        below = roots[n[left] - 1 - k]
        down[k, left] = z[left] * down[k - 1, left] / below
        if k > 1:
            up[k, left] -= roots[k - 2] / roots[k - 1] * up[k - 2, left]
            down[k, left] -= roots[n[left] - k] / below * down[k - 2, left]
    entry = np.arange(sizes[-1])[:, None]
    down = np.where(entry < n, np.take_along_axis(down, np.maximum(n - 1 - entry, 0), axis=0), 0.0)
    # joined where their product is largest, which is where the vector is (the product is the diagonal of the inverse of
    # the matrix less z, up to a factor that does not depend on k)
    joint = np.abs(up * down).argmax(axis=0), np.arange(len(z))
    vector = np.where(entry <= joint[0], up / up[joint], down / down[joint])
    first: np.ndarray = vector[0] / np.sqrt((vector * vector).sum(axis=0))
    return first


def _zeros(roots: np.ndarray, sizes: Sequence[int]) -> np.ndarray:
    """Eigenvalues that are not negative, to about 1e-6 of the largest, of the symmetric matrices of these sizes with
    the numbers `roots` beside a diagonal of 0; one matrix after the other.
    """
    begins = _begins(sizes)
    entries = roots[: sizes[-1] - 1].tolist()
    # all lie within twice the largest entry (Gershgorin)
    grid = np.linspace(0.0, 2 * roots[: sizes[-1]].max(), 1025)
    low, high = np.empty(begins[-1]), np.empty(begins[-1])
    # (d): of n eigenvalues the n // 2 first are negative, and those sought have the numbers from there on
    number = np.concatenate([np.arange(n // 2, n) for n in sizes])
    pivot = -grid
    below = (pivot < 0).astype(np.int64)
    # The number of negative pivots of the matrix less x is the number of its eigenvalues below x (Sylvester). Pivots do
    # not depend on the size, so a grid of x encloses the eigenvalues of all matrices at once; halving does the rest
    for n, root in enumerate([*entries, 0.0], start=1):
        if n in sizes:
            own = slice(begins[sizes.index(n)], begins[sizes.index(n) + 1])
            first = np.searchsorted(below, number[own], side="right")  # below which the eigenvalue is
            low[own], high[own] = np.where(first > 0, grid[first - 1], 0.0), grid[first]
        pivot = -grid - root * root / np.where(pivot == 0, 1e-300, pivot)
        below += pivot < 0
    # a cell of the grid is 2e-3 of the largest entry, and 2e-7 after 13 halvings
    for _ in range(13):
        x = (low + high) / 2
        pivot = -x
        below = (pivot < 0).astype(np.int64)
        for k, root in enumerate(entries):
            left = slice(begins[bisect_right(sizes, k + 1)], None)  # the matrices that have this entry
            pivot[left] = -x[left] - root * root / np.where(pivot[left] == 0, 1e-300, pivot[left])
            below[left] += pivot[left] < 0
        right = below > number  # the k-th eigenvalue is below x where more than k are
        low, high = np.where(right, low, x), np.where(right, x, high)
    return (low + high) / 2


@kept_once(64)
def short_rules(d: int, sigma_z: float, points: int, log_derivative: Callable[[int], float]) -> tuple[ShortRule, ...]:
    """Short rules of `dpexp.problems.mallows.rule`, by reach.

    `log_derivative(k)` is the log of a bound D_k on the k-th derivative of f, in units of the length over which f is
    smooth; k is even, and 4 or more. The bound h_n D_2n reach^(2 n) / (2 n)! on the error is `ERROR` at the reach.
    """
    measure = rule(d, sigma_z, points)
    polynomials = orthonormal(measure, SIZES[-1])
    logs = log(polynomials.roots)
    rules = []
    for n, (nodes, weights) in zip(SIZES, gauss(polynomials, SIZES), strict=True):
        # (e)
        log_norm = math.log(polynomials.mass) + 2 * math.fsum(logs[:n])
        log_bound = log_norm + log_derivative(2 * n) - math.lgamma(2 * n + 1)
        rules.append(ShortRule(math.exp((math.log(ERROR) - log_bound) / (2 * n)), nodes, weights))
    return tuple(rules)
