"""What `noisy-sgd` says of the diameter and of T-bar as the true answer, sections 1.2 and 1.3, by exact laws."""

from __future__ import annotations

import math
from itertools import pairwise

from dpexp.core.bisection import first_whole
from dpexp.papers.noisy_sgd.claims.hypotheses import Point, small_steps
from dpexp.papers.noisy_sgd.claims.walks import MULTIPLIER, SLOPE, Q, both, opposite
from dpexp.reporting.claim import Claim, Outcome
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.judged import EXACT
from dpexp.reporting.row import above, row

WIDTHS = (3.0, 6.25, 12.5, 25.0)
"""diameters of the set in noise units"""
PLACES = tuple((q, slope, steps) for q, slope in ((Q, SLOPE), (Q, SLOPE / 10), (1.0, SLOPE)) for steps in (10, 10**6))
"""sampling probability, a record's step in noise units, steps: soon after the start, and in the limit"""


def smaller_set() -> dict[str, float]:
    """The exact divergence of order 2 in each of four sets over that in the one half as wide."""
    found = {}
    for q, slope, steps in PLACES:
        for small, large in pairwise(WIDTHS):
            ratio = divergence_in(large, q, slope, steps) / divergence_in(small, q, slope, steps)
            found[f"q = {q:g}, step {slope:g}, T = {steps:,}, width {large:g} against {small:g}"] = ratio - 1e-6
    return found


def divergence_in(width: float, q: float, slope: float, steps: int) -> float:
    """Order 2, opposite slopes."""
    return both(opposite(slope, width / 2, q), steps, 2.0)


WIDTH = 25.0
RANGES = {
    f"theta = {2 * q * slope * WIDTH:g}": (q, slope)
    for q, slope in ((Q, SLOPE / 10), (Q, SLOPE), (1.0, SLOPE), (1.0, 4 * SLOPE))
}
"""theta = 2 L D / (n eta sigma^2) = 2 q slope width: the loss of the limit is of that order, up to alpha"""


def true_answer(evidence: Evidence) -> Outcome:
    """Steps to half of the limit over T-bar, from the private regime to one without privacy."""
    shares, limits = {}, {}
    for label, (q, slope) in RANGES.items():
        knee = math.ceil(WIDTH / (q * slope))
        limits[label], steps = _half(q, slope, knee)
        shares[label] = steps / knee
    values = list(shares.values())
    steady = max(values) / min(values) <= CONSTANT
    late = values[-1] >= 1 / CONSTANT
    return Outcome(
        "reproduced" if steady and late else "misleading" if late else "false",
        f"half of the limit is reached after a fixed share of T-bar, up to a factor of {CONSTANT:g}, wherever it lies",
        "steps to half of the limit over T-bar: "
        + ", ".join(f"{v:.3g} ({k}, limit {limits[k]:.3g})" for k, v in shares.items()),
        EXACT,
        {"shares": shares, "limits": limits},
    )


CONSTANT = 10.0
"""what a reader may take for a constant"""


def _half(q: float, slope: float, most: int) -> tuple[float, int]:
    """The limit of the divergence of order 2, and the first number of steps up to `most` with half of it."""
    limit = divergence_after(q, slope, 10**6)
    return limit, first_whole(lambda steps: divergence_after(q, slope, steps) >= limit / 2, 0, most)


def divergence_after(q: float, slope: float, steps: int) -> float:
    return divergence_in(WIDTH, q, slope, steps)


LINEAR = (small_steps({"linear losses": Point(Q, MULTIPLIER, 2.0)}),)
CLAIMS = (
    row(
        "noisy-sgd/section-1-2/smaller-set", "Section 1.2, boundedness",
        "A smaller constraint set makes the privacy loss strictly smaller, after ten steps and in the limit.",
        "ordering", above(smaller_set, "a smaller set has a strictly smaller divergence", "order 2", what="larger / smaller set", held="reproduced"),
        "none: one divergence is larger than another by a millionth or it is not", "reproduced",
        "the walls erase the past; soon after the start few paths have met them, and the difference is small",
        quote="we show that this strictly improves the privacy loss, in fact making it convergent as",
        false_if="In some setting a smaller set has the same exact divergence, or a larger one.",
        hypotheses=LINEAR,
    ),
    Claim(
        "noisy-sgd/section-1-3/true-answer", "Section 1.3, upper bound, the remark on T-bar",
        "The privacy loss stops growing after T-bar steps up to a constant, and not earlier.",
        "rate", (), true_answer, f"a share of T-bar between {1 / CONSTANT:g} and 1, constant up to a factor {CONSTANT:g}", "misleading",
        "true where theta = 2 L D / (n eta sigma^2) is large, as the lower bound assumes, and where there is no privacy. In the private "
        "regime noise mixes before drift arrives: the loss stops after about (D / (eta sigma))^2 steps, which is theta / 2 of T-bar",
        quote="not just an artefact of our analysis, but in fact is the true answer for when the privacy loss stops increasing",
        false_if="At large theta, half of the limit is reached in less than a tenth of T-bar; misleading where that is so at small theta alone.",
        hypotheses=LINEAR,
    ),
)  # fmt: skip
