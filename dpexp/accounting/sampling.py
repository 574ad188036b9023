"""How records meet the steps, which data sets are neighbours, and the pair of laws of a step: names and no numbers."""

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


def random_step(q: float, multiplier: float, sampling: Sampling, relation: Relation) -> tuple[float, float, Scheme]:
    """The dominating pair of a step with a random batch: q, multiplier and scheme of a `StepLoss`."""
    # among others that pull one way, a record that is turned round moves the sum by two of its norms
    if sampling == "fixed-size":
        return q, multiplier / 2, "fixed-size"
    return (1.0 if sampling == "full-batch" else q), multiplier, relation
