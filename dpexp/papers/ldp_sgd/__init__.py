"""`ldp-sgd`: SGD under local differential privacy with budgets of the users' own, and its average."""

from pathlib import Path

from dpexp.papers.ldp_sgd.claims import figure_claims, level_claims, local_privacy, rate_claims, remarks, theorem_claims
from dpexp.papers.ldp_sgd.ldp_sgd_figures import FIGURES
from dpexp.papers.ldp_sgd.ldp_sgd_runs import constants_of
from dpexp.papers.ldp_sgd.ldp_sgd_tables import TABLE1
from dpexp.papers.ldp_sgd.predictions import LDP_SGD_THEORY
from dpexp.reporting.declared_claim import Numbers
from dpexp.reporting.paper import Paper, declared_paper
from dpexp.theory import THEOREMS
from dpexp.theory.ldp_sgd.table1 import corrected_exponent, remark_exponent, table1_exponent

NUMBERS = Numbers(
    {f.__name__: f for f in (table1_exponent, remark_exponent, corrected_exponent, *level_claims.FUNCTIONS)},
    THEOREMS,
    constants_of,
)
CHECKS = {
    **figure_claims.CHECKS,
    **level_claims.CHECKS,
    **local_privacy.CHECKS,
    **rate_claims.CHECKS,
    **remarks.CHECKS,
    **theorem_claims.CHECKS,
}
DECLARED = declared_paper(Path(__file__).with_name("paper.yaml"), "ldp-sgd", CHECKS, FIGURES, NUMBERS, LDP_SGD_THEORY)
PAPER = Paper(
    id="ldp-sgd",
    title="Non-asymptotic analysis of stochastic gradient descent under local differential privacy guarantee",
    authors="Anonymous",
    tables=(TABLE1,),
    configs=(
        *(f"{kind}_d{d}" for kind in ("linear", "logistic") for d in (5, 10, 20)),
        *("figure1", "interior_linear", "interior_logistic", "long_linear", "monotone_logistic"),
        *("rates_linear", "rates_controlled", "rates_logistic", "rates_quadratic", "rates_flat"),
        *("sweep_d", "sweep_mu", "budget_mix", "pinball", "hinge", "stretched", "clipping_or_weights"),
    ),
    theory=LDP_SGD_THEORY,
    **DECLARED,
)
