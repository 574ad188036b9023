"""What a pair attains, from its exact law, rounded down.

Any pair whose drifts keep the clip is a lower bound, so that all there is to certify is the law. It is computed with
panels of two widths, which must give the same to `SAME`; what is stated is the smaller value less their difference. The
tests hold the program of the law against two others, which share no code with it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpexp.core.text import down
from dpexp.privacy.exact import runs
from dpexp.privacy.exact.projected_run import ProjectedRun
from dpexp.privacy.pairs.projected import Pair

SAME = 1e-6
"""relative difference, of epsilon"""
LEAST = 1e-9
"""an epsilon below it is not told from 0"""


class NotCertified(ValueError):
    """The law of a pair depends on the panels."""


@dataclass(frozen=True)
class Certificate:
    """A pair with what it attains at its own delta."""

    pair: Pair
    eps: float
    """rounded down by the difference"""
    by_panels: tuple[float, float]
    """panels as they are, and half as wide"""

    def document(self) -> dict[str, Any]:
        """As plain numbers."""
        numbers = {"delta": self.pair.delta, "eps": self.eps, "by_panels": [*self.by_panels]}
        return numbers | {"knots": [*self.pair.knots], "others": [*self.pair.values], "start": self.pair.start}

    def text(self) -> str:
        """What was found and how it was checked."""
        return (
            f"a pair with epsilon {down(self.eps)} at delta = {self.pair.delta:g}, certified: {self.by_panels[0]:.9g} "
            f"and {self.by_panels[1]:.9g} with panels of two widths"
        )


def certified(pair: Pair, run: ProjectedRun) -> Certificate:
    """Raises NotCertified where the laws disagree, NotAllowed where the pair is none of the mechanism's."""
    one, other = pair.updates(run)
    both = [runs.pair(one, other, finer).eps(pair.delta) for finer in (1, 2)]
    wide, narrow = both
    # written so that what is no number is refused
    if not abs(wide - narrow) <= SAME * wide + LEAST:
        raise NotCertified(f"panels of two widths give {wide:.9g} and {narrow:.9g}")
    return Certificate(pair, max(0.0, min(both) - abs(wide - narrow)), (wide, narrow))


def curve(pair: Pair, run: ProjectedRun, eps: float = math.inf) -> Callable[[float], float]:
    """delta -> what the pair attains, rounded down: what a statement prints of a pair that it is given.

    `eps` was certified at the pair's own delta; all values are rounded down by as much as it was, and a number that is
    too large rounds by `SAME` all the same. The law is computed when it is first asked for, and once.
    """
    both = runs.pair(*pair.updates(run))

    @cache
    def share() -> float:
        # by how much the certificate lies below the law at the pair's own delta
        here = both.eps(pair.delta)
        return min(1 - SAME, eps / here) if here > 0 else 1 - SAME

    return lambda delta: both.eps(delta) * share()


def evaluated(pair: Pair, run: ProjectedRun, delta: float) -> float:
    """The same at one delta."""
    return curve(pair, run)(delta)
