"""One Gaussian release a user: `ldp-sgd`, Theorems 1 and 2."""

from __future__ import annotations

from typing import Annotated, ClassVar

from pydantic import Field

from dpexp.privacy.analyses.analysis import ALL, Analysis, gaussian_analysis
from dpexp.privacy.mechanisms.mechanism import Mechanism


class LocalGaussianRelease(Mechanism):
    """Every user adds noise of standard deviation Delta / mu to a message of sensitivity Delta, once."""

    noise_field: ClassVar[str] = "mu"
    more_noise_is_larger: ClassVar[bool] = False
    mu: Annotated[float, Field(ge=0)]
    """Gaussian-DP budget; 0 is infinite noise, inf none"""

    def analyses(self) -> list[Analysis]:
        assumptions = ("every user is used once", "budgets do not depend on the data", "the user adds the noise")
        return [gaussian_analysis("gaussian-dp", "ldp-sgd, Theorems 1 and 2", ALL, self.mu, assumptions)]

    def describe(self) -> list[tuple[str, str]]:
        return [
            ("Protected", "every user, against everyone, the server included; neighbours replace one user's record"),
            ("Released", "the whole transcript, and therefore the last iterate and every average"),
        ]
