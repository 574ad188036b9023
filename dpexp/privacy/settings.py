"""The privacy section of a config: the budgets of the users, and the delta at which epsilon is reported."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, SerializeAsAny

from dpexp.parameters import Parameters
from dpexp.privacy.budgets import Budget

Delta = Annotated[float, Field(gt=0, lt=1)]


class PrivacySettings(Parameters):
    """Budgets, and the deltas of the reported (epsilon, delta) pairs, which change no number but those."""

    mu: SerializeAsAny[Budget]
    deltas: Annotated[tuple[Delta, ...], Field(min_length=1)] = (1e-5, 1e-6)
