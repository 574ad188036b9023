"""What Theorems 4 and 8 of `momentum` guarantee, by exact sensitivities."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from dpexp.accounting.gaussian import delta_of, mu_of
from dpexp.papers.momentum.momentum_runs import DELTA
from dpexp.privacy.momentum.left_nodes import left_sensitivities
from dpexp.privacy.momentum.tree_streams import (
    occurrence_sensitivities,
    printed_counts,
    printed_sensitivities,
    stream_mu,
    stream_sensitivities,
)
from dpexp.privacy.momentum.trees import fixed_order, printed_count
from dpexp.reporting.checks import above
from dpexp.theory.momentum.momentum_formulas import theorem4_sigma
from tests.oracles.trees import most_nodes_in_one_order

BUDGETS = {f"eps = {eps:g}": (eps, DELTA) for eps in (0.1, 0.5, 1.0, 4.0, 8.0)}
LARGE = 40.0
"""an epsilon at which the printed condition holds for delta = 1e-5 and the one that is meant does not"""
SHORT_RUNS = {f"N = 1000, T = {steps}": (1000, steps) for steps in (1, 10, 100)}
SHORT_MEMORY = {"N = 5, 50 epochs": (5, 250), "N = 10, 100 epochs": (10, 1000)}


def in_one_order(sizes: Mapping[str, tuple[int, int]], share: float = 1.0) -> dict[str, float]:
    """Printed over needed noise for one order that repeats and alpha = share / N: exact for the nodes that are used."""
    return {
        label: 2 * math.sqrt(printed_count(n, t) / left_sensitivities(fixed_order(n, t), share / n).max())
        for label, (n, t) in sizes.items()
    }


def counts() -> dict[str, float]:
    """V over the largest number of nodes that hold a record in one order, for every T from N to 5 N."""
    pairs = [(n, steps) for n in (3, 4, 5, 8) for steps in range(n, 5 * n + 1)]
    return {f"N = {n}, T = {t}": printed_count(n, t) / most_nodes_in_one_order(n, t) for n, t in pairs}


def of_fresh_orders(n: int) -> float:
    """The supremum over runs and nodes in alpha G, alpha = 1 / N.

    It is that of a record that is last in every epoch, and then the node's end.
    """
    beta = 1 - 1 / n
    # a long node ends at a multiple of a power of two, so no nearer to the end of an epoch than N's own power of two
    return 2 * (1 + beta ** (n & -n) / (1 - beta**n))


def printed_nodes(L: float) -> float:
    """mu of the release of all nodes with the printed noise at sigma = 1, N = 200, eta of Theorem 9 at 200 epochs."""
    n, steps = 200, 40_000
    eta = 1 / math.sqrt(n * steps)
    stds = printed_sensitivities(n, eta, 1.0) * np.sqrt(printed_counts(n, steps))
    # all nodes are released, used or not
    held = stream_sensitivities(n, steps, 1 / n, used_only=False)
    return stream_mu(held, occurrence_sensitivities(n, eta, 1.0, L), stds)


CHECKS = {
    "momentum/theorem-4/any-alpha": above(lambda: in_one_order(SHORT_MEMORY, 1e-3), "", otherwise="misprint"),
    "momentum/theorem-4/any-length": above(lambda: in_one_order(SHORT_RUNS), "", otherwise="misprint"),
    "momentum/theorem-4/sigma": above(
        lambda: {k: theorem4_sigma(*b) / (1 / mu_of(*b)) for k, b in BUDGETS.items()}, ""
    ),
    "momentum/theorem-4/hypothesis": above(
        lambda: {f"eps = {LARGE:g}, delta = {DELTA:g}": DELTA / delta_of(1 / theorem4_sigma(LARGE, DELTA), LARGE)},
        "",
        verdict="reproduced",
        otherwise="misprint",
    ),
    "momentum/theorem-4/node": above(lambda: {f"N = {n}": 4 / of_fresh_orders(n) for n in (9, 10, 100, 1000)}, ""),
    "momentum/theorem-4/count": above(counts, "", otherwise="misprint"),
    "momentum/theorem-8/proof": above(
        lambda: {f"L = {L:g}": math.sqrt(3) / printed_nodes(L) for L in (1.0, 2.0, 4.0)}, "", otherwise="misprint"
    ),
}
