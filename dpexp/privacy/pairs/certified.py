"""What a pair attains, from two laws that share no code, rounded down.

Any pair whose drifts keep the clip is a lower bound, so that all there is to certify is the law. It is computed on
Gauss-Legendre nodes with two widths of their panels, and by the program of walks. The value on nodes must be the same
to `SAME` for both widths, and lie within `CLOSE` of the other program's; what is stated is the smallest one less the
largest difference of any two.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from dpexp.core.text import down
from dpexp.privacy.exact import nodes
from dpexp.privacy.exact.cross_check import walk_pair
from dpexp.privacy.pairs.walled import Pair, Walled

SAME, CLOSE = 1e-6, 1e-3
"""relative differences, of epsilon"""
LEAST = 1e-9
"""an epsilon below it is not told from 0"""


class NotCertified(ValueError):
    """The laws of a pair do not agree."""


@dataclass(frozen=True)
class Certificate:
    """A pair with what it attains at its own delta."""

    pair: Pair
    eps: float
    """rounded down by all differences"""
    by_nodes: tuple[float, float]
    """panels as they are, and half as wide"""
    by_walk: float
    """by the other program"""

    def document(self) -> dict[str, Any]:
        """As plain numbers."""
        numbers = {"delta": self.pair.delta, "eps": self.eps, "by_nodes": [*self.by_nodes], "by_walk": self.by_walk}
        return numbers | {"knots": [*self.pair.knots], "others": [*self.pair.values], "start": self.pair.start}

    def text(self) -> str:
        """What was found and how it was checked."""
        return (
            f"a pair with epsilon {down(self.eps)} at delta = {self.pair.delta:g}, certified: {self.by_nodes[0]:.7g} "
            f"and {self.by_nodes[1]:.7g} on nodes, {self.by_walk:.7g} by another program"
        )


def certified(pair: Pair, walled: Walled) -> Certificate:
    """Raises NotCertified where the laws disagree, NotAllowed where the pair is none of the mechanism's."""
    one, other = pair.updates(walled)
    wide, narrow = (nodes.pair(one, other, panel).eps(pair.delta) for panel in (nodes.PANEL, nodes.PANEL / 2))
    if abs(wide - narrow) > SAME * wide + LEAST:
        raise NotCertified(f"panels of two widths give {wide:.9g} and {narrow:.9g}")
    walk = walk_pair(one, other).eps(pair.delta)
    if not max(abs(walk - wide), abs(walk - narrow)) <= CLOSE * wide + LEAST:  # so that what is no number is refused
        raise NotCertified(f"nodes give {wide:.9g}, another program {walk:.9g}")
    values = (wide, narrow, walk)
    return Certificate(pair, max(0.0, min(values) - (max(values) - min(values))), (wide, narrow), walk)


def curve(pair: Pair, walled: Walled, eps: float = math.inf) -> Callable[[float], float]:
    """delta -> what the pair attains by nodes, rounded down: what a statement prints of a pair that it is given.

    `eps` was certified at the pair's own delta; all values are rounded down by as much as it was, and a number that is
    too large rounds by `SAME` all the same. The law is computed when it is first asked for, and once.
    """
    both = nodes.pair(*pair.updates(walled))

    @cache
    def share() -> float:
        here = both.eps(pair.delta)
        return min(1 - SAME, eps / here) if here > 0 else 1 - SAME

    return lambda delta: both.eps(delta) * share()


def evaluated(pair: Pair, walled: Walled, delta: float) -> float:
    """The same at one delta."""
    return curve(pair, walled)(delta)
