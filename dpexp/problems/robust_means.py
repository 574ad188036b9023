"""Means that outliers and ripples do not spoil: the default problems of `momentum`, for any N and d.

Points are 0.6 e_1 + spread z / sqrt d, z standard normal, moved onto the unit ball where they leave it.
"""

from __future__ import annotations

import math
from typing import ClassVar, Literal

import numpy as np

from dpexp.core.parameters import Dimension, Finite, Positive, RecordCount, Seed
from dpexp.core.seeds import generator
from dpexp.problems.finite_sum import FiniteSum, Sample


class RippledMean(FiniteSum):
    """sqrt(1 + |w - x|^2) - 1 + a sin(b x.w) over N points of the unit ball, drawn once for all replicates and budgets.

    It is coercive, with G = 1 + a b and L = 1 + a b^2 in every dimension.
    """

    name: Literal["rippled-mean"] = "rippled-mean"
    coercive: ClassVar[bool] = True
    fields_of_loss: ClassVar[tuple[str, ...]] = ("amplitude", "frequency")

    N: RecordCount = 1000
    d: Dimension = 10
    data_seed: Seed = 0
    spread: Positive = 0.5
    distance: Finite = 2.0
    """|w_1|; beyond it no gradient is nearly linear any more"""
    amplitude: Positive = 0.25
    frequency: Positive = 2.0

    @property
    def count(self) -> int:
        return self.N

    @property
    def dimension(self) -> int:
        return self.d

    def build(self) -> Sample:
        z = generator(self.data_seed, 0, "data").standard_normal((self.N, self.d))
        x = self.spread / math.sqrt(self.d) * z
        x[:, 0] += 0.6
        return Sample(x / np.maximum(1.0, np.linalg.norm(x, axis=1, keepdims=True)), np.zeros(self.N))

    def start(self) -> np.ndarray:
        # on the other side of 0, at the stated distance, so that there is a way to go
        return np.full(self.d, -self.distance / math.sqrt(self.d))

    @property
    def lipschitz(self) -> float:
        return 1 + self.amplitude * self.frequency

    @property
    def smoothness(self) -> float:
        return 1 + self.amplitude * self.frequency**2
