"""Theorems 3.1 and 5.1 of `noisy-sgd`: as printed, inside the printed conditions, as orders of magnitude, repaired."""

from __future__ import annotations

import math

from dpexp.core.bisection import first_whole
from dpexp.papers.noisy_sgd.claims.walks import MULTIPLIER, SETTING, WIDTH, Q, both, cases, exact, flipped, opposite
from dpexp.privacy.accounting.sampled_gaussian import largest_order
from dpexp.privacy.analyses.last_iterate import composed, last_iterate, printed_strongly_convex
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.judged import EXACT, at_least_exact

STEPS = (1, 10, 125, 1000, 10**6)
INSIDE = ((0.1, 5.7), (0.19, 5.7), (0.01, 6.0), (0.05, 12.0))
"""q = b / n and b sigma / (2 L) above 4 sqrt 2, which is the printed condition on the noise"""
CONSTANT = 17.0
"""what the printed proof adds up to at R = T-bar: 16 by Lemma 2.12 with half the noise, and 1 for the shift"""


def _against_exact(step: str, predicted: str) -> Outcome:
    """min(composition, (3.6)) over the exact divergence, all orders and steps."""
    ratios = {}
    for label, order, steps in cases(STEPS):
        bound = min(
            composed(order, Q, MULTIPLIER, steps, step), last_iterate(order, Q, MULTIPLIER, WIDTH, steps, step).rdp
        )
        ratios[label] = bound / exact(order, steps)
    return at_least_exact(ratios, predicted, SETTING)


def theorem_3_1_printed(evidence: Evidence) -> Outcome:
    return _against_exact("literal", "equation (3.6) with the printed S_alpha is at least the exact divergence")


def theorem_3_1_repaired(evidence: Evidence) -> Outcome:
    return _against_exact("symmetrised", "equation (3.6) with the symmetrised step is at least the exact divergence")


def theorem_3_1_inside(evidence: Evidence) -> Outcome:
    """As printed, at orders up to alpha* and with the noise that the theorem asks for; one record flipped among +L."""
    ratios = {}
    for q, multiplier in INSIDE:
        top = largest_order(q, multiplier / math.sqrt(2))
        for order in (1 + (top - 1) / 2, top):
            for steps in (1, 10):
                bound = min(
                    composed(order, q, multiplier, steps, "literal"),
                    last_iterate(order, q, multiplier, WIDTH, steps, "literal").rdp,
                )
                pair = flipped(1 / (2 * multiplier), WIDTH / 2, q, 1)
                label = f"q = {q:g}, b sigma / 2L = {multiplier:g}, order {order:.3g}, T = {steps}"
                ratios[label] = bound / both(pair, steps, order)
    words = "with sigma > 8 sqrt(2) L / b and alpha <= alpha*, the printed (3.6) is at least the exact divergence"
    return at_least_exact(ratios, words, f"width {WIDTH:g}")


def theorem_3_1_order(evidence: Evidence) -> Outcome:
    """The exact divergence over alpha (L / (n sigma))^2 min(T, T-bar), inside the conditions: below a constant?"""
    ratios = {}
    for q, multiplier in INSIDE:
        slope = 1 / (2 * multiplier)
        knee = math.ceil(WIDTH / (q * slope))
        top = largest_order(q, multiplier / math.sqrt(2))
        for order in (1.5, top):
            for steps in (1, 100, knee, 10**6):
                size = order * (q * slope) ** 2 * min(steps, knee)
                largest = max(
                    both(pair, steps, order)
                    for pair in (opposite(slope, WIDTH / 2, q), flipped(slope, WIDTH / 2, q, 1))
                )
                ratios[f"q = {q:g}, order {order:.3g}, T = {steps:,}"] = CONSTANT * size / largest
    words = f"at most C alpha L^2 / (n sigma)^2 min(T, T-bar), C = {CONSTANT:g} from the printed proof"
    found = at_least_exact(ratios, words)
    needed = CONSTANT / found.numbers["least"]
    found.numbers["constant_needed"] = needed
    return Outcome(
        found.verdict, words, f"{found.measured}; a constant of {needed:.3g} is enough", EXACT, found.numbers
    )


