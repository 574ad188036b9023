"""`ldp-sgd`, Table 1: the rates of both estimators, cell by cell, and what they are where the table is off."""

from __future__ import annotations

from fractions import Fraction
from functools import partial

from dpexp.papers.ldp_sgd.hypotheses import between, bounded, convex_smooth, curved, iterates, strongly_smooth
from dpexp.papers.ldp_sgd.runs import falls_like, used
from dpexp.reporting.checks import rates_agree
from dpexp.reporting.claim import Claim, Outcome, Verdict
from dpexp.reporting.evidence import Evidence
from dpexp.reporting.slopes import RATE_TOLERANCE
from dpexp.theory.ldp_sgd.table1 import NON_STRONGLY, STRONGLY, corrected_exponent, table1_exponent

STRONG, LOGISTIC = ("rates_linear",), ("rates_logistic",)
"""strongly convex on the part of the space where the iterates are (Condition 2 asks it of a set); and the paper's example of
what is not strongly convex, for which no theorem of section 4.1 speaks"""
ALL = (1 / 3, 0.4, 0.5, 0.6, 2 / 3)
CORRECTED, ELSEWHERE, CONTROL = (
    used(STRONG, alpha=ALL),
    used(LOGISTIC, alpha=ALL),
    used(("rates_quadratic",), alpha=(*ALL, 0.8)),
)
LONG_BELOW, LONG_ABOVE = (used(("long_linear",), alpha=alpha) for alpha in (1 / 3, 2 / 3))


def control(evidence: Evidence) -> Outcome:
    """A quadratic risk has no bias: n^-1 for every alpha."""
    return rates_agree(CONTROL(evidence), "asgd", "param_distance_sq", lambda a: -1.0, "quadratic risk")


TOLERANCE = (
    f"{RATE_TOLERANCE} in the exponent or half of it, and between two decades; a slope that still drifts is no rate"
)
FASTER = "an upper bound on the rate: this flat risk is not the worst case, for which it is written"
OFF = "One settled slope is less steep than printed by more than the tolerance with its whole 95% interval."


def _cell(
    convexity: str,
    id: str,
    row: str,
    column: str,
    alphas: tuple[float, ...],
    exponent: str,
    expected: Verdict,
    why: str = "",
) -> Claim:
    """A cell of the table: of strongly convex risks the squared distance, of others the loss gap."""
    estimator = {"LDP-SGD": "sgd", "LDP-ASDG": "asgd"}[row]  # as the table spells them
    low, high = (float(Fraction(end.strip())) for end in column.strip("()").split(","))
    strong = convexity == STRONGLY
    words = ("strongly convex", "squared distance") if strong else ("non-strongly convex", "loss gap")
    experiments, metric = (STRONG, "param_distance_sq") if strong else (("rates_flat",), "loss_gap")
    runs = used(experiments, alpha=alphas)
    inside = between(runs, column, low, high)
    return Claim(
        f"ldp-sgd/table-1/{'strong' if strong else 'convex'}/{id}", f"Table 1, row {row}, {words[0]}, column {column}",
        f"{'Strongly' if strong else 'Not strongly'} convex, alpha in {column}: the {words[1]} of {NAMES[estimator]} falls like n^{exponent}.",
        "rate", experiments, falls_like(runs, estimator, table1_exponent, convexity, metric=metric), TOLERANCE, expected, why,
        quote=f"{row} ... n^{exponent}", false_if=OFF,
        hypotheses=(iterates(runs), inside, bounded(runs), curved(runs)) if strong else convex_smooth(runs, inside),
    )  # fmt: skip


_strong, _flat = partial(_cell, STRONGLY), partial(_cell, NON_STRONGLY)
NAMES = {"sgd": "LDP-SGD", "asgd": "LDP-ASGD"}


