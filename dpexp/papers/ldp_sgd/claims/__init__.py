"""The checks of `ldp-sgd`, by the ids of the claims in `claims.yaml`."""

from dpexp.papers.ldp_sgd.claims import figure_claims, level_claims, local_privacy, rate_claims, remarks, theorem_claims

CHECKS = (
    figure_claims.CHECKS
    | level_claims.CHECKS
    | local_privacy.CHECKS
    | rate_claims.CHECKS
    | remarks.CHECKS
    | theorem_claims.CHECKS
)
