"""The privacy statements of `dp-sgld`: decided by exact laws of quadratics, so no stored results are needed."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import cache
from itertools import product

from dpexp.papers.dp_sgld.cases import CASES, EPS_AT, TESTED_ORDERS, PrivacyCase
from dpexp.papers.dp_sgld.exact_law import QuadraticLangevin
from dpexp.papers.dp_sgld.printed import CODE, DELTA, RUNS, PrintedRun
from dpexp.reporting.checks import above
from dpexp.reporting.claim import Check, Outcome
from dpexp.store.evidence import Evidence

PRESCRIBED = PrivacyCase("sigma and K as prescribed, eps = 1", 0.5, 20, 1, 1000, 1.0, 31.0, 41.1)
"""Theorem 4.1's form at (1, 1e-5), d = 1: eta = 1 / (2 beta), K = 2 log(n^2 / (4 log 1e5)), noise a little above its sigma"""


@cache
def certain(case: PrivacyCase, order: float) -> float:
    """A lower bound on the exact divergence of the projected iteration."""
    return case.certain(order)


def claimed_divergence(case: PrivacyCase, order: float) -> float:
    """Theorem 3.1 with the sum of the steps taken, or Corollary 3.3 for decreasing ones."""
    return order * case.slope


def exceeded(cases: Sequence[PrivacyCase], claimed: Callable[[PrivacyCase, float], float]) -> Check:
    """A claimed divergence, which is false: compared with what a threshold test certifies, for every case and order."""

    def ratios() -> dict[str, float]:
        # one case and order that exceeds is a counterexample
        pairs = ((case, order) for case in cases for order in TESTED_ORDERS)
        return {f"{case.name}, order {order:g}": claimed(case, order) / certain(case, order) for case, order in pairs}

    predicted = "at least the divergence of the last iterates on neighbours"
    return above(ratios, predicted, "", CERTAIN, "exact / claimed", turned=True)


CERTAIN = "exact laws of quadratics, less the probability of leaving the set: certain"
FULL_BATCH_STEPS = (0.01, 0.1, 0.5, 0.9)  # eta lambda


def full_batches() -> dict[str, float]:
    """Theorem 3.1 with q = 1: every step size, number of steps and shift; both laws are Gaussian."""
    ratios = {}
    for eta_lambda, steps in product(FULL_BATCH_STEPS, (1, 10, 1000)):
        bed = QuadraticLangevin(eta_lambda, steps, 1.0, 1.0)
        ratios[f"eta lambda = {eta_lambda:g}, K = {steps:,}"] = 2 * bed.claimed_slope() / bed.renyi(2.0)
    return ratios


def eps_delta() -> dict[str, float]:
    """1e-5 over the exact delta at the claimed eps, at the prescribed sigma and K, and by Theorem 3.1 itself."""
    claimed = [(PRESCRIBED, 1.0), *((case, case.claimed_eps(EPS_AT)) for case in CASES)]
    deltas = {f"{case.name}: eps {eps:.3g}": case.delta(eps) for case, eps in claimed}
    return {label: EPS_AT / delta if delta > 0 else math.inf for label, delta in deltas.items()}


@cache
def attained_epsilons(run: PrintedRun) -> tuple[float, float]:
    """Epsilons that a pair of data sets attains: one record replaced, and one removed."""
    shift = 2 * run.eta * run.clip / run.batch_size / (math.sqrt(2 * run.eta) * run.sigma)
    # 4 points to a shift: the epsilons are those of 25 points to 1e-4 of them, and the law takes half of the time
    bed = QuadraticLangevin(run.eta * run.strong_convexity, run.iterations, run.batch_size / run.n, shift, resolution=4)
    return bed.eps(DELTA, False), bed.eps(DELTA, True)


def published_privacy(evidence: Evidence) -> Outcome:
    """(1, 1e-5) of the CIFAR-10 runs: what a pair of data sets attains at their settings."""
    epsilons = {name: attained_epsilons(run) for name, run in RUNS.items() if name.startswith("CIFAR")}
    return Outcome(
        "false" if min(removed for _, removed in epsilons.values()) > 1 else "not testable",
        "epsilon at most 1 at delta = 1e-5",
        "attained by a pair of data sets: "
        + "; ".join(f"{name}: {both[0]:.2f} (replace-one), {both[1]:.2f} (remove)" for name, both in epsilons.items()),
        f"exact laws: error below 1%; settings of {CODE}; one dimension, linear losses of the clipped size, fresh batches",
        {name: list(both) for name, both in epsilons.items()},
    )


CHECKS = {
    "dp-sgld/theorem-3-1": exceeded(CASES, claimed_divergence),
    "dp-sgld/theorem-3-1/eps-delta": above(
        eps_delta, "delta at most 1e-5 at the epsilon that is claimed", "", CERTAIN, "exact delta / 1e-5", turned=True,
    ),
    "dp-sgld/theorem-3-1/full-batches": above(
        full_batches, "at least the exact divergence with full batches", "the same for every order and shift",
        "exact Gaussian laws, L = B (which favours the theorem)", "claimed / exact",
    ),
    "dp-sgld/table-1/privacy": Check(published_privacy),
}  # fmt: skip
