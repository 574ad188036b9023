"""Theorems 1.3 and 4.1, remark 1.4 and figure 1 of `noisy-sgd`: where the loss stops growing, and how tight that is."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from dpexp.papers.noisy_sgd.claims.walks import HALF, MULTIPLIER, SLOPE, WIDTH, Q, both, exact, opposite
from dpexp.privacy.analyses.analysis import eps_of_delta
from dpexp.privacy.analyses.last_iterate import composed, last_iterate
from dpexp.privacy.attained.walk import HockeyStick, Law, shifting
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.judged import EXACT, at_least_exact

C_D, C_SIGMA, C_ALPHA, ORDER = 1e3, 1e-3, 1e-7, 100.0
"""the constants of Theorem 4.1, footnote 11"""
CONVERTED = 2 * math.sqrt(17)
"""constant of (1.3) at the best order, from the constant 17 of Theorem 3.1"""
NEAR, PANEL = 14.0, 6.0
"""steps of the wide walk are kept up to this many noise standard deviations; its panels change nothing beyond 1e-8"""


def stops_growing(evidence: Evidence) -> Outcome:
    """The exact divergence between T = 2 T-bar and 10^6 steps."""
    knee = _knee(Q, SLOPE, WIDTH)
    growth = exact(8.0, 10**6) / exact(8.0, knee) - 1
    return Outcome(
        "reproduced" if growth < 0.01 else "false",
        "no growth beyond T of the order of T-bar = D n / (L eta)",
        f"from T = {knee:,} to 10^6 the exact divergence of order 8 grows by {growth:.2g}; composition by "
        f"{10**6 / knee:.0f} times",
        EXACT,
        {"growth": growth},
    )


def tight(evidence: Evidence) -> Outcome:
    """Best bound over exact at large T, for several theta = 2 q s width: is the ratio bounded by a constant?"""
    looseness = {}
    for slope in (0.002, 0.02, 0.25):
        bound = last_iterate(8.0, Q, 1 / (2 * slope), WIDTH, 10**6, "symmetrised").rdp
        looseness[f"theta = {_theta(Q, slope):.2g}"] = bound / both(opposite(slope), 10**6, 8.0)
    return Outcome(
        "false" if max(looseness.values()) > 100 else "reproduced",
        "upper and lower bound agree up to a constant",
        "bound / exact at T = 10^6, order 8: " + ", ".join(f"{v:.3g} ({k})" for k, v in looseness.items()),
        EXACT,
        looseness,
    )


def theorem_4_1(evidence: Evidence) -> Outcome:
    """At the theorem's hypotheses with its constants: a lower bound of D_100 by the event {w > 0}, over (4.1)."""
    ratios = {}
    for n, batch in ((2, 1), (2, 2)):
        q = batch / n
        slope = math.sqrt(1 / (C_D * C_SIGMA / 0.75 * batch * q))  # both hypotheses with equality
        width = C_D * batch * slope
        knee = math.floor(0.75 * width / (q * slope))
        steps = (1, knee // 10, knee, 3 * knee // 2)
        for t, positive in zip(steps, _positive(width / 2, q, slope, steps), strict=True):
            claimed = C_ALPHA * ORDER * (q * slope) ** 2 * min(t, 0.75 * width / (q * slope))
            ratios[f"n = {n}, b = {batch}, T = {t:,}"] = _of_event(positive, ORDER) / claimed
    return at_least_exact(
        ratios,
        "the divergence of order 100 is at least 10^-7 alpha L^2 / (n sigma)^2 min(T, T-bar)",
        "theta = 1500, the least that the hypotheses allow",
        "exact probabilities of one event, so a lower bound of the divergence",
        "exact, at least, / bound",
    )


def remark_upper(evidence: Evidence) -> Outcome:
    """Exact epsilon against (1.3) with the constant that the conversion of Theorem 3.1 adds up to."""
    ratios = {}
    for slope in (0.005, 0.02, 0.05):
        for steps in (10, 10**6):
            for delta in (1e-3, 1e-5):
                found, printed = _epsilons(slope, steps, delta)
                if found > 0:
                    ratios[f"theta = {_theta(Q, slope):.2g}, T = {steps:,}, delta = {delta:g}"] = (
                        CONVERTED * printed / found
                    )
    return at_least_exact(ratios, f"at most {CONVERTED:.2g} L / (n sigma) sqrt(min(T, T-bar) log 1/delta)")


def remark_tight(evidence: Evidence) -> Outcome:
    """The printed (1.3) over the exact epsilon as theta falls, where (1.3) is at most 1."""
    ratios = {}
    for slope in (0.0015, 0.003, 0.006, 0.01):
        found, printed = _epsilons(slope, 10**6, 1e-5)
        ratios[f"theta = {_theta(Q, slope):.2g}"] = (printed, found)
    values = [printed / found if found > 0 else math.inf for printed, found in ratios.values()]
    return Outcome(
        "false" if max(values) > 10 else "reproduced",
        "a matching lower bound, in the same range of parameters",
        "(1.3) against the exact epsilon, delta = 1e-5, T = 10^6: "
        + "; ".join(f"{printed:.3g} against {found:.3g} ({name})" for name, (printed, found) in ratios.items())
        + "; the lower bound asks for theta of 1500 and more, where (1.3) exceeds 1 for every delta below 0.99",
        EXACT,
        {name: list(pair) for name, pair in ratios.items()},
    )


def figure_1(evidence: Evidence) -> Outcome:
    """Steps at which the linear bound meets the new one, over T-bar; how both bounds go on."""
    knee = _knee(Q, SLOPE, WIDTH) // 2
    steps = np.unique(np.geomspace(knee / 10, 10 * knee, 200).round().astype(int))
    crossings = {}
    for step in ("literal", "symmetrised"):
        above = [
            composed(2.0, Q, MULTIPLIER, int(t), step) > last_iterate(2.0, Q, MULTIPLIER, WIDTH, int(t), step).rdp
            for t in steps
        ]
        crossings[step] = float(steps[int(np.argmax(above))]) / knee
    later = last_iterate(2.0, Q, MULTIPLIER, WIDTH, 10**7, "literal").rdp
    flat = later / last_iterate(2.0, Q, MULTIPLIER, WIDTH, 3 * knee, "literal").rdp - 1
    good = abs(flat) < 1e-6 and all(0.1 < c < 10 for c in crossings.values())
    return Outcome(
        "reproduced" if good else "false",
        "the linear bound grows without end, the new one stops after about T-bar steps",
        f"they meet at {crossings['literal']:.3g} T-bar ({crossings['symmetrised']:.3g} repaired); from 3 T-bar to 10^7 "
        f"steps the new one changes by {flat:.1g}",
        "none: evaluated formulas",
        {**crossings, "later": flat},
    )


def _knee(q: float, slope: float, width: float) -> int:
    """2 T-bar, where the linear bound meets (3.6)."""
    return round(2 * width / (q * slope))


def _theta(q: float, slope: float) -> float:
    return 2 * q * slope * WIDTH


def _epsilons(slope: float, steps: int, delta: float) -> tuple[float, float]:
    """Exact epsilon of opposite slopes, and (1.3) with the constant 1."""
    one, other = (Law(walk, steps) for walk in opposite(slope, HALF))
    curve = HockeyStick(one, other)  # the pair is symmetric
    size = Q * slope * math.sqrt(min(steps, _knee(Q, slope, WIDTH) / 2) * math.log(1 / delta))
    return eps_of_delta(curve, delta, 1e-4), size


def _positive(half: float, q: float, slope: float, steps: tuple[int, ...]) -> list[float]:
    """P(w_t > 0) at the given steps: a banded matrix, since a step of `NEAR` deviations has probability 1e-44."""
    from scipy.sparse import csr_array

    moves = ((1 - q, 0.0), (q, slope)) if q < 1 else ((1.0, slope),)
    walk = replace(shifting(half, moves), panel=PANEL, kinks=(0.0,))
    matrix = walk.matrix
    banded = csr_array(np.where(matrix > math.exp(-(NEAR**2) / 2), matrix, 0.0))
    state, found = walk.masses(1), {1: 0.0}
    right = walk.places > 0
    for t in range(1, steps[-1] + 1):
        if t > 1:
            state = banded @ state
        if t in steps:
            found[t] = float(state[right].sum() / state.sum())
    return [found[t] for t in steps]


def _of_event(probability: float, order: float) -> float:
    """D_order of a coin with this probability against a fair one, which is what the walk without the record gives."""
    p = min(max(probability, 1e-300), 1.0)
    tail = order * math.log1p(-p) if p < 1 else -math.inf
    return float(np.logaddexp(order * math.log(p), tail) + (order - 1) * math.log(2)) / (order - 1)


NONE: tuple[str, ...] = ()
CLAIMS = (
    Claim(
        "noisy-sgd/theorem-1-3/stops", "Theorem 1.3",
        "The privacy loss stops growing after about T-bar steps.",
        "rate", NONE, stops_growing, "1% between the knee and 10^6 steps", "reproduced",
        "it stops on the mixing time of the walk, earlier than the bound",
    ),
    Claim(
        "noisy-sgd/theorem-1-3/tight", "Theorems 1.3 and 4.1",
        "The bound is tight up to a constant.",
        "value", NONE, tight, "a ratio above 100 is no constant that one would state", "false",
        "in the private regime it is loose by about 12 / theta, theta = 2 L D / (n eta sigma^2); the theorem's own hypotheses need "
        "theta of 1500 and more, where there is no privacy",
    ),
    Claim(
        "noisy-sgd/theorem-4-1", "Theorem 4.1, equation (4.1)",
        "At its hypotheses and constants no smaller loss than (4.1) is possible.",
        "value", NONE, theorem_4_1, "one exact divergence below (4.1) contradicts it", "holds as a bound",
        "true with room to spare: one event alone gives a hundred times what is claimed. The proof shows (100, 0.005) to be missed, "
        "which is less than (4.1) claims at smaller noise",
    ),
    Claim(
        "noisy-sgd/remark-1-4", "Remark 1.4, equation (1.3)",
        "Epsilon is at most of the order of L / (n sigma) sqrt(min(T, T-bar) log 1/delta).",
        "upper", NONE, remark_upper, "one exact epsilon above 8.2 times (1.3) contradicts it", "holds as a bound",
        "the conversion of Theorem 3.1 at its best order",
    ),
    Claim(
        "noisy-sgd/remark-1-4/tight", "Remark 1.4",
        "A matching lower bound holds in the same range of parameters.",
        "value", NONE, remark_tight, "a ratio above 10 that grows is no constant", "false",
        "the exact epsilon falls like theta or faster, (1.3) like its root; the ranges of both statements do not meet",
    ),
    Claim(
        "noisy-sgd/figure-1", "Figure 1",
        "The previous bound grows with T for ever, the new one is the smaller of it and a constant reached after about T-bar steps.",
        "value", NONE, figure_1, "a crossing within a factor 10 of T-bar", "reproduced",
        "the crossing is at 2 T-bar, because half of the noise pays for the shift",
    ),
)  # fmt: skip
