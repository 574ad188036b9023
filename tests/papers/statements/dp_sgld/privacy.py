"""The privacy statements of `dp-sgld`: settled by exact laws of quadratics, so no stored results are needed."""

from __future__ import annotations

import math
from itertools import product

from dpexp.accounting.loss_steps import step_loss
from dpexp.accounting.renyi import mixture_from_base
from dpexp.papers.dp_sgld.cases import CASES, Case
from dpexp.papers.dp_sgld.claims.langevin_privacy import (
    CERTAIN,
    PRESCRIBED,
    _attained,
    _claimed,
    exceeded,
)
from dpexp.papers.dp_sgld.printed import CODE, DELTA, RUNS
from dpexp.reporting.claim import Check, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.row import above, near
from dpexp.theory.dp_sgld.privacy_statements import (
    corollary32,
    corollary33,
    eps_of_slope,
    lsi_constant,
    total_decreasing_step,
)

CONSTANT_STEPS = tuple(case for case in CASES if not case.decreasing)


DECREASING_STEPS = tuple(case for case in CASES if case.decreasing)


def _without_constant(case: Case, order: float) -> float:
    """Theorem 3.3 for every c at once: it falls with c, and its limit at 0 is 2 order L^2 sum eta / (n^2 sigma^2)."""
    # the laws are finite mixtures of Gaussians and so satisfy c-LSI for some c; that of Lemma 3.3 is too large for them
    return 2 * order * case.lipschitz**2 * case.eta * case.steps / case.n**2


def lemma_3_3() -> dict[str, float]:
    """By Herbst's argument c-LSI asks P(theta >= E theta + r) <= exp(-c r^2 / 2): what it allows over what there is."""
    ratios = {}
    for case in CASES:
        reach, mean = case.eta * case.size / case.batch_size, _mean(case)
        allowed = math.exp(-lsi_constant(case.strong_convexity, 1.0) * max(0.0, reach - mean) ** 2 / 2)
        # P(theta_K >= eta B / m) is at least q / 2: earlier batches move theta up or not at all, the noise is symmetric
        ratios[case.name] = allowed / (case.q / 2 - case.leaving)
    return ratios


def _mean(case: Case) -> float:
    """E theta_K = (eta B / m) q sum of c^k."""
    c = 1 - case.eta * case.strong_convexity
    return case.eta * case.size / case.batch_size * case.q * (1 - c**case.steps) / (1 - c)


SUMS = ((1.0, 0.5, 100), (1.0, 0.5, 3), (55.0, 0.001, 11730))
"""beta, lambda and K; the last are those of the first row of table 1"""


def _of_sums(beta: float, lam: float, steps: int) -> str:
    return f"beta = {beta:g}, lambda = {lam:g}, K = {steps:,}"


def sum_of_steps() -> dict[str, float]:
    """Corollary 3.3 evaluates the sum of eta_1 .. eta_K by an integral."""
    ratios = {}
    for beta, lam, steps in SUMS:
        printed = corollary33(1, 1, 1, 1, lam, beta, steps) * lam / 4
        used = -math.expm1(-lam / 2 * total_decreasing_step(beta, lam, steps, first=1))
        ratios[_of_sums(beta, lam, steps)] = printed / used
    return ratios


def _epsilons(iterations: bool) -> dict[str, tuple[float, float]]:
    """1, and epsilon of the printed theorem for a run of table 1, with K in iterations or in epochs."""
    found = {}
    for name, run in RUNS.items():
        steps = run.iterations if iterations else run.epochs
        slope = corollary32(1, run.clip, run.n, run.sigma, run.strong_convexity, run.eta, steps)
        found[name] = (1.0, eps_of_slope(slope, DELTA))
    return found


def pneumonia_privacy(evidence: Evidence) -> Outcome:
    """(1, 1e-5) of the Pneumonia run: what a pair of data sets attains, and what composition guarantees."""
    run = RUNS["Pneumonia, ResNet18"]
    attained = _attained(run)
    # the noise of a step over the clip, as an accountant of DP-SGD counts it
    z = math.sqrt(2 / run.eta) * run.sigma * run.batch_size / run.clip
    q = run.batch_size / run.n
    sound = step_loss(q, z, "add-remove").eps(run.iterations, DELTA)
    replaced = step_loss(q, z / 2, "fixed-size").eps(run.iterations, DELTA)
    return Outcome(
        "false" if attained[1] > 1 else "holds as a bound" if replaced <= 1 else "not testable",
        "epsilon at most 1 at delta = 1e-5",
        f"attained: {attained[0]:.2f} (replace-one), {attained[1]:.2f} (remove); by composition of loss distributions: "
        f"{replaced:.2f} (replace-one), {sound:.2f} (add or remove)",
        "between what is attained and what is guaranteed",
        {"attained": list(attained), "replaced": replaced, "removed": sound},
    )


