"""How records meet the steps, and which data sets are neighbours: names and no numbers."""

from __future__ import annotations

from typing import Literal

Relation = Literal["replace-one", "add-remove"]  # which data sets are neighbours
Sampling = Literal["fixed-size", "poisson", "cyclic", "shuffled", "reshuffled", "full-batch"]
ONCE_AN_EPOCH: tuple[Sampling, ...] = ("cyclic", "shuffled", "reshuffled")
"""sampling by which a record is in one batch of every epoch"""
Scheme = Literal["add-remove", "replace-one", "fixed-size"]  # pairs of a step on a random batch


def distance(relation: Relation) -> float:
    """How far two neighbours' sums can lie apart, in norms of one record."""
    return 2.0 if relation == "replace-one" else 1.0
