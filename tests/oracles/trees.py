"""Literal, slow transcriptions of the trees of `momentum`: node sets, counts, sensitivities and noise, sum by sum."""

import itertools
import math

import numpy as np


def nodes(steps):
    """The set I of the paper, as a list of (start, end)."""
    return [
        (a * 2**b + 1, (a + 1) * 2**b)
        for b in range(math.floor(math.log2(steps)) + 1)
        for a in range(steps // 2**b)
        if (a + 1) * 2**b <= steps
    ]


def smallest_cover(first, last):
    """Fewest nodes whose disjoint union is [first, last], for all sub-intervals by dynamic programming."""
    best = {first - 1: 0}
    ends = {}
    for y, z in nodes(last):
        ends.setdefault(z, []).append(y)
    for z in range(first, last + 1):
        best[z] = min(best[y - 1] + 1 for y in ends[z] if y >= first)
    return best[last]


def most_nodes(n, steps):
    """Largest number of nodes that hold one record, over its places in every epoch (also absent from a last partial one)."""
    epochs = -(-steps // n)
    all_nodes = nodes(steps)
    holding = {t: frozenset(k for k, (y, z) in enumerate(all_nodes) if y <= t <= z) for t in range(1, steps + 1)}
    largest = 0
    for places in itertools.product(range(1, n + 1), repeat=epochs):
        times = [q * n + r for q, r in enumerate(places)]
        largest = max(largest, len(frozenset().union(*(holding[t] for t in times if t <= steps))))
    return largest


def most_nodes_in_one_order(n, steps):
    """The same where one order repeats."""
    times = [range(first, steps + 1, n) for first in range(1, n + 1)]
    return max(sum(any(y <= t <= z for t in own) for y, z in nodes(steps)) for own in times)


def squared_sensitivity(items, alpha, record, left_only=True, keep=lambda y, z: True):
    """sum over nodes of (sum over the record's steps in the node of (1 - alpha)^(end - step))^2."""
    times = [t for t, item in enumerate(items, start=1) if item == record]
    total = 0.0
    for y, z in nodes(len(items)):
        left = (y - 1) // (z - y + 1) % 2 == 0
        if (left or not left_only) and keep(y, z):
            total += sum((1 - alpha) ** (z - t) for t in times if y <= t <= z) ** 2
    return total


def tree_noise(zeta, cover, alpha, steps):
    """Algorithm 1: for each t the sum over COMPOSE(1, t) of (1 - alpha)^(t - z) zeta[y, z]; [T, d]."""
    return np.array([sum((1 - alpha) ** (t - z) * zeta[y, z] for y, z in cover(1, t)) for t in range(1, steps + 1)])


def release_mu(items, alpha, node_std, G=1.0):
    """Gaussian-DP parameter of the release of all m_hat, by its covariance, against records whose gradients do not move.

    m_hat = A g + C zeta, A the momentum and C the discounts of COMPOSE(1, t); one record's g is G or -G at its steps.
    """
    steps, columns = len(items), nodes(len(items))
    momentum = np.array(
        [[alpha * (1 - alpha) ** (t - s) if s <= t else 0.0 for s in range(steps)] for t in range(steps)]
    )
    noise = np.zeros((steps, len(columns)))
    for t in range(1, steps + 1):
        start = 0
        for level in reversed(range(steps.bit_length())):  # the binary digits of t, from the top
            if t >> level & 1:
                end = start + 2**level
                noise[t - 1, columns.index((start + 1, end))] = (1 - alpha) ** (t - end)
                start = end
    covariance = node_std**2 * noise @ noise.T
    largest = 0.0
    for record in set(items):
        moved = momentum @ np.array([2 * G * (item == record) for item in items])
        largest = max(largest, float(moved @ np.linalg.solve(covariance, moved)))
    return math.sqrt(largest)


def square_root_noise(normals, alpha):
    """C z with c_k = (1 - alpha)^k binom(2 k, k) / 4^k, by its double sum."""
    c = [(1 - alpha) ** k * math.comb(2 * k, k) / 4**k for k in range(len(normals))]
    return np.array([sum(c[t - j] * normals[j] for j in range(t + 1)) for t in range(len(normals))])


def equation3(gradient, change, residual, cover, n, alpha, gamma, steps):
    """Algorithm 2's estimate by equations (2) and (3), every sum as printed; [T, d].

    gradient, change, residual map (start, end) to node values, cover is COMPOSE; r runs over 1..N.
    """
    beta = 1 - alpha

    def over(tree, a, b):
        return sum(beta ** (b - z) * tree[y, z] for y, z in cover(a, b))

    out = []
    for t in range(1, steps + 1):
        q, r = (t - 1) // n, (t - 1) % n + 1
        total = beta ** (t - r) * over(gradient, 1, r)
        total = total + sum(
            beta ** (n * i) * (1 - gamma) ** (q - (i + 1)) * over(gradient, r + 1, r + n) for i in range(q)
        )
        for i in range(1, q):
            c = sum((1 - gamma) ** j * beta ** ((i - 1 - j) * n) for j in range(i))
            a, b = t - i * n + 1, t - (i - 1) * n
            total = total + c * ((1 - gamma) * over(change, a, b) + gamma * over(gradient, a, b))
        out.append(total + over(residual, 1, t))
    return np.array(out)


def largest_count(n: int, steps: int) -> int:
    """Upper bound on the nodes that hold one record, for any N, T and any orders of the epochs.

    sum over levels b = 0..floor(log2 T) of min(ceil(T / N), floor(T / 2^b)): there are no more nodes of a level than
    epochs that use the record, nor than nodes. Attained in 55 of the 65 cases with N <= 5 and N <= T <= 5 N.
    """
    # the ceiling of T / N
    epochs = -(-steps // n)
    return sum(min(epochs, steps >> b) for b in range(steps.bit_length()))