CLAIMS = (
    _strong("sgd/below-half", "LDP-SGD", "(0, 1/2)", (1 / 3, 0.4), "-alpha", "reproduced"),
    _strong("sgd/above-half", "LDP-SGD", "(1/2, 1)", (0.6, 2 / 3), "-alpha", "reproduced"),
    _strong(
        "asgd/below-half", "LDP-ASDG", "(0, 1/2)", (1 / 3, 0.4), "-1", "false",
        "the average has a bias of order n^-alpha, so its square falls like n^-2 alpha, unless the risk is quadratic",
    ),
    _strong(
        "asgd/above-half", "LDP-ASDG", "(1/2, 1)", (0.6, 2 / 3), "-2(1-alpha)", "holds as a bound",
        "too pessimistic: the true rate is n^-1",
    ),
    Claim(
        "ldp-sgd/table-1/strong/asgd/corrected", "Table 1",
        "Corrected: the squared distance of LDP-ASGD falls like n^-min(1, 2 alpha).",
        "rate", STRONG, falls_like(CORRECTED, "asgd", corrected_exponent), TOLERANCE, "reproduced", "variance 1 / n plus squared bias n^-2 alpha",
        source="ours", false_if=OFF, hypotheses=strongly_smooth(CORRECTED),
    ),
    Claim(
        "ldp-sgd/table-1/logistic/asgd", "Table 1",
        "Extended: the squared distance of LDP-ASGD falls like n^-min(1, 2 alpha) in logistic regression, too.",
        "rate", LOGISTIC, falls_like(ELSEWHERE, "asgd", corrected_exponent), TOLERANCE, "reproduced",
        "the paper does not count it as strongly convex; at the optimum, which is all that a rate asks, it is",
        source="ours", false_if=OFF, hypotheses=strongly_smooth(ELSEWHERE),
    ),
    Claim(
        "ldp-sgd/table-1/logistic/sgd", "Table 1",
        "Extended: the squared distance of LDP-SGD falls like n^-alpha in logistic regression, too.",
        "rate", LOGISTIC, falls_like(ELSEWHERE, "sgd", corrected_exponent), TOLERANCE, "reproduced", "for the same reason",
        source="ours", false_if=OFF, hypotheses=strongly_smooth(ELSEWHERE),
    ),
    Claim(
        "ldp-sgd/table-1/strong/asgd/quadratic", "Table 1",
        "Control: on a quadratic risk the squared distance of LDP-ASGD falls like n^-1 for every alpha in (0, 1).",
        "rate", ("rates_quadratic",), control, TOLERANCE, "reproduced", "no third derivative, no bias",
        source="ours", false_if=OFF, hypotheses=strongly_smooth(CONTROL),
    ),
    Claim(
        "ldp-sgd/table-1/strong/asgd/long", "Table 1",
        "Corrected: with the paper's own step size and start, 10^8 users show n^-2 alpha at alpha = 1/3.",
        "rate", ("long_linear",), falls_like(LONG_BELOW, "asgd", corrected_exponent), TOLERANCE, "reproduced",
        "300,000 users are not enough: there the slope at alpha = 1/3 is about -1 and only seems to agree with the table",
        source="ours", false_if=OFF, hypotheses=strongly_smooth(LONG_BELOW),
    ),
    Claim(
        "ldp-sgd/table-1/strong/asgd/long-above-half", "Table 1",
        "Extended: with the paper's own step size and start, 10^8 users show n^-2(1-alpha) at alpha = 2/3.",
        "rate", ("long_linear",), falls_like(LONG_ABOVE, "asgd", table1_exponent, STRONGLY), TOLERANCE,
        "holds as a bound", "faster: the recursion puts the slope of that decade at -1.13, on its way to -1",
        source="ours", false_if=OFF, hypotheses=strongly_smooth(LONG_ABOVE),
    ),
    _flat("sgd/below-half", "LDP-SGD", "(1/3, 1/2)", (0.4,), "-(3alpha-1)/2", "holds as a bound", FASTER),
    _flat("sgd/middle", "LDP-SGD", "(1/2, 2/3)", (0.55, 0.6), "-alpha/2", "holds as a bound", FASTER),
    _flat("sgd/above", "LDP-SGD", "(2/3, 1)", (0.8,), "-(1-alpha)", "holds as a bound", FASTER),
    _flat("asgd/below-half", "LDP-ASDG", "(1/3, 1/2)", (0.4,), "-alpha", "holds as a bound", FASTER),
    _flat("asgd/middle", "LDP-ASDG", "(1/2, 2/3)", (0.55, 0.6), "-(1-alpha)", "holds as a bound", FASTER),
    _flat(
        "asgd/above", "LDP-ASDG", "(2/3, 1)", (0.8,), "-(1-alpha)", "not at this sample size",
        "after 10^7 users the slope still drifts, from -1.3 to -0.6 between two decades, both steeper than the printed -0.2",
    ),
)  # fmt: skip
