"""The users of a local mechanism: what every user, every group of users and everyone together is promised.

Users release once or several times for their own budgets. A user's releases compose; different users' records are
disjoint, so that what is learned of one is bounded by their own budget whatever the others do (parallel composition).
Source: `ldp-sgd`, Theorems 1 and 2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from dpexp.accounting.gaussian import eps_of

QUANTILES = (0.05, 0.5, 0.95)


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
