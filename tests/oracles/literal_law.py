"""The literal small law of a mechanism: what the written algorithm releases of a few records, by enumeration.

Stated epsilons come from pairs of laws that are proved to be the worst. Here nothing is proved: the law of the output
is written down for a data set of at most four records, whose gradients are -1, 0 or 1, and for its neighbours.

(a) Outcomes are cut into cells, the same for all data sets. A set of cells is an event, and by the ratio of their
probabilities P and Q the best event is a first part of the cells. It shows that epsilon is at least log((P - delta) /
Q), so that what is found is a lower bound, whatever the cells are.
(b) A mixture of Gaussians has products of differences of the normal law as the probabilities of its cells.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

Data = tuple[tuple[float, ...] | None, ...]
"""a few records, each as its gradient in every step, in units of the largest norm; None for one removed"""


class Part(NamedTuple):
    """One Gaussian of the mixture that is released."""

    probability: float
    means: tuple[float, ...]
    """in standard deviations of the noise, which is independent in every coordinate"""
    shown: Hashable = ()
    """what is released with it, such as the sizes of the batches"""


CELLS = (4000, 20_000, 30_000, 60_000)
"""cells in all, by the number of coordinates"""
REACH = 7.0
"""deviations of the noise beyond the outermost means: all that is farther is one cell"""


def masses(laws: Sequence[Sequence[Part]]) -> np.ndarray:
    """Probabilities of common cells, [laws, cells], of mixtures with as many coordinates each, at most four."""
    every = [part for law in laws for part in law]
    blocks, kinds = [], list(dict.fromkeys(part.shown for part in every))
    for shown in kinds:
        means = np.array([part.means for part in every if part.shown == shown])
        steps = means.shape[1]
        cells = max(12, round((CELLS[steps - 1] / len(kinds)) ** (1 / steps)))
        edges = [np.linspace(axis.min() - REACH, axis.max() + REACH, cells - 1) for axis in means.T]
        blocks.append(np.array([_masses([p for p in law if p.shown == shown], edges) for law in laws]))
    return np.concatenate(blocks, axis=1)


def _masses(law: Sequence[Part], edges: Sequence[np.ndarray]) -> np.ndarray:
    """Of the cells that edges cut out of all coordinates; (b)."""
    cells = np.zeros([len(axis) + 1 for axis in edges])
    weights: dict[tuple[float, ...], float] = {}
    for part in law:
        weights[part.means] = weights.get(part.means, 0.0) + part.probability
    for means, weight in weights.items():
        cells += weight * _product([normal_cells(axis - mean) for axis, mean in zip(edges, means, strict=True)])
    return cells.ravel()


def _product(factors: Sequence[np.ndarray]) -> np.ndarray:
    found = factors[0]
    for factor in factors[1:]:
        found = np.multiply.outer(found, factor)
    return found


def normal_cells(edges: np.ndarray) -> np.ndarray:
    """Probabilities of the cells between the edges, along the last axis, of a standard normal law."""
    from scipy.special import ndtr

    ends = np.full((*edges.shape[:-1], 1), np.inf)
    low, high = np.concatenate([-ends, edges], axis=-1), np.concatenate([edges, ends], axis=-1)
    # in the upper half from above, where differences of numbers next to 1 have no digits
    found: np.ndarray = np.where(low > 0, ndtr(-low) - ndtr(-high), ndtr(high) - ndtr(low))
    return found


def attained(p: np.ndarray, q: np.ndarray, deltas: Sequence[float]) -> list[float]:
    """The epsilon at each delta that the best event shows of the laws p and q on cells, at least 0; (a)."""
    with np.errstate(divide="ignore", invalid="ignore"):
        order = np.argsort(-p / q)  # 0 / 0 comes last
        p, q = np.cumsum(p[order]), np.cumsum(q[order])
        found = [np.log(p - delta) - np.log(q) for delta in deltas]
    return [float(np.max(eps, initial=0.0, where=~np.isnan(eps))) for eps in found]


def largest(laws: np.ndarray, pairs: Sequence[tuple[int, int]], deltas: Sequence[float]) -> list[float]:
    """The largest epsilon at each delta of pairs of rows of `laws`, in both orders."""
    found = [attained(laws[i], laws[j], deltas) for a, b in pairs for i, j in ((a, b), (b, a))]
    return [max(eps) for eps in zip(*found, strict=True)]


def neighbours(n: int, steps: int, relation: str, generator: np.random.Generator, most: int) -> list[tuple[Data, Data]]:
    """Pairs of data sets of n records, all of them or `most`: first those in which all others agree.

    Of add-remove neighbours the second one lacks the record, whose place stays empty.
    """
    gradients = list(itertools.product((-1.0, 0.0, 1.0), repeat=steps))
    records = [(a, None) for a in gradients] if relation == "add-remove" else list(itertools.combinations(gradients, 2))
    alike = [(g,) * (n - 1) for g in ((c,) * steps for c in (-1.0, 0.0, 1.0))]
    far = [pair for pair in records if abs(sum(pair[0]) - sum(pair[1] or ())) == steps * (1 if pair[1] is None else 2)]
    chosen = list(itertools.product(alike, [0], far)) + list(itertools.product(alike, [n - 1], far))
    if math.comb(len(gradients) + n, n) * n * len(records) <= most:
        chosen += itertools.product(itertools.product(gradients, repeat=n - 1), range(n), records)
    else:
        for _ in range(most):
            others = tuple(gradients[k] for k in generator.integers(len(gradients), size=n - 1))
            chosen.append((others, int(generator.integers(n)), records[generator.integers(len(records))]))
    return [(_with(others, place, a), _with(others, place, b)) for others, place, (a, b) in dict.fromkeys(chosen)]


def _with(others: Data, place: int, record: tuple[float, ...] | None) -> Data:
    return (*others[:place], record, *others[place:])
