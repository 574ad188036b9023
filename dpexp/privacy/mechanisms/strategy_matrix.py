"""Correlated noise by a Toeplitz strategy matrix, as in DP-FTRL with banded matrices: mu of records that return.

What is released is A (X + C^-1 Z) for the T clipped gradients X of the steps: whatever A is, it follows from C X + Z
with independent noise Z. C is lower triangular, with the coefficients c_0 >= c_1 >= ... >= 0 below its diagonal. A
record takes part in at most k steps, of which any two are at least b apart, with gradients of norm at most 1.

(a) A record moves C X by the sum of C e_i x_i over its steps i, |x_i| <= 1. All entries of G = C'C are at least 0, so
the norm is largest where all x_i are alike, and its square is the sum of G_ij over i, j in its steps.
(b) For i <= j, G_ij is the sum of c_u c_(u + j - i) over u < T - j. It falls where j grows, since terms are left out,
and where the gap grows, since c falls. Let i_0 < i_1 < ... be the record's steps. Then i_m >= m b and i_m - i_l >=
(m - l) b, so that G_(i_l i_m) <= G_(l b, m b): no steps are worse than 0, b, 2 b, ..., and more of them are no better.
These are allowed, so the sensitivity is attained.
(c) With C lower triangular a Gaussian release is as private where gradients are chosen after what was released
(Denisov, McMahan, Rush, Smith and Thakurta, 2022, Theorem 2.1).
"""

from __future__ import annotations

import math
from functools import cached_property
from itertools import pairwise
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field, field_validator

from dpexp.accounting.gaussian import eps_of
from dpexp.accounting.steps import Relation, distance
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.analyses.composition import NOISE, trivial
from dpexp.privacy.attained.lower_bounds import LowerBound
from dpexp.privacy.mechanisms.mechanism import Mechanism, Noise

SOURCE = "Gaussian composition of a lower triangular matrix (Denisov and others, 2022), exact; docs page privacy"
APART = "a record's steps are at least `separation` apart and at most `participations` many, whatever the data are"
MOST_STEPS = 10**6


class StrategyMatrix(Mechanism):
    """C X + Z is released: clipped gradients X of `steps` steps, a Toeplitz matrix C, independent noise Z."""

    noise_field: ClassVar[str] = "noise_multiplier"
    drawn: ClassVar[str] = "strategy-matrix"
    coefficients: tuple[Annotated[float, Field(ge=0, le=1e6)], ...]
    """c_0, c_1, ... of the first column, the rest 0; none is larger than the one before"""
    steps: Annotated[int, Field(ge=1, le=MOST_STEPS)]
    separation: Annotated[int, Field(ge=1)]
    """b: any two steps of a record are at least so far apart"""
    participations: Annotated[int, Field(ge=1)]
    """k: most steps of a record"""
    noise_multiplier: Noise
    """standard deviation of Z over one record's largest norm"""
    neighboring_relation: Relation = "add-remove"

    @field_validator("coefficients", mode="before")
    @classmethod
    def _several(cls, given: Any) -> Any:
        return tuple(given) if isinstance(given, list | tuple) else (given,)

    @field_validator("coefficients")
    @classmethod
    def _falling(cls, given: tuple[float, ...]) -> tuple[float, ...]:
        if not given or given[0] == 0 or any(b > a for a, b in pairwise(given)):
            raise ValueError("the first is above 0 and none is larger than the one before: for others nothing is known")
        return given

    @cached_property
    def sensitivity(self) -> float:
        """How far one record moves C X, in its largest norms; step (b)."""
        # (b): the steps 0, b, 2 b, ... are the worst ones, and equal gradients in all of them (a)
        moved, column = np.zeros(self.steps), np.array(self.coefficients)
        uses = min(self.participations, math.ceil(self.steps / self.separation))
        for at in range(0, uses * self.separation, self.separation):
            length = min(len(column), self.steps - at)
            moved[at : at + length] += column[:length]
        return math.sqrt(math.fsum(moved * moved)) * distance(self.neighboring_relation)

    def analyses(self) -> list[Analysis]:
        known = trivial(self.noise_multiplier, self.steps)
        if known:
            return [known]
        mu = self.sensitivity / self.noise_multiplier
        return [gaussian_analysis("gaussian-composition", SOURCE, ALL, mu * (1 + 1e-12), (NOISE, APART))]

    def lower_bounds(self) -> list[LowerBound]:
        """Gradients that are alike, in the steps 0, b, 2 b, ...: two Gaussian laws that far apart."""
        if trivial(self.noise_multiplier, self.steps):
            return []
        mu = self.sensitivity / self.noise_multiplier * (1 - 1e-12)
        pair = "one gradient of the record's in all of its steps, which are as early as they can be"
        return [LowerBound("exact-composition", ALL, pair, lambda delta: eps_of(mu, delta))]

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", f"every record against who sees the releases; neighbours: {self.neighboring_relation}"),
            ("Steps", f"a record in at most {self.participations} of {self.steps:,}, {self.separation} or more apart"),
            ("Noise", f"{self.noise_multiplier:g} times one record's largest norm, on C X"),
            ("Sensitivity", f"C X moves by up to {self.sensitivity:.6g} of such norms"),
            ("Released", "C X + noise, and therefore every iterate, whatever it is made of"),
        ]
