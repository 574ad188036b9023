"""Records of an audit of softmax regression: the canary and those beside it, chosen by the adversary.

No config names this problem; `dpexp.reporting.audit` makes it.
"""

from __future__ import annotations

import math

import numpy as np

from dpexp.data.dataset import NORM, Dataset, Shape, Split
from dpexp.problems.softmax import Softmax

NO_LICENCE = "made for an audit"


class Canaries(Softmax):
    """Softmax regression on records that an adversary chooses; record 0 is the canary.

    A record whose features are 0 has no gradient: it stands for a record that is not there, and leaves the number of
    records, and so the batches, as they are.
    """

    records: int
    classes: int
    width: int
    length: float
    """norm of the features of every record that is there"""
    slope_limit: float
    """what the problem states as its smoothness: step sizes that follow from it are as small as this is large"""
    canary: int | None
    """class of the canary; None: it is not there"""
    others: int | None
    """class of all other records; None: they are not there"""

    def features(self) -> np.ndarray:
        """All entries of a record are alike, so that a clip of each entry is as wrong as it can be."""
        present = np.full(self.records, self.others is not None)
        present[0] = self.canary is not None
        return (present[:, None] * np.full(self.width, self.length / math.sqrt(self.width))).astype(np.float32)

    @property
    def split(self) -> Split:
        labels = np.full(self.records, self.others or 0)
        labels[0] = self.canary or 0
        names = tuple(map(str, range(self.classes)))
        data = Dataset("canaries", self.features(), labels.astype(np.int64), names, NO_LICENCE, NO_LICENCE)
        return Split(data, data)

    @property
    def train(self) -> Dataset:
        return self.split.train

    @property
    def shape(self) -> Shape:
        return Shape(self.records, self.width, self.classes)

    @property
    def smoothness(self) -> float:
        return self.slope_limit

    def files(self) -> dict[str, str]:
        """Not empty, so that a run hands out its parameters."""
        return {"canaries": NO_LICENCE}


PREPARED = NORM
"""norm of a record as `prepare` leaves it: what unclipped gradients rely on"""
