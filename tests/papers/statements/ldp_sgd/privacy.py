"""`ldp-sgd`, section 3: what is released, and how much noise it takes."""

from __future__ import annotations

from dpexp.algorithms.near_the_optimum import linear_predictor_of
from dpexp.problems import PROBLEMS
from dpexp.reporting.row import above

LINEAR, LOGISTIC = (linear_predictor_of(PROBLEMS[name]()) for name in ("huber-linear", "mallows-logistic"))


CHECKS = {
    "ldp-sgd/section-3/sensitivity": above(
        lambda: {p.name: 2 * p.gradient_bound() / p.exact_sensitivity() for p in (LINEAR, LOGISTIC)},
        "2 C0 is at least the sensitivity", "d = 5", "none: closed forms", "2 C0 / sensitivity",
    ),
    "ldp-sgd/section-5/sensitivity": above(
        lambda: {"d = 5, c = 1.345": LINEAR.paper_sensitivity() / LINEAR.exact_sensitivity()},
        "sqrt(8 c^2 + c^4 / 4) is at least the sensitivity", "",
        "none: closed form, approached by searched pairs in the tests", "printed / exact",
        more=lambda ratio: f"{ratio**2 - 1:.1%} of noise power",
    ),
}  # fmt: skip
