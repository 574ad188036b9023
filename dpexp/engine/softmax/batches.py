"""Batches as index generators: which records a step sees. The privacy analysis must be the one for the same scheme.

Where batches are drawn epoch by epoch, an epoch has `batches_of` steps. A record that is left out of the data leaves
all others where they are: their draws do not depend on it, and groups go by places in the file.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

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


def balls_in_bins(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """In every epoch each record draws one of the `batches_of` batches, anew and independently of all others.

    A batch may be empty, or much larger than batch_size.
    """
    _require(n, batch_size)
    batches = batches_of(n, batch_size)
    while True:
        drawn = generator.integers(batches, size=n)
        for batch in range(batches):
            yield np.flatnonzero(drawn == batch)


def secret_bins(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """Each record draws one of the `batches_of` batches, independently of all others, and is in it in every epoch."""
    _require(n, batch_size)
    batches = batches_of(n, batch_size)
    drawn = generator.integers(batches, size=n)
    while True:
        for batch in range(batches):
            yield np.flatnonzero(drawn == batch)


def cyclic_poisson(n: int, batch_size: int, generator: np.random.Generator, groups: int = 1) -> Batches:
    """Records of one public group in turn, each independently with probability groups * batch_size / n.

    Record i is in the group i modulo `groups`. Drawn as a binomial size and then a uniform subset, as in `poisson`.
    """
    _require(n, groups * batch_size)
    while True:
        for group in range(groups):
            members = np.arange(group, n, groups)
            size = int(generator.binomial(len(members), groups * batch_size / n))
            yield generator.choice(members, size, replace=False, shuffle=False)


Scheme = Callable[[int, int, np.random.Generator], Batches]
SAMPLING: dict[str, Scheme] = {
    "poisson": poisson,
    "fixed-size": fixed_size,
    "shuffled": shuffled,
    "balls-in-bins": balls_in_bins,
    "secret-bins": secret_bins,
    "cyclic-poisson": cyclic_poisson,
}


def scheme(sampling: str, groups: int | None = None) -> Scheme:
    """The generator of this name; `groups` is for cyclic-poisson."""
    return SAMPLING[sampling] if groups is None else partial(cyclic_poisson, groups=groups)


def batches_of(n: int, batch_size: int) -> int:
    """Batches of an epoch in which every record draws one: as many as n records need at this size."""
    return -(-n // batch_size)


def _require(n: int, batch_size: int) -> None:
    if not 1 <= batch_size <= n:
        raise ValueError(f"a batch must have between 1 and n = {n} records, not {batch_size}")
