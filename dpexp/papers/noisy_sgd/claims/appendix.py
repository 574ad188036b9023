"""The proof of Theorem 4.1 of `noisy-sgd`, appendix A.4: the event E with its numbers, and starts other than 0."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpexp.papers.noisy_sgd.claims.hypotheses import C_D, C_SIGMA, ORDER, lower_bound
from dpexp.papers.noisy_sgd.claims.lower import EVENTS, NEAR, PANEL, equation_4_1
from dpexp.privacy.attained.walk import shifting
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.judged import at_least_exact

DELTA, NEEDED = 0.15, 0.9
"""of item (i) of the event E, and what Observation A.1 states of its probability"""
RECORDS = (2, 100, 10_000)
"""batches of one of so many records, both hypotheses of the theorem with equality"""


def observation_a_1(evidence: Evidence) -> Outcome:
    """P(E) from below by the binomial law and the reflection principle, and the five inequalities of the proof."""
    found = {f"n = {n:,}": 1 - bias_fails(n) - walk_passes() for n in RECORDS}
    trials = 0.75 * C_D
    printed = {
        "2 exp(-0.15^2 0.75 1000 / 3) <= 0.01": 2 * math.exp(-(DELTA**2) * trials / 3) <= 0.01,
        "exp(-5) <= 0.01": math.exp(-(0.1**2) / (2 * C_SIGMA)) <= 0.01,
        "(1 - 0.01)^2 >= 0.9": NEEDED <= 0.99**2,
        "0.005 + log(100) / 99 < 0.1": 0.005 + math.log(100) / 99 < 0.1,
        "(1 - 0.15) 0.75 D >= 0.6 D": (1 - DELTA) * 0.75 >= 0.6,
    }
    wrong = [name for name, holds in printed.items() if not holds]
    least = min(found.values())
    return Outcome(
        "holds as a bound" if least >= NEEDED and not wrong else "false",
        f"P(E) is at least {NEEDED:g}, and so is each number on the way",
        f"P(E) is at least {least:.5f} ({', '.join(found)}); of {len(printed)} printed inequalities "
        + (f"these fail: {'; '.join(wrong)}" if wrong else "all hold"),
        "binomial law, and reflection for the walk",
        {"found": found, "wrong": wrong},
    )


def bias_fails(n: int) -> float:
    """P(B is not within 15% of its mean): B has T-bar = 750 n trials of probability 1 / n."""
    from scipy.special import bdtr, bdtrc

    mean = 0.75 * C_D
    trials = round(mean * n)
    low, high = math.ceil((1 - DELTA) * mean) - 1, math.floor((1 + DELTA) * mean)
    return float(bdtr(low, trials, 1 / n) + bdtrc(high, trials, 1 / n))


def walk_passes() -> float:
    """P(a walk with T-bar steps passes 0.1 D) is at most twice P(it ends above), whose variance is 0.001 D^2."""
    return math.erfc(0.1 / math.sqrt(C_SIGMA) / math.sqrt(2))


STARTS = (-0.5, -0.25, 0.25, 0.5)
"""omega_0 over D; at 0, where the proof starts, is theorem-4-1"""
STARTED = {"n = 2, b = 1": EVENTS["n = 2, b = 1"]}
"""both hypotheses of the theorem with equality, and a record that is in half of the batches"""
SEEN = 1e-12
"""no probability is taken to be smaller: above rounding, and above what the banded matrix leaves out"""


def other_starts(evidence: Evidence) -> Outcome:
    """The largest two-point divergence of order 100 over the events {w > x}, over (4.1), from four starts."""
    ratios = {}
    for label, s in STARTED.items():
        knee = math.floor(0.75 * s.width / (s.q * s.slope))
        steps = (1, knee // 10, knee)
        with_record, without = (_above(s.width / 2, moves, steps) for moves in (_moves(s.q, s.slope), ((1.0, 0.0),)))
        for t in steps:
            bound = equation_4_1(s, t)
            for k, start in enumerate(STARTS):
                found = largest_two_point(with_record[t][:, k], without[t][:, k])
                ratios[f"{label}, T = {t:,}, omega_0 = {start:g} D"] = found / bound
    return at_least_exact(
        ratios,
        "the divergence of order 100 is at least (4.1) wherever the walks start",
        "theta = 1500, the least that the hypotheses allow",
        "exact probabilities of one event, so a lower bound of the divergence",
        "exact, at least, / bound",
    )


def _moves(q: float, slope: float) -> tuple[tuple[float, float], ...]:
    return ((1 - q, 0.0), (q, slope)) if q < 1 else ((1.0, slope),)


def _above(half: float, moves: tuple[tuple[float, float], ...], steps: tuple[int, ...]) -> dict[int, np.ndarray]:
    """P(w_t > x) for x at the ends of all panels, and at last P(w_t = half), [A, starts], at the given steps.

    A rule sums what lies in a panel; between its ends the sums are no probabilities.
    """
    from scipy.sparse import csr_array

    walk = replace(shifting(half, moves), panel=PANEL)
    matrix = walk.matrix
    banded = csr_array(np.where(matrix > math.exp(-(NEAR**2) / 2), matrix, 0.0))
    state = np.stack([walk.masses(1, 2 * half * start) for start in STARTS], axis=1)
    order = np.argsort(walk.places)
    found = {}
    for t in range(1, steps[-1] + 1):
        if t > 1:
            state = banded @ state
        if t in steps:
            sorted_ = state[order] / state.sum(axis=0)
            found[t] = np.cumsum(sorted_[::-1], axis=0)[::-1][1::16]
    return found


def largest_two_point(one: np.ndarray, other: np.ndarray) -> float:
    """The largest D_100 of two coins, over events [A] and both orders: no more than that of the walks themselves.

    Probabilities of the second law below `SEEN` are taken for it, which only lowers the divergence.
    """
    found = 0.0
    for p, r in ((one, other), (other, one)):
        with np.errstate(divide="ignore"):  # the logarithm of 0 adds nothing
            up = ORDER * np.log(p) + (1 - ORDER) * np.log(np.maximum(r, SEEN))
            down = ORDER * np.log1p(-np.minimum(p, 1)) + (1 - ORDER) * np.log(np.maximum(1 - r, SEEN))
        found = max(found, float(np.max(np.logaddexp(up, down))) / (ORDER - 1))
    return found


CLAIMS = (
    Claim(
        "noisy-sgd/observation-a-1", "Appendix A.4, Observation A.1",
        "The event E has a probability of at least 0.9, and the numbers on the way to it hold.",
        "value", (), observation_a_1, "none: a probability is at least 0.9 or it is not", "holds as a bound",
        "Chernoff's and Doob's inequalities are used generously: the event fails a few times in a thousand",
        quote="E occurs with large probability",
        false_if="At the theorem's hypotheses P(E) is below 0.9, or one of the printed inequalities fails.",
        hypotheses=lower_bound(EVENTS),
    ),
    Claim(
        "noisy-sgd/theorem-4-1/start", "Theorem 4.1, its first condition",
        "The lower bound holds from other starts than 0, at the walls too.",
        "value", (), other_starts, "one exact divergence below (4.1) contradicts it", "holds as a bound",
        "the proof starts at 0: P(omega_T >= 0) = 1/2 by symmetry holds there alone. Other events tell the walks apart from elsewhere, "
        "by far more than is claimed",
        quote="from arbitrary initialization ω_0 with any parameters satisfying",
        false_if="From some start the events {w > x} tell less than (4.1) states.",
        hypotheses=lower_bound(STARTED),
    ),
)  # fmt: skip
