"""The exact law of projected noisy SGD in one dimension, step by step on a density grid: it shares no code with dpexp.

A step is literal: draw the batch, y <- y - (eta / b) (sum of the batch's gradients) + noise, cut off at +-half. The
state is the mass of each of N cells and of the two ends, where projection leaves atoms; a step sends the middle of each
cell to cells by differences of the normal distribution function. The error falls like N^-2, so that laws of N and 2 N
cells give an error to check and an extrapolation. Noise has standard deviation 1: all lengths are in its units.
"""

import math

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr
from scipy.stats import binom


def transition(half, cells, maps):
    """Matrix [N + 2, N + 2] of one step; `maps` are (probability, function) pairs, places are left end, cells, right end."""
    edges = np.linspace(-half, half, cells + 1)
    places = np.concatenate([[-half], (edges[1:] + edges[:-1]) / 2, [half]])
    matrix = np.zeros((cells + 2, cells + 2))
    for probability, image in maps:
        below = ndtr(edges[:, None] - image(places)[None, :])
        matrix[1:-1] += probability * np.diff(below, axis=0)
        matrix[0] += probability * below[0]
        matrix[-1] += probability * ndtr(image(places) - half)
    return matrix


def law(half, cells, steps_of_maps):
    """Masses [N + 2] after the given sequence of steps, each a list of maps, from the middle of the set."""
    known = {}
    state = np.zeros(cells + 2)
    if cells % 2:
        raise ValueError("an even number of cells puts 0 on an edge")
    edges = np.linspace(-half, half, cells + 1)
    first = True
    for maps in steps_of_maps:
        if first:  # the start is a point, exactly
            for probability, image in maps:
                at = float(image(np.zeros(1))[0])
                below = ndtr(edges - at)
                state += probability * np.concatenate([[below[0]], np.diff(below), [ndtr(at - half)]])
            first = False
            continue
        if id(maps) not in known:
            known[id(maps)] = transition(half, cells, maps)
        state = known[id(maps)] @ state
    return state


def excess(p, r, eps):
    """sup over events of p - e^eps r."""
    return float(np.maximum(p - math.exp(eps) * r, 0).sum())


def delta_of(p, r, eps):
    """The smallest delta at epsilon of the pair, both orders."""
    return max(excess(p, r, eps), excess(r, p, eps))


def eps_of(p, r, delta):
    """The smallest epsilon >= 0 at delta of the pair, both orders."""
    if delta_of(p, r, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of(p, r, high) > delta:
        high *= 2
    return float(brentq(lambda e: delta_of(p, r, e) - delta, 0.0, high, xtol=1e-12))


class Sgd:
    """n records with gradients; one of them is special, and every step draws a batch and divides its sum by b.

    `others(y)` is the mean gradient of another record, `record(y)` that of the special one, each times eta over the
    noise; `record` None means that it was removed.
    """

    def __init__(self, n, b, sampling, others, record):
        self.n, self.b, self.sampling, self.others, self.record = n, b, sampling, others, record

    def maps(self):
        """The moves of one step and their probabilities."""
        others = self.n - 1
        if self.sampling == "full-batch":
            return [(1.0, self._move(others, True))]
        if self.sampling == "fixed-size":
            share = self.b / self.n
            return [(1 - share, self._move(self.b, False)), (share, self._move(self.b - 1, True))]
        q = self.b / self.n
        found = []
        for k in range(others + 1):
            mass = binom.pmf(k, others, q)
            found.append((mass * (1 - q), self._move(k, False)))
            found.append((mass * q, self._move(k, True)))
        return [(p, image) for p, image in found if p > 0]

    def cyclic(self, position):
        """The moves of one epoch over n / b fixed batches, the record in the one at `position`."""
        rest, own = [(1.0, self._move(self.b, False))], [(1.0, self._move(self.b - 1, True))]
        return [own if j == position else rest for j in range(self.n // self.b)]

    def law(self, half, steps, cells, position=None):
        """The law of the last iterate."""
        if position is None:
            maps = self.maps()
            return law(half, cells, [maps] * steps)
        epoch = self.cyclic(position)
        return law(half, cells, [epoch[t % len(epoch)] for t in range(steps)])

    def _move(self, others, present):
        def image(y):
            total = others * self.others(y)
            if present and self.record is not None:
                total = total + self.record(y)
            return y - total / self.b

        return image
