"""One data set's run of noisy SGD in one dimension, as plain data: what a step does, in units of the step's noise.

With y the parameter over the noise of one step, a batch in which all b records have the others' gradient moves y by
others(y) = -eta gradient(y) / noise, and one record of the batch is the b-th part of that. The literal updates are

    fixed-size   the record is in a uniform subset of b of n records with probability b / n;
                 y + others(y) without it, y + (1 - 1/b) others(y) + record(y) / b with it
    poisson      every record is in the batch independently with probability q, and the sum is divided by the fixed b:
                 y + (k / b) others(y) + included record(y) / b with k ~ Bin(n - 1, q)
    full-batch   every record in every step, divided by b = n
    cyclic       batches of a fixed partition in a public order: the record is in batch `position` of every epoch

followed by noise N(0, 1) and projection on [-half_width, half_width]. A removed record leaves its place empty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from dpexp.accounting.pairs import Sampling


@dataclass(frozen=True)
class Drift:
    """A piecewise linear drift through (knots, values), constant beyond the ends; a repeated knot is a jump."""

    knots: tuple[float, ...]
    values: tuple[float, ...]

    def __call__(self, y: np.ndarray) -> np.ndarray:
        return np.interp(y, self.knots, self.values)

    @property
    def mirrored(self) -> Drift:
        """That of -y."""
        return Drift(tuple(-k for k in self.knots[::-1]), tuple(-v for v in self.values[::-1]))

    @property
    def largest(self) -> float:
        """Largest size, which is at a knot."""
        return max(abs(v) for v in self.values)


def constant(value: float) -> Drift:
    """The drift of a linear loss."""
    return Drift((0.0,), (value,))


def affine(slope: float, value: float, half_width: float) -> Drift:
    """The drift of a quadratic loss on the set."""
    return Drift((-half_width, half_width), (value - slope * half_width, value + slope * half_width))


@dataclass(frozen=True)
class Update:
    """One of the two neighbours' runs."""

    sampling: Sampling
    n: int
    """records with the record in question, `n - 1` of them others"""
    batch_size: int
    steps: int
    half_width: float
    others: Drift
    """what a batch of b such records moves y by"""
    record: Drift | None
    """the same for b copies of the record; None where it is removed"""
    position: int = 0
    """cyclic: which batch of an epoch holds the record"""
    start: float = 0.0

    def __post_init__(self) -> None:
        if self.sampling in ("shuffled", "reshuffled"):
            raise ValueError("the law needs a public partition")

    @property
    def q(self) -> float:
        """Probability that the record is in a batch."""
        return self.batch_size / self.n

    @property
    def batches(self) -> int:
        """Batches of an epoch."""
        return self.n // self.batch_size

    def holds(self, step: int) -> bool:
        """Whether a cyclic batch, of a step counted from 0, has the record."""
        return step % self.batches == self.position
