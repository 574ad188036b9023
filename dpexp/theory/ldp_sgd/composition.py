"""Theorems 1 and 2 of `ldp-sgd`: what is released of users who are each used once."""

from __future__ import annotations

from collections.abc import Sequence


def theorem1(mus: Sequence[float]) -> float:
    """GDP parameter of the iterate theta_i after users with budgets `mus`: the largest of them.

    User k alone has mu_k-GDP: its message is mu_k-GDP given the past and all that follows is post-processing, so this
    holds for the whole transcript. Raises ValueError without a user.
    """
    return max(mus)


def theorem2(mus: Sequence[float]) -> float:
    """GDP parameter of the average of theta_1, ..., theta_n: that of the transcript it is computed from."""
    return theorem1(mus)
