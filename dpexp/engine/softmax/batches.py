"""Batches as index generators: which records a step sees. The privacy analysis must be the one for the same scheme.

Where batches are drawn epoch by epoch, an epoch has `batches_of` steps. Where records may be added or removed, nothing
here may follow from how many there are: probabilities and numbers of batches are those of `nominal`, a public number of
records, which is n itself where n is public. Then every record draws independently of all others, whatever n is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial

import numpy as np

Batches = Iterator[np.ndarray]
"""record indices of each step, int64 [batch], all distinct; endless"""


def poisson(
    n: int,
    batch_size: int,
    generator: np.random.Generator,
    nominal: int | None = None,
    groups: int = 1,
    draws: np.ndarray | None = None,
) -> Batches:
    """Every record independently with probability batch_size / nominal, anew in each step; a batch may be empty.

    With several groups it is the turn of one group after the other, with the probability groups batch_size / nominal.
    A record is in the group of its own number among `draws` [n], modulo `groups`; without draws its number is its
    place.
    """
    probability = groups * batch_size / _public_count(n, groups * batch_size, nominal)
    group_of = (np.arange(n) if draws is None else draws) % groups
    members = [np.flatnonzero(group_of == group) for group in range(groups)]
    while True:
        for own in members:
            # a binomial size and then a uniform subset of that size, which is the same law
            size = int(generator.binomial(len(own), probability))
            yield generator.choice(own, size, replace=False, shuffle=False)


def fixed_size(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """A uniform subset of batch_size records, anew in each step (Algorithm 1 of `dp-sgld`: "with replacement")."""
    _public_count(n, batch_size)
    while True:
        yield generator.choice(n, batch_size, replace=False, shuffle=False)


def shuffled(n: int, batch_size: int, generator: np.random.Generator) -> Batches:
    """A new random order every epoch of ceil(n / batch_size) steps, cut into consecutive batches."""
    _public_count(n, batch_size)
    while True:
        # the last batch of an epoch can be shorter
        order = generator.permutation(n)
        for first in range(0, n, batch_size):
            yield order[first : first + batch_size]


def balls_in_bins(n: int, batch_size: int, generator: np.random.Generator, nominal: int | None = None) -> Batches:
    """In every epoch each record draws one of the `batches_of` batches, anew and independently of all others."""
    batches = batches_of(_public_count(n, batch_size, nominal), batch_size)
    drawn = generator.integers(batches, size=n)
    while True:
        for batch in range(batches):
            # it may be empty, or much larger than batch_size
            yield np.flatnonzero(drawn == batch)
        drawn = generator.integers(batches, size=n)


Scheme = Callable[..., Batches]
"""of n, batch_size and a generator; and of a nominal number of records where these may be added or removed"""
SAMPLING: dict[str, Scheme] = {
    "poisson": poisson,
    "fixed-size": fixed_size,
    "shuffled": shuffled,
    "balls-in-bins": balls_in_bins,
    "cyclic-poisson": poisson,
}


def scheme(sampling: str, groups: int | None = None, draws: np.ndarray | None = None) -> Scheme:
    """The generator of this name; `groups` and the draws that decide them are for cyclic-poisson."""
    return SAMPLING[sampling] if groups is None else partial(poisson, groups=groups, draws=draws)


def batches_of(n: int, batch_size: int) -> int:
    """Batches of an epoch in which every record draws one: as many as n records need at this size."""
    return -(-n // batch_size)


def _public_count(n: int, batch_size: int, nominal: int | None = None) -> int:
    """The number of records that is public; n where it is. Raises ValueError for batches that are larger."""
    public = n if nominal is None else nominal
    if not 1 <= batch_size <= public:
        raise ValueError(f"a batch must have between 1 and n = {public} records, not {batch_size}")
    return public
