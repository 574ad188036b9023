"""Finite sums F(w) = (1/N) sum_i f(w; x_i, y_i) of smooth, Lipschitz, non-convex losses (`momentum`, section 2).

Every problem states G, a bound on |grad f| over all w and all records of the allowed form, up to a part that does not
depend on the record, and L, a Lipschitz constant of grad f in w. They are analytic: an estimate from the data would
itself reveal data. The losses are in `dpexp.engine.finite_sum.losses`.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Annotated, ClassVar, Literal, NamedTuple

import numpy as np
from pydantic import BeforeValidator, Field, model_validator

from dpexp.core.caches import kept_once
from dpexp.core.parameters import Dimension, Finite, Positive, RecordCount, Seed, integral
from dpexp.core.seeds import generator
from dpexp.problems.problem import Problem
from dpexp.problems.softmax import DataSource, Softmax

if TYPE_CHECKING:
    from dpexp.engine.finite_sum.losses import RecordLoss


class Sample(NamedTuple):
    """Records x [N, d] and responses y [N], float64; y is 0 where the loss has no response."""

    x: np.ndarray
    y: np.ndarray


class FiniteSum(Problem):
    """A finite sum. A class has `sizes`, `numbers` and `build`; its loss is known by its name, or is `record_loss`."""

    def sizes(self) -> tuple[int, int]:
        """N and d."""
        raise NotImplementedError

    def numbers(self) -> tuple[float, ...]:
        """G, L, and the constants of the loss."""
        raise NotImplementedError

    def build(self) -> Sample:
        """The data, made or read anew; `records` keeps it."""
        raise NotImplementedError

    def start(self) -> np.ndarray:
        """w_1, [d]; it does not depend on the data."""
        return np.zeros(self.dimension)

    @property
    def count(self) -> int:
        return self.sizes()[0]

    @property
    def dimension(self) -> int:
        return self.sizes()[1]

    @property
    def lipschitz(self) -> float:
        return self.numbers()[0]

    @property
    def smoothness(self) -> float:
        return self.numbers()[1]

    @property
    def constants(self) -> np.ndarray:
        """Constants of the loss, float64."""
        return np.array(self.numbers()[2:] or [0.0])

    @property
    def record_loss(self) -> RecordLoss:
        """The compiled loss and gradient of one record."""
        from dpexp.engine.finite_sum.losses import LOSSES

        return LOSSES[self.name]

    @property
    @kept_once(8)
    def records(self) -> Sample:
        """The data, built once in a process."""
        return Sample(*(np.ascontiguousarray(part, dtype=np.float64) for part in self.build()))

    def memory(self) -> int:
        # the records, and as much again while they are made
        return 8 * 2 * self.count * (self.dimension + 2)

    def objective(self, w: np.ndarray) -> tuple[float, np.ndarray]:
        """F(w) and grad F(w) [d]."""
        from dpexp.engine.finite_sum.looking import Data, slope

        out = np.empty(self.dimension)
        data = Data(self.record_loss, *self.records, self.constants)
        return slope(data, np.asarray(w, dtype=np.float64), out), out


class RippledMean(FiniteSum):
    """sqrt(1 + |w - x|^2) - 1 + a sin(b x.w) over N points, coercive, with G = 1 + a b and L = 1 + a b^2 for any d.

    Points are 0.6 e_1 + spread z / sqrt d, z standard normal, moved onto the unit ball where they leave it.
    """

    name: Literal["rippled-mean"] = "rippled-mean"
    N: RecordCount = 1000
    d: Dimension = 10
    data_seed: Seed = 0
    spread: Positive = 0.5
    distance: Finite = 2.0
    """|w_1|; beyond it no gradient is nearly linear any more"""
    amplitude: Positive = 0.25
    frequency: Positive = 2.0

    def sizes(self) -> tuple[int, int]:
        return self.N, self.d

    def numbers(self) -> tuple[float, ...]:
        a, b = self.amplitude, self.frequency
        return 1 + a * b, 1 + a * b**2, a, b

    def build(self) -> Sample:
        z = generator(self.data_seed, 0, "data").standard_normal((self.N, self.d))
        x = self.spread / math.sqrt(self.d) * z
        x[:, 0] += 0.6
        return Sample(x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)), np.zeros(self.N))

    def start(self) -> np.ndarray:
        # on the other side of 0, at the stated distance, so that there is a way to go
        return np.full(self.d, -self.distance / math.sqrt(self.d))


class NonconvexLinear(FiniteSum):
    """f(w; x, y) = value(x.w, y), with |x| <= `radius`.

    Records are synthetic, of norm 1, or those of a data set, whose preparation gives each the norm sqrt(1.0625)
    whatever the others are. Labels are -1 and 1; of a data set `positive` is the class 1.
    """

    data: Literal["synthetic", "adult", "digits", "fashion"] = "synthetic"
    positive: Annotated[int, Field(ge=0), BeforeValidator(integral)] = 1
    N: RecordCount | None = None
    """the first N records; all of a data set, or 1000 synthetic ones, where it is left out"""
    d: Dimension | None = None
    """parameters of synthetic data, 10 where it is left out"""
    data_seed: Seed = 0
    regression: ClassVar[bool] = False

    @model_validator(mode="after")
    def _own_dimension(self) -> NonconvexLinear:
        if self.data != "synthetic":
            records, _, classes = self._labelled.shape
            if self.d is not None:
                raise ValueError("a data set has its own d; leave it out")
            if self.N is not None and records < self.N:
                raise ValueError(f"{self.data} has {records:,} records to train on, not N = {self.N:,}")
            if self.positive >= classes:
                raise ValueError(f"{self.data} has the classes 0 to {classes - 1}, not positive = {self.positive}")
        return self

    @property
    def _labelled(self) -> Softmax:
        """The data set with its usual split."""
        return Softmax(data=DataSource.model_validate({"name": self.data}))

    def sizes(self) -> tuple[int, int]:
        if self.data == "synthetic":
            return self.N or 1000, self.d or 10
        records, width, _ = self._labelled.shape
        return self.N or records, width

    @property
    def radius(self) -> float:
        """No record is longer."""
        # records of data sets are prepared in float32
        return 1.0 if self.data == "synthetic" else math.sqrt(1.0625) * (1 + 1e-6)

    def build(self) -> Sample:
        if self.data != "synthetic":
            train, rows = self._labelled.train, slice(self.N)
            return Sample(train.features[rows], np.where(train.labels[rows] == self.positive, 1.0, -1.0))
        rng = generator(self.data_seed, 0, "data")
        x = rng.standard_normal(self.sizes())
        x /= np.linalg.norm(x, axis=1, keepdims=True)
        # 3 sqrt(d) x.v, v the unit vector with equal entries; not by BLAS, whose bits differ
        u = 3 * x.sum(axis=1)
        if self.regression:
            # a tenth of the responses are outliers, which the loss should bound
            wild = rng.random(len(u)) < 0.1
            return Sample(x, u / 3 + 0.3 * rng.standard_normal(len(u)) + 5 * wild)
        chances = np.array([1 / (1 + math.exp(-v)) for v in u])
        return Sample(x, np.where(rng.random(len(u)) < chances, 1.0, -1.0))


class Sigmoid(NonconvexLinear):
    """4 s(-y x.w), a smooth count of errors: G = |x|, L = 4 / (6 sqrt 3) |x|^2."""

    name: Literal["sigmoid"] = "sigmoid"

    def numbers(self) -> tuple[float, ...]:
        return self.radius, 4 / (6 * math.sqrt(3)) * self.radius**2, 4.0


class WelschRegression(NonconvexLinear):
    """(c^2 / 2)(1 - exp(-(x.w - y)^2 / c^2)): G = c / sqrt(2 e) |x|, L = |x|^2."""

    name: Literal["welsch-regression"] = "welsch-regression"
    regression: ClassVar[bool] = True
    c: Positive = 2.0

    def numbers(self) -> tuple[float, ...]:
        return self.c / math.sqrt(2 * math.e) * self.radius, self.radius**2, self.c


class LogisticRidge(NonconvexLinear):
    """log(1 + exp(-y x.w)) + lam sum_j w_j^2 / (1 + w_j^2): G = |x|, L = |x|^2 / 4 + 2 lam.

    The ridge does not depend on the data, so it adds nothing to a difference between neighbours, nor to G.
    """

    name: Literal["logistic-ridge"] = "logistic-ridge"
    lam: Positive = 0.1

    def numbers(self) -> tuple[float, ...]:
        return self.radius, self.radius**2 / 4 + 2 * self.lam, self.lam
