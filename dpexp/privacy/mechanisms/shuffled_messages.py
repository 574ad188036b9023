"""Messages of many users in a uniformly random order that an anonymiser alone knows (docs page shuffle)."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Annotated, Any, ClassVar, Literal

import numpy as np
from pydantic import Field, model_validator

from dpexp.accounting import shuffle
from dpexp.accounting.gaussian import eps_of
from dpexp.privacy.analyses.analysis import ALL, LAST, Analysis, attained, gaussian_analysis, guarantee
from dpexp.privacy.cap import MOST_EPS, cap
from dpexp.privacy.mechanisms.mechanism import Mechanism, Records, Size

THEOREM = "docs page shuffle, theorem 1"
LOCAL = "the budget of one message; also for who sees who sent what"
MOST_NUMBERS, MOST_RADIUS, LEAST_RADIUS = 2000, 2.5, 1e-3
"""numbers of a message, and radius over the noise, up to which it is computed; a smaller radius is rounded up"""
MOST_SEPARATED = 20.0  # mu from which on one message distinguishes a pair of neighbours
CONDITIONS = (
    "an anonymiser calls the users in a uniformly random order and takes name, address and time off every message",
    "nobody else knows the order, or the seed from which it was drawn",
    "the number of users is public, each is called once, and who is called next depends on nothing that was sent",
    "the messages of at most `known` users can be told from the others",
)


class ShuffledMessages(Mechanism):
    """One message of each of n users, which may depend on all earlier messages."""

    noise_field: ClassVar[str] = "pure_eps"
    more_noise_is_larger: ClassVar[bool] = False
    drawn: ClassVar[str] = "every user once, in a secret random order"
    seen: ClassVar[str] = "all messages in random order"
    n: Annotated[Records, Field(le=1_000_000_000)]
    message: Literal["any", "cap", "gaussian"]
    """any pure_eps-DP message, one of cap-sampling, or one with Gaussian noise"""
    pure_eps: Annotated[float, Field(gt=0, le=MOST_EPS)] | None = None
    mu: Size | None = None
    """the largest distance of two messages over the noise"""
    dimension: Annotated[int, Field(ge=1)] | None = None
    """numbers in a message"""
    radius: Annotated[float, Field(ge=0.5, le=1)] = 0.5
    """of a ball that holds all messages without their noise, over their largest distance"""
    known: Annotated[int, Field(ge=0)] = 0
    """users whose messages can be identified"""

    @model_validator(mode="after")
    def _one_budget(self) -> ShuffledMessages:
        if self.neighboring_relation != "replace-one":
            raise ValueError("the number of messages is seen, so neighbours replace one user (replace-one)")
        needed = {self.solved({"message": self.message}), *(() if self.message == "any" else ("dimension",))}
        names = {name for name in ("pure_eps", "mu", "dimension") if getattr(self, name) is not None}
        if needed != names or (self.message == "cap" and self.dimension == 1):
            raise ValueError(f"messages of the kind {self.message} take {' and '.join(sorted(needed))}, and no other")
        if self.known >= self.n:
            raise ValueError("known is below n")
        return self

    @classmethod
    def solved(cls, values: Mapping[str, Any]) -> str:
        return "mu" if values.get("message") == "gaussian" else "pure_eps"

    def upper_bounds(self) -> list[Analysis]:
        """What the messages promise by themselves, and in random order."""
        pure = self.pure_eps or 0.0
        local = guarantee("local", LOCAL, ALL, lambda _: pure, ())
        if self.mu is not None:
            local = gaussian_analysis("local", LOCAL, ALL, self.mu, ())
            if (self.dimension or 1) > MOST_NUMBERS or self.mu * self.radius > MOST_RADIUS:
                why = f"computed for at most {MOST_NUMBERS:,} numbers and a ball of at most {MOST_RADIUS:g} noises"
                return [local, guarantee("tokens", THEOREM, ALL, lambda _: math.inf, CONDITIONS, refused=why)]

        def eps(delta: float) -> float:
            return shuffle.token_eps(self._cells(), self.n - self.known, delta, local.eps(delta))

        return [local, guarantee("tokens", THEOREM, ALL, cache(eps), CONDITIONS)]

    def _cells(self) -> shuffle.Cells:
        """Where the tokens of these messages lie."""
        if self.mu is not None:
            return shuffle.ball_cells(max(self.mu * self.radius, LEAST_RADIUS), self.dimension or 1)
        return cap_cells(self.pure_eps or 0.0, self._share)

    @property
    def _share(self) -> float:
        """Of all directions in a cap; one half of any pure messages."""
        return 0.5 if self.dimension is None else cap(self.pure_eps or 0.0, self.dimension).q

    def lower_bounds(self) -> list[Analysis]:
        """Of messages in random order; who knows some of the others' sees no less."""
        if (mu := self.mu) is not None:
            if mu > MOST_SEPARATED:
                return []
            pair = "two records, the others' messages all being those of the second"
            last = "linear losses: the last iterate is the sum of all messages"
            return [
                self._attained("equal-others", pair, [shuffle.normal_laws(mu)]),
                attained("sum", LAST, last, lambda delta: eps_of(mu / (self.n - self.known) ** 0.5, delta)),
            ]
        a, (_, record, other) = math.exp(self.pure_eps or 0.0), self._cells().masses
        laws = [(record, other, rest) for rest in (record, other)]
        if self.dimension is None:
            three = np.array([[a, 1, 1], [1, a, 1], [1, 1, a]]) / (a + 2)
            pair = "randomised response, the others all with one of the two answers, or with a third"
            return [self._attained("randomised-response", pair, [*laws, (three[0], three[1], three[2])], 1e-15)]
        uniform = np.array([self._share, self._share, 1 - 2 * self._share])[: len(record)]
        pair = "opposite directions, the others' messages uniform or all from one of the two"
        return [self._attained("opposite-caps", pair, [*laws, (record, other, uniform)])]

    def _attained(
        self, name: str, pair: str, laws: Sequence[shuffle.Laws], accuracy: float = shuffle.MASSES
    ) -> Analysis:
        """The largest epsilon that one of several pairs attains."""
        users = self.n - self.known
        eps = cache(lambda delta: max(shuffle.pair_eps(law, users, delta, accuracy) for law in laws))
        return attained(name, ALL, pair, eps)

    def description(self) -> list[tuple[str, str]]:
        users = f"{self.n:,}" + (f", of whom {self.known:,} are known by their messages" if self.known else "")
        return [
            ("Users", f"{users}, each called once; neighbours replace one user's record"),
            ("Released", "all messages in random order, and therefore every iterate and average"),
            ("Random order", "secret: an anonymiser is trusted with it, and the server is not"),
        ]


def cap_cells(pure_eps: float, share: float = 0.5) -> shuffle.Cells:
    """Caps of a share q, l = 1 / (q a + 1 - q): V = a - E (mass l q), 1 - a E (l q) and 1 - E (l (1 - 2 q)), else 0."""
    a, some = math.exp(pure_eps), 3 if share < 0.5 else 2
    blanket = np.array([share, share, 1 - 2 * share])[:some] / (share * a + 1 - share)
    densities = np.array([[a, 1.0, 1.0], [1.0, a, 1.0]])[:, :some]
    return shuffle.Cells(np.vstack([blanket, blanket * densities]), np.stack([densities, densities], axis=1))
