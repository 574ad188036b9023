"""What a config asks for: budgets of users, a target of a whole run, and the deltas at which epsilon is reported.

The Gaussian-DP parameter mu_i that user i asks for is public and independent of the data. A target (epsilon, delta) is
for algorithms that calibrate their noise to what is released; with delta = 0 it is of every message.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Annotated, ClassVar, Literal

import numpy as np
from pydantic import AfterValidator, Field, SerializeAsAny, model_validator

from dpexp.accounting.binomials import likely_counts
from dpexp.accounting.gaussian import mu_within
from dpexp.core.errors import UsageError
from dpexp.core.parameters import Fault, Faults, OrInfinite, Parameters, Registry
from dpexp.privacy.cap import MOST_EPS, gaussian_mu

Mu = Annotated[float, Field(ge=1e-6), OrInfinite(1e6)]
"""a budget, or inf for no privacy"""


class Budget(Parameters):
    """Law of the budgets of users 1, 2, ...; of finitely many values unless a subclass says otherwise."""

    kind: ClassVar[str]

    @property
    def label(self) -> str:
        """A short name for legends and tables."""
        raise NotImplementedError

    @property
    def constant(self) -> float | None:
        """The budget that all users share, or None where budgets differ."""
        return None

    @property
    def law(self) -> Sequence[tuple[float, float]]:
        """Budgets and the probability of each; of a few, all that follows."""
        return [] if self.constant is None else [(self.constant, 1.0)]

    @property
    def target(self) -> tuple[float, float] | None:
        """(eps, delta) of everything that is released, where the config states that; None where it states mu."""
        return None

    @property
    def pure_eps(self) -> float | None:
        """Epsilon of every message, with delta = 0, where the config states that."""
        return None

    @property
    def largest(self) -> float:
        """Largest budget any user can have: the GDP parameter of everything released (`ldp-sgd`, Theorems 1 and 2)."""
        return max(mu for mu, p in self.law if p > 0)  # a value that nobody draws is nobody's guarantee

    @property
    def smallest(self) -> float:
        """Smallest budget any user can have, with which the printed bounds of `ldp-sgd` are written."""
        return min(mu for mu, p in self.law if p > 0)

    @property
    def mean_inverse_square(self) -> float:
        """E[1 / mu_i^2], to which the mean noise power is proportional."""
        return math.fsum(p * mu**-2 for mu, p in self.law)

    def groups(self, users: int, chance: float) -> dict[float, int] | None:
        """Budgets, and how many of the users have each but for this chance; None where no two budgets are alike."""
        return None

    def draw(self, u: np.ndarray, first: int) -> np.ndarray:
        """Budgets of the users first, first + 1, ... (axis 0) from their uniform numbers u in (0, 1], same shape."""
        values, probabilities = np.array(self.law).T
        # without the last edge, which rounding may leave below 1: a number beyond all edges is the last value's
        return values[np.searchsorted(np.cumsum(probabilities)[:-1], u, side="left")]


class ConstantBudget(Budget):
    """Every user has budget mu; inf adds no noise."""

    kind = "constant"
    mu: Mu

    @property
    def constant(self) -> float:
        return self.mu

    @property
    def label(self) -> str:
        return "non-private" if math.isinf(self.mu) else f"{self.mu:g}"

    def groups(self, users: int, chance: float) -> dict[float, int]:
        return {self.mu: users}


class UniformBudget(Budget):
    """mu_i ~ Uniform(low, high), drawn once per user."""

    kind = "uniform"
    uniform: tuple[Mu, Mu]

    @model_validator(mode="after")
    def _ordered(self) -> UniformBudget:
        if not self.uniform[0] < self.uniform[1] < math.inf:
            raise ValueError("uniform needs two finite numbers, the smaller first")
        return self

    @property
    def label(self) -> str:
        return f"Uniform({self.uniform[0]:g}, {self.uniform[1]:g})"

    @property
    def smallest(self) -> float:
        return self.uniform[0]

    @property
    def largest(self) -> float:
        return self.uniform[1]

    @property
    def mean_inverse_square(self) -> float:
        # the integral of mu^-2 over [low, high] is 1 / low - 1 / high = (high - low) / (low high)
        return 1 / (self.uniform[0] * self.uniform[1])

    def draw(self, u: np.ndarray, first: int) -> np.ndarray:
        low, high = self.uniform
        return low + (high - low) * u


class ListBudget(Budget):
    """User i has entry i of the list, which is repeated when there are more users."""

    kind = "list"
    list: Annotated[tuple[Mu, ...], Field(min_length=1)]

    @property
    def label(self) -> str:
        return f"list of {len(self.list)} ({min(self.list):g} to {max(self.list):g})"

    @property
    def law(self) -> Sequence[tuple[float, float]]:
        return [(mu, 1 / len(self.list)) for mu in self.list]

    def groups(self, users: int, chance: float) -> dict[float, int]:
        values, counts = np.unique(np.resize(self.list, users), return_counts=True)
        return dict(zip(values.tolist(), counts.tolist(), strict=True))

    def draw(self, u: np.ndarray, first: int) -> np.ndarray:
        # users count from 1, and the list is repeated; all replicates of a user have one budget
        values = np.array(self.list)[(first - 1 + np.arange(len(u))) % len(self.list)]
        return np.broadcast_to(values.reshape(-1, *[1] * (u.ndim - 1)), u.shape).copy()


class Choice(Parameters):
    """A distribution on finitely many budgets."""

    values: Annotated[tuple[Mu, ...], Field(min_length=1)]
    probabilities: tuple[Annotated[float, Field(ge=0, le=1)], ...]

    @model_validator(mode="after")
    def _is_a_distribution(self) -> Choice:
        if len(self.values) != len(self.probabilities):
            raise ValueError(f"{len(self.values)} values but {len(self.probabilities)} probabilities")
        if abs(sum(self.probabilities) - 1) > 1e-9:
            raise ValueError(f"the probabilities sum to {sum(self.probabilities):g}, not 1")
        return self


class ChoiceBudget(Budget):
    """Each user draws a budget among finitely many."""

    kind = "choice"
    choice: Choice

    @property
    def label(self) -> str:
        return "mix of " + ", ".join(f"{mu:g} ({p:.0%})" for mu, p in self.law)

    @property
    def law(self) -> Sequence[tuple[float, float]]:
        return list(zip(self.choice.values, self.choice.probabilities, strict=True))

    def groups(self, users: int, chance: float) -> dict[float, int]:
        groups = {}
        for mu in {mu for mu, p in self.law if p > 0}:
            # a user, and as many of the others as there are but for this chance
            share = min(1.0, sum(p for value, p in self.law if value == mu))
            counts, logs, _ = likely_counts(users - 1, share, math.log(chance) - 60)
            groups[mu] = 1 + int(counts[np.searchsorted(np.cumsum(np.exp(logs)), chance)])
        return groups


BUDGETS: Registry[type[Budget]] = Registry(
    "law of budgets", {b.kind: b for b in (ConstantBudget, UniformBudget, ListBudget, ChoiceBudget)}
)


class Target(Budget):
    """(eps, delta)-DP for everything that is released; eps = inf is no privacy."""

    kind: ClassVar[str] = "target"
    eps: Annotated[float, Field(gt=0)]
    delta: Annotated[float, Field(gt=0, lt=1)] = 1e-5

    @property
    def label(self) -> str:
        return "non-private" if math.isinf(self.eps) else f"eps = {self.eps:g}"

    @property
    def constant(self) -> float:
        """The mu of the Gaussian mechanism that just meets the target (exact conversion)."""
        return mu_within(self.eps, self.delta)

    @property
    def target(self) -> tuple[float, float]:
        return self.eps, self.delta


class PureBudget(Budget):
    """Every message is eps-differentially private, with delta = 0 (`dpexp.privacy.cap`)."""

    kind: ClassVar[str] = "pure"
    eps: Annotated[float, Field(ge=1e-3), OrInfinite(MOST_EPS)]
    delta: Literal[0] = 0

    @property
    def label(self) -> str:
        return "non-private" if math.isinf(self.eps) else f"eps = {self.eps:g}, delta = 0"

    @property
    def pure_eps(self) -> float | None:
        return None if math.isinf(self.eps) else self.eps

    @property
    def constant(self) -> float:
        """The least mu for which all such messages are mu-GDP."""
        return self.eps if math.isinf(self.eps) else gaussian_mu(self.eps)

    @property
    def mean_inverse_square(self) -> float:
        if math.isinf(self.eps):
            return 0.0
        raise UsageError("the noise of messages by cap sampling depends on the gradient, which no prediction covers")


LEAST_DELTA = 1e-12  # of a target: composition rounds up by about 1e-15, below which no noise would do


def _zero_or_more(delta: float) -> float:
    if 0 < delta < LEAST_DELTA:
        raise ValueError(f"must be 0, or at least {LEAST_DELTA:g}")
    return delta


def _no_larger_than_stated(mu: Budget) -> Budget:
    drawn = np.empty(0) if type(mu).__module__ == __name__ else mu.draw(np.linspace(1e-9, 1, 1001), 1)
    if len(drawn) and not (most := np.max(drawn)) <= mu.largest * (1 + 1e-9):  # `largest` is what is stated
        raise Faults([Fault((), f"lets a user draw {most:.6g}, more than `largest`, {mu.largest:.6g}")])
    return mu


class PrivacySettings(Parameters):
    """Budgets, and the deltas of the reported (epsilon, delta) pairs, which change no number but those.

    `eps` and `delta` are the spelling of a target, which is then the budget `mu` (`Target`, `PureBudget`).
    """

    mu: Annotated[SerializeAsAny[Budget], AfterValidator(_no_larger_than_stated)]
    """budget of every user in Gaussian DP; inf is no privacy; a law: {uniform: [1, 2]}"""
    eps: Annotated[float, Field(ge=1e-3), OrInfinite(1e3)] | None = None
    """the whole run is (eps, delta)-DP: noise is set so that this holds; inf is no privacy"""
    delta: Annotated[float, Field(ge=0, le=0.9), AfterValidator(_zero_or_more)] | None = None
    """delta of the target; 1e-5 where it is left out; 0: epsilon is that of every message"""
    message: Literal["cap"] = "cap"
    """what users send if delta is 0: bounded messages by cap sampling"""
    deltas: Annotated[tuple[Annotated[float, Field(ge=1e-100, le=0.999999)], ...], Field(min_length=1)] = (1e-5, 1e-6)
    """deltas at which epsilon is reported"""
