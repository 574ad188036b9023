"""The users of a local mechanism: what every user, every group of users and everyone together can be told.

Users release once or several times for their own budgets. A user's releases compose; different users' records are
disjoint, so that what is learned of one is bounded by their own budget whatever the others do (parallel composition).
Source: `ldp-sgd`, Theorems 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpexp.privacy.accounting.gdp import eps_of

QUANTILES = (0.05, 0.5, 0.95)


class Users:
    """Budgets mu [N] (GDP of one release), uses [N] and group labels [N] of N users.

    Raises ValueError for budgets that are truth values, negative or NaN, a negative or fractional use, or arrays of
    different lengths.
    """

    def __init__(self, mu: np.ndarray, uses: np.ndarray | None = None, groups: Sequence[Any] | None = None) -> None:
        if any(np.asarray(given).dtype == bool for given in (mu, uses)):
            raise ValueError("budgets and uses are numbers, not truth values")
        mu = np.asarray(mu, dtype=np.float64)
        uses = np.ones(len(mu)) if uses is None else np.asarray(uses, dtype=np.float64)
        labels = np.zeros(len(mu), dtype=np.int64) if groups is None else np.asarray(groups)
        if not len(mu) == len(uses) == len(labels):
            raise ValueError(f"{len(mu)} budgets, {len(uses)} uses and {len(labels)} groups: lengths differ")
        if not np.all(mu >= 0):
            raise ValueError(f"user {int(np.argmin(mu >= 0))}: a budget is at least 0, not {mu[np.argmin(mu >= 0)]}")
        wrong = (uses < 0) | (uses != np.floor(uses))
        if wrong.any():
            raise ValueError(f"user {int(np.argmax(wrong))}: uses are whole numbers, not {uses[np.argmax(wrong)]}")
        with np.errstate(invalid="ignore"):
            self.mu = np.where(uses > 0, np.sqrt(uses) * mu, 0.0)
        """GDP parameter of everything that is released of a user, [N]"""
        import pandas as pd  # its hash table is five times as fast as sorting a million names

        self._members, self._labels = pd.factorize(labels, sort=True, use_na_sentinel=False)
        self._grouped = groups is not None

    def groups(self, deltas: Sequence[float]) -> list[dict[str, Any]]:
        """One row a group, and one for all users: counts, the largest mu, its epsilons and the quantiles of mu."""
        rows = []
        if self._grouped:
            order = np.argsort(self._members, kind="stable")
            ends = np.searchsorted(self._members[order], np.arange(len(self._labels) + 1))
            for k, label in enumerate(self._labels):
                rows.append(_row(str(label), self.mu[order[ends[k] : ends[k + 1]]], deltas))
        return [*rows, _row("all", self.mu, deltas)]


def _row(label: str, mu: np.ndarray, deltas: Sequence[float]) -> dict[str, Any]:
    largest = float(mu.max(initial=0.0))
    low, middle, high = np.quantile(mu, QUANTILES, method="inverted_cdf") if len(mu) else (0.0, 0.0, 0.0)
    return {
        "group": label,
        "users": len(mu),
        "mu": largest,
        "eps": [[delta, eps_of(largest, delta)] for delta in deltas],
        "mu_q05": float(low),
        "mu_median": float(middle),
        "mu_q95": float(high),
    }
