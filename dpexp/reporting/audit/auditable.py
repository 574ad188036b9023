"""What can be audited: something that runs in two worlds, and looks at what it releases."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple, Protocol

import numpy as np

from dpexp.accounting.gaussian import eps_of
from dpexp.algorithms.algorithm import Algorithm
from dpexp.config.cells import Cell
from dpexp.core.seeds import generator
from dpexp.privacy.analyses.analysis import Analysis, Released
from dpexp.privacy.audit.claim import Claim


@dataclass(frozen=True)
class Look:
    """One way to look at what runs release, and what is claimed of it."""

    released: Released | str
    """all-iterates, last-iterate or average, or what is seen together"""
    protects: str
    """who is audited, for instance "a user with mu = 3" """
    statistic: str
    """what is computed from a release, in a few words"""
    claim: Claim
    stated: Analysis
    """the analysis whose claim it is: what `dpexp privacy` states"""
    counts: bool = False
    """whether the statistic is a count of what never happens in a sound run: the one threshold is then 1/2"""


class Seen(NamedTuple):
    """What one look has seen: a statistic of each run, large where the canary is likely, and the truth."""

    statistics: np.ndarray
    """float64 [R]; or [R, k], k releases seen together, of which `outcomes` makes one statistic"""
    canary: np.ndarray
    """bool [R]: the world of the run, a fair coin that nothing but the data has seen"""


def coins(seed: int, replicates: range) -> np.ndarray:
    """The world of each replicate, bool [R]: from the stream of its data, which decides nothing else here."""
    # a coin of its own stream: batches, order and noise are the same in both worlds
    return np.array([generator(seed, r, "data").random() < 0.5 for r in replicates])


def of_a_user(stated: Sequence[Analysis], mu: float) -> Analysis:
    """What the best of these analyses states of one user with this budget."""
    best = min((one for one in stated if one.valid), key=lambda one: math.inf if one.mu is None else one.mu)
    return replace(best, mu=mu, eps=lambda delta: eps_of(mu, delta))


def settings_of(algorithm: Algorithm, left_out: Collection[str]) -> str:
    """What of an algorithm differs from its defaults, in words that follow its name."""
    kept = algorithm.model_dump(exclude_defaults=True)
    return "".join(f", {key} = {value}" for key, value in kept.items() if key not in ("name", "epochs", *left_out))


class Copy(NamedTuple):
    """How long a copy of a mechanism runs, and for which target, where the config's own size is too large to repeat."""

    eps: float
    """at the config's delta"""
    steps: int
    quiet: bool = False
    """whether what never happens in a sound run is counted; else, what happens in all runs is measured"""
    crowd: bool = False
    """whether the records beside the canary pull against it; else they do nothing"""
    replicates: int = 1
    """runs on the same records that are seen together, each with its last iterate and its average"""


LOUD = Copy(8.0, 12)
"""mu is 1.1 to 1.7: noise of a wrong size is told from the right one by the fewest runs"""
QUIET = Copy(0.25, 24, quiet=True)
"""little may be given away here: a step without noise in one of a hundred runs is more"""
CROWD = Copy(8.0, 12, crowd=True)
"""a record that is there or not changes how many records share a batch, which others show"""
COPIES = (LOUD, QUIET)
TOGETHER = Copy(8.0, 2, replicates=2)
"""in two steps noise that is missing somewhere, or is shared, is a large part of all"""
LAST_AND_AVERAGE = "last and average"


class Auditable(Protocol):
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


Audits = Callable[[Cell], "Sequence[Auditable] | str | None"]
"""The audits of a cell; or why it has none, in words; or None where its algorithm or problem is of another kind."""