def theorem_5_1(evidence: Evidence) -> Outcome:
    """Strongly convex: equation (5.3) with the symmetrised step against the exact law of quadratic others."""
    c, ratios = 0.95, {}
    for label, order, steps in cases((10, 100, 10**5)):
        printed = min(
            composed(order, Q, MULTIPLIER, steps, "symmetrised"),
            *(
                printed_strongly_convex(order, Q, MULTIPLIER, WIDTH, steps, "symmetrised", c, f).rdp
                for f in (0.01, 0.05, 0.2, 0.5)
            ),
        )
        ratios[label] = printed / exact(order, steps, contraction=c)
    words = "equation (5.3), with the symmetrised step, is at least the exact divergence"
    return at_least_exact(ratios, words, f"contraction {c}")


def _steps_to(level: float, contraction: float) -> int:
    """The first of 10^4 numbers of steps at which the exact divergence is above a level."""
    return first_whole(lambda steps: exact(2.0, steps, contraction=contraction) > level, 0, 10**4)


def theorem_5_1_stops(evidence: Evidence) -> Outcome:
    """With eta = 2 / (M + m) and quadratics: steps after which the exact divergence is within 1% of its limit."""
    needed = {}
    for kappa in (3.0, 10.0, 40.0):
        c = (kappa - 1) / (kappa + 1)
        limit = exact(2.0, 10**5, contraction=c)
        needed[kappa] = _steps_to(0.99 * limit, c)
    shares = {k: t / (k * math.log(100 * k)) for k, t in needed.items()}
    return Outcome(
        "reproduced" if max(shares.values()) <= 1 else "false",
        "no growth after O~(kappa) steps: at most kappa log(100 kappa) to within 1%",
        "; ".join(f"kappa = {k:g}: {t} steps ({t / k:.2g} kappa)" for k, t in needed.items()),
        EXACT,
        {f"{k:g}": t for k, t in needed.items()},
    )


NONE: tuple[str, ...] = ()
CLAIMS = (
    Claim(
        "noisy-sgd/theorem-3-1/printed", "Theorem 3.1, equation (3.6)",
        "Evaluated as printed, the bound holds for the last iterate of projected noisy SGD.",
        "upper", NONE, theorem_3_1_printed, "one exact value above the bound contradicts it", "false",
        "S_alpha bounds one order of the neighbours only, and the other is larger; constants inside O(.) absorb it",
    ),
    Claim(
        "noisy-sgd/theorem-3-1/conditions", "Theorem 3.1, equation (3.6)",
        "Inside the printed conditions on the noise and the order, the bound holds as printed.",
        "upper", NONE, theorem_3_1_inside, "one exact value above the bound contradicts it", "false",
        "the other order of the neighbours is larger there too, by a few percent: the conditions do not repair the proof",
    ),
    Claim(
        "noisy-sgd/theorem-3-1/order", "Theorem 3.1",
        "Inside the printed conditions the loss is at most a constant times alpha L^2 / (n sigma)^2 min(T, T-bar).",
        "upper", NONE, theorem_3_1_order, "one exact value above the bound with the proof's constant contradicts it",
        "holds as a bound",
        "Lemma 2.12 loses a factor 4 in either order of the neighbours, which covers the gap in the proof",
    ),
    Claim(
        "noisy-sgd/theorem-3-1/repaired", "Theorem 3.1, repaired",
        "With the symmetrised one-step divergence the bound holds.",
        "upper", NONE, theorem_3_1_repaired, "one exact value above the bound contradicts it", "holds as a bound",
        "our one-step lemma covers both orders; no exact law is known to come above it",
    ),
    Claim(
        "noisy-sgd/theorem-5-1", "Theorem 5.1, equation (5.3)",
        "For strongly convex losses the bound with the contraction factor holds, with the symmetrised step.",
        "upper", NONE, theorem_5_1, "one exact value above the bound contradicts it", "holds as a bound",
        "shifts in proportion to c^(T-t) are tighter than the printed ones",
    ),
    Claim(
        "noisy-sgd/theorem-5-1/stops", "Theorem 5.1",
        "For strongly convex losses the privacy loss stops growing after about kappa steps, up to logarithms.",
        "rate", NONE, theorem_5_1_stops, "1% of the limit after kappa log(100 kappa) steps", "reproduced",
        "two runs forget their past at the rate (kappa - 1) / (kappa + 1) a step",
    ),
)  # fmt: skip
