"""The local Gaussian mechanism: every user adds noise for their own budget; what each, groups and all are promised.

A user's releases compose; different users' records are disjoint, so that what is learned of one is bounded by their own
budget whatever the others do (parallel composition). Source: `ldp-sgd`, Proposition 1, Theorems 1 and 2.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import BeforeValidator, Field, PlainSerializer, SerializeAsAny

from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis, guarantee
from dpexp.privacy.budgets import Budget, ConstantBudget
from dpexp.privacy.mechanisms.mechanism import Mechanism, Records, Size
from dpexp.privacy.mechanisms.shuffled_messages import CONDITIONS, THEOREM, ShuffledMessages

QUANTILES = (0.05, 0.5, 0.95)
ASSUMPTIONS = (
    "neighbours differ in the record of one user (replace-one)",
    "every user is used once; k uses would cost sqrt(k) mu",
    "budgets are public and do not depend on the data",
    "a user adds the noise before sending, so the server need not be trusted",
)


def _law(value: Any) -> Any:
    """A number as everybody's budget: any from 0 (infinite noise) to inf (none), also those that no config takes."""
    if isinstance(value, Budget):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float) or not value >= 0:
        raise ValueError("input should be a number that is greater than or equal to 0")
    return ConstantBudget.model_construct(mu=float(value))


def _written(budget: Budget) -> float | dict[str, Any]:
    """Everybody's budget as a number, a law by its fields."""
    return budget.mu if isinstance(budget, ConstantBudget) else budget.model_dump()


class LocalGaussian(Mechanism):
    """Users send gradient + (noise_sensitivity / mu_i) N(0, I), once; the true sensitivity is exact_sensitivity."""

    noise_field: ClassVar[str] = "mu"
    more_noise_is_larger: ClassVar[bool] = False
    drawn: ClassVar[str] = "every user once, in order"
    mu: Annotated[SerializeAsAny[Budget], BeforeValidator(_law), PlainSerializer(_written)]
    """Gaussian-DP budgets of the users"""
    noise_sensitivity: Size = 1.0
    """Delta, by which the noise is set"""
    exact_sensitivity: Size = 1.0
    """the largest distance between the messages of two records, in the units of Delta"""
    users: Records = 1
    dimension: Annotated[int, Field(ge=1)] | None = None
    """numbers in a message, where all have one length"""
    radius: Size | None = None
    """of a ball that holds all messages before their noise, in the units of Delta"""
    attained: bool = True
    """whether two records are as far apart as `exact_sensitivity`; else it is a bound"""

    @property
    def sampling(self) -> str:
        """As `scheme`: this mechanism is itself what a run releases."""
        return self.drawn

    @property
    def exact_mu(self) -> float:
        """The GDP parameter that the noise really gives the worst-off user: mu_i exact / noise sensitivity."""
        return self.mu.largest * self.exact_sensitivity / self.noise_sensitivity

    @property
    def holds(self) -> bool:
        """Whether user i really has mu_i-GDP, that is whether the noise is not too small."""
        return self.exact_sensitivity <= self.noise_sensitivity * (1 + 1e-12)

    @property
    def sound_mu(self) -> float:
        """The nominal GDP parameter of everything released where it holds, else the one that does."""
        return self.mu.largest if self.holds else self.exact_mu

    def upper_bounds(self) -> list[Analysis]:
        """What the budgets promise, and, where the noise is set by another sensitivity, what that gives."""
        # the message has noise for `used`; where records can be `true` apart, mu_i grows by their quotient
        used, true, nominal = self.noise_sensitivity, self.exact_sensitivity, self.mu.largest
        kind = "exact" if self.attained else "bounded"
        gap = f"the noise is set for sensitivity {used:.6g}, the {kind} one is {true:.6g}"
        refused = "" if self.holds else gap
        analyses = [self._stated("gdp, parallel composition", "ldp-sgd, Theorems 1 and 2", nominal, refused=refused)]
        if used != true:
            source = f"ldp-sgd, Proposition 1 with the {kind} sensitivity"
            analyses.append(self._stated(f"gdp, {kind} sensitivity", source, self.exact_mu, remark=gap))
        return analyses

    def in_random_order(self) -> list[Analysis]:
        """What all messages promise to who does not know the order, and what a pair attains; nothing without noise.

        Equal budgets hide each other: of several the worst group's epsilon holds (docs page shuffle).
        """
        largest, constant = self.mu.largest, self.mu.constant
        if math.isinf(largest):
            return []
        if self.dimension is None or self.radius is None:
            refused = "messages differ in length or noise"
        elif self.mu.groups(self.users, 0.5) is None:
            refused = "no two users have one budget, and nothing is proven for different ones"
        else:
            refused = self._messages(largest, self.users).upper_bounds()[1].refused
        eps = (lambda _: math.inf) if refused else cache(self._eps)
        stated = guarantee("random order", THEOREM, ALL, eps, CONDITIONS[:3], refused=refused, secret="order")
        attained = constant is not None and self.attained and not refused
        return [stated, *([self._messages(largest, self.users).lower_bounds()[0]] if attained else [])]

    def _eps(self, delta: float) -> float:
        """In random order; of several budgets a hundredth of delta is for the chance that a group is smaller."""
        constant = self.mu.constant is not None
        groups = self.mu.groups(self.users, delta / 100) or {}
        share = delta if constant else 0.99 * delta
        return max(self._messages(mu, n).upper_bounds()[1].eps(share) for mu, n in groups.items())

    def _messages(self, mu: float, users: int) -> ShuffledMessages:
        """Those of users with one budget."""
        assert self.radius is not None
        exact = mu * self.exact_sensitivity / self.noise_sensitivity
        share = min(max(self.radius / self.exact_sensitivity, 0.5), 1.0)
        return ShuffledMessages(n=users, message="gaussian", mu=exact, dimension=self.dimension, radius=share)

    def _stated(self, name: str, source: str, mu: float, refused: str = "", remark: str = "") -> Analysis:
        analysis = gaussian_analysis(name, source, ALL, mu, ASSUMPTIONS, refused)
        return replace(analysis, per_user=self.per_user(), remark=remark)

    def row(self, deltas: Sequence[float]) -> dict[str, Any]:
        """Flat columns for cells.parquet.

        `gdp_mu` is the nominal parameter of everything released, `gdp_mu_exact` the one that the exact sensitivity
        gives, `gdp_valid` whether the nominal one holds, `noise_multiplier` the noise standard deviation over the noise
        sensitivity (NaN where budgets differ), `eps_<delta>` the epsilon of the nominal parameter where that holds,
        else of `gdp_mu_exact`.
        """
        constant = self.mu.constant
        return {
            "gdp_mu": self.mu.largest,
            "gdp_mu_exact": self.exact_mu,
            "gdp_valid": self.holds,
            "mu_mean_inverse_square": self.mu.mean_inverse_square,
            "noise_multiplier": math.nan if constant is None else 1 / constant,
            **{f"eps_{delta:g}": eps_of(self.sound_mu, delta) for delta in deltas},
        }

    def per_user(self) -> dict[str, float]:
        """Quantiles of the users' budgets, each a bound on what is learned of that user."""
        # quantiles of at most a million users: the law is known, and its quantiles need no more
        count = min(self.users, 1_000_000)
        budgets = self.mu.draw((np.arange(count) + 0.5) / count, 1)
        quantiles = np.quantile(budgets, QUANTILES, method="inverted_cdf").tolist()
        return {"cap": self.mu.largest, **dict(zip(("q05", "median", "q95"), quantiles, strict=True))}

    def description(self) -> list[tuple[str, str]]:
        exact = (
            f"the {'exact sensitivity is' if self.attained else 'sensitivity is at most'} {self.exact_sensitivity:.6g}"
        )
        return [
            ("Protected", "every user, against everyone, the server included; neighbours replace one user's record"),
            ("Noise", f"standard deviation {self.noise_sensitivity:.6g} / mu, sent once; {exact}"),
            ("Released", "the whole transcript, and therefore the last iterate and every average"),
        ]


