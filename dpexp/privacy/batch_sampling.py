"""How algorithms on batches draw them, by the names of configs, and who is protected under each scheme.

It is a file of its own so that a simulation, which draws batches, uses no accounting.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from dpexp.accounting.sampling import Relation

BatchSampling = Literal["poisson", "fixed-size", "shuffled", "balls-in-bins", "cyclic-poisson"]
"""what a config calls the sampling schemes of algorithms on batches"""
RELATIONS: dict[BatchSampling, Relation] = {
    "poisson": "add-remove",
    "fixed-size": "replace-one",
    "shuffled": "replace-one",
    "balls-in-bins": "add-remove",
    "cyclic-poisson": "add-remove",
}
"""sampling scheme -> the neighbours for which its privacy is stated"""


@dataclass(frozen=True)
class Epochs:
    """Steps that go round: how many make an epoch, and with what probability a record is in those that it may be in."""

    batches: int
    """steps of an epoch: bins, or public groups"""
    share: float = 1.0
    """of cyclic-poisson: the probability of a record of the group whose turn it is"""
