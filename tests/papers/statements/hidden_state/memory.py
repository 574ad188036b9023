"""What hidden state can hide and what it cannot: a clipped loss that remembers, and the law of linear losses as a bound.

Steinke et al. (arXiv 2410.06186) take the exact law of linear losses on an unbounded set as a heuristic for the last
iterate. It is attained there. The memory of `memory_chain` is a clipped loss without convexity on a bounded
interval whose last iterate tells more.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import numpy as np

from dpexp.accounting.linear import eps_of_scheme
from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.sampling import Scheme
from dpexp.reporting.row import above
from tests.papers.statements.hidden_state.memory_chain import Memory, W

DELTA = 1e-5


SHARE = 0.99
"""of a record's step that it keeps for itself: enough for batches of 100 max |f| / d records"""


SETTINGS = {
    "q = 0.01, z = 1, T = 1,000": (0.01, 1.0, 1000),
    "q = 0.01, z = 0.7, T = 3,000": (0.01, 0.7, 3000),
    "q = 0.001, z = 0.6, T = 10,000": (0.001, 0.6, 10_000),
    "q = 0.001, z = 0.5, T = 10,000": (0.001, 0.5, 10_000),
    "q = 0.0001, z = 0.5, T = 100,000": (1e-4, 0.5, 100_000),
}
"""sampling probability, noise over one record's norm, steps"""


CELLS = (2, 3, 4, 6, 9, 14, 22, 41, 70, 121, 261)
"""numbers of cells, each 12 noise units wide"""


STEPS = tuple(np.geomspace(0.06, 6.0, 16).tolist())
"""of the loss that one count of the memory stands for: the best is taken"""


FEW, LEAST_SUM, LARGEST_SUM = 4, 6.0, 40.0
"""with more cells than the first, the memory holds a total loss between these: less overflows, more is not met"""


def attained(setting: str, states: int) -> float:
    """The largest epsilon at 1e-5 of a memory on a set so many cells wide, rounded down."""
    # a wider set attains at least as much: the loss may read the projection of the place on a narrower set, and so may
    # who sees the last iterate
    return max(_of_cells(setting, k) for k in CELLS if k <= states)


@cache
def _of_cells(setting: str, states: int) -> float:
    """The largest with exactly so many cells, over the loss that one count stands for."""
    q, z, steps = SETTINGS[setting]
    # with many cells a short memory overflows and a long one is never met
    tried = [step for step in STEPS if states <= FEW or LEAST_SUM <= states * step <= LARGEST_SUM]
    return max(Memory(q, SHARE / z, step, states, steps).pair.eps(DELTA) for step in tried)


def linear_law(setting: str, scheme: Scheme = "fixed-size") -> float:
    """The same of linear losses without walls. Fixed-size: the record's slope is opposite to all others', 2 C apart."""
    q, z, steps = SETTINGS[setting]
    # the memory's neighbours differ by one C, as with `add-remove`; what holds for replace-one neighbours has to hold
    # for the most distant ones, so that these are what a bound would be
    eps = eps_of_scheme(q, z, steps, scheme)
    assert eps is not None
    return eps(DELTA)


def composition(setting: str, share: float = SHARE) -> float:
    """What all iterates attain with the record's step of the memory."""
    q, z, steps = SETTINGS[setting]
    return step_loss(q, z / share, "add-remove").attained(steps, DELTA)


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
