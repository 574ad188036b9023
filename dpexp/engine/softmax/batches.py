"""Batches as index generators: which records a step sees. The privacy analysis must be the one for the same scheme."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

Batches = Iterator[np.ndarray]
"""record indices of each step, int64 [batch], all distinct; endless"""


def poisson(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """Every record independently with probability batch_size / n, anew in each step; a batch may be empty.

    Drawn as a binomial size and then a uniform subset of that size, which is the same law.
    """
    _require(n, batch_size)
    while True:
        size = int(generator.binomial(n, batch_size / n))
        yield generator.choice(n, size, replace=False, shuffle=False)


def fixed_size(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """A uniform subset of batch_size records, anew in each step (Algorithm 1 of `dp-sgld`: "with replacement")."""
    _require(n, batch_size)
    while True:
        yield generator.choice(n, batch_size, replace=False, shuffle=False)


def shuffled(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """A new random order every epoch, cut into consecutive batches.

    Every record is used once in each epoch of ceil(n / batch_size) steps; the last batch of an epoch can be shorter.
    """
    _require(n, batch_size)
    while True:
        order = generator.permutation(n)
        for first in range(0, n, batch_size):
            yield order[first : first + batch_size]


SAMPLING: dict[str, Callable[[int, int, np.random.Generator], Batches]] = {
    "poisson": poisson,
    "fixed-size": fixed_size,
    "shuffled": shuffled,
}


def _require(n: int, batch_size: int) -> None:
    if not 1 <= batch_size <= n:
        raise ValueError(f"a batch must have between 1 and n = {n} records, not {batch_size}")
