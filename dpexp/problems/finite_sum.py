"""Finite sums F(w) = (1/N) sum_i f(w; x_i, y_i) of smooth, Lipschitz, non-convex losses (`momentum`, section 2).

Every problem states G, a bound on |grad f| over all w and all records of the allowed form, and L, a Lipschitz constant
of grad f in w. They are analytic: an estimate from the data would itself reveal data.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar, NamedTuple

import numpy as np

from dpexp.core.caches import kept_once
from dpexp.problems.problem import Problem

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.losses import RecordLoss


class Sample(NamedTuple):
    """The data of a problem, float64."""

    x: np.ndarray
    """[N, d]"""
    y: np.ndarray
    """[N]; zeros where the loss has no response"""


class FiniteSum(Problem):
    """A finite sum: the data, the loss of one record, its constants, and F and its gradient.

    A class has the properties `count` N, `dimension` d, `lipschitz` G (no record's gradient is longer, up to a part
    that does not depend on the data) and `smoothness` L, and `build`.
    """

    fields_of_loss: ClassVar[tuple[str, ...]] = ()
    """names of the parameters that are constants of the loss"""

    @property
    def count(self) -> int:
        raise NotImplementedError

    @property
    def dimension(self) -> int:
        raise NotImplementedError

    @property
    def lipschitz(self) -> float:
        raise NotImplementedError

    @property
    def smoothness(self) -> float:
        raise NotImplementedError

    @property
    def constants(self) -> np.ndarray:
        """Constants of the loss, float64."""
        return np.array([getattr(self, field) for field in self.fields_of_loss] or [0.0])

    def build(self) -> Sample:
        """The data, made or read anew; `records` keeps it."""
        raise NotImplementedError

    def memory(self) -> int:
        # the records, and as much again while they are made
        return 8 * 2 * self.count * (self.dimension + 2)

    def start(self) -> np.ndarray:
        """w_1, [d]; it does not depend on the data."""
        return np.zeros(self.dimension)

    @property
    def record_loss(self) -> RecordLoss:
        """The compiled loss and gradient of one record."""
        from dpexp.engine.finite_sum.losses import LOSSES

        return LOSSES[self.name]

    @property
    def records(self) -> Sample:
        """The data, built once in a process."""
        return _records(self)

    def objective(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """F(w) and grad F(w) [d]."""
        from dpexp.engine.finite_sum.looking import Data, slope

        out = np.empty(self.dimension)
        data = Data(self.record_loss, *self.records, self.constants)
        return slope(data, np.asarray(w, dtype=np.float64), out), out


@kept_once(8)
def _records(problem: FiniteSum) -> Sample:
    return Sample(*(np.ascontiguousarray(part, dtype=np.float64) for part in problem.build()))
