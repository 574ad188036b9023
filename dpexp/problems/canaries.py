"""Records of an audit: the canary and the others, chosen by the adversary, for softmax regression and finite sums.

Of finite sums the losses are linear; the slope of the canary is G or -G and all others are 0. No config names these
problems; `dpexp.reporting.audit` makes them.
"""

from __future__ import annotations

import math
from functools import cache
from typing import TYPE_CHECKING

import numpy as np

from dpexp.data.dataset import Dataset, DataShape, Split
from dpexp.problems.finite_sum import FiniteSum, Sample
from dpexp.problems.softmax import Softmax

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.losses import RecordLoss

NO_LICENCE = "made for an audit"


class Canaries(Softmax):
    """Softmax regression on records that an adversary chooses; record 0 is the canary."""

    records: int
    classes: int
    width: int
    length: float
    """norm of the features of every record that is there"""
    slope_limit: float
    """what the problem states as its smoothness: step sizes that follow from it are as small as this is large"""
    canary: int | None
    others: int | None
    """class of the canary, and of all other records; None: not there"""

    @property
    def split(self) -> Split:
        labels, present = np.full(self.records, self.others or 0), np.full(self.records, self.others is not None)
        labels[0], present[0] = self.canary or 0, self.canary is not None
        # a record whose features are 0 has no gradient: it stands for one that is not there, and leaves the number of
        # records as it is. All entries of the others are alike, so that a clip of each entry is as wrong as it can be
        x = (present[:, None] * np.full(self.width, self.length / math.sqrt(self.width))).astype(np.float32)
        names = tuple(map(str, range(self.classes)))
        data = Dataset("canaries", x, labels.astype(np.int64), names, NO_LICENCE)
        return Split(data, data)

    @property
    def shape(self) -> DataShape:
        return DataShape(self.records, self.width, self.classes)

    @property
    def smoothness(self) -> float:
        return self.slope_limit

    def files(self) -> dict[str, str]:
        # not empty, so that a run hands out its parameters
        return {"canaries": NO_LICENCE}


@cache
def _linear_loss() -> RecordLoss:
    """f = y x.w, compiled."""
    from dpexp.engine.finite_sum.losses import record_loss_of

    return record_loss_of(lambda square, along, y, c: (y * along, 0.0 * along, y))


class LinearCanaries(FiniteSum):
    """f(w; x, y) = y x.w; the gradient of record number `canary` is `slope` times the first unit vector, others are 0.

    Linear losses are smooth with any constant and the gradient is as long as G allows, so that every statement of
    privacy for G = |slope| and L = `stated_smoothness` covers them.
    """

    name: str = "linear-canaries"
    records_count: int
    width: int
    slope: float
    canary: int
    stated_smoothness: float

    @property
    def count(self) -> int:
        return self.records_count

    @property
    def dimension(self) -> int:
        return self.width

    @property
    def lipschitz(self) -> float:
        return abs(self.slope)

    @property
    def smoothness(self) -> float:
        return self.stated_smoothness

    @property
    def record_loss(self) -> RecordLoss:
        return _linear_loss()

    def build(self) -> Sample:
        x, y = np.zeros((self.count, self.width)), np.zeros(self.count)
        x[self.canary, 0], y[self.canary] = abs(self.slope), np.sign(self.slope)
        return Sample(x, y)
