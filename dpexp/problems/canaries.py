"""Records of an audit: the canary and the others, chosen by the adversary, for softmax regression and finite sums.

Of finite sums the losses are linear; the slope of the canary is G or -G and all others are 0. No config names these
problems; `dpexp.reporting.audit` makes them.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.data.dataset import Dataset, DataShape, Split
from dpexp.engine.finite_sum.losses import RecordLoss, record_loss_of
from dpexp.problems.finite_sum import FiniteSum, Sample
from dpexp.problems.softmax import Softmax

NO_LICENCE = "made for an audit"
LINEAR = record_loss_of(lambda square, along, y, c: (y * along, 0.0 * along, y))
"""f = y x.w, compiled"""


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
        classes = [self.canary] + [self.others] * (self.records - 1)
        # a record whose features are 0 has no gradient: it stands for one that is not there, and leaves the number of
        # records as it is. All entries of the others are alike, so that a clip of each entry is as wrong as it can be
        entries = [0.0 if own is None else self.length / math.sqrt(self.width) for own in classes]
        x = np.repeat(np.array(entries, np.float32)[:, None], self.width, axis=1)
        labels, names = np.array([own or 0 for own in classes], np.int64), tuple(map(str, range(self.classes)))
        data = Dataset("canaries", x, labels, names, NO_LICENCE)
        return Split(data, data)

    @property
    def shape(self) -> DataShape:
        return DataShape(self.records, self.width, self.classes)

    @property
    def smoothness(self) -> float:
        return self.slope_limit

    def files(self) -> dict[str, str]:
        # not empty: an algorithm may hand out the parameters of a user's own records alone
        return {"canaries": NO_LICENCE}


class LinearCanaries(FiniteSum):
    """f(w; x, y) = y x.w; the gradient of the last record is `slope` times the first unit vector, others are 0.

    Linear losses are smooth with any constant and the gradient is as long as G allows, so that every statement of
    privacy for G = |slope| and L = `stated_smoothness` covers them.
    """

    name: str = "linear-canaries"
    N: int
    d: int
    slope: float
    stated_smoothness: float

    def sizes(self) -> tuple[int, int]:
        return self.N, self.d

    def numbers(self) -> tuple[float, ...]:
        return abs(self.slope), self.stated_smoothness

    @property
    def record_loss(self) -> RecordLoss:
        return LINEAR

    def build(self) -> Sample:
        x, y = np.zeros((self.N, self.d)), np.zeros(self.N)
        x[-1, 0], y[-1] = abs(self.slope), np.sign(self.slope)
        return Sample(x, y)
