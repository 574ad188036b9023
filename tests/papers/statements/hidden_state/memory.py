"""What hidden state can hide and what it cannot: a clipped loss that remembers, and the law of linear losses as a bound.

Steinke et al. (arXiv 2410.06186) take the exact law of linear losses on an unbounded set as a heuristic for the last
iterate. It is attained there. The memory of `dpexp.privacy.exact.memory` is a clipped loss without convexity on a
bounded interval whose last iterate tells more.
"""

from __future__ import annotations

from itertools import pairwise

from dpexp.papers.hidden_state.memory import (
    SETTINGS,
    attained,
    composition,
    linear_law,
)
from dpexp.privacy.exact.memory import W
from dpexp.reporting.row import above

WITNESSES = tuple(SETTINGS)[2:]
"""settings at which a memory of two cells, 24 noise units wide, tells more than linear losses: records are rare, and a
step that meets one tells much"""


WIDTHS = (3, 9, 41, 121, 261)


def over_linear() -> dict[str, float]:
    """What the memory attains over the law of linear losses, for replace-one neighbours: epsilon at 1e-5."""
    return {name: attained(name, 2) / linear_law(name) for name in WITNESSES}


WIDENING = "q = 0.01, z = 0.7, T = 3,000"


def widens() -> dict[str, float]:
    """The share of composition's epsilon that the memory attains, from each width to the next, and at both ends."""
    whole = composition(WIDENING)
    shares = {f"{states * W:g}": attained(WIDENING, states) / whole for states in WIDTHS}
    (narrowest, first), *_, (widest, last) = shares.items()
    grows = {f"share at {b} over {a}": shares[b] / shares[a] - 1e-6 for a, b in pairwise(shares)}
    # less than a half where the set is narrow, more than three quarters where it is wide
    ends = {f"1/2 over {first:.3g}, at {narrowest}": 0.5 / first, f"{last:.3g} over 3/4, at {widest}": last / 0.75}
    return grows | ends | {"1 over it": 1 / last}


CHAIN, WIDE = "exact finite chain, rounded down", "24 noise units wide, epsilon at delta = 1e-5"


CHECKS = {
    "hidden-state/memory": above(
        over_linear, "a last iterate that tells more than that of linear losses", WIDE, CHAIN, "attained / linear",
        held="reproduced",
    ),
    "hidden-state/memory/width": above(
        widens,
        "the share of composition's epsilon grows with the width, from less than a half to more than three quarters",
        WIDENING, "exact finite chain, and composition, both rounded down", "room, at widths in noise units",
        held="reproduced",
    ),
    "hidden-state/linear-loss/general": above(
        lambda: {name: 1 / ratio for name, ratio in over_linear().items()},
        "the last iterate of any clipped losses tells at most what that of linear ones does", WIDE, CHAIN,
        "linear / attained",
    ),
}  # fmt: skip
