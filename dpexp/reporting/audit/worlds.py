"""Two worlds that differ in one record, the canary: the protocol of what is audited."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.core.seeds import generator
from dpexp.privacy.analyses.analysis import Analysis


@dataclass(frozen=True)
class Look:
    """One way to look at what runs release, and what is claimed of it."""

    released: str
    """all-iterates, or what is seen together"""
    protects: str
    """who is audited, for instance "a user with mu = 3" """
    statistic: str
    """what is computed from a release, in a few words"""
    claim: Analysis
    """what `dpexp privacy` states"""


class Seen(NamedTuple):
    """What one look has seen."""

    releases: np.ndarray
    """float64 [R], a statistic that is large where the canary is likely; or [R, k], k numbers that are seen together"""
    canary: np.ndarray
    """bool [R]: the world of the run, a fair coin that nothing but the data has seen"""


class Worlds(Protocol):
    """A mechanism that is run in two worlds."""

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""

    @property
    def label(self) -> str:
        """What is audited, in a line: algorithm, problem and budget."""

    @property
    def size(self) -> str:
        """At which size it is run, and what differs from the config."""

    @property
    def looks(self) -> Sequence[Look]: ...

    def observe(self, seed: int, replicates: range) -> Sequence[Seen]:
        """Run these replicates, and return what each look has seen. A replicate depends on its number and the seed."""


def coins(seed: int, replicates: range) -> np.ndarray:
    """The world of each replicate, bool [R]: from the stream of its data, which decides nothing else here."""
    # a coin of its own stream: batches, order and noise are the same in both worlds
    return np.array([generator(seed, r, "data").random() < 0.5 for r in replicates])
