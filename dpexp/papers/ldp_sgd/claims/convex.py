"""`ldp-sgd`, section 4.2: objectives that are not strongly convex. Theorems 5 and 6, remarks 3 and 4."""

from __future__ import annotations

from functools import partial

from dpexp.papers.ldp_sgd.runs import (
    at_the_end,
    below_one,
    between,
    bounded_by,
    convex,
    convex_smooth,
    decays,
    falls_like,
    theorem_holds,
    used,
)
from dpexp.reporting.claim import Outcome
from dpexp.reporting.evidence import Run
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, remark_exponent


def is_half(alpha: float) -> bool:
    return abs(alpha - 0.5) < 1e-9


EXPERIMENTS = ("linear_d5", "logistic_d5", "logistic_d10", "logistic_d20", "rates_flat")
THIRD = 1 / 3 - 1e-9
"""1/3 as a config spells it"""
PRINTED_5 = used(*EXPERIMENTS, keep=lambda run: 1 / 3 + 1e-9 < run.alpha < 1 and not is_half(run.alpha))
ROOTED_5 = used(*EXPERIMENTS, keep=lambda run: THIRD < run.alpha < 1)
PRINTED_6 = used(*EXPERIMENTS, keep=lambda run: run.alpha < 1)
EVERY = used("linear_d5", "logistic_d5", "figure1", "rates_flat")
FLAT_ENDS, FLAT_ABOVE = used("rates_flat", alpha=(0.5, 2 / 3)), used("rates_flat", alpha=2 / 3)
KINKED = used("pinball", "hinge")
LARGER = used("logistic_d5", "interior_logistic", alpha=(2 / 3, 0.8, 0.9))


def not_differentiable(runs: list[Run]) -> Outcome:
    """Both completed bounds on losses with corners; the words are those of the one that is nearer to what is measured."""
    names = ("ldp-sgd/theorem-5/last-iterate", "ldp-sgd/theorem-6/completed")
    found = [theorem_holds(runs, name) for name in names]
    # a violation comes first, then the bound that leaves the least room
    return min(found, key=lambda outcome: (outcome.verdict != "false", outcome.numbers["least_log10_looseness"]))


closed = decays("[0, 1]", lambda a: 0 <= a <= 1, 1.5)
FLAT = partial(falls_like, metric="loss_gap")
CHECKS = {
    "ldp-sgd/theorem-5": PRINTED_5.judged(
        bounded_by("ldp-sgd/theorem-5"),
        *convex_smooth(decays("(1/3, 1) but 1/2", lambda a: 1 / 3 + 1e-9 < a < 1 and not is_half(a), 1 / 3)),
    ),
    "ldp-sgd/theorem-5/rooted": ROOTED_5.judged(
        bounded_by("ldp-sgd/theorem-5/rooted"), *convex_smooth(decays("[1/3, 1)", lambda a: THIRD < a < 1, 1.0))
    ),
    "ldp-sgd/theorem-5/last-iterate": EVERY.judged(
        bounded_by("ldp-sgd/theorem-5/last-iterate"), *convex(decays("(0, 1]", lambda a: 0 < a <= 1, 1.5))
    ),
    "ldp-sgd/theorem-6": PRINTED_6.judged(bounded_by("ldp-sgd/theorem-6"), *convex_smooth(below_one)),
    "ldp-sgd/theorem-6/completed": EVERY.judged(bounded_by("ldp-sgd/theorem-6/completed"), *convex(closed)),
    "ldp-sgd/section-6/not-differentiable": KINKED.judged(not_differentiable, *convex(closed)),
    "ldp-sgd/remark-3/ends": FLAT_ENDS.judged(
        FLAT("sgd", remark_exponent, NON_STRONGLY),
        *convex_smooth(decays("(1/3, 2/3]", lambda a: 1 / 3 < a < 2 / 3 + 1e-9, 0.7)),
    ),
    "ldp-sgd/remark-4/ends": FLAT_ABOVE.judged(
        FLAT("asgd", remark_exponent, NON_STRONGLY), *convex_smooth(between("(1/2, 1)"))
    ),
    "ldp-sgd/remark-4/larger-loss": LARGER.judged(
        at_the_end("sgd", "asgd", "loss_gap", "loss gap of the iterate below that of the average, for alpha > 1/2"),
        *convex_smooth(between("(1/2, 1)")),
    ),
}
