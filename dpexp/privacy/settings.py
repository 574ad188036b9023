"""The privacy section of a config: budgets of the users or one target, and the deltas at which epsilon is reported."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, Field, SerializeAsAny

from dpexp.core.parameters import OrInfinite, Parameters
from dpexp.privacy.budgets import Budget

Delta = Annotated[float, Field(ge=1e-100, le=0.999999)]
"""of a report: it is read off a curve, which is known down to far below what anybody asks"""
LEAST_DELTA = 1e-12
"""of a target: composition rounds up by about 1e-15, below which no noise would do"""


class PrivacySettings(Parameters):
    """Budgets, and the deltas of the reported (epsilon, delta) pairs, which change no number but those.

    `eps` and `delta` are the spelling of a target, which is then the budget `mu` (`dpexp.privacy.targets.Target`).
    """

    mu: SerializeAsAny[Budget]
    eps: Annotated[float, Field(ge=1e-3), AfterValidator(OrInfinite(1e3))] | None = None
    """epsilon of a whole run; inf is no privacy"""
    delta: Annotated[float, Field(ge=LEAST_DELTA, le=0.9)] | None = None
    """delta of the target; 1e-5 where it is left out"""
    deltas: Annotated[tuple[Delta, ...], Field(min_length=1)] = (1e-5, 1e-6)