def spent(mu: np.ndarray, uses: np.ndarray | None) -> np.ndarray:
    """GDP parameter of everything that is released of a user, [N]: budgets >= 0 of one release, and whole uses."""
    uses = np.ones(len(mu)) if uses is None else uses
    with np.errstate(invalid="ignore"):
        return np.where(uses > 0, np.sqrt(uses) * mu, 0.0)


def ledger(
    mu: np.ndarray, uses: np.ndarray | None, groups: Sequence[Any] | None, deltas: Sequence[float]
) -> list[dict[str, Any]]:
    """One row a group, and one for all users: counts, the largest mu that is spent, its epsilons and the quantiles."""
    mu, rows = spent(mu, uses), []
    if groups is not None:
        import pandas as pd  # its hash table is five times as fast as sorting a million names

        members, labels = pd.factorize(np.asarray(groups), sort=True, use_na_sentinel=False)
        order = np.argsort(members, kind="stable")
        ends = np.searchsorted(members[order], np.arange(len(labels) + 1))
        rows = [_row(str(label), mu[order[ends[k] : ends[k + 1]]], deltas) for k, label in enumerate(labels)]
    return [*rows, _row("all", mu, deltas)]


def _row(label: str, mu: np.ndarray, deltas: Sequence[float]) -> dict[str, Any]:
    largest = float(mu.max(initial=0.0))
    quantiles = np.quantile(mu if len(mu) else [0.0], QUANTILES, method="inverted_cdf").tolist()
    return {
        "group": label,
        "users": len(mu),
        "mu": largest,
        "eps": [[delta, eps_of(largest, delta)] for delta in deltas],
        **dict(zip(("mu_q05", "mu_median", "mu_q95"), quantiles, strict=True)),
    }
