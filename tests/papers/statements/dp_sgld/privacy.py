"""The privacy statements of `dp-sgld`: settled by exact laws of quadratics, so no stored results are needed."""

from __future__ import annotations

import math

from dpexp.accounting.loss_steps import step_loss
from dpexp.papers.dp_sgld.cases import CASES, PrivacyCase
from dpexp.papers.dp_sgld.claims.langevin_privacy import PRESCRIBED, attained_epsilons, claimed_divergence, exceeded
from dpexp.papers.dp_sgld.printed import DELTA, RUNS
from dpexp.reporting.checks import above, near
from dpexp.reporting.claim import Check, Outcome, Verdict
from dpexp.store.evidence import Evidence
from dpexp.theory.dp_sgld.privacy_statements import corollary32, eps_of_slope, total_decreasing_step

CONSTANT_STEPS = tuple(case for case in CASES if not case.decreasing)
DECREASING_STEPS = tuple(case for case in CASES if case.decreasing)


def _without_constant(case: PrivacyCase, order: float) -> float:
    """Theorem 3.3 for every c at once: it falls with c, and its limit at 0 is 2 order L^2 sum eta / (n^2 sigma^2)."""
    # the laws are finite mixtures of Gaussians and so satisfy c-LSI for some c; that of Lemma 3.3 is too large for them
    return 2 * order * case.lipschitz**2 * case.eta * case.steps / case.n**2


def lemma_3_3() -> dict[str, float]:
    """By Herbst's argument c-LSI asks P(theta >= E theta + r) <= exp(-c r^2 / 2): what it allows over what there is."""
    ratios = {}
    for case in CASES:
        reach, mean = case.eta * case.size / case.batch_size, _mean(case)
        allowed = math.exp(-case.strong_convexity / 2 * max(0.0, reach - mean) ** 2 / 2)
        # P(theta_K >= eta B / m) is at least q / 2: earlier batches move theta up or not at all, the noise is symmetric
        ratios[case.name] = allowed / (case.q / 2 - case.leaving)
    return ratios


def _mean(case: PrivacyCase) -> float:
    """E theta_K = (eta B / m) q sum of c^k."""
    c = 1 - case.eta * case.strong_convexity
    return case.eta * case.size / case.batch_size * case.q * (1 - c**case.steps) / (1 - c)


SUMS = ((1.0, 0.5, 100), (1.0, 0.5, 3), (55.0, 0.001, 11730))
"""beta, lambda and K; the last are those of the first row of table 1"""


def _of_sums(beta: float, lam: float, steps: int) -> str:
    return f"beta = {beta:g}, lambda = {lam:g}, K = {steps:,}"


def _epsilons(iterations: bool) -> dict[str, tuple[float, float]]:
    """1, and epsilon of the printed theorem for a run of table 1, with K in iterations or in epochs."""
    found = {}
    for name, run in RUNS.items():
        steps = run.iterations if iterations else run.epochs
        slope = corollary32(1, run.clip, run.n, run.sigma, run.strong_convexity, run.eta, steps)
        found[name] = (1.0, eps_of_slope(slope, DELTA))
    return found


def pneumonia_privacy(evidence: Evidence) -> Outcome:
    """(1, 1e-5) of the Pneumonia run, a record replaced: what a pair of data sets attains, and what composition guarantees."""
    run = RUNS["Pneumonia, ResNet18"]
    attained, _ = attained_epsilons(run)
    # half the noise of a step over the clip, as neighbours are 2 C apart
    z = math.sqrt(2 / run.eta) * run.sigma * run.batch_size / run.clip / 2
    stated = step_loss(run.batch_size / run.n, z, "fixed-size").times(run.iterations).eps(DELTA)
    verdict: Verdict = "false" if attained > 1 else "holds as a bound" if stated <= 1 else "not testable"
    return Outcome(verdict, "", "", "", {"attained": [1.0, attained], "guaranteed": [1.0, stated]})


CHECKS = {
    "dp-sgld/theorem-3-1/index": near(
        lambda: {_of_sums(*s): (1.0, total_decreasing_step(*s) / total_decreasing_step(*s, first=1)) for s in SUMS},
        1e-12,
        "",
        "misprint",
    ),
    "dp-sgld/theorem-4-1/privacy": exceeded(
        (PRESCRIBED,), lambda case, order: 4 * order * case.lipschitz**2 / (case.strong_convexity * case.n**2)
    ),
    "dp-sgld/theorem-3-3": exceeded(CASES, _without_constant),
    "dp-sgld/lemma-3-3": above(lemma_3_3, ""),
    "dp-sgld/corollary-3-1": exceeded(CONSTANT_STEPS, _without_constant),
    "dp-sgld/corollary-3-2": exceeded(CONSTANT_STEPS, claimed_divergence),
    "dp-sgld/corollary-3-3": exceeded(DECREASING_STEPS, claimed_divergence),
    "dp-sgld/table-1/epsilon": near(lambda: _epsilons(True), 0.15, ""),
    "dp-sgld/table-1/privacy/pneumonia": Check(pneumonia_privacy),
}
