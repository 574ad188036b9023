"""The privacy section of a config: budgets of the users or one target, and the deltas at which epsilon is reported."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SerializeAsAny

from dpexp.parameters import Parameters
from dpexp.privacy.budgets import Budget

Delta = Annotated[float, Field(gt=0, lt=1)]


class PrivacySettings(Parameters):
    """Budgets, and the deltas of the reported (epsilon, delta) pairs, which change no number but those.

    `eps` and `delta` are the spelling of a target, which is then the budget `mu` (`dpexp.privacy.targets.Target`).
    """

    mu: SerializeAsAny[Budget]
    eps: Annotated[float, Field(gt=0)] | None = None
    """epsilon of a whole run; inf is no privacy"""
    delta: Delta | None = None
    """delta of the target; 1e-5 where it is left out"""
    deltas: Annotated[tuple[Delta, ...], Field(min_length=1)] = (1e-5, 1e-6)