def up_to_two() -> dict[str, tuple[float, float]]:
    """2, and Corollary 3.2 at eta = 1 / (2 beta) and few steps over numeric composition of the sampled Gaussian."""
    ratios = {}
    for label, (order, m, eta) in SHORT_RUNS.items():
        # L = 1, n = 1000: a step's noise is sqrt(2 eta) sigma, a replaced record moves it by 2 eta L / m, 0.05 of that
        sigma = math.sqrt(2 * eta) / (0.05 * m)
        multiplier = math.sqrt(2 * eta) * sigma * m / (2 * eta)
        composed = FEW * mixture_from_base(order, m / 1000, multiplier)
        ratios[label] = (2.0, corollary32(order, 1, 1000, sigma, WEAK, eta, FEW) / composed)
    return ratios


FEW, WEAK = 10, 1e-3
"""steps and lambda of short runs"""


SHORT_RUNS = {
    f"order {order:g}, m = {m}, eta = {eta:g}": (order, m, eta)
    for order, m, eta in product((2.0, 8.0), (10, 100), (0.5, 0.05))
}
"""eta is 1 / (2 beta)"""


def both_limits() -> dict[str, tuple[float, float]]:
    """1, and Corollary 3.2 over 3.3 at eta = 1 / (2 beta), for few and for many steps."""
    lam, beta = 1e-4, 1.0
    return {
        words: (1.0, corollary32(2.0, 1, 1000, 1, lam, 1 / (2 * beta), k) / corollary33(2.0, 1, 1000, 1, lam, beta, k))
        for words, k in (("lambda K / beta = 1e-4", 1), ("lambda K / beta = 1e6", 10**10))
    }


CHECKS = {
    "dp-sgld/theorem-3-1/index": near(
        lambda: {_of_sums(*s): (1.0, total_decreasing_step(*s) / total_decreasing_step(*s, first=1)) for s in SUMS},
        1e-12, "sum of the steps taken / of those in the theorem", "misprint", uncertainty="exact sums",
    ),
    "dp-sgld/theorem-4-1/privacy": exceeded(
        (PRESCRIBED,), lambda case, order: 4 * order * case.lipschitz**2 / (case.strong_convexity * case.n**2),
    ),
    "dp-sgld/theorem-3-3": exceeded(CASES, _without_constant),
    "dp-sgld/lemma-3-3": above(
        lemma_3_3, "tails of theta_K at most exp(-lambda r^2 / (4 sigma^2)), as c-LSI implies", "", CERTAIN,
        "tail / allowed", turned=True,
    ),
    "dp-sgld/corollary-3-1": exceeded(CONSTANT_STEPS, _without_constant),
    "dp-sgld/corollary-3-2": exceeded(CONSTANT_STEPS, _claimed),
    "dp-sgld/corollary-3-3": exceeded(DECREASING_STEPS, _claimed),
    "dp-sgld/corollary-3-3/sum": above(
        sum_of_steps, "lambda K / (4 beta + lambda K) is at least 1 - exp(-lambda/2 sum_{k=1..K} eta_k)",
        "the sum of Theorem 3.1, from 1 to K", "exact sums", "printed / exact",
    ),
    "dp-sgld/discussion/factor-2": near(
        up_to_two, 0.04, "bound / composition",
        uncertainty="quadrature: error below 1e-12; records move a step by 5% of its noise",
    ),
    "dp-sgld/discussion/limits": near(both_limits, 1e-3, "constant / decreasing steps"),
    "dp-sgld/table-1/epsilon": near(
        lambda: _epsilons(True), 0.15, "epsilon at delta = 1e-5 by Corollary 3.2 and Proposition 2.1",
        more=lambda: "with K in epochs in place of iterations: " + ", ".join(
            f"{eps:.3f} ({name})" for name, (_, eps) in _epsilons(False).items()),
        uncertainty=f"none: evaluated as printed; settings of {CODE}",
    ),
    "dp-sgld/table-1/privacy/pneumonia": Check(pneumonia_privacy),
}  # fmt: skip
