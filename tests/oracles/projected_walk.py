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


def after_first(half, cells, maps):
    """Masses [N + 2] after one step from the middle of the set, exactly."""
    edges, state = np.linspace(-half, half, cells + 1), np.zeros(cells + 2)
    for probability, image in maps:
        at = float(image(np.zeros(1))[0])
        below = ndtr(edges - at)
        state += probability * np.concatenate([[below[0]], np.diff(below), [ndtr(at - half)]])
    return state


def law(half, cells, steps_of_maps):
    """Masses [N + 2] after the given sequence of steps, each a list of maps."""
    known = {}
    state = after_first(half, cells, steps_of_maps[0])
    for maps in steps_of_maps[1:]:
        if id(maps) not in known:
            known[id(maps)] = transition(half, cells, maps)
        state = known[id(maps)] @ state
    return state


def reordered(half, cells, epochs, steps):
    """Masses [N + 2] where every epoch is one of `epochs`, lists of steps, at random and anew."""
    matrices = [[transition(half, cells, maps) for maps in epoch] for epoch in epochs]
    mean, done = None, 0
    while done < steps:
        states = []
        for epoch, moves in zip(epochs, matrices, strict=True):
            state = after_first(half, cells, epoch[0]) if mean is None else moves[0] @ mean
            for matrix in moves[1 : steps - done]:
                state = matrix @ state
            states.append(state)
        mean, done = np.mean(states, axis=0), done + len(epochs[0])
    return mean


def excess(p, r, eps):
    """sup over events of p - e^eps r."""
    return float(np.maximum(p - math.exp(eps) * r, 0).sum())


def delta_of(p, r, eps):
    """The smallest delta at epsilon of the pair, both orders."""
    return max(excess(p, r, eps), excess(r, p, eps))


def eps_of(p, r, delta):
    """The smallest epsilon >= 0 at delta of the pair, both orders; inf where none below 512 is enough."""
    if delta_of(p, r, 0.0) <= delta:
        return 0.0
    high = 1.0
    while delta_of(p, r, high) > delta:
        high *= 2
        if high > 512:
            return math.inf
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

    def law(self, half, steps, cells):
        """The law of the last iterate; the place of the record in a secret order is uniform."""
        if self.sampling in ("fixed-size", "poisson", "full-batch"):
            return law(half, cells, [self.maps()] * steps)
        batches = self.n // self.b
        rest, own = [(1.0, self._move(self.b, False))], [(1.0, self._move(self.b - 1, True))]
        epochs = [[own if j == place else rest for j in range(batches)] for place in range(batches)]
        if self.sampling == "reshuffled":
            return reordered(half, cells, epochs, steps)
        laws = [law(half, cells, [epoch[t % batches] for t in range(steps)]) for epoch in epochs]
        if self.sampling == "shuffled":
            return np.mean(laws, axis=0)
        return laws  # cyclic: one law for each place, which is public

    def _move(self, others, present):
        def image(y):
            total = others * self.others(y)
            if present and self.record is not None:
                total = total + self.record(y)
            return y - total / self.b

        return image
