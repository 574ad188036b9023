"""What hidden state can hide and what it cannot: a clipped loss that remembers, and the law of linear losses as a bound.

Steinke et al. (arXiv 2410.06186) take the exact law of linear losses on an unbounded set as a heuristic for the last
iterate. It is attained there. The memory of `memory_chain` is a clipped loss without convexity on a bounded
interval whose last iterate tells more.
"""

from __future__ import annotations

from functools import cache

import numpy as np

from dpexp.accounting.linear import eps_of_scheme
from dpexp.accounting.pairs import Scheme
from dpexp.reporting.checks import above
from tests.papers.statements.hidden_state.memory_chain import Memory

DELTA = 1e-5
SHARE = 0.99
"""of a record's step that it keeps for itself: enough for batches of 100 max |f| / d records"""
SETTINGS = {
    "q = 0.001, z = 0.6, T = 10,000": (0.001, 0.6, 10_000),
    "q = 0.001, z = 0.5, T = 10,000": (0.001, 0.5, 10_000),
    "q = 0.0001, z = 0.5, T = 100,000": (1e-4, 0.5, 100_000),
}
"""sampling probability, noise over one record's norm, steps: records are rare, and a step that meets one tells much"""
STEPS = tuple(np.geomspace(0.06, 6.0, 16).tolist())
"""of the loss that one count of the memory stands for: the best is taken"""


@cache
def attained(setting: str) -> float:
    """The largest epsilon at 1e-5 of a memory on a set two cells wide, over the loss that one count stands for."""
    q, z, steps = SETTINGS[setting]
    return max(Memory(q, SHARE / z, step, 2, steps).pair.eps(DELTA) for step in STEPS)


def linear_law(setting: str, scheme: Scheme = "fixed-size") -> float:
    """The same of linear losses without walls. Fixed-size: the record's slope is opposite to all others', 2 C apart."""
    q, z, steps = SETTINGS[setting]
    # the memory's neighbours differ by one C, as with `add-remove`; what holds for replace-one neighbours has to hold
    # for the most distant ones, so that these are what a bound would be
    eps = eps_of_scheme(q, z, steps, scheme)
    assert eps is not None
    return eps(DELTA)


def over_linear() -> dict[str, float]:
    """What the memory attains over the law of linear losses, for replace-one neighbours: epsilon at 1e-5."""
    return {name: attained(name) / linear_law(name) for name in SETTINGS}


CHECKS = {
    "hidden-state/memory": above(over_linear, "", verdict="reproduced"),
    "hidden-state/linear-loss/general": above(lambda: {name: 1 / ratio for name, ratio in over_linear().items()}, ""),
}
